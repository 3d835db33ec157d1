/*-------------------------------------------------------------------------
 *
 * model.c
 *	  The size of a rebuilt hnsw index
 *
 * A build puts elements on pages one after the other, each with its neighbors on the same
 * page if they fit there (CreateGraphPages() in pgvector's hnswbuild.c).  It draws the
 * level of each element at random, which decides how many neighbors there are.  So
 * pages are filled here in the same way, and the size varies by chance.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/hnsw/model.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/rel.h"

#include "am/hnsw/layout.h"
#include "am/rebuild.h"

/* What is counted of hnsw indexes only, behind the two of hnsw.c */
enum
{
	SST_REBUILT_ELEMENTS = SST_OWN + 2,
	SST_REBUILT_SHARED,			/* of these, with more than one TID */
	SST_REBUILT_SHARED_TIDS
};

/* So many elements stand for all those that were seen, and fill pages in batches. */
#define NSIZES 1024
#define NBATCHES 128
#define BATCH 256

/* Memory of an element in a build, besides its vector, and of each of its neighbors */
#define GRAPH_ELEMENT 200
#define GRAPH_NEIGHBOR 16

typedef struct HnswRebuild
{
	SstRebuild	base;
	int			m;
	uint64		nseen;
	uint16		sizes[NSIZES];
	uint64		random;			/* state of a generator */
	double		pages;			/* for an element */
	double		variance;		/* of that */
} HnswRebuild;

/* A number from 0 to 1, the same ones in each call: constants of Knuth's MMIX */
static double
draw(HnswRebuild *state)
{
	state->random = state->random * UINT64CONST(6364136223846793005) +
		UINT64CONST(1442695040888963407);
	return (state->random >> 32) / 4294967296.0;
}

static void
hnsw_page(SstRebuild *rebuild, const PageData *page, BlockNumber blkno,
		  const SstKeptItems *kept, SstCounters *counters)
{
	HnswRebuild *state = (HnswRebuild *) rebuild;
	int			nitems = sst_page_items(page);
	uint64	   *n = counters->n;

	if (blkno == 0 || PageIsNew((Page) page))
		return;

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		const ItemIdData *item = PageGetItemId((Page) page, offnum);
		HnswElement element;
		int			ntids;
		int			nleft = 0;
		uint64		i;

		if (!sst_hnsw_element(page, item, &element))
			continue;
		ntids = sst_hnsw_ntids(&element);
		for (int j = 0; j < ntids; j++)
			nleft += !sst_rebuild_leaves_out(rebuild, &element.tids[j]);
		n[SST_REBUILT_ENTRIES] += nleft;
		n[SST_REBUILT_DEAD_ENTRIES] += ntids - nleft;
		if (nleft == 0)
			continue;
		n[SST_REBUILT_ELEMENTS]++;
		n[SST_REBUILT_BYTES] += MAXALIGN(ItemIdGetLength(item)) +
			HNSW_NEIGHBORS_SIZE(2 * state->m) + 2 * sizeof(ItemIdData);
		if (ntids > 1)
		{
			n[SST_REBUILT_SHARED]++;
			n[SST_REBUILT_SHARED_TIDS] += nleft;
		}

		/* Each element is kept with the same probability. */
		i = state->nseen++;
		if (i >= NSIZES)
			i = draw(state) * state->nseen;
		if (i < NSIZES)
			state->sizes[i] = MAXALIGN(ItemIdGetLength(item));
	}
}

/* Put a tuple on a page with so much free space, or with "needed" bytes on a new one. */
static void
put_tuple(int size, int needed, int *free, int *npages)
{
	if (*free < needed)
	{
		*free = HNSW_PAGE_BYTES;
		(*npages)++;
	}
	*free -= size;
}

