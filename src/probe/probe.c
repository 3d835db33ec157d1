/*-------------------------------------------------------------------------
 *
 * probe.c
 *	  Probing the storage of tablespaces, round by round; the session keeps the last result
 *
 * A disk that others use, or that has a burst allowance, changes its speed
 * from second to second.  So everything is tried once in each round, in an
 * order that is shuffled, and the figures of a round are compared with each
 * other only.  The depth that a setting has now is tried twice: how much its
 * two figures differ is what differences of that size are worth.
 *
 * Rounds go on until it is clear what the figures say about each setting, or a
 * limit is reached; from the first look on only with cells of settings that are
 * not clear.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_tablespace.h"
#include "common/pg_prng.h"
#include "nodes/bitmapset.h"
#include "storage/procarray.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/spccache.h"

#include "compat/shared_blocks.h"
#include "probe/figures.h"
#include "relation/relation.h"
#include "run/call.h"

/* Deeper settings count as these. */
#define MAX_DEPTH (SST_PROBE_MAX_READS / 2)
#define MAX_SEQUENTIAL_DEPTH 32

/* Coarse steps from 1 up, so that two probes find the same one */
#define STEP 4
#define MAX_RANDOM_STEP 64
#define MAX_SEQUENTIAL_STEP 16

/* Reads that count are a multiple of the depth, and so many at least. */
#define RANDOM_READS 48
#define SEQUENTIAL_READS 7

/* Blocks of a sequential read, unless io_combine_limit is less */
#define SEQUENTIAL_BLOCKS Max(128 * 1024 / BLCKSZ, 1)

/* Beside other sessions a probe takes this share of the time, unless it has a rate. */
#define SHARE_BESIDE_OTHERS 0.05

/* Add the cells of a pattern: the usual depths, and those of present settings. */
static void
add_curve(SstProbe *probe, SstProbeResult *result, SstProbePattern pattern, int nblocks,
		  Bitmapset *depths)
{
	bool		random = (pattern == SST_PROBE_RANDOM);
	int			most = random ? MAX_RANDOM_STEP : MAX_SEQUENTIAL_STEP;
	int			least = random ? RANDOM_READS : SEQUENTIAL_READS;
	Bitmapset  *steps = NULL;
	int			depth = -1;

	for (int step = 1; step <= most; step *= STEP)
		steps = bms_add_member(steps, step);
	depths = bms_add_members(depths, steps);
	while ((depth = bms_next_member(depths, depth)) >= 0)
	{
		SstProbeCell *cell = &result->cells[result->ncells++];

		cell->pattern = pattern;
		cell->depth = depth;
		cell->nblocks = nblocks;
		cell->ncounted = (least + depth - 1) / depth * depth;
		cell->nreads = cell->ncounted + depth;
		cell->copies = 1;
		cell->is_step = bms_is_member(depth, steps);
		cell->needed = true;
		cell->times = MemoryContextAlloc(probe->context, sizeof(double) * SST_PROBE_TIMES);
	}
}

/* How many reads are in flight with a value of a setting, of which so many can be? */
static int
clamp(int value, int most)
{
	return Max(Min(value, most), 1);
}

/* Add a setting, with the cell of its present value. */
static void
add_setting(SstProbeResult *result, const char *name, SstProbePattern pattern,
			int present, int most)
{
	SstProbeSetting *setting = &result->settings[result->nsettings++];

	setting->name = name;
	setting->pattern = pattern;
	setting->present = present;
	setting->most = most;
	for (int i = 0; i < result->ncells; i++)
	{
		SstProbeCell *cell = &result->cells[i];

		if (cell->pattern == pattern && cell->depth == clamp(present, most))
		{
			cell->copies = 2;
			setting->base = i;
		}
	}
}

/* An integer setting in its own unit; 0 if the server does not have it */
static int
int_setting(const char *name)
{
	const char *value = GetConfigOption(name, true, false);

	return value == NULL ? 0 : atoi(value);
}

/*
 * Decide what is tried: the depths of the curves, and those of the present settings.
 * The server has no more in flight than workers that read, where workers do, and VACUUM
 * no more than half of its ring of buffers.
 */
