/*-------------------------------------------------------------------------
 *
 * subtransaction.h
 *	  Running a function in a subtransaction, so that its error is contained
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * src/run/subtransaction.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_SUBTRANSACTION_H
#define SST_SUBTRANSACTION_H

extern ErrorData *sst_run_in_subtransaction(void (*action) (void *arg),
											void *arg);
extern ErrorData *sst_contain_errors(void (*action) (void *arg), void *arg);

#endif							/* SST_SUBTRANSACTION_H */
