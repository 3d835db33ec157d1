/*-------------------------------------------------------------------------
 *
 * pause.h
 *	  What code does now and then that takes CPU for long
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PAUSE_H
#define SST_PAUSE_H

typedef struct SstPause SstPause;

/* run/limits.c has what it does. */
struct SstPause
{
	bool		(*go_on) (SstPause *pause);
};

/*
 * To be called every few milliseconds of CPU, while no lock on a page is held: accepts
 * interrupts, and yields to sessions that wait.  False if the call's time is over: then the
 * result will not be used, and the caller is to end soon.
 */
static inline bool
sst_go_on(SstPause *pause)
{
	return pause == NULL || pause->go_on(pause);
}

#endif							/* SST_PAUSE_H */