static void
plan_cells(SstProbe *probe, SstProbeResult *result)
{
	const char *method = GetConfigOption("io_method", true, false);
	bool		by_workers = method != NULL && strcmp(method, "worker") == 0;
	bool		vacuum_streams = by_workers ||
		(method != NULL && strcmp(method, "io_uring") == 0);
	SstProbePattern pattern = vacuum_streams ? SST_PROBE_SEQUENTIAL : SST_PROBE_RANDOM;
	const char *name = int_setting("io_workers") > 0 ? "io_workers" : "io_max_workers";
	int			effective = get_tablespace_io_concurrency(result->tablespace);
	int			maintenance = get_tablespace_maintenance_io_concurrency(result->tablespace);
	int			workers = by_workers ? clamp(int_setting(name), MAX_DEPTH) : MAX_DEPTH;
	int			most = workers;
	int			combine_limit = int_setting("io_combine_limit");
	int			nblocks = combine_limit > 0 ?
		Min(combine_limit, SEQUENTIAL_BLOCKS) : SEQUENTIAL_BLOCKS;
	int			ring_kb = int_setting("vacuum_buffer_usage_limit");
	Bitmapset  *random = bms_make_singleton(clamp(effective, workers));
	Bitmapset  *sequential = NULL;

	result->has_io_method = (method != NULL);
	if (vacuum_streams)
		most = Min(workers, MAX_SEQUENTIAL_DEPTH);
	if (vacuum_streams && ring_kb > 0)
		most = clamp(ring_kb / (BLCKSZ / 1024) / 2 / nblocks, most);

	if (by_workers)
		random = bms_add_member(random, workers);
	if (vacuum_streams)
		sequential = bms_make_singleton(clamp(maintenance, most));
	else
		random = bms_add_member(random, clamp(maintenance, most));
	add_curve(probe, result, SST_PROBE_RANDOM, 1, random);
	add_curve(probe, result, SST_PROBE_SEQUENTIAL, nblocks, sequential);

	add_setting(result, "effective_io_concurrency", SST_PROBE_RANDOM, effective, workers);
	add_setting(result, "maintenance_io_concurrency", pattern, maintenance, most);
	if (by_workers)
	{
		add_setting(result, name, SST_PROBE_RANDOM, workers, MAX_DEPTH);
		result->settings[result->nsettings - 1].is_workers = true;
	}
}

/* Mark the cells that more rounds are of use for; false if there are none. */
static bool
look(SstProbeResult *result)
{
	bool		unclear = false;

	for (int i = 0; i < result->ncells; i++)
	{
		SstProbeCell *cell = &result->cells[i];

		cell->needed = false;
		for (int s = 0; s < result->nsettings; s++)
			cell->needed |= result->settings[s].pattern == cell->pattern &&
				!sst_probe_judge(result, &result->settings[s]).clear;
		unclear |= cell->needed;
	}
	return unclear;
}

/* Has another session a snapshot, that is, is it doing something? */
static bool
others_are_active(void)
{
	int			n;

	pfree(GetCurrentVirtualXIDs(InvalidTransactionId, true, true, 0, &n));

	return n > 0;
}

/* Read a cell, after the pause that is owed if the disk is others' as well. */
static bool
run_cell(SstProbeTarget *target, SstProbeCell *cell, double *rate)
{
	SstProbe   *probe = target->probe;
	double		took_ms;

	probe->beside_others |= others_are_active();
	if (!probe->beside_others || probe->throttle.rate > 0)
		probe->owed_seconds = 0;
	if (sst_seconds_left(&probe->limits) - probe->owed_seconds <= target->kept_seconds ||
		!sst_throttle_rest(&probe->throttle, probe->owed_seconds) ||
		!sst_probe_read(target, cell, rate, &took_ms))
		return false;

	probe->owed_seconds = took_ms / 1000 * (1 / SHARE_BESIDE_OTHERS - 1);
	return true;
}

/* Read each cell that is needed, in any order.  False if a limit does not allow more. */
static bool
run_round(SstProbeTarget *target, int round)
{
	SstProbeResult *result = target->result;
	int			runs[2 * SST_MAX_PROBE_CELLS];	/* a cell, and which copy */
	int			n = 0;
	bool		whole = true;

	for (int i = 0; i < result->ncells; i++)
	{
		for (int copy = 0; result->cells[i].needed && copy < result->cells[i].copies; copy++)
			runs[n++] = 2 * i + copy;
	}

	for (; n > 0; n--)
	{
		int			drawn = (int) pg_prng_uint64_range(&pg_global_prng_state, 0, n - 1);
		int			copy = runs[drawn] % 2;
		SstProbeCell *cell = &result->cells[runs[drawn] / 2];
		int64		bytes = (int64) cell->nreads * cell->nblocks * BLCKSZ;

		runs[drawn] = runs[n - 1];
		if (bytes > target->probe->limits.bytes_left - target->kept_bytes)
			whole = false;
		else if (!run_cell(target, cell, &cell->rate[copy][round]))
			return false;
	}
	return whole;
}

