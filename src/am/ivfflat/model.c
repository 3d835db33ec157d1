/*-------------------------------------------------------------------------
 *
 * model.c
 *	  The size of a rebuilt ivfflat index
 *
 * A build computes new centers, and puts the entries of each list on pages of its own
 * (InsertTuples() in pgvector's ivfbuild.c).  How many entries each list gets is not
 * known: the ends allow for any.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/ivfflat/model.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "utils/rel.h"

#include "am/ivfflat/layout.h"
#include "am/rebuild.h"

typedef struct IvfflatRebuild
{
	SstRebuild	base;
	int			lists;
	int			list_size;		/* with the line pointer; 0 until one was seen */

	/* Entries that were seen, with their line pointers */
	uint64		nentries;
	uint64		bytes;
} IvfflatRebuild;

static void
ivfflat_page(SstRebuild *rebuild, const PageData *page, BlockNumber blkno,
			 const SstKeptItems *kept, SstCounters *counters)
{
	IvfflatRebuild *state = (IvfflatRebuild *) rebuild;
	int			nitems = sst_page_items(page);
	bool		lists;

	if (blkno == 0 || PageIsNew((Page) page))
		return;

	lists = sst_ivfflat_page_kind(page, blkno) == IVFFLAT_LISTS;
	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		const ItemIdData *item = PageGetItemId((Page) page, offnum);
		int			size = MAXALIGN(ItemIdGetLength(item)) + sizeof(ItemIdData);
		IndexTupleData tuple;

		memcpy(&tuple, page + ItemIdGetOffset(item), sizeof(tuple));
		if (lists)
			state->list_size = size;
		else if (sst_rebuild_leaves_out(rebuild, &tuple.t_tid))
			counters->n[SST_REBUILT_DEAD_ENTRIES]++;
		else
		{
			counters->n[SST_REBUILT_ENTRIES]++;
			counters->n[SST_REBUILT_BYTES] += size;
			state->nentries++;
			state->bytes += size;
		}
	}
}

/* How many of such a size a page has room for */
static double
per_page(double size)
{
	return Max(floor(IVFFLAT_PAGE_BYTES / Max(size, 1)), 1);
}

/* Pages that the entries would fill if there was one list */
static double
full_pages(const IvfflatRebuild *state, const double *counts)
{
	return state->nentries == 0 ? 0 : counts[SST_REBUILT_ENTRIES] /
		per_page((double) state->bytes / state->nentries);
}

/*
 * Pages of all lists' entries, of which each has one at least.  If the sizes of lists are
 * distributed exponentially, their numbers of pages are so geometrically.
 */
static double
entry_pages(const IvfflatRebuild *state, double full)
{
	return full > 0 ? state->lists / (1 - exp(-state->lists / full)) : state->lists;
}

static double
ivfflat_blocks(const SstRebuild *rebuild, const double *counts, bool whole)
{
	const IvfflatRebuild *state = (const IvfflatRebuild *) rebuild;
	double		pages = entry_pages(state, full_pages(state, counts));
	double		list_size = state->list_size > 0 ? state->list_size :
		(double) state->bytes / Max(state->nentries, 1);

	return 1 + ceil(state->lists / per_page(list_size)) + sst_round_up(pages, whole);
}

static void
ivfflat_predict(SstRebuild *rebuild, const SstPageSample *sample,
				const SstEstimate *kept, SstPrediction *prediction)
{
	const IvfflatRebuild *state = (const IvfflatRebuild *) rebuild;
	SstEstimate *blocks = &prediction->blocks;
	double		counts[SST_NCOUNTS];
	double		full;
	double		pages;

	*blocks = sst_predict_blocks(rebuild, sample, ivfflat_blocks);

	/* Lists can end with full pages, or each with an entry on a last one. */
	sst_sample_sums(sample, 1, counts);
	full = full_pages(state, counts);
	pages = entry_pages(state, full);
	sst_widen(blocks, ceil(pages) - Max(state->lists, full),
			  state->lists + full - pages);
	sst_leave_out(rebuild, sample, kept, ivfflat_blocks, NULL, 0, blocks);
}

static SstRebuild *
ivfflat_begin(Relation rel, const SstTableFacts *table)
{
	IvfflatRebuild *state = palloc0(sizeof(IvfflatRebuild));
	const IvfflatSettings *settings = sst_extension_options(rel, sizeof(IvfflatSettings));

	/* The access method is known by its names only. */
	state->lists = settings != NULL ? settings->lists : IVFFLAT_DEFAULT_LISTS;
	if (state->lists < 1 || state->lists > IVFFLAT_MAX_LISTS)
		state->lists = IVFFLAT_DEFAULT_LISTS;
	return &state->base;
}

const SstModel sst_ivfflat_model = {ivfflat_begin, ivfflat_page, ivfflat_predict};
