/*-------------------------------------------------------------------------
 *
 * table_rows.c
 *	  Row statistics from a table's sample, for the plan of commands
 *
 * The bytes of dead rows are counted, but of the rows that VACUUM must keep only
 * the number.  So their bytes follow from the mean length of a dead row.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/table_rows.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "report/table_rows.h"

/* Estimate how many dead rows VACUUM must keep, and the length of a row. */
void
sst_estimate_table_rows(const SstPageSample *sample, SstBloatEstimate *estimate)
{
	double		sums[SST_NCOUNTS];
	double		tuples;

	sst_sample_sums(sample, 1, sums);
	tuples = sums[SST_TUPLES] + sums[SST_DEAD_TUPLES];
	estimate->recently_dead_percent = sums[SST_DEAD_TUPLES] > 0 ?
		estimate->dead_percent.value * sums[SST_RECENTLY_DEAD_TUPLES] /
		sums[SST_DEAD_TUPLES] : 0;
	estimate->row_bytes = tuples > 0 ?
		(sums[SST_TUPLE_BYTES] + sums[SST_DEAD_TUPLE_BYTES]) / tuples : 0;
}
