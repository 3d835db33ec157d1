/*-------------------------------------------------------------------------
 *
 * relpages.c
 *	  pg_relpages
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/relpages.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "fmgr.h"
#include "storage/bufmgr.h"

#include "api/one_relation.h"
#include "relation/refuse.h"

PG_FUNCTION_INFO_V1(sst_pg_relpages);
PG_FUNCTION_INFO_V1(sst_pg_relpagesbyid);

Datum
sst_pg_relpages(PG_FUNCTION_ARGS)
{
	Relation	rel = sst_open_name_or_oid(fcinfo);
	int64		nblocks;

	sst_refuse_for_pg_relpages(rel);

	/* The file's length is right for other sessions' temporary tables, too. */
	nblocks = RelationGetNumberOfBlocks(rel);
	relation_close(rel, AccessShareLock);

	PG_RETURN_INT64(nblocks);
}

Datum
sst_pg_relpagesbyid(PG_FUNCTION_ARGS)
{
	return sst_pg_relpages(fcinfo);
}
