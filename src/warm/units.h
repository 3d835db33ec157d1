/*-------------------------------------------------------------------------
 *
 * units.h
 *	  The tables and indexes that a call names, in the order of warming
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/units.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_WARM_UNITS_H
#define SST_WARM_UNITS_H

#include "relation/relations.h"

/* A table with what belongs to it, or an index alone */
typedef struct SstWarmUnit
{
	Oid			relid;
	Oid			named;			/* it, or the partitioned one above that was
								 * named */
} SstWarmUnit;

typedef struct SstWarmUnits
{
	int			n;
	int			allocated;
	SstWarmUnit *units;
} SstWarmUnits;

extern void sst_warm_units_init(SstWarmUnits *list);
extern void sst_warm_units_add(SstWarmUnits *list, Oid relid);
extern void sst_warm_units_add_all(SstWarmUnits *list,
								   const SstRelations *relations,
								   const char *schema, bool by_use);

#endif							/* SST_WARM_UNITS_H */
