/*-------------------------------------------------------------------------
 *
 * kind.h
 *	  Kinds of relations, and whether one can be read
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/relation/kind.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_KIND_H
#define SST_KIND_H

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

/*
 * Whether a relation can be read, and why not.  Decisions are made by the state;
 * the note is for people.
 */
typedef enum SstTargetState
{
	SST_TARGET_READABLE,
	SST_TARGET_INVALID,			/* an index that is not valid, but complete */

	/* All below cannot be read. */
	SST_TARGET_NOT_READY,		/* an index whose build has not ended */
	SST_TARGET_OTHER_TEMP,		/* of another session */
	SST_TARGET_NO_DATA,			/* unlogged, during recovery */
	SST_TARGET_PARTITIONED,
	SST_TARGET_NO_STORAGE,		/* a view, foreign table or composite type */
	SST_TARGET_OTHER_TABLE_AM,	/* not heap */
	SST_TARGET_WRONG_KIND,		/* another function reads it */
	SST_TARGET_MISSING			/* does not exist */
} SstTargetState;

#endif							/* SST_KIND_H */