/* Fill pages with elements, and find out how many pages an element takes. */
static void
fill_pages(HnswRebuild *state)
{
	int			nsizes = Min(state->nseen, NSIZES);
	int			max_level = Min((HNSW_PAGE_BYTES - sizeof(ItemIdData) - sizeof(HnswNeighbors)) /
								sizeof(ItemPointerData) / state->m - 2, HNSW_MAX_LEVEL);
	int			free = 0;
	int			npages = 0;
	double		filled = 0;
	double		squares = 0;

	for (int batch = 0; batch < NBATCHES && nsizes > 0; batch++)
	{
		double		before = filled;

		for (int i = 0; i < BATCH; i++)
		{
			int			size = state->sizes[(int) (draw(state) * nsizes)] + sizeof(ItemIdData);
			int			level = Min(-log(1 - draw(state)) / log(state->m), max_level);
			int			neighbors = HNSW_NEIGHBORS_SIZE((level + 2) * state->m) +
				sizeof(ItemIdData);

			put_tuple(size, size + neighbors <= HNSW_PAGE_BYTES ? size + neighbors : size,
					  &free, &npages);
			put_tuple(neighbors, neighbors, &free, &npages);
		}
		filled = npages - (double) free / HNSW_PAGE_BYTES;
		squares += (filled - before) * (filled - before);
	}
	state->pages = filled / (NBATCHES * BATCH);
	state->variance = Max(squares / NBATCHES / BATCH -
						  state->pages * state->pages * BATCH, 0);
}

/* The metapage, and at least one other */
static double
hnsw_blocks(const SstRebuild *rebuild, const double *counts, bool whole)
{
	double		pages = counts[SST_REBUILT_ELEMENTS] *
		((const HnswRebuild *) rebuild)->pages;

	return 1 + Max(sst_round_up(pages, whole), 1);
}

static void
hnsw_scale(const SstRebuild *rebuild, double *counts, double fraction)
{
	counts[SST_REBUILT_ELEMENTS] *= fraction;
}

/*
 * How many elements can be joined with others?  Those of equal vectors have lost rows, and
 * of those with one row as many are such as of all.
 */
static double
spare_elements(const double *counts)
{
	double		shared = counts[SST_REBUILT_SHARED];
	double		single = counts[SST_REBUILT_ELEMENTS] - shared;
	double		others = single * shared / Max(counts[SST_REBUILT_ELEMENTS], 1);

	return Max(shared + others -
			   (counts[SST_REBUILT_SHARED_TIDS] + others) / HNSW_MAX_TIDS, 0);
}

/* A build that does not fit into memory fills gaps that were left on pages. */
static void
hnsw_predict(SstRebuild *rebuild, const SstPageSample *sample,
			 const SstEstimate *kept, SstPrediction *prediction)
{
	HnswRebuild *state = (HnswRebuild *) rebuild;
	double		counts[SST_NCOUNTS];
	double		nelements;
	double		chance;
	double		gaps = 0;

	fill_pages(state);
	sst_sample_sums(sample, 1, counts);
	nelements = counts[SST_REBUILT_ELEMENTS];
	if ((counts[SST_REBUILT_BYTES] + nelements * (GRAPH_ELEMENT + 2 * state->m * GRAPH_NEIGHBOR)) >
		maintenance_work_mem * 1024.0)
	{
		rebuild->note = gettext_noop("a build needs more than maintenance_work_mem; the size is for the current setting");
		gaps = Max(nelements * state->pages - counts[SST_REBUILT_BYTES] / HNSW_PAGE_BYTES, 0);
	}
	chance = SST_Z * sqrt(nelements * state->variance);
	prediction->blocks = sst_predict_blocks(rebuild, sample, hnsw_blocks);
	sst_widen(&prediction->blocks,
			  chance + gaps + state->pages * spare_elements(counts), chance);
	sst_leave_out(rebuild, sample, kept, hnsw_blocks, hnsw_scale, 0,
				  &prediction->blocks);
}

static SstRebuild *
hnsw_begin(Relation rel, const SstTableFacts *table)
{
	HnswRebuild *state = palloc0(sizeof(HnswRebuild));
	const HnswSettings *settings = sst_extension_options(rel, sizeof(HnswSettings));

	/* The access method is known by its names only. */
	state->m = settings != NULL ? settings->m : HNSW_DEFAULT_M;
	if (state->m < HNSW_MIN_M || state->m > HNSW_MAX_M)
		state->m = HNSW_DEFAULT_M;
	return &state->base;
}

const SstModel sst_hnsw_model = {hnsw_begin, hnsw_page, hnsw_predict};
