/*-------------------------------------------------------------------------
 *
 * warm_rows.c
 *	  Result rows of functions that warm relations
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/warm_rows.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "api/row.h"
#include "api/warm_rows.h"

static const char *
end_name(SstWarmEnd end)
{
	switch (end)
	{
		case SST_WARM_MAX_BYTES:
			return "max_bytes";
		case SST_WARM_MAX_TIME:
			return "max_time";
		case SST_WARM_FULL:
			return "full";
		case SST_WARM_BLOCKING:
			return "blocking";
		default:
			return "complete";
	}
}

/* What a row counts, of a fork or of all of them */
typedef struct WarmCounts
{
	int64		nblocks;		/* -1 if not known */
	int64		nwanted;
	int64		ncached;
	int64		nread;
	double		elapsed_ms;
} WarmCounts;

static WarmCounts
fork_counts(const SstWarmFork *fork)
{
	return (WarmCounts)
	{
		.nblocks = fork->nblocks == InvalidBlockNumber ? -1 : (int64) fork->nblocks,
			.nwanted = fork->nwanted,
			.ncached = fork->ncached,
			.nread = fork->nread,
			.elapsed_ms = fork->elapsed_ms
	};
}

static void
add_counts(WarmCounts *sum, const WarmCounts *counts)
{
	sum->nblocks += Max(counts->nblocks, 0);
	sum->nwanted += counts->nwanted;
	sum->ncached += counts->ncached;
	sum->nread += counts->nread;
	sum->elapsed_ms += counts->elapsed_ms;
}

static void
put_counts(SstRow *row, const WarmCounts *counts)
{
	sst_put_count(row, "blocks_total", counts->nblocks);
	sst_put_int64(row, "blocks_requested", counts->nwanted);
	sst_put_int64(row, "blocks_cached", counts->ncached);
	sst_put_int64(row, "blocks_read", counts->nread);
	sst_put_float8(row, "elapsed_ms", counts->elapsed_ms);
}

static void
put_fork(SstRow *row, const SstWarmFork *fork, const WarmCounts *counts)
{
	sst_put_bool(row, "is_sum", false);
	sst_put_relation(row, fork->relation);
	sst_put_text(row, "fork", fork->forknum == InvalidForkNumber ? NULL :
				 forkNames[fork->forknum]);
	put_counts(row, counts);
	sst_put_text(row, "ended_by", NULL);
	sst_put_text(row, "resume_from", NULL);
	sst_put_text(row, "note", fork->note);
	sst_row_store(row);
}

static void
put_sum(SstRow *row, const WarmCounts *sum, SstWarmEnd end,
		const char *resume_from)
{
	sst_put_bool(row, "is_sum", true);
	sst_put_oid(row, "relid", InvalidOid);
	sst_put_text(row, "schema_name", NULL);
	sst_put_text(row, "relation_name", NULL);
	sst_put_text(row, "parent_name", NULL);
	sst_put_text(row, "kind", NULL);
	sst_put_text(row, "fork", NULL);
	put_counts(row, sum);
	sst_put_text(row, "ended_by", end_name(end));
	sst_put_text(row, "resume_from", resume_from);
	sst_put_text(row, "note", NULL);
	sst_row_store(row);
}

/*
 * Return a row for each fork of a set, in its order, and behind them the sum, which
 * has what ended the call and where the next one goes on (NULL for null).
 *
 * A fork can stand for a relation of which nothing can be warmed: its number is
 * InvalidForkNumber then, and its note says why.  Relations that are only known by
 * name have InvalidOid, and '\0' as their kind.
 */
void
sst_put_warm_rows(FunctionCallInfo fcinfo, const SstWarmSet *set,
				  SstWarmEnd end, const char *resume_from)
{
	SstRow		row;
	WarmCounts	sum = {0};
	MemoryContext rowcontext;
	MemoryContext oldcontext;

	sst_rows_begin(&row, fcinfo);
	rowcontext = AllocSetContextCreate(CurrentMemoryContext, "streamstat row",
									   ALLOCSET_DEFAULT_SIZES);
	oldcontext = MemoryContextSwitchTo(rowcontext);
	for (int i = 0; i < set->nforks; i++)
	{
		WarmCounts	counts = fork_counts(&set->forks[i]);

		CHECK_FOR_INTERRUPTS();
		add_counts(&sum, &counts);
		put_fork(&row, &set->forks[i], &counts);
		MemoryContextReset(rowcontext);
	}
	put_sum(&row, &sum, end, resume_from);
	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(rowcontext);
}