/* Try a target until the figures are clear, with an even share of what is left of the limits. */
static void
try_target(void *arg)
{
	SstProbeTarget *target = arg;
	const SstLimits *limits = &target->probe->limits;
	double		others = (target->ntargets_left - 1.0) / target->ntargets_left;
	int			next_look = SST_PROBE_LOOK;

	target->kept_seconds = sst_seconds_left(limits) * others;
	target->kept_bytes = (int64) (limits->bytes_left * others);
	plan_cells(target->probe, target->result);
	for (int round = 0; round < SST_PROBE_ROUNDS && !target->result->limited; round++)
	{
		if (round == next_look)
		{
			next_look *= 2;
			if (!look(target->result))
				break;
		}
		target->result->limited = !run_round(target, round);
	}
	sst_segment_file_close(&target->places.file);
}

/* ----------
 * Which relations are probed
 * ----------
 */

/* Smaller relations have too few places to read. */
#define MIN_BYTES (8 * 1024 * 1024)

/*
 * The session's last probe, or NULL.  It is process state because io_advice() shows
 * what an earlier call has measured.
 */
static SstProbe *last_probe;

/* The session's last probe, or NULL if there was none */
const SstProbe *
sst_last_probe(void)
{
	return last_probe;
}

/* Add a result, which has no cells. */
static SstProbeResult *
add_result(SstProbe *probe, Oid tablespace, Oid relid, const char *note)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(probe->context);
	SstProbeResult *result = palloc0(sizeof(SstProbeResult));

	result->tablespace = tablespace;
	result->relid = relid;
	result->note = note == NULL ? NULL : pstrdup(note);
	probe->results = lappend(probe->results, result);
	MemoryContextSwitchTo(oldcontext);

	return result;
}

/*
 * Try a target.  An error about its blocks ends that, and becomes its note.  In recovery,
 * which allows no subtransaction, the error passes.
 */
static void
try_contained(SstProbeTarget *target)
{
	ErrorData  *error = sst_contain_errors(try_target, target);

	if (error == NULL)
		return;
	if (error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE)
		ReThrowError(error);

	target->result->note = MemoryContextStrdup(target->probe->context, error->message);
	FreeErrorData(error);
}

/* Why there are not all figures, if no error is the reason, or NULL */
static const char *
missing_note(const SstProbeTarget *target)
{
	const SstProbeResult *result = target->result;
	int			nmissing = 0;

	for (int i = 0; i < result->ncells; i++)
		nmissing += result->cells[i].reads == 0;
	if (result->limited)
		return nmissing == result->ncells ? _("a limit was reached") :
			_("a limit was reached before the figures were clear");
	if (nmissing == 0)
		return NULL;
	return target->places.not_told ?
		_("the kernel does not report what is in the page cache") :
		_("too few blocks were not cached");
}

/* Why a relation gives no figures, as far as its files need not be looked at, or NULL */
static const char *
relation_note(const SstTarget *target)
{
	if (!sst_target_is_readable(target))
		return target->note;
	if (!RelationIsPermanent(target->rel))
		return _("temporary or unlogged: its blocks may not have been written to its files");
	if ((int64) target->nblocks * BLCKSZ < MIN_BYTES)
		return _("the relation is smaller than 8 MB");

	return NULL;
}

/* Probe a relation, which is open and locked, and close it. */
static void
probe_relation(SstProbe *probe, SstTarget *opened, Oid tablespace, int ntargets_left)
{
	SstProbeTarget target = {
		.probe = probe, .rel = opened->rel, .ntargets_left = ntargets_left
	};
	const char *note = relation_note(opened);
	SstFiles	files;

	if (sst_target_is_readable(opened))
	{
		sst_relation_files(opened->rel, &files);
		tablespace = files.tablespace;
	}
	if (note == NULL)
		note = sst_places_begin(&target.places, &files, opened->nblocks);
	if (note == NULL && (int64) target.places.nblocks * BLCKSZ < MIN_BYTES)
		note = _("less than 8 MB of the file has been written; try again after a checkpoint");
	target.result = add_result(probe, tablespace, opened->relid, note);
	if (note == NULL)
	{
		target.result->direct = target.places.file.direct;
		sst_progress_scan(opened->relid,
						  (BlockNumber) Min(probe->limits.bytes_left / BLCKSZ / ntargets_left,
											MaxBlockNumber), false);
		try_contained(&target);
		if (target.result->note == NULL)
			target.result->note = missing_note(&target);
	}
	sst_target_close(opened);
}

