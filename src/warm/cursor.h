/*-------------------------------------------------------------------------
 *
 * cursor.h
 *	  Cutting the ranges to warm into runs
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/cursor.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_WARM_CURSOR_H
#define SST_WARM_CURSOR_H

#include "warm/locked_relations.h"
#include "warm/run_reader.h"
#include "warm/warm.h"

/* The place in a set from which the next run is taken */
typedef struct SstWarmCursor
{
	SstWarmSet *set;
	int64		range;
	int64		blkno;			/* or -1 before the range's first one */
	int			fork;			/* whose blocks are counted, or -1 */
	SstLockedRelations relations;	/* the last one is the fork's */
	Oid			begun;			/* relation that was begun last */
	int64		nbegun;
} SstWarmCursor;

extern void sst_cursor_init(SstWarmCursor *cursor, SstWarmSet *set,
							int max_relations);
extern bool sst_cursor_find(SstWarmCursor *cursor);
extern BlockNumber sst_cursor_blocks_ahead(const SstWarmCursor *cursor);
extern void sst_cursor_take(SstWarmCursor *cursor, SstWarmRun *run, int most,
							bool skips_buffered);
extern void sst_cursor_leave(SstWarmCursor *cursor);
extern void sst_cursor_note_rest(SstWarmCursor *cursor);
extern void sst_cursor_end(SstWarmCursor *cursor);

#endif							/* SST_WARM_CURSOR_H */
