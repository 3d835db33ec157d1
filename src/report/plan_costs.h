/*-------------------------------------------------------------------------
 *
 * plan_costs.h
 *	  The gain, cost and effects of commands
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/plan_costs.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PLAN_COSTS_H
#define SST_PLAN_COSTS_H

#include "report/planned_command.h"

/* Bytes of some relations, now and after a rebuild */
typedef struct SstGain
{
	int			nrelations;
	double		bytes;
	double		predicted;
	SstEstimate reclaimable;	/* less than 0 where a rebuild makes it larger */
} SstGain;

extern SstEstimate sst_entry_reclaimable(const SstReport *report, int i);
extern double sst_entry_bytes(const SstReport *report, int i);
extern void sst_add_gain(const SstReport *report, int i, SstGain *gain);
extern void sst_add_gain_with_table(const SstReport *report, int i,
									bool by_inserts, SstGain *gain);
extern void sst_add_inserted_gain(const SstReport *report, int i,
								  SstGain *gain);
extern double sst_sort_bytes(double predicted);
extern void sst_set_gain(SstPlannedCommand *planned, const SstGain *gain);
extern const char *sst_size_pretty(double bytes);

#endif							/* SST_PLAN_COSTS_H */
