/*-------------------------------------------------------------------------
 *
 * dead_entries.c
 *	  Excluding the index entries of dead rows from an estimate
 *
 * An index cannot tell which of its entries are for rows that are dead and have
 * not been vacuumed.  An index build skips these rows.  An entry has the TID of
 * its row.  So the table tells, in one of these ways:
 *
 * - If the table has no more blocks that are not all-visible than may be read,
 *   these are read first.  The model then leaves each entry of a dead row out.
 * - Otherwise some of the entries that were read are looked up in the table, and
 *   the fraction of their bytes that is kept scales the size.
 * - In a report, which knows the table already, neither is done for an index that
 *   has hardly any dead entries, or when the limits do not allow it.  The size is
 *   then scaled by the fraction of the table's rows that are kept, as if dead rows
 *   were like the others.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/dead_entries.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_index.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "rebuild/btree_fill.h"
#include "rebuild/entry_sample.h"
#include "report/bloat_estimate.h"
#include "report/dead_entries.h"
#include "run/maps.h"
#include "run/scan.h"

/* ----------
 * Rows of an index's table that an index build skips
 *
 * A block that is all-visible by the visibility map has no such row, and is not
 * read: an index-only scan relies on the same.
 *
 * The table may change while its index is read.  A row that dies after its
 * block was read counts as kept.  A new row that reuses the TID of a removed
 * dead row counts as dead.  Both concern only a few entries.
 * ----------
 */

/* Can there be dead rows in the block?  One behind the end has been added since. */
static inline bool
may_have_dead_rows(const SstTableRows *rows, BlockNumber blkno)
{
	return blkno < rows->table.nblocks &&
		(rows->visible == NULL ||
		 !sst_block_set_contains(rows->visible, blkno));
}

/* The visibility map is read if it has at most this part of the blocks to read. */
#define MAP_PART 8

/* Open an index's table, which is locked. */
static void
table_rows_begin(SstTableRows *rows, Oid relid)
{
	memset(rows, 0, sizeof(SstTableRows));
	sst_target_examine(&rows->table, relation_open(relid, NoLock));
	rows->readable = rows->table.kind == SST_HEAP &&
		sst_target_is_readable(&rows->table);
	rows->nothers = rows->table.nblocks;
}

static void
table_rows_end(SstTableRows *rows)
{
	if (rows->visible != NULL)
		pfree(rows->visible);
	relation_close(rows->table.rel, NoLock);
}

/*
 * Find out which blocks are all-visible, if that is cheap when "most" blocks may
 * be read.  Where it is not, or a limit is reached, none is known to be.
 */
static void
read_visible_blocks(SstTableRows *rows, BlockNumber most,
					SstSampling *sampling)
{
	SMgrRelation smgr = RelationGetSmgr(rows->table.rel);
	SstCounters counters;
	BlockNumber map_blocks;

	if (!smgrexists(smgr, VISIBILITYMAP_FORKNUM))
		return;
	map_blocks = smgrnblocks(smgr, VISIBILITYMAP_FORKNUM);
	if (map_blocks == 0 || map_blocks > Max(most / MAP_PART, 1))
		return;

	sst_counters_init(&counters);
	rows->visible = sst_block_set_create(rows->table.nblocks);
	sst_scan_visibility_map(&rows->table, rows->visible, NULL,
							sampling->limits, &counters, sampling->io_stats);
	if (sst_within_limits(sampling->limits))
		rows->nothers -= rows->visible->nmembers;
	else
	{
		pfree(rows->visible);
		rows->visible = NULL;
	}
}

/*
 * Read blocks of the table: the members of a set, or without one all that are
 * not all-visible.  Returns the TIDs that indexes may have entries with and a
 * build would not, in the current memory context.  NULL if a limit was reached, or
 * if those of the whole table would take more than maintenance_work_mem.
 */
static SstDeadTids *
read_dead_rows(SstTableRows *rows, const SstBlockSet *blocks,
			   SstSampling *sampling)
{
	SstDeadTids *result = sst_dead_tids_create(blocks != NULL ? MaxAllocHugeSize :
											   maintenance_work_mem * (Size) 1024);
	SstScanSinks sinks = {.dead_tids = result, .limits = sampling->limits};
	const SstBlockSet *set = rows->visible;
	SstScanPlan plan;
	SstScanResult scanned;

	sst_plan_scan(&plan, &rows->table, SST_RULES_TOLERANT);
	plan.chains = true;
	if (blocks != NULL)
	{
		/* A sample of all members */
		set = blocks;
		plan.sample_pages = plan.sample_blocks = blocks->nmembers;
		plan.members = true;
	}
	else if (set != NULL)
		plan.nskipped = set->nmembers;

	if (sst_plan_nblocks(&plan) > 0 && (blocks == NULL || blocks->nmembers > 0))
	{
		sst_scan_alone(&plan, rows->table.rel, set, &sinks, &scanned);
		sst_io_stats_merge(sampling->io_stats, &scanned.io_stats);
	}

	if (sst_dead_tids_is_full(result) || !sst_within_limits(sampling->limits))
	{
		sst_dead_tids_free(result);
		return NULL;
	}
	return result;
}

