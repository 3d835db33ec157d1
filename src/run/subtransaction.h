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
extern bool sst_is_about_session(const ErrorData *error);

#endif							/* SST_SUBTRANSACTION_H */
