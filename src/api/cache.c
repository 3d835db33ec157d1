/*-------------------------------------------------------------------------
 *
 * cache.c
 *	  cache_summary and cache_map: what of the database's relations is cached
 *
 * No relation is opened or locked: files and buffers are found by the numbers that
 * the catalogs have for them.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/builtins.h"

#include "api/api.h"
#include "stream/buffered.h"
#include "stream/segment_file.h"

PG_FUNCTION_INFO_V1(sst_cache_summary);
PG_FUNCTION_INFO_V1(sst_cache_map);

/* Bytes in percent of all; NaN where there are none, or they are not known (-1) */
static double
percent_of(int64 bytes, int64 all)
{
	return all > 0 && bytes >= 0 ? 100.0 * bytes / all : NAN;
}

/* A row about a fork, if it has a file */
static void
put_summary(SstRow *row, const SstRelation *relation, ForkNumber forknum,
			SstForkSums *sums)
{
	static const SstForkSum nothing = {{0}};
	bool		local = relation->persistence == RELPERSISTENCE_TEMP;
	const SstForkSum *buffered = sst_find_fork_sum(sums, &relation->files,
												   forknum);
	int64		bytes = forknum == MAIN_FORKNUM ? relation->bytes :
		sst_fork_bytes(&relation->files, forknum);
	int64		page_cache;
	SstSegmentFile file;

	if (bytes < 0)
		return;

	if (buffered == NULL)
		buffered = &nothing;
	sst_segment_file_init_files(&file, &relation->files, forknum);
	page_cache = sst_page_cache_range(&file, 0, (bytes + BLCKSZ - 1) / BLCKSZ);
	sst_segment_file_close(&file);
	sst_put_relation(row, relation);
	sst_put_text(row, "fork", forkNames[forknum]);
	sst_put_int64(row, "bytes", bytes);
	sst_put_count(row, "buffered_bytes", local ? -1 : buffered->nblocks * BLCKSZ);
	sst_put_count(row, "dirty_bytes", local ? -1 : buffered->ndirty * BLCKSZ);
	sst_put_count(row, "pinned_bytes", local ? -1 : buffered->npinned * BLCKSZ);
	sst_put_float8(row, "usage_count", buffered->nblocks == 0 ? NAN :
				   (double) buffered->usage / buffered->nblocks);
	sst_put_float8(row, "buffered_percent", local ? NAN :
				   percent_of(buffered->nblocks * BLCKSZ, bytes));
	sst_put_count(row, "page_cache_bytes", page_cache);
	sst_put_float8(row, "page_cache_percent", percent_of(page_cache, bytes));
	sst_row_store(row);
}

/*
 * Rows for the ranges of adjacent blocks of a fork with the same usage count, from a
 * list of blocks
 */
static void
put_ranges(SstRow *row, const SstRelation *relation, ForkNumber forknum,
		   const SstBufferedBlocks *list)
{
	const SstFiles *files = &relation->files;
	const SstBufferedBlock *first = sst_first_buffered_block(list, files, forknum);
	const SstBufferedBlock *end = first;

	while (end < list->blocks + list->n &&
		   sst_compare_files(files->tablespace, files->number, forknum, end) == 0)
		end++;
	for (const SstBufferedBlock *block = first; block < end; block++)
	{
		const SstBufferedBlock *next = block + 1;

		if (next < end && next->usage == first->usage &&
			next->blkno - block->blkno <= 1)
			continue;

		sst_put_relation(row, relation);
		sst_put_text(row, "fork", forkNames[forknum]);
		sst_put_int64(row, "first_block", first->blkno);
		sst_put_int64(row, "last_block", block->blkno);
		sst_put_float8(row, "usage_count", first->usage);
		sst_row_store(row);
		first = next;
	}
}

Datum
sst_cache_summary(PG_FUNCTION_ARGS)
{
	SstRow		row;
	SstRelations relations;
	SstForkSums *sums;

	sst_rows_begin(&row, fcinfo);
	sst_list_relations(&relations);
	sums = sst_sum_buffered_blocks();
	for (int i = 0; i < relations.n; i++)
	{
		const SstRelation *relation = &relations.relation[i];

		CHECK_FOR_INTERRUPTS();
		for (ForkNumber forknum = MAIN_FORKNUM;
			 relation->bytes >= 0 && forknum <= MAX_FORKNUM; forknum++)
			put_summary(&row, relation, forknum, sums);
	}

	return (Datum) 0;
}

Datum
sst_cache_map(PG_FUNCTION_ARGS)
{
	SstRow		row;
	SstRelations relations;
	SstBufferedBlocks list;

	sst_rows_begin(&row, fcinfo);
	sst_list_relations(&relations);
	sst_list_buffered_blocks(&list, false);
	for (int i = 0; i < relations.n; i++)
	{
		const SstRelation *relation = &relations.relation[i];

		CHECK_FOR_INTERRUPTS();
		for (ForkNumber forknum = MAIN_FORKNUM;
			 relation->bytes >= 0 && forknum <= MAX_FORKNUM; forknum++)
			put_ranges(&row, relation, forknum, &list);
	}

	return (Datum) 0;
}
