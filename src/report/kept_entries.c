/*-------------------------------------------------------------------------
 *
 * kept_entries.c
 *	  The fraction of an index's entries that a build keeps
 *
 * Some entries of some index pages are known, and a number of table blocks may
 * be read.  Blocks are drawn with a probability proportional to the bytes of
 * the entries that point to them, and all entries of these blocks are looked
 * up.  The mean over the draws of the fraction that is kept is then an
 * estimate without bias for all known entries (Cochran, Sampling Techniques,
 * 3rd ed., 9A.3).  Blocks that are all-visible need not be read.
 *
 * Entries of one index page are often kept or dead together, and so are those
 * of one table block.  So the variance is that of sums over index pages plus
 * that of sums over blocks, minus that of sums over both together, which both
 * include
 * (Cameron, Gelbach and Miller, Robust Inference with Multiway Clustering, 2011).
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/kept_entries.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "common/hashfn.h"

#include "report/kept_entries.h"

/* More draws would not make the estimate much better. */
#define MAX_DRAWS 65536

/* Clusters with fewer dead or kept entries than this are counted. */
#define FEW_CLUSTERS 16

/* For sst_page_interval(): a population that has no end */
#define ENDLESS 1e15

/* An entry that was looked up, or needs not be */
typedef struct KnownEntry
{
	uint32		page;
	BlockNumber blkno;			/* InvalidBlockNumber: all-visible */
	double		weight;			/* these add up to 1 */
	double		key_weight;		/* of this, for its key if others have it too */
	bool		kept;
} KnownEntry;

/* What is known of the entries */
typedef struct KnownEntries
{
	int			n;
	KnownEntry *entry;

	double		fraction_open;	/* by bytes: not on all-visible blocks */
	double		block_fraction; /* of the blocks of the others, those read */
	double		page_fraction;	/* of the index, pages that were read */
} KnownEntries;

static int
compare_sampled(const void *a, const void *b)
{
	const SstSampledEntry *left = a;
	const SstSampledEntry *right = b;

	if (left->blkno != right->blkno)
		return left->blkno < right->blkno ? -1 : 1;
	return (left->page > right->page) - (left->page < right->page);
}

static int
compare_pages(const void *a, const void *b)
{
	const KnownEntry *left = a;
	const KnownEntry *right = b;

	if (left->page != right->page)
		return left->page < right->page ? -1 : 1;
	return (left->blkno > right->blkno) - (left->blkno < right->blkno);
}

/* The entries of one block, which follow each other */
typedef struct BlockEntries
{
	int			first;
	int			end;
	double		bytes;
} BlockEntries;

/* Go to the next block; false if there is none. */
static bool
next_block(const SstEntrySample *sample, BlockEntries *block)
{
	const SstSampledEntry *entries = sample->entries;

	block->first = block->end;
	block->bytes = 0;
	while (block->end < sample->nentries &&
		   entries[block->end].blkno == entries[block->first].blkno)
		block->bytes += entries[block->end++].bytes;

	return block->first < block->end;
}

/*
 * Choose blocks by systematic sampling, and say for each how often it was drawn:
 * in draws[], in the order of blocks.  If there are no more than "most", all are
 * chosen.  Returns the set.
 */
static SstBlockSet *
draw_blocks(const SstEntrySample *sample, BlockNumber nblocks,
			BlockNumber ndistinct, BlockNumber most, double bytes,
			double *draws)
{
	SstBlockSet *set = sst_block_set_create(nblocks);
	BlockEntries block = {0};
	double		step = bytes / most;
	double		next;
	double		passed = 0;

	next = step * ((hash_bytes_uint32_extended(ndistinct, sample->seed) >> 32) /
				   4294967296.0);
	for (int i = 0; next_block(sample, &block); i++)
	{
		BlockNumber blkno = sample->entries[block.first].blkno;

		draws[i] = 0;
		if (blkno == InvalidBlockNumber)
			break;
		passed += block.bytes;
		if (ndistinct <= most)
			draws[i] = block.bytes / step;
		else
		{
			for (; next < passed; next += step)
				draws[i]++;
		}
		if (draws[i] > 0)
			sst_block_set_add(set, blkno);
	}
	return set;
}

/*
 * Set what is known once the blocks drawn have been read.  Entries of other blocks
 * are stood for by these.
 */
