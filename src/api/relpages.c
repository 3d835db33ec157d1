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

#include "relation/refuse.h"
#include "relation/target.h"

PG_FUNCTION_INFO_V1(sst_pg_relpages);
PG_FUNCTION_INFO_V1(sst_pg_relpagesbyid);

static int64
pg_relpages_internal(Relation rel)
{
	int64		nblocks;

	sst_refuse_for_pg_relpages(rel);

	/* The file's length is right for other sessions' temporary tables, too. */
	nblocks = RelationGetNumberOfBlocks(rel);
	relation_close(rel, AccessShareLock);

	return nblocks;
}

Datum
sst_pg_relpages(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(pg_relpages_internal(sst_open_by_name(PG_GETARG_TEXT_PP(0))));
}

Datum
sst_pg_relpagesbyid(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(pg_relpages_internal(relation_open(PG_GETARG_OID(0),
													   AccessShareLock)));
}
