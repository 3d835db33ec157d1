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
	SST_GIST = 1 << 3,
	SST_SPGIST = 1 << 4,
	SST_BRIN = 1 << 5,
	SST_OTHER_INDEX = 1 << 6,	/* of an access method that core has not */
	SST_HEAP = 1 << 7,
	SST_SEQUENCE = 1 << 8
} SstTargetKind;

#define SST_ANY_INDEX (SST_BTREE | SST_HASH | SST_GIN | SST_GIST | \
					   SST_SPGIST | SST_BRIN | SST_OTHER_INDEX)
#define SST_TABLE (SST_HEAP | SST_SEQUENCE)

/* The note on an index that is not valid, in every function; not translated */
#define SST_INVALID_INDEX_NOTE \
	gettext_noop("index is not valid: its build has not completed")

typedef struct SstTarget
{
	Relation	rel;			/* open, AccessShareLock held */
	SstTargetKind kind;			/* 0 if it is none of them */
	const char *obstacle;		/* why it cannot be read now, or NULL */
	BlockNumber nblocks;		/* of the main fork, if it can be */
} SstTarget;

extern void sst_require_kind(Relation rel, int kinds);
extern void sst_target_examine(SstTarget *target, Relation rel);
extern void sst_target_open(SstTarget *target, Oid relid, int kinds);
extern void sst_target_adopt(SstTarget *target, Relation rel, int kinds);
extern void sst_target_close(SstTarget *target);

extern Relation sst_open_by_name(text *name);
extern Relation sst_open_with_table(Oid relid, Oid *tableoid);
extern bool sst_is_being_built(Relation rel);
extern void sst_refuse_other_temp(Relation rel, const char *message);

#endif							/* SST_TARGET_H */
