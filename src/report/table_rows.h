/*-------------------------------------------------------------------------
 *
 * table_rows.h
 *	  Row statistics from a table's sample, for the plan of commands
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/table_rows.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_TABLE_ROWS_H
#define SST_TABLE_ROWS_H

#include "report/bloat_estimate.h"

extern void sst_estimate_table_rows(const SstPageSample *sample,
									SstBloatEstimate *estimate);

#endif							/* SST_TABLE_ROWS_H */
