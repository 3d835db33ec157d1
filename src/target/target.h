/*-------------------------------------------------------------------------
 *
 * target.h
 *	  The relation that a call is about
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/target/target.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_TARGET_H
#define SST_TARGET_H

#include "storage/block.h"
#include "utils/rel.h"

/*
 * What a relation is to us.  The values can be or'ed to say what a function
 * accepts.
 */
typedef enum SstTargetKind
{
	SST_BTREE = 1 << 0,
	SST_HASH = 1 << 1,
	SST_GIN = 1 << 2,
	SST_HEAP = 1 << 3,
} SstTargetKind;

typedef struct SstTarget
{
	Relation	rel;			/* open, AccessShareLock held */
	SstTargetKind kind;
	BlockNumber nblocks;		/* of the main fork, once locked */
} SstTarget;

extern void sst_target_open(SstTarget *target, Oid relid, int kinds);
extern void sst_target_adopt(SstTarget *target, Relation rel, int kinds);
extern void sst_target_close(SstTarget *target);

extern Relation sst_open_by_name(text *name);
extern void sst_refuse_other_temp(Relation rel, const char *message);

#endif							/* SST_TARGET_H */
