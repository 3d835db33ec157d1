/*-------------------------------------------------------------------------
 *
 * probe.c
 *	  Probing the storage of tablespaces; the session keeps the last result
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/probe/probe.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"

#include "compat/shared_blocks.h"
#include "probe/probe.h"
#include "probe/schedule.h"
#include "probe/settings.h"
#include "probe/targets.h"
#include "run/progress.h"
#include "run/subtransaction.h"

#define ANY_KIND (SST_ANY_INDEX | SST_TABLE)

/*
 * The session's last probe, or NULL.  It is process state because io_advice() shows
 * what an earlier call has measured.
 */
static SstProbe *last_probe;

/*
 * Begin a probe without limits, which takes the place of the session's last one, in
 * memory that lives as long as the session.  Its I/O is added to io_stats.
 */
SstProbe *
sst_create_probe(SstIoStats *io_stats)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext,
												  "streamstat probe",
												  ALLOCSET_SMALL_SIZES);
	SstProbe   *probe = MemoryContextAllocZero(context, sizeof(SstProbe));

	if (last_probe != NULL)
		MemoryContextDelete(last_probe->context);
	last_probe = probe;

	probe->context = context;
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
	sst_get_probe_settings(&result->settings, tablespace);
	probe->results = lappend(probe->results, result);
	MemoryContextSwitchTo(oldcontext);

	return result;
}

/* What is to be tried of a relation, for sst_contain_errors() */
typedef struct Attempt
{
	SstProbe   *probe;
	SstProbeTarget *target;
	const SstFiles *files;
	BlockNumber nblocks;
	int			ntargets_left;
} Attempt;

static void
try_target(void *arg)
{
	Attempt    *attempt = arg;
	SstProbeTarget *target = attempt->target;

	sst_places_begin(&target->places, attempt->files, attempt->nblocks);
	sst_probe_schedule(attempt->probe, target, attempt->ntargets_left);
	sst_places_end(&target->places);
}

/*
 * Try a target.  An error about its blocks ends that, and becomes its note: the server's
 * stream checks pages, and disks have bad blocks.  In recovery, which allows no
 * subtransaction, the error passes.
 */
static void
try_contained(Attempt *attempt)
{
	ErrorData  *error = sst_contain_errors(try_target, attempt);

	if (error == NULL)
		return;
	if (error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE)
		ReThrowError(error);

	attempt->target->result->note = MemoryContextStrdup(attempt->probe->context,
														error->message);
	FreeErrorData(error);
}

/* Probe a relation with so many blocks, which is open and locked. */
static void
probe_relation(SstProbe *probe, Relation rel, BlockNumber nblocks, int ntargets_left)
{
	SstProbeTarget target = {.rel = rel};
	Attempt		attempt = {
		.probe = probe, .target = &target, .ntargets_left = ntargets_left
	};
	int64		bytes = (int64) nblocks * BLCKSZ;
	const char *note = sst_probe_relation_note(rel, bytes);
	SstFiles	files;

	sst_relation_files(rel, &files);
	if (note == NULL)
	{
		sst_examine_storage(&target.storage, &files, nblocks);
		note = target.storage.note;
		nblocks = target.storage.nblocks;
		if (note == NULL && (int64) nblocks * BLCKSZ < SST_PROBE_MIN_BYTES)
			note = _("less than 8 MB of the file has been written; try again after a checkpoint");
	}
	target.result = add_result(probe, files.tablespace, RelationGetRelid(rel), note);
	if (note != NULL)
		return;

	sst_progress_scan(RelationGetRelid(rel),
					  (BlockNumber) Min(probe->limits.bytes_left / BLCKSZ / ntargets_left,
										MaxBlockNumber), false);
	attempt.files = &files;
	attempt.nblocks = nblocks;
	try_contained(&attempt);
	if (target.result->ncells == 0 && target.result->note == NULL)
		target.result->note = target.result->limited ? _("a limit was reached") :
			target.places.not_told ?
			_("the kernel does not report what is in the page cache") :
			_("too few blocks were not cached");
}

/* Probe a relation that the user has named. */
static void
probe_one(SstProbe *probe, Oid relid)
{
	SstTarget	target;
	Oid			tableoid;

	sst_target_try_open_with_table(&target, relid, ANY_KIND, &tableoid);
	if (sst_target_is_readable(&target))
		probe_relation(probe, target.rel, target.nblocks, 1);
	else
		(void) add_result(probe, InvalidOid, relid, target.note);
	sst_target_close(&target);
	if (OidIsValid(tableoid))
		UnlockRelationOid(tableoid, AccessShareLock);
}

/* Open the largest relation that is not locked, or return NULL. */
static Relation
open_largest(const SstProbeTablespace *tablespace)
{
	for (int i = 0; i < tablespace->n; i++)
	{
		Oid			relid = tablespace->relations[i]->relid;
		Relation	rel;

		if (!ConditionalLockRelationOid(relid, AccessShareLock))
			continue;
		rel = try_relation_open(relid, NoLock);
		if (rel != NULL)
			return rel;
		UnlockRelationOid(relid, AccessShareLock);
	}
	return NULL;
}

/* Probe the largest relation on each tablespace, without waiting for locks. */
static void
probe_all(SstProbe *probe)
{
	List	   *tablespaces = sst_list_probe_tablespaces();
	int			nleft = list_length(tablespaces);
	ListCell   *lc;

	sst_progress_totals(nleft, probe->limits.bytes_left);
	foreach(lc, tablespaces)
	{
		const SstProbeTablespace *tablespace = lfirst(lc);
		Relation	rel = open_largest(tablespace);
		SstTarget	target;

		sst_progress_relations(list_length(tablespaces) - nleft);
		if (rel == NULL)
			(void) add_result(probe, tablespace->tablespace, InvalidOid,
							  _("no readable relation of this database has 8 MB or more"));
		else
		{
			sst_target_examine(&target, rel);
			if (sst_target_is_readable(&target))
				probe_relation(probe, rel, target.nblocks, nleft);
			else
				(void) add_result(probe, tablespace->tablespace, target.relid,
								  target.note);
			sst_target_close(&target);
		}
		nleft--;
	}
}

/*
 * Probe with the limits that are set: one relation, or with InvalidOid the largest of
 * each tablespace.
 */
void
sst_probe_run(SstProbe *probe, Oid relid)
{
	(void) sst_throttle_begin(&probe->throttle, &probe->limits);
	sst_progress_phase(SST_PHASE_PROBING);
	if (OidIsValid(relid))
		probe_one(probe, relid);
	else
		probe_all(probe);
}