/* ----------
 * The fraction of an index's entries that a build keeps
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
 * ----------
 */

/* Fractions of the entries' bytes */
typedef struct SstKeptEntries
{
	SstEstimate kept;
	double		keys;			/* of the others, left where their keys are */
} SstKeptEntries;

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
 * Look the entries up in the table that are in the sample.  False if there are none,
 * or a limit was reached.
 */
static bool
look_up(SstEntrySample *sample, SstTableRows *rows, BlockNumber most,
		SstSampling *sampling, KnownEntries *known)
{
	BlockEntries block = {0};
	BlockNumber ndistinct = 0;
	double		bytes = 0;
	double		open_bytes = 0;
	double	   *draws;
	SstBlockSet *set;
	SstDeadTids *dead;

	for (int i = 0; i < sample->nentries; i++)
	{
		SstSampledEntry *entry = &sample->entries[i];

		bytes += entry->bytes;
		if (may_have_dead_rows(rows, entry->blkno))
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
	set = draw_blocks(sample, rows->table.nblocks, ndistinct,
					  Min(most, MAX_DRAWS), open_bytes, draws);
	dead = read_dead_rows(rows, set, sampling);
	if (dead != NULL)
	{
		known->fraction_open = open_bytes / bytes;
		known->block_fraction = (double) set->nmembers / Max(ndistinct, 1);
		known->entry = palloc(sample->nentries * sizeof(KnownEntry));
		set_known(sample, dead, draws, known);
		sst_dead_tids_free(dead);
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
 * The entries are of all pages that were read, of npages in all.  They are sorted,
 * and looked up in at most so many blocks of the table.
 *
 * False if no entry is known, or a limit was reached.
 */
static bool
look_up_entries(SstEntrySample *entries, BlockNumber npages,
				SstTableRows *rows, BlockNumber most, SstSampling *sampling,
				SstKeptEntries *result)
{
	KnownEntries known = {0};
	SstEstimate part;			/* dead, of what is not all-visible */
	double		open;
	double		sum = 0;

	if (!look_up(entries, rows, most, sampling, &known))
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

/* ----------
 * The estimate without them
 * ----------
 */

/* Indexes with entries for each row, whose size follows from these */
#define SIZED_BY_ENTRIES (SST_BTREE | SST_HASH | SST_GIN | SST_GIST | \
						  SST_SPGIST)

/* Of those, the ones that have one entry for each row, nulls as well */
#define ONE_ENTRY_A_ROW (SST_BTREE | SST_GIST | SST_SPGIST)

/*
 * By which part of the fraction that vanishes the ends are widened: where keys have
 * several entries, which in a GIN index have pages of their own or not, where keys
 * have not, and where rows are assumed to be alike
 */
#define UNCERTAINTY_OF_KEYS 0.15
#define UNCERTAINTY_OF_GIN 0.25
#define UNCERTAINTY 0.02
#define UNCERTAINTY_OF_ROWS 0.2

/*
 * How full the pages of a b-tree are depends on how posting lists fill them.  With fewer
 * TIDs that differs by about half of a list, as experiments have shown.  It does so by all
 * of that from this fraction of dead entries on.
 */
#define UNCERTAINTY_OF_LISTS 0.6
#define MANY_DEAD 0.03

/* Keys matter if so much is left of what their dead entries take. */
#define SHARED_KEYS 0.02

/* A note is made from this fraction of dead entries on. */
#define NOTEWORTHY 0.01

/*
 * With fewer dead rows among those read, in percent, a report looks nothing up.  Most
 * tables are like that, and what has been read of them says how wrong that can be.
 */
#define FEW_DEAD 0.5

/* Fewer look-ups than this say next to nothing. */
#define MIN_LOOKUPS 8

/*
 * Does the index have a predicate?  RelationGetIndexPredicate() would evaluate
 * its constant parts, which can be functions of the index's owner.
 */
static bool
is_partial(Relation index)
{
	return !heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL);
}

/* Do the limits allow so many more blocks, beside those of the index? */
static bool
limits_allow(const SstSampling *sampling, const SstTarget *index, double nblocks)
{
	return sampling->limits == NULL ||
		sampling->limits->bytes_left >=
		(nblocks + Min(sampling->nblocks, index->nblocks)) * BLCKSZ;
}

/*
 * Blocks of the table that may be read to know of all its dead rows.  Where all of
 * table and index is read, no limit is to make a difference.
 */
static BlockNumber
blocks_to_read(const SstDeadEntries *dead, const SstTarget *index,
			   const SstSampling *sampling)
{
	const SstBloatEstimate *known = dead->table->estimate;

	if (known != NULL && known->exact && sampling->nblocks >= index->nblocks)
		return Max(sampling->nblocks, dead->rows.table.nblocks);
	return sampling->nblocks;
}

/*
 * Is what is known of the table enough?  Then this sets the way to leave dead
 * entries out.
 */
static bool
is_known_by_table(SstDeadEntries *dead, const SstTarget *index,
				  const SstSampling *sampling)
{
	const SstBloatEstimate *known = dead->table->estimate;

	if (known == NULL)
		return false;
	if (known->exact && !(known->kept_percent.value < 100))
	{
		dead->way = SST_NO_DEAD_ENTRIES;
		return true;
	}
	if (known->kept_percent.value > 100 - FEW_DEAD && !is_partial(index->rel) &&
		!(known->exact && sampling->nblocks >= index->nblocks))
	{
		dead->way = SST_DEAD_BY_TABLE;
		return true;
	}
	return false;
}

/*
 * Choose the way to know of an index's dead entries, before the index is read, and
 * have the rebuild do what is needed for it.  table is NULL, or locked.
 */
void
sst_dead_entries_begin(SstDeadEntries *dead, const SstTarget *index,
					   const SstIndexTable *table, SstSampling *sampling,
					   SstRebuild *rebuild)
{
	SstTableRows *rows = &dead->rows;
	BlockNumber most;

	memset(dead, 0, sizeof(SstDeadEntries));
	dead->table = table;
	if (table == NULL || (index->kind & SIZED_BY_ENTRIES) == 0 ||
		rebuild->unpredictable || is_known_by_table(dead, index, sampling))
		return;

	dead->way = SST_DEAD_UNKNOWN;
	dead->has_rows = true;
	table_rows_begin(rows, table->relid);
	if (!rows->readable)
		return;

	/* Where that fails for the limits, so does the estimate of the index. */
	most = blocks_to_read(dead, index, sampling);
	if (limits_allow(sampling, index, (double) most / MIN_LOOKUPS))
		read_visible_blocks(rows, most, sampling);
	if (rows->nothers == 0)
	{
		dead->way = SST_NO_DEAD_ENTRIES;
		return;
	}
	if (rows->nothers <= most && limits_allow(sampling, index, rows->nothers))
		dead->tids = read_dead_rows(rows, NULL, sampling);

	if (dead->tids != NULL && sst_dead_tids_is_empty(dead->tids))
		dead->way = SST_NO_DEAD_ENTRIES;
	else if (dead->tids != NULL)
	{
		dead->way = SST_DEAD_BY_TID;
		rebuild->dead_tids = dead->tids;
	}
	else if (limits_allow(sampling, index, MIN_LOOKUPS))
	{
		dead->way = SST_DEAD_BY_LOOKUP;
		dead->entries = sst_entry_sample_create(index->kind,
												index->kind == SST_BTREE &&
												rebuild->u.btree.fill.deduplicate,
												Min(sampling->nblocks,
													index->nblocks),
												sampling->seed);
		rebuild->entries = dead->entries;
	}
	else if (table->estimate != NULL)
		dead->way = SST_DEAD_BY_TABLE;
}

void
sst_dead_entries_end(SstDeadEntries *dead)
{
	if (dead->tids != NULL)
		sst_dead_tids_free(dead->tids);
	if (dead->entries != NULL)
		sst_entry_sample_free(dead->entries);
	if (dead->has_rows)
		table_rows_end(&dead->rows);
}

/*
 * The fraction of an index's entries, not counting those marked dead, that an
 * index build makes when the table keeps this percentage of its indexed items.
 */
static double
kept_by_table(const SstIndexModel *model, double indexed_items,
			  double kept_percent)
{
	double		entries = model->counts[SST_REBUILT_ENTRIES];
	double		dead_entries = model->counts[SST_REBUILT_DEAD_ENTRIES];
	double		fraction;

	if (entries == 0)
		return 1;
	fraction = kept_percent / 100 * (entries + dead_entries) / entries;

	/* Entries of dead rows may have been deleted before the rows. */
	if (model->index->kind == SST_HASH)
		indexed_items *= model->rebuild->entry_fraction;
	if ((model->index->kind & (ONE_ENTRY_A_ROW | SST_HASH)) != 0 &&
		!is_partial(model->index->rel))
		fraction = Max(fraction, kept_percent / 100 * indexed_items / entries);

	return Min(fraction, 1);
}

/* The fraction of the new index's size that is left with this one of entries */
static double
kept_size(const SstIndexModel *model, double fraction)
{
	const SstRebuild *rebuild = model->rebuild;
	double		counts[SST_NCOUNTS];
	double		blocks;

	if (rebuild->scale_entries == NULL)
		return fraction;

	memcpy(counts, model->counts, sizeof(counts));
	blocks = rebuild->blocks(rebuild, counts, model->meta, false);
	rebuild->scale_entries(rebuild, counts, fraction);

	return Min(rebuild->blocks(rebuild, counts, model->meta, false) / blocks, 1);
}

/*
 * By which part of a b-tree's size its posting lists may fill pages otherwise when only
 * this fraction of entries is left
 */
static double
list_uncertainty(const SstIndexModel *model, double kept)
{
	double		keys = model->counts[SST_REBUILT_KEYS];
	double		ntids = model->counts[SST_REBUILT_ENTRIES] / Max(keys, 1);

	if (model->index->kind != SST_BTREE || ntids < 2 ||
		!model->rebuild->u.btree.fill.deduplicate)
		return 0;
	return UNCERTAINTY_OF_LISTS * Min((1 - kept) / MANY_DEAD, 1) *
		Min(ntids * sizeof(ItemPointerData), SST_MAX_POSTING_TUPLE) / BLCKSZ;
}

static void
set_note(SstBloatEstimate *estimate, const char *note)
{
	if (estimate->note == NULL)
		estimate->note = note;
}

static void
set_kept_percent(SstBloatEstimate *estimate, const SstEstimate *kept)
{
	estimate->kept_percent.value = 100 * kept->value;
	estimate->kept_percent.low = 100 * kept->low;
	estimate->kept_percent.high = 100 * kept->high;
}

/*
 * Scale the estimated size.  The errors of the sample, of the fraction and of the
 * model do not depend on each other.
 */
static void
scale_size(const SstEstimate *size, double uncertainty, SstEstimate *rebuilt)
{
	double		value = rebuilt->value;
	double		below = (value - rebuilt->low) * size->value;
	double		above = isinf(rebuilt->high) ? INFINITY :
		(rebuilt->high - value) * size->value;

	below = hypot(below, value * Max(size->value - size->low, 0));
	above = hypot(above, value * Max(size->high - size->value, 0));

	rebuilt->value = value * size->value;
	rebuilt->low = Max(rebuilt->value - hypot(below, value * uncertainty), 0);
	rebuilt->high = rebuilt->value + hypot(above, value * uncertainty);
}

/* Leave dead entries out by what fraction of the table's rows is kept. */
static void
leave_out_by_table(const SstIndexModel *model, const SstBloatEstimate *known,
				   SstBloatEstimate *estimate)
{
	SstEstimate *rebuilt = &estimate->rebuilt_blocks;
	const SstEstimate *percent = &known->kept_percent;
	bool		partial = is_partial(model->index->rel);
	SstEstimate kept;
	SstEstimate size;
	SstEstimate scaled = *rebuilt;

	kept.value = kept_by_table(model, known->indexed_items, percent->value);
	kept.low = isnan(percent->low) ? 0 :
		kept_by_table(model, known->indexed_items, percent->low);
	kept.high = isnan(percent->high) ? 1 :
		kept_by_table(model, known->indexed_items, percent->high);
	set_kept_percent(estimate, &kept);

	size.value = kept_size(model, kept.value);
	size.low = Min(kept_size(model, kept.low), kept.low);
	size.high = kept_size(model, kept.high);
	scale_size(&size, UNCERTAINTY_OF_ROWS * (1 - kept.value) +
			   list_uncertainty(model, kept.value), &scaled);

	/*
	 * Which rows a partial index has entries of is not known.  A row has any
	 * number of entries in a GIN index, so that those of dead rows may be
	 * gone already.
	 */
	if (partial || model->index->kind == SST_GIN)
	{
		scaled.high = rebuilt->high;
		if (partial)
			scaled.value = rebuilt->value;
		if (kept.value < 1 - NOTEWORTHY)
			set_note(estimate, partial ?
					 gettext_noop("dead rows of the table that are not yet vacuumed may have entries in the partial index") :
					 gettext_noop("dead rows of the table that are not yet vacuumed may have entries in the index"));
	}
	*rebuilt = scaled;
}

/*
 * The fraction of the new index's size that is left with the entries that are kept.
 *
 * A key that has several entries may stay, as that of a row that was updated, or go,
 * with rows that were deleted.  As many are assumed to stay as can, and the lower
 * end has none of them.  The other models know that of their own, or have no keys.
 */
static void
size_by_lookup(const SstIndexModel *model, const SstKeptEntries *entries,
			   SstEstimate *size)
{
	const SstEstimate *kept = &entries->kept;
	double		empty = model->index->kind == SST_BTREE ? kept_size(model, 0) : 0;

	*size = *kept;
	if ((model->index->kind & (SST_BTREE | SST_GIN)) == 0)
	{
		size->value = kept_size(model, kept->value);
		size->low = kept_size(model, kept->low);
		size->high = kept_size(model, kept->high);
	}
	else if (kept->value < 1)
	{
		double		keys = entries->keys / (1 - kept->value);

		size->value += keys * (1 - kept->value) * Min(2 * kept->value, 1);
		size->high += keys * (1 - kept->high) * Min(2 * kept->high, 1);

		/*
		 * Some pages do not depend on the entries.  Those of posting trees
		 * do.
		 */
		size->value = empty + (1 - empty) * size->value;
		size->low = empty + (1 - empty) * size->low;
		size->high = empty + (1 - empty) * size->high;
	}

	/*
	 * Lists do not shrink as their entries do, and trees keep their last
	 * page.
	 */
	if (model->index->kind == SST_GIN && kept->value < 1)
	{
		size->value = Max(size->value, kept_size(model, kept->value));
		size->high = Max(size->high, kept_size(model, kept->high));
	}

	/*
	 * New versions of rows are in the pending list, and whether the keys of
	 * dead ones are there is not known: take the middle.  Dead ones may have
	 * keys that take more than others.
	 */
	if (model->index->kind == SST_GIN && kept->value < 1 &&
		model->counts[SST_PENDING_ITEMS] > 0)
	{
		size->high = 1;
		size->value = (size->value + 1) / 2;
		size->low = Max(size->low - UNCERTAINTY_OF_GIN * (1 - kept->value), 0);
	}
}

/* Leave dead entries out by looking some of those up that were read. */
static bool
leave_out_by_lookup(SstDeadEntries *dead, const SstIndexModel *model,
					SstSampling *sampling, SstBloatEstimate *estimate)
{
	SstKeptEntries entries;
	SstEstimate size;
	BlockNumber most = sampling->nblocks;
	double		uncertainty = UNCERTAINTY;

	if (dead->entries->nentries == 0)
		return true;
	if (sampling->limits != NULL)
		most = Min(most, sampling->limits->bytes_left / BLCKSZ);
	if (most < MIN_LOOKUPS ||
		!look_up_entries(dead->entries, model->index->nblocks, &dead->rows,
						 most, sampling, &entries))
		return false;

	size_by_lookup(model, &entries, &size);
	if (model->index->kind == SST_GIN)
		uncertainty = UNCERTAINTY_OF_GIN;
	else if (entries.keys > SHARED_KEYS * (1 - entries.kept.value))
		uncertainty = UNCERTAINTY_OF_KEYS;
	scale_size(&size, uncertainty * (1 - entries.kept.value) +
			   list_uncertainty(model, entries.kept.value),
			   &estimate->rebuilt_blocks);
	set_kept_percent(estimate, &entries.kept);
	return true;
}

/*
 * Leave the entries of dead rows out of the estimated size of a rebuilt index,
 * which has all entries in it that the model has not left out.
 */
void
sst_dead_entries_leave_out(SstDeadEntries *dead, const SstIndexModel *model,
						   SstSampling *sampling, SstBloatEstimate *estimate)
{
	const SstBloatEstimate *known = dead->table != NULL ?
		dead->table->estimate : NULL;

	if (dead->way == SST_DEAD_BY_LOOKUP &&
		!leave_out_by_lookup(dead, model, sampling, estimate))
		dead->way = known != NULL ? SST_DEAD_BY_TABLE : SST_DEAD_UNKNOWN;

	if (dead->way == SST_DEAD_BY_TABLE && isnan(known->kept_percent.value))
		dead->way = SST_DEAD_UNKNOWN;
	if (dead->way == SST_DEAD_BY_TABLE)
		leave_out_by_table(model, known, estimate);
	else if (dead->way == SST_DEAD_UNKNOWN)
		set_note(estimate, gettext_noop("the number of dead rows of the table is not known; they may have entries in the index"));
}
