/*-------------------------------------------------------------------------
 *
 * set.h
 *	  What to warm
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/set.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_WARM_SET_H
#define SST_WARM_SET_H

#include "warm/warm.h"

/* A table with what belongs to it, or an index alone */
typedef struct SstWarmUnit
{
	Oid			relid;
	Oid			named;			/* it, or the partitioned one above that was
								 * named */
} SstWarmUnit;

/* The units of a call, in the order of warming; zeros at first */
typedef struct SstWarmUnits
{
	int			n;
	SstWarmUnit *units;
} SstWarmUnits;

/* What of a table is warmed */
typedef struct SstWarmParts
{
	bool		indexes;
	bool		toast;
	bool		maps;			/* free space maps and visibility maps */
	bool		only_maps;
} SstWarmParts;

/* Making a set */
extern void sst_warm_set_init(SstWarmSet *set);
extern int	sst_warm_set_add_fork(SstWarmSet *set, const SstRelation *relation,
								  ForkNumber forknum, int64 bytes);
extern void sst_warm_set_add_note(SstWarmSet *set, const SstRelation *relation,
								  const char *note);
extern void sst_warm_set_add_range(SstWarmSet *set, int fork, BlockNumber first,
								   BlockNumber end);
extern void sst_warm_set_totals(const SstWarmSet *set, int64 *nrelations,
								int64 *nblocks);

/* Of tables and indexes */
extern void sst_warm_units_add(SstWarmUnits *list, Oid relid);
extern void sst_warm_units_add_all(SstWarmUnits *list,
								   const SstRelations *relations,
								   const char *schema, bool by_use);
extern void sst_add_units(SstWarmSet *set, const SstRelations *relations,
						  const SstWarmUnits *units, const SstWarmParts *parts);

/* Where a second call continues */
extern char *sst_resume_text(const SstWarmSet *set);
extern void sst_resume(SstWarmSet *set, const char *text);

/* Who may warm a relation */
extern Oid	sst_table_of(Oid relid);
extern bool sst_may_warm_all(void);
extern bool sst_may_warm(Oid tableoid);

#endif							/* SST_WARM_SET_H */