/* The largest relations first, and those of which no file is known last */
static int
compare_bytes(const void *a, const void *b)
{
	const SstRelation *left = a;
	const SstRelation *right = b;

	if (left->bytes != right->bytes)
		return left->bytes < right->bytes ? 1 : -1;
	return (left->relid > right->relid) - (left->relid < right->relid);
}

/* Would it give figures, by what the catalogs say? */
static bool
is_suitable(const SstRelation *relation)
{
	return relation->bytes >= MIN_BYTES &&
		relation->persistence == RELPERSISTENCE_PERMANENT && !relation->building &&
		sst_listed_state(relation) <= SST_TARGET_INVALID &&
		(relation->relkind == RELKIND_INDEX || relation->amoid == HEAP_TABLE_AM_OID);
}

/* Open the largest relation of a tablespace that is not locked; false if there is none. */
static bool
open_largest(const SstRelations *list, Oid tablespace, SstTarget *target)
{
	for (int i = 0; i < list->n; i++)
	{
		const SstRelation *relation = &list->relation[i];

		if (!is_suitable(relation) || relation->files.tablespace != tablespace)
			continue;
		sst_target_try_open(target, relation->relid, InvalidOid, SST_INDEX | SST_TABLE, false);
		if (target->rel != NULL)
			return true;
	}
	return false;
}

/* Add a tablespace to a list, but for that of shared catalogs. */
static void
add_tablespace(void *arg, const void *row)
{
	List	  **tablespaces = arg;
	Oid			oid = ((const FormData_pg_tablespace *) row)->oid;

	if (oid != GLOBALTABLESPACE_OID)
		*tablespaces = lappend_oid(*tablespaces, oid);
}

/* Probe the largest relation on each tablespace, without waiting for locks. */
static void
probe_all(SstProbe *probe)
{
	List	   *tablespaces = NIL;
	int			nleft;
	SstRelations list;
	ListCell   *lc;

	sst_read_catalog(TableSpaceRelationId, InvalidOid, InvalidAttrNumber, InvalidOid,
					 add_tablespace, &tablespaces);
	nleft = list_length(tablespaces);
	sst_list_relations(&list);
	qsort(list.relation, list.n, sizeof(SstRelation), compare_bytes);
	sst_progress_totals(nleft, probe->limits.bytes_left);
	foreach(lc, tablespaces)
	{
		SstTarget	target;

		sst_progress_relations(list_length(tablespaces) - nleft);
		if (open_largest(&list, lfirst_oid(lc), &target))
			probe_relation(probe, &target, lfirst_oid(lc), nleft);
		else
			(void) add_result(probe, lfirst_oid(lc), InvalidOid,
							  _("no readable relation of this database has 8 MB or more"));
		nleft--;
	}
}

/*
 * Probe one relation, or with InvalidOid the largest of each tablespace, within limits.
 * The session keeps the result, in the place of the last one.  What was read is added to
 * io_stats.
 */
const SstProbe *
sst_probe_run(const SstLimits *limits, SstIoStats *io_stats, Oid relid)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext,
												  "streamstat probe",
												  ALLOCSET_SMALL_SIZES);
	SstProbe   *probe = MemoryContextAllocZero(context, sizeof(SstProbe));
	SstTarget	target;

	if (last_probe != NULL)
		MemoryContextDelete(last_probe->context);
	last_probe = probe;
	probe->context = context;
	probe->limits = *limits;
	probe->io_stats = io_stats;

	(void) sst_throttle_begin(&probe->throttle, &probe->limits);
	sst_progress_phase(SST_PHASE_PROBING);
	if (OidIsValid(relid))
	{
		sst_target_try_open(&target, relid, sst_index_table(relid), SST_INDEX | SST_TABLE, true);
		probe_relation(probe, &target, InvalidOid, 1);
	}
	else
		probe_all(probe);

	return probe;
}
