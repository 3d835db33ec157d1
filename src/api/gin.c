/*-------------------------------------------------------------------------
 *
 * gin.c
 *	  pgstatginindex
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/gin.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "api/call.h"

PG_FUNCTION_INFO_V1(sst_pgstatginindex);

static Datum
pending_pages(const SstFindings *found, bool *isnull)
{
	return UInt32GetDatum(found->meta.pending_pages);
}

static Datum
pending_tuples(const SstFindings *found, bool *isnull)
{
	return Int64GetDatum(found->meta.pending_tuples);
}

static const SstColumn gin_columns[] = {
	{"version", INT4OID, 0, sst_version_column},
	{"pending_pages", INT4OID, 0, pending_pages},
	{"pending_tuples", INT8OID, 0, pending_tuples},
};

Datum
sst_pgstatginindex(PG_FUNCTION_ARGS)
{
	SstTarget	target;
	SstFindings found;

	sst_open_argument(fcinfo, &target, SST_GIN);
	target.nblocks = Min(target.nblocks, 1);
	sst_scan_as_contrib(&target, SST_RULES_PGSTATINDEX, &found,
						"pgstatginindex");
	sst_target_close(&target);

	return sst_form_row(fcinfo, gin_columns, lengthof(gin_columns), &found);
}
