/*-------------------------------------------------------------------------
 *
 * gain.h
 *	  What a rebuild changes of the sizes of relations
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/gain.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_GAIN_H
#define SST_GAIN_H

#include "report/report.h"

/* Bytes of some relations, now and after a rebuild */
typedef struct SstGain
{
	int			nrelations;
	double		bytes;
	double		predicted;
	SstEstimate reclaimable;	/* less than 0 where a rebuild makes it larger */
} SstGain;

extern double sst_entry_bytes(const SstReport *report, int i);
extern SstEstimate sst_entry_reclaimable(const SstReport *report, int i);

extern void sst_add_gain(const SstReport *report, int i, SstGain *gain);
extern void sst_add_gain_with_table(const SstReport *report, int i, bool by_inserts,
									SstGain *gain);
extern void sst_add_inserted_gain(const SstReport *report, int i, SstGain *gain);
extern double sst_inserted_waste(double bytes);

#endif							/* SST_GAIN_H */
