/*-------------------------------------------------------------------------
 *
 * dead_rows.h
 *	  Rows of an index's table that an index build skips
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/dead_rows.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_DEAD_ROWS_H
#define SST_DEAD_ROWS_H

#include "report/bloat_estimate.h"

/* An index's table, while its dead rows are looked for */
typedef struct SstTableRows
{
	SstTarget	table;
	bool		readable;
	SstBlockSet *visible;		/* blocks known to be all-visible, or NULL */
	BlockNumber nothers;		/* all other blocks */
} SstTableRows;

extern void sst_table_rows_begin(SstTableRows *rows, Oid relid);
extern void sst_table_rows_end(SstTableRows *rows);

extern void sst_read_visible_blocks(SstTableRows *rows, BlockNumber most,
									SstSampling *sampling);
extern SstDeadTids *sst_read_dead_rows(SstTableRows *rows,
									   const SstBlockSet *blocks,
									   SstSampling *sampling);

/* Can there be dead rows in the block?  One behind the end has been added since. */
static inline bool
sst_may_have_dead_rows(const SstTableRows *rows, BlockNumber blkno)
{
	return blkno < rows->table.nblocks &&
		(rows->visible == NULL ||
		 !sst_block_set_contains(rows->visible, blkno));
}

#endif							/* SST_DEAD_ROWS_H */
