/*-------------------------------------------------------------------------
 *
 * reason.c
 *	  The reasons for the commands of a plan, in words
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "report/plan.h"

/* As pg_size_pretty() has it */
static const char *
size_pretty(double bytes)
{
	return TextDatumGetCString(DirectFunctionCall1(pg_size_pretty,
												   Int64GetDatum((int64) bytes)));
}

/* Why a relation that would become smaller has no command, translated; or NULL */
const char *
sst_withheld_reason(SstWithheld withheld)
{
	static const char *const reasons[] = {
		[SST_WITHIN_MARGIN] = gettext_noop("no command: the reclaimable space is within the margin of error"),
		[SST_LITTLE] = gettext_noop("no command: it would reclaim less than 1 percent of what it rewrites"),
		[SST_SPACE_REUSED] = gettext_noop("no command: new rows and new versions of rows reuse the free space"),
		[SST_SMALL_CATALOG] = gettext_noop("no command: a system catalog of less than 10 MB"),
		[SST_FILLFACTOR] = gettext_noop("no command: the table's fillfactor leaves the free space to updates"),
		[SST_FEW_DEAD] = gettext_noop("no command: dead rows take less than 10 percent of the table"),
		[SST_TABLE_CORRUPT] = gettext_noop("no command: the table or its TOAST table is corrupt"),
		[SST_ANALYZE_FIRST] = gettext_noop("no command before ANALYZE of the table: REINDEX sizes the index by the table's row count, which is not up to date")
	};

	return withheld == SST_NOT_WITHHELD ? NULL : _(reasons[withheld]);
}

/* What a command does to others before it has its lock; or NULL */
const char *
sst_queue_reason(const SstCommand *command)
{
	return !command->blocks ? NULL :
		_("while it waits for its lock, later statements on the table wait behind it");
}

/* The reason to rebuild a table with its indexes and its TOAST table */
const char *
sst_rebuild_reason(const SstGain *gain)
{
	return psprintf(gain->nrelations == 1 ?
					_("the table takes %s, and its rows need %s") :
					_("the table, its indexes and its TOAST table take %s, and %s after a rebuild"),
					size_pretty(gain->bytes), size_pretty(gain->predicted));
}

/* A large part of a table is dead rows that a command must keep. */
const char *
sst_kept_reason(double kept, const char *holder)
{
	return psprintf(_("another %s of dead rows cannot be removed yet because of %s"),
					size_pretty(kept), holder);
}

/*
 * The command builds an index that is not valid, too.  It does not check that keys are unique
 * (finish_heap_swap() in commands/cluster.c).
 */
const char *
sst_invalid_too_reason(const SstRelation *index)
{
	return psprintf(sst_is_to_be_dropped(index) ?
					_("unless the invalid index \"%s\" is dropped before, it is built as well") :
					_("the invalid index \"%s\" is built as well, and if that fails, so does the command"),
					index->name);
}

static const char *
corrupt_pages(const SstBloatEstimate *estimate)
{
	return psprintf(ngettext("%u corrupt page was read, block %u",
							 "%u corrupt pages were read, the first is block %u",
							 estimate->ncorrupt),
					estimate->ncorrupt, estimate->first_corrupt);
}

/* The command rebuilds a corrupt index, too. */
const char *
sst_corrupt_index_reason(const SstRelation *index, const SstBloatEstimate *estimate)
{
	return psprintf(_("it rebuilds index \"%s\", of which %s"),
					get_rel_name(index->relid), corrupt_pages(estimate));
}

/* Whose index it is, of the index of a TOAST table */
const char *
sst_toast_index_reason(const SstRelation *table)
{
	return psprintf(_("it is the index of the TOAST table of %s"),
					quote_qualified_identifier(table->schema, table->name));
}

/* The reason to rebuild an index alone */
const char *
sst_reindex_reason(const SstBloatEstimate *index, const SstGain *gain)
{
	if (index->ncorrupt > 0)
		return psprintf(_("%s; the index can be rebuilt from the table"),
						corrupt_pages(index));

	return psprintf(_("the index takes %s, and %s after a rebuild"),
					size_pretty(gain->bytes),
					size_pretty(gain->predicted));
}

/* The reason to drop an index that is not valid */
const char *
sst_drop_reason(const SstRelation *index)
{
	if (sst_is_left_over(index))
		return _("left behind by a REINDEX CONCURRENTLY that did not complete");
	if (!index->live)
		return _("left behind by a DROP INDEX CONCURRENTLY that did not complete");

	return psprintf(_("its build failed, most likely because of duplicate keys, and would fail again; to keep the index, remove the duplicates and then run: %s"),
					sst_index_command(index, false).text);
}

/* The reason to rebuild an index that is not valid */
const char *
sst_invalid_reason(const SstRelation *index)
{
	if (index->unique)
		return _("its build failed, most likely because of duplicate keys, which have to be removed first: queries do not use it");

	return _("its build did not complete: queries do not use it");
}

/* The reason for no command on a table that a rebuild cannot repair */
const char *
sst_corrupt_reason(const SstRelation *table, const SstBloatEstimate *estimate)
{
	const char *name = quote_literal_cstr(quote_qualified_identifier(table->schema,
																	 table->name));

	if (table->relkind == RELKIND_MATVIEW)
		return psprintf(_("%s: see streamstat.corrupt_blocks(%s); REFRESH MATERIALIZED VIEW makes it anew"),
						corrupt_pages(estimate), name);
	return psprintf(_("%s: see streamstat.corrupt_blocks(%s); restore the table from a backup; amcheck's verify_heapam and pg_surgery find and remove damaged rows, but only on pages whose header and checksum are right"),
					corrupt_pages(estimate), name);
}

/* The reason for VACUUM; truncated: bytes that the file shrinks by, or 0 */
const char *
sst_vacuum_reason(double removable, double truncated)
{
	return truncated > 0 ?
		psprintf(_("gives back %s at the end of the file, where no rows are to be kept"),
				 size_pretty(truncated)) :
		psprintf(_("turns %s of dead rows into free space; the file does not shrink"),
				 size_pretty(removable));
}

/* The reason for no command where VACUUM would have no effect */
const char *
sst_useless_vacuum_reason(double kept, const char *holder)
{
	return psprintf(_("VACUUM cannot remove %s of dead rows yet because of %s"),
					size_pretty(kept), holder);
}

const char *
sst_analyze_reason(void)
{
	return _("REINDEX sizes a hash index by the table's row count, which is not up to date: run REINDEX after this");
}
