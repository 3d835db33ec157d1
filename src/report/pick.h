/*-------------------------------------------------------------------------
 *
 * pick.h
 *	  The commands that give back most within some time
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PICK_H
#define SST_PICK_H

/* A command that can be picked */
typedef struct SstChoice
{
	double		gain;			/* NaN if it repairs: it is worth more than
								 * any */
	double		seconds;		/* NaN if not known: it is not picked */
	int			slots;
	bool		picked;
} SstChoice;

extern void sst_pick(SstChoice *choices, int n, double seconds);

#endif							/* SST_PICK_H */
