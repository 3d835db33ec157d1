/*-------------------------------------------------------------------------
 *
 * pg_prewarm.c
 *	  pg_prewarm, with the arguments and the errors of contrib's
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/pg_prewarm.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/objectaddress.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"

#include "api/arguments.h"
#include "run/call.h"
#include "run/prewarm.h"
#include "run/progress.h"
#include "relation/refuse.h"
#include "relation/target.h"

PG_FUNCTION_INFO_V1(sst_pg_prewarm);

/* A block number argument, or the default where it is null. */
static int64
block_argument(FunctionCallInfo fcinfo, int argno, const char *what,
			   int64 nblocks, int64 defaultval)
{
	int64		blkno;

	if (PG_ARGISNULL(argno))
		return defaultval;

	blkno = PG_GETARG_INT64(argno);
	if (blkno < 0 || blkno >= nblocks)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s block number must be between 0 and %lld",
						what, (long long) (nblocks - 1))));

	return blkno;
}

/*
 * Open the relation if the user may prewarm it, which is up to whoever may
 * read the table: its own privileges, or for an index those of its table.
 * *tableoid is the OID that is locked besides the relation, or InvalidOid.
 */
static Relation
open_for_prewarm(Oid relid, Oid *tableoid)
{
	Relation	rel = sst_open_with_table(relid, tableoid);
	AclResult	aclresult;

	aclresult = pg_class_aclcheck(OidIsValid(*tableoid) ? *tableoid : relid,
								  GetUserId(), ACL_SELECT);
	if (aclresult != ACLCHECK_OK)
		aclcheck_error(aclresult, get_relkind_objtype(rel->rd_rel->relkind),
					   get_rel_name(relid));

	return rel;
}

Datum
sst_pg_prewarm(PG_FUNCTION_ARGS)
{
	SstPrewarmPlan plan;
	Relation	rel;
	Oid			relid;
	Oid			tableoid;
	int64		nblocks;
	int64		ndone;
	SstCall		call;

	relid = sst_relation_argument(fcinfo);
	plan.mode = sst_prewarm_mode_argument(fcinfo, 1);
	plan.forknum = forkname_to_number(sst_text_argument(fcinfo, 2, "relation fork"));

	rel = open_for_prewarm(relid, &tableoid);
	sst_refuse_for_pg_prewarm(rel, plan.forknum);

	nblocks = RelationGetNumberOfBlocksInFork(rel, plan.forknum);
	plan.first = block_argument(fcinfo, 3, "starting", nblocks, 0);
	plan.end = block_argument(fcinfo, 4, "ending", nblocks, nblocks - 1) + 1;

	sst_call_begin(&call, fcinfo, 1, SST_PROGRESS_UNKNOWN);
	sst_call_set_relation(&call, rel);
	ndone = sst_prewarm(&plan, rel, &call.io_stats);
	sst_call_end(&call);

	relation_close(rel, AccessShareLock);
	if (OidIsValid(tableoid))
		UnlockRelationOid(tableoid, AccessShareLock);

	PG_RETURN_INT64(ndone);
}