static void
set_known(const SstEntrySample *sample, const SstDeadTids *dead,
		  const double *draws, KnownEntries *known)
{
	double		ndraws = 0;
	BlockEntries block = {0};

	for (int i = 0; next_block(sample, &block); i++)
		ndraws += draws[i];

	block.end = 0;
	for (int i = 0; next_block(sample, &block); i++)
	{
		BlockNumber blkno = sample->entries[block.first].blkno;
		double		weight;		/* of a byte */

		if (blkno == InvalidBlockNumber)
			weight = (1 - known->fraction_open) / block.bytes;
		else if (draws[i] > 0)
			weight = known->fraction_open * draws[i] / ndraws / block.bytes;
		else
			continue;

		for (int j = block.first; j < block.end; j++)
		{
			const SstSampledEntry *entry = &sample->entries[j];

			known->entry[known->n++] = (KnownEntry)
			{
				.page = entry->page,
					.blkno = blkno,
					.weight = weight * entry->bytes,
					.key_weight = weight * entry->key_bytes,
					.kept = blkno == InvalidBlockNumber ||
					!sst_dead_tids_contain(dead, blkno, entry->offnum)
			};
		}
	}
}

/*
 * Look the entries up that are in the sample: in the set of TIDs or, if that is
 * NULL, in the table.  False if there are none, or a limit was reached.
 */
static bool
look_up(SstEntrySample *sample, SstTableRows *rows, const SstDeadTids *dead,
		BlockNumber most, SstSampling *sampling, KnownEntries *known)
{
	BlockEntries block = {0};
	BlockNumber ndistinct = 0;
	double		bytes = 0;
	double		open_bytes = 0;
	double	   *draws;
	SstBlockSet *set;
	SstDeadTids *read = NULL;

	for (int i = 0; i < sample->nentries; i++)
	{
		SstSampledEntry *entry = &sample->entries[i];

		bytes += entry->bytes;
		if (sst_may_have_dead_rows(rows, entry->blkno))
			open_bytes += entry->bytes;
		else
			entry->blkno = InvalidBlockNumber;
	}
	if (bytes == 0)
		return false;
	qsort(sample->entries, sample->nentries, sizeof(SstSampledEntry),
		  compare_sampled);
	while (next_block(sample, &block))
		ndistinct += sample->entries[block.first].blkno != InvalidBlockNumber;

	draws = palloc((ndistinct + 1) * sizeof(double));
	most = dead != NULL ? Max(ndistinct, 1) : Min(most, MAX_DRAWS);
	set = draw_blocks(sample, rows->table.nblocks, ndistinct, most, open_bytes,
					  draws);
	if (dead == NULL)
		dead = read = sst_read_dead_rows(rows, set, sampling);
	if (dead != NULL)
	{
		known->fraction_open = open_bytes / bytes;
		known->block_fraction = (double) set->nmembers / Max(ndistinct, 1);
		known->entry = palloc(sample->nentries * sizeof(KnownEntry));
		set_known(sample, dead, draws, known);
		if (read != NULL)
			sst_dead_tids_free(read);
	}
	pfree(set);
	pfree(draws);

	return dead != NULL;
}

/* By what are entries together that are kept or dead together? */
typedef enum ClusterBy
{
	BY_PAGE,
	BY_BLOCK,
	BY_BOTH
} ClusterBy;

static bool
same_cluster(const KnownEntry *a, const KnownEntry *b, ClusterBy by)
{
	return (by == BY_BLOCK || a->page == b->page) &&
		(by == BY_PAGE || a->blkno == b->blkno);
}

/*
 * The variance of the weighted number of entries kept, from sums over clusters,
 * which follow each other.  Sums of neighbours are compared, so that a trend does
 * not add to it.  Returns the number of clusters, too.  Where all-visible blocks
 * are left out, what is kept of the others is the mean.
 */
static double
cluster_variance(const KnownEntries *known, ClusterBy by, double mean,
				 bool open_only, int *nclusters)
{
	double		sum = 0;
	double		last = 0;
	double		squares = 0;
	const KnownEntry *before = NULL;

	*nclusters = 0;
	for (int i = 0; i <= known->n; i++)
	{
		const KnownEntry *entry = i < known->n ? &known->entry[i] : NULL;

		if (entry != NULL && open_only && entry->blkno == InvalidBlockNumber)
			continue;
		if (before != NULL &&
			(entry == NULL || !same_cluster(entry, before, by)))
		{
			if ((*nclusters)++ > 0)
				squares += (sum - last) * (sum - last) / 2;
			last = sum;
			sum = 0;
		}
		if (entry != NULL)
			sum += entry->weight * (entry->kept - mean);
		before = entry;
	}

	return *nclusters < 2 ? 0 :
		squares * *nclusters / (*nclusters - 1);
}

