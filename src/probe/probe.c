/*-------------------------------------------------------------------------
 *
 * probe.c
 *	  Probing the storage of tablespaces; the session keeps the last result
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_tablespace.h"
#include "utils/memutils.h"

#include "compat/shared_blocks.h"
#include "probe/figures.h"
#include "relation/relation.h"
#include "run/call.h"
#include "run/progress.h"

/* Smaller relations have too few places to read. */
#define MIN_BYTES (8 * 1024 * 1024)

/*
 * The session's last probe, or NULL.  It is process state because io_advice() shows
 * what an earlier call has measured.
 */
static SstProbe *last_probe;

/*
 * Begin a probe, which takes the place of the session's last one, in memory that lives as
 * long as the session.
 */
static SstProbe *
create_probe(const SstLimits *limits, SstIoStats *io_stats)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext,
												  "streamstat probe",
												  ALLOCSET_SMALL_SIZES);
	SstProbe   *probe = MemoryContextAllocZero(context, sizeof(SstProbe));

	if (last_probe != NULL)
		MemoryContextDelete(last_probe->context);
	last_probe = probe;

	probe->context = context;
	probe->limits = *limits;
	probe->io_stats = io_stats;

	return probe;
}

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

static void
try_target(void *arg)
{
	SstProbeTarget *target = arg;

	sst_probe_rounds(target);
	sst_segment_file_close(&target->places.file);
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
		sst_target_try_lock(target, relation->relid, InvalidOid);
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
 * The session keeps the result.  What was read is added to io_stats.
 */
const SstProbe *
sst_probe_run(const SstLimits *limits, SstIoStats *io_stats, Oid relid)
{
	SstProbe   *probe = create_probe(limits, io_stats);
	SstTarget	target;

	(void) sst_throttle_begin(&probe->throttle, &probe->limits);
	sst_progress_phase(SST_PHASE_PROBING);
	if (OidIsValid(relid))
	{
		sst_target_try_open(&target, relid, SST_INDEX | SST_TABLE, true);
		probe_relation(probe, &target, InvalidOid, 1);
	}
	else
		probe_all(probe);

	return probe;
}
