/*-------------------------------------------------------------------------
 *
 * blocking.h
 *	  Sessions that a call keeps waiting
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_BLOCKING_H
#define SST_BLOCKING_H

extern bool sst_is_blocking(void);
extern bool sst_must_yield(void);
extern void sst_check_blocking(void);

#endif							/* SST_BLOCKING_H */