/*
 * The variance of the fraction that is kept, and the number of clusters that it
 * comes from.  Entries are in the order of blocks, and are sorted.
 */
static double
kept_variance(KnownEntries *known, double kept, double kept_open,
			  int *nclusters)
{
	double		pages_left = 1 - known->page_fraction;
	double		blocks_left = 1 - known->block_fraction;
	double		of_pages;
	double		of_blocks;
	double		of_both;
	int			npages;
	int			nblocks;
	int			ncells;

	of_blocks = blocks_left *
		cluster_variance(known, BY_BLOCK, kept_open, true, &nblocks);
	qsort(known->entry, known->n, sizeof(KnownEntry), compare_pages);
	of_both = pages_left * blocks_left *
		cluster_variance(known, BY_BOTH, kept_open, true, &ncells);
	of_pages = pages_left *
		cluster_variance(known, BY_PAGE, kept, false, &npages);

	*nclusters = INT_MAX;
	if (blocks_left > 0)
		*nclusters = nblocks;
	if (pages_left > 0)
		*nclusters = Min(*nclusters, npages);
	return Max(of_pages + of_blocks - of_both, Max(of_pages, of_blocks));
}

/*
 * The fraction p that is dead of what is not on all-visible blocks, with ends.
 * Where many clusters are on both sides, their sums show the variance; what no
 * cluster shows can be in the part of them that so many can miss.  Where few are
 * on one side, they are counted.
 */
static SstEstimate
dead_interval(double p, double variance, int nclusters)
{
	SstEstimate result;
	double		fewer = Min(p, 1 - p);
	double		n = nclusters;

	/* Some clusters are worth less than as many entries at random. */
	if (fewer > 1e-6 && variance > p * (1 - p) / n)
		n = Max(rint(p * (1 - p) / variance), 2);

	if (fewer * n < FEW_CLUSTERS)
	{
		result = sst_page_interval(p * ENDLESS, rint(p * n), n, ENDLESS,
								   variance * ENDLESS * ENDLESS);
		result.value /= ENDLESS;
		result.low /= ENDLESS;
		result.high /= ENDLESS;
		return result;
	}

	variance = sst_t_quantile(nclusters - 1) * sqrt(variance);
	result.value = p;
	result.low = p - Max(variance, sst_unseen_part(n) * p);
	result.high = p + Max(variance, sst_unseen_part(n) * (1 - p));

	return result;
}

/*
 * Estimate the fraction of an index's entries, by bytes, that a build would make.
 * The entries are of all pages that were read, of npages in all.  They are looked
 * up in "dead", which has all of the table, or else in at most so many blocks of
 * the table.  They are sorted.
 *
 * False if no entry is known, or a limit was reached.
 */
bool
sst_look_up_entries(SstEntrySample *entries, BlockNumber npages,
					SstTableRows *rows, const SstDeadTids *dead,
					BlockNumber most, SstSampling *sampling,
					SstKeptEntries *result)
{
	KnownEntries known = {0};
	SstEstimate part;			/* dead, of what is not all-visible */
	double		open;
	double		sum = 0;

	if (!look_up(entries, rows, dead, most, sampling, &known))
		return false;
	open = known.fraction_open;
	known.page_fraction = (double) Min(entries->npages, npages) / npages;

	result->keys = 0;
	for (int i = 0; i < known.n; i++)
	{
		if (!known.entry[i].kept)
		{
			sum += known.entry[i].weight;
			result->keys += known.entry[i].key_weight;
		}
	}

	part.value = open > 0 ? Min(sum / open, 1) : 0;
	part.low = part.high = part.value;
	if (open > 0 && (known.page_fraction < 1 || known.block_fraction < 1))
	{
		int			nclusters;
		double		variance = kept_variance(&known, 1 - sum, 1 - part.value,
											 &nclusters);

		part = dead_interval(part.value, variance / (open * open), nclusters);
	}
	result->kept.value = 1 - open * part.value;
	result->kept.low = 1 - open * Min(part.high, 1);
	result->kept.high = 1 - open * Max(part.low, 0);
	pfree(known.entry);

	return true;
}
