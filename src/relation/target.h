/*-------------------------------------------------------------------------
 *
 * target.h
 *	  The relation that a call is about
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/relation/target.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_TARGET_H
#define SST_TARGET_H

#include "relation/refuse.h"

typedef struct SstTarget
{
	Relation	rel;			/* open, AccessShareLock held; or NULL */
	Oid			relid;
	const SstAccessMethod *am;	/* or NULL */
	SstTargetKind kind;			/* 0 if it is none of them */
	SstTargetState state;
	const char *note;			/* on that state, translated, or NULL */
	bool		distributed;	/* a shell: Citus has its data in shards */
	BlockNumber nblocks;		/* of the main fork, if it can be read */
	Oid			tableoid;		/* its table, locked with it, or InvalidOid */
} SstTarget;

static inline bool
sst_target_is_readable(const SstTarget *target)
{
	return target->state <= SST_TARGET_INVALID;
}

extern void sst_target_examine(SstTarget *target, Relation rel);
extern void sst_target_try_open(SstTarget *target, Oid relid, int kinds);
extern void sst_target_try_open_with_table(SstTarget *target, Oid relid,
										   int kinds);
extern void sst_target_adopt(SstTarget *target, Relation rel, int kinds,
							 SstRules rules);
extern void sst_target_adopt_index(SstTarget *target, Relation rel,
								   const SstAccessMethod *am, SstRules rules);
extern void sst_target_try_lock(SstTarget *target, Oid relid, Oid tableoid);
extern void sst_target_close(SstTarget *target);
extern Relation sst_open_with_table(Oid relid, Oid *tableoid);

#endif							/* SST_TARGET_H */
