/*-------------------------------------------------------------------------
 *
 * columns.h
 *	  What is known of a relation at the end of a scan, as columns of rows
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/columns.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_COLUMNS_H
#define SST_COLUMNS_H

#include "am/visit.h"
#include "stats/estimate.h"

/* All that is known of a relation at the end of a scan, or of several */
typedef struct SstRelationStats
{
	Oid			relid;
	Oid			amoid;			/* access method */
	const struct SstAccessMethod *am;	/* or NULL */
	uint64		nblocks;
	SstCounters counters;
	SstMeta		meta;
	BlockNumber table_blocks;	/* of a BRIN index's table */
	bool		unread;			/* counters and meta say nothing */
	bool		is_sum;			/* of several relations */
	const char *note;			/* what else is to be said, or NULL */
} SstRelationStats;

/*
 * A column that a function offers: its name and type, and the counter or the field of
 * the metapage that it shows, or else the function that computes it.  A counter can be
 * shown in percent of another one, or what it leaves of that.  What is of a known access
 * method only is null for another one.
 *
 * sample_stats estimates percentages, and counters for which a limit is given.
 */
typedef struct SstColumn
{
	const char *name;
	Oid			type;
	SstCount	count;
	Datum		(*compute) (const SstRelationStats *found, bool *isnull);
	int			meta;			/* 0 if it is no field of the metapage */
	SstCount	percent_of;		/* 0 if it is no percentage */
	bool		left;
	bool		of_known;
	uint32		most;			/* limit on the counter of one page, or 0 */
	const SstItems *items;		/* what it counts, for a closer limit; or NULL */
	bool		main;			/* a margin applies to it */
	bool		plus_pages;		/* unused pages are added to the counter */
} SstColumn;

typedef struct SstColumns
{
	const SstColumn *column;
	int			n;
} SstColumns;

#define SST_COLUMNS(table) (&(SstColumns) {(table), lengthof(table)})

/* The count c of what was found */
#define SST_COUNT(found, c) ((found)->counters.n[c])

/* Columns of more than one function */
extern Datum sst_size_column(const SstRelationStats *found, bool *isnull);
extern Datum sst_blocks_column(const SstRelationStats *found, bool *isnull);
extern Datum sst_first_new_block_column(const SstRelationStats *found, bool *isnull);
extern Datum sst_first_corrupt_block_column(const SstRelationStats *found,
											bool *isnull);

/* Those about the size */
#define SST_SIZE_COLUMNS \
	{"bytes", INT8OID, 0, sst_size_column}, \
	{"pages", INT8OID, 0, sst_blocks_column}

/* Those about new and corrupt pages, which nearly all functions have */
#define SST_DAMAGE_COLUMNS \
	{"new_pages", INT8OID, SST_NEW_PAGES, .most = 1}, \
	{"corrupt_pages", INT8OID, SST_CORRUPT_PAGES, .most = 1}, \
	{"first_new_block", INT8OID, 0, sst_first_new_block_column}, \
	{"first_corrupt_block", INT8OID, 0, sst_first_corrupt_block_column}

extern bool sst_column_statistic(const SstColumn *column,
								 SstStatistic *statistic);
extern Datum sst_percent(uint64 part, uint64 whole, bool *isnull);
extern Datum sst_two_decimals(double percent);

#endif							/* SST_COLUMNS_H */
