/*-------------------------------------------------------------------------
 *
 * family.h
 *	  A table with its maps, indexes and TOAST table
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/family.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_WARM_FAMILY_H
#define SST_WARM_FAMILY_H

#include "warm/set.h"
#include "warm/units.h"

/* What of a table is warmed */
typedef struct SstWarmParts
{
	bool		indexes;
	bool		toast;
	bool		maps;			/* free space maps and visibility maps */
	bool		only_maps;
	bool		only_upper;		/* inner pages of b-trees */
} SstWarmParts;

extern void sst_add_units(SstWarmSet *set, const SstRelations *relations,
						  const SstWarmUnits *units, const SstWarmParts *parts);

#endif							/* SST_WARM_FAMILY_H */
