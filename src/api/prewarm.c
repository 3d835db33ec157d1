/*-------------------------------------------------------------------------
 *
 * prewarm.c
 *	  prewarm, prewarm_relations, prewarm_schema and prewarm_database
 *
 * They differ in the choice and order of tables and indexes.  No relation is
 * opened here: the set is made from catalog rows and file sizes.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/prewarm.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/objectaddress.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"

#include "api/arguments.h"
#include "api/warm_rows.h"
#include "relation/refuse.h"
#include "relation/relations.h"
#include "run/call.h"
#include "run/progress.h"
#include "warm/set.h"

PG_FUNCTION_INFO_V1(sst_prewarm_relation);
PG_FUNCTION_INFO_V1(sst_prewarm_relations);
PG_FUNCTION_INFO_V1(sst_prewarm_schema);
PG_FUNCTION_INFO_V1(sst_prewarm_database);

/* The arguments that all four have */
typedef struct PrewarmArguments
{
	SstWarmOptions options;
	SstLimits	limits;
	SstFreeBuffers free_buffers;
	SstWarmParts parts;
	const char *resume_from;	/* or NULL */
} PrewarmArguments;

/*
 * Arguments
 */

static bool
bool_argument(FunctionCallInfo fcinfo, int argno, bool defaultval)
{
	return PG_ARGISNULL(argno) ? defaultval : PG_GETARG_BOOL(argno);
}

/* ERROR if the arguments exclude what they restrict the call to. */
static void
check_parts(const SstWarmParts *parts)
{
	if (parts->only_maps && !parts->maps)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("only_maps cannot be used without include_maps")));
}

/* Get the arguments, which begin with mode. */
static void
get_arguments(FunctionCallInfo fcinfo, int argno, PrewarmArguments *args)
{
	memset(args, 0, sizeof(PrewarmArguments));
	args->options.mode = sst_prewarm_mode_argument(fcinfo, argno);
	args->options.limits = sst_warm_limits_arguments(fcinfo, argno + 1,
													 &args->limits);
	if (bool_argument(fcinfo, argno + 4, true))
		args->options.free_buffers = &args->free_buffers;
	args->parts.indexes = bool_argument(fcinfo, argno + 5, true);
	args->parts.toast = bool_argument(fcinfo, argno + 6, true);
	args->parts.maps = bool_argument(fcinfo, argno + 7, true);
	args->parts.only_maps = bool_argument(fcinfo, argno + 8, false);
	check_parts(&args->parts);
	if (!PG_ARGISNULL(argno + 9))
		args->resume_from = sst_text_argument(fcinfo, argno + 9, "resume_from");
}

/* ERROR if the user may not warm a relation, or it has nothing to warm. */
static void
check_relation(Oid relid)
{
	char		relkind = get_rel_relkind(relid);
	char	   *name = get_rel_name(relid);

	if (name == NULL)
		return;					/* it is gone, and gets a note */
	if (!sst_may_warm_all() && !sst_may_warm(sst_table_of(relid)))
		aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(relkind), name);
	if (relkind != RELKIND_PARTITIONED_TABLE &&
		relkind != RELKIND_PARTITIONED_INDEX)
		sst_refuse_without_storage(name, relkind);
}

static char *
schema_argument(FunctionCallInfo fcinfo, int argno)
{
	char	   *name;

	if (PG_ARGISNULL(argno))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("schema cannot be null")));

	name = get_namespace_name(PG_GETARG_OID(argno));
	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_SCHEMA),
				 errmsg("schema with OID %u does not exist",
						PG_GETARG_OID(argno))));

	return name;
}

/*
 * Warming
 */

static void
begin_call(SstCall *call, FunctionCallInfo fcinfo)
{
	sst_call_begin(call, fcinfo, SST_PROGRESS_UNKNOWN, SST_PROGRESS_UNKNOWN);
	sst_progress_phase(SST_PHASE_CATALOG);
}

/* Warm what belongs to units of a list, and return the rows. */
static void
warm_units(FunctionCallInfo fcinfo, SstCall *call,
		   const SstRelations *relations, const SstWarmUnits *units,
		   const PrewarmArguments *args)
{
	int64		nrelations;
	int64		nblocks;
	SstWarmSet	set;
	SstWarmEnd	end;

	sst_warm_set_init(&set);
	sst_add_units(&set, relations, units, &args->parts);
	if (args->resume_from != NULL)
		sst_resume(&set, args->resume_from);

	sst_warm_set_totals(&set, &nrelations, &nblocks);
	sst_progress_totals(nrelations, nblocks * BLCKSZ);
	sst_progress_phase(SST_PHASE_SCANNING);
	end = sst_warm(&set, &args->options, &call->io_stats);
	sst_call_end(call);

	sst_put_warm_rows(fcinfo, &set, end, end == SST_WARM_COMPLETE ? NULL :
					  sst_resume_text(&set));
}

/* Warm relations that are named, and return the rows. */
static void
warm_named(FunctionCallInfo fcinfo, const Oid *relids, int n,
		   const PrewarmArguments *args)
{
	SstWarmUnits units = {0};
	SstRelations relations;
	SstCall		call;
	Oid		   *all;

	begin_call(&call, fcinfo);
	for (int i = 0; i < n; i++)
		sst_warm_units_add(&units, relids[i]);

	all = palloc_extended(sizeof(Oid) * Max(units.n, 1), MCXT_ALLOC_HUGE);
	for (int i = 0; i < units.n; i++)
		all[i] = units.units[i].relid;
	sst_list_chosen_relations(&relations, all, units.n);
	warm_units(fcinfo, &call, &relations, &units, args);
}

/*
 * Warm the tables of a schema, or of the database for NULL, and return the rows.  A
 * call in mode buffer brings in what is used most.  In the other modes a second call
 * has to find the order of the first, as it cannot tell what that has read.
 */
static void
warm_all(FunctionCallInfo fcinfo, const char *schema,
		 const PrewarmArguments *args)
{
	SstWarmUnits units = {0};
	SstRelations relations;
	SstCall		call;

	begin_call(&call, fcinfo);
	sst_list_relations(&relations);
	sst_warm_units_add_all(&units, &relations, schema,
						   args->options.mode == SST_PREWARM_BUFFER);
	warm_units(fcinfo, &call, &relations, &units, args);
}

/*
 * SQL entry points
 */

Datum
sst_prewarm_relation(PG_FUNCTION_ARGS)
{
	Oid			relid = sst_relation_argument(fcinfo);
	PrewarmArguments args;

	get_arguments(fcinfo, 1, &args);
	check_relation(relid);
	warm_named(fcinfo, &relid, 1, &args);

	return (Datum) 0;
}

Datum
sst_prewarm_relations(PG_FUNCTION_ARGS)
{
	int			n;
	Oid		   *relids = sst_relations_argument(fcinfo, 0, &n);
	PrewarmArguments args;

	get_arguments(fcinfo, 1, &args);
	warm_named(fcinfo, relids, n, &args);

	return (Datum) 0;
}

Datum
sst_prewarm_schema(PG_FUNCTION_ARGS)
{
	const char *schema = schema_argument(fcinfo, 0);
	PrewarmArguments args;

	get_arguments(fcinfo, 1, &args);
	warm_all(fcinfo, schema, &args);

	return (Datum) 0;
}

Datum
sst_prewarm_database(PG_FUNCTION_ARGS)
{
	PrewarmArguments args;

	get_arguments(fcinfo, 0, &args);
	warm_all(fcinfo, NULL, &args);

	return (Datum) 0;
}
