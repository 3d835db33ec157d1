/*-------------------------------------------------------------------------
 *
 * result.h
 *	  Result rows from counters
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/result.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_RESULT_H
#define SST_RESULT_H

#include "api/row.h"
#include "fmgr.h"
#include "stats/counters.h"
#include "stream/stream.h"
#include "relation/target.h"
#include "visit/visit.h"

/* All that is known of a relation at the end of a scan, or of several */
typedef struct SstRelationStats
{
	Oid			relid;
	Oid			amoid;			/* access method */
	SstTargetKind kind;
	uint64		nblocks;
	SstCounters counters;
	SstMeta		meta;
	BlockNumber table_blocks;	/* of a BRIN index's table */
	double		reltuples;		/* estimate of pgstattuple_approx */
	int64		nranges;		/* of blocks that are not all-frozen */
	BlockNumber largest_range;	/* of these, in blocks */
	bool		unread;			/* counters and meta say nothing */
	bool		is_sum;			/* of several relations */
	const char *note;			/* what else is to be said, or NULL */
} SstRelationStats;

/*
 * A column that a function offers: its name and type, and the counter that it
 * shows or else the function that computes it.
 */
typedef struct SstColumn
{
	const char *name;
	Oid			type;
	SstCount	count;
	Datum		(*compute) (const SstRelationStats *found, bool *isnull);
} SstColumn;

/* The count c of what was found */
#define SST_COUNT(found, c) ((found)->counters.n[c])

extern Datum sst_form_row(FunctionCallInfo fcinfo, const SstColumn *columns,
						  int ncolumns, const SstRelationStats *found);
extern void sst_put_row(SstRow *row, const SstColumn *columns, int ncolumns,
						const SstRelationStats *found);

/* Columns of more than one function */
extern Datum sst_relation_column(const SstRelationStats *found, bool *isnull);
extern Datum sst_is_sum_column(const SstRelationStats *found, bool *isnull);
extern Datum sst_note_column(const SstRelationStats *found, bool *isnull);
extern Datum sst_avg_density_column(const SstRelationStats *found, bool *isnull);
extern Datum sst_version_column(const SstRelationStats *found, bool *isnull);
extern Datum sst_size_column(const SstRelationStats *found, bool *isnull);
extern Datum sst_blocks_column(const SstRelationStats *found, bool *isnull);
extern Datum sst_first_new_block_column(const SstRelationStats *found, bool *isnull);
extern Datum sst_first_corrupt_block_column(const SstRelationStats *found,
											bool *isnull);

extern Datum sst_tuple_percent_column(const SstRelationStats *found, bool *isnull);
extern Datum sst_dead_tuple_percent_column(const SstRelationStats *found,
										   bool *isnull);
extern Datum sst_free_percent_column(const SstRelationStats *found, bool *isnull);

extern Datum sst_percent(uint64 part, uint64 whole, bool *isnull);
extern Datum sst_two_decimals(double percent);

extern void sst_relation_stats_init(SstRelationStats *found, const SstTarget *target);

#endif							/* SST_RESULT_H */
