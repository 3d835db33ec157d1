/*-------------------------------------------------------------------------
 *
 * model.c
 *	  The size of a rebuilt hash index
 *
 * A build begins with the number of buckets for the estimated row count of the
 * table, and adds buckets one by one while there are more entries than they
 * should hold.  Buckets are allocated for phases of growth, so that their
 * number is rounded up generously (access/hash/README).  Entries that do not
 * fit into a bucket's page go to overflow pages.  Buckets of equal size have
 * hardly any, but buckets that are not split yet have twice as many entries as
 * others, and equal keys go to the same bucket.
 *
 * If all pages were read, the number of entries in each bucket is known.  In a
 * sample, runs of equal entries show how unequal these numbers are.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/hash/model.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/hash.h"
#include "access/itup.h"

#include "am/rebuild.h"

/* What is counted of hash indexes only, behind the three of hash.c */
enum
{
	SST_REBUILT_LONG_RUNS = SST_OWN + 3,	/* entries that many others equal */
	SST_REBUILT_LONG_CHAINS,	/* buckets with such */
	SST_REBUILT_RUN_SQUARES		/* sum over runs of equal hash codes */
};

/* An entry is a hash code behind the header of an index tuple. */
#define ENTRY_SIZE (MAXALIGN(sizeof(IndexTupleData)) + \
					MAXALIGN(sizeof(uint32)) + sizeof(ItemIdData))

/* Entries that a page has room for */
#define ENTRIES_PER_PAGE \
	((int) ((BLCKSZ - SizeOfPageHeaderData - \
			 MAXALIGN(sizeof(HashPageOpaqueData))) / ENTRY_SIZE))

/* So many equal entries on a page are part of a longer run over several pages. */
#define LONG_RUN (ENTRIES_PER_PAGE / 2)

/* Least fill that _hash_init() (access/hash/hashpage.c) accepts */
#define MIN_FILL 10

/* Steps to follow growth from one power of two to the next */
#define GROWTH_STEPS 16

/* Most slots to count entries in: with them, an index has up to 2 GB. */
#define MOST_SLOTS (1 << 18)

/* An estimate of rows that is so much too large asks for ANALYZE. */
#define STALE 1.1

/*
 * How far the prediction can be off, by the number of overflow pages, when
 * entries are all different, come in groups, or fill whole pages; and when all
 * pages were read
 */
#define UNCERTAINTY_OF_ALL 0.002
#define UNCERTAINTY 0.03
#define UNCERTAINTY_OF_GROUPS 0.06
#define UNCERTAINTY_OF_LONG_RUNS 0.25

/* So many equal entries make a difference to overflow pages. */
#define GROUP 8

/* Hash codes of long runs that are known apart; more are taken to be all different. */
#define MOST_LONG_CODES 32

/* The entries with one hash code on the pages with long runs of it */
typedef struct LongCode
{
	uint32		code;
	double		nentries;
	double		squares;		/* of those on each page */
} LongCode;

typedef struct HashRebuild
{
	SstRebuild	base;
	double		table_tuples;	/* as the server estimates them */
	double		entry_fraction; /* of these, have an entry; or NaN */
	bool		guessed_nulls;	/* nothing is known of nulls in rows that were
								 * counted */
	double		uncertainty;	/* by which part of it the size can be off */
	int			fill;			/* entries a bucket should have */
	BlockNumber nblocks;		/* of the index */
	BlockNumber nseen;			/* pages of these */

	/* Entries by the last bits of their hash codes, and room for a copy */
	uint32		nslots;
	uint32	   *slots;			/* or NULL */
	double		nentries;

	/* Values that are so frequent that their chains are long */
	int			nlong_codes;
	LongCode	long_codes[MOST_LONG_CODES + 1];	/* the last one: others */
} HashRebuild;

/* Add a long run to what is known of its hash code. */
static void
count_long_run(HashRebuild *state, uint32 code, double length)
{
	int			i = 0;

	while (i < state->nlong_codes && state->long_codes[i].code != code)
		i++;
	if (i == state->nlong_codes && i < MOST_LONG_CODES)
		state->long_codes[state->nlong_codes++].code = code;
	state->long_codes[i].nentries += length;
	state->long_codes[i].squares += length * length;
}

/* Count a run of equal entries, which is long if it continues on other pages. */
static void
count_run(HashRebuild *state, SstCounters *counters, uint32 code, uint64 length,
		  bool is_long)
{
	counters->n[SST_REBUILT_ENTRIES] += length;
	if (is_long)
	{
		counters->n[SST_REBUILT_LONG_RUNS] += length;
		count_long_run(state, code, length);
		state->uncertainty = UNCERTAINTY_OF_LONG_RUNS;
		return;
	}
	counters->n[SST_REBUILT_RUN_SQUARES] += length * length;
	if (length >= GROUP)
		state->uncertainty = Max(state->uncertainty, UNCERTAINTY_OF_GROUPS);
}

/* Entries are sorted by hash code on each page. */
static void
take_page(SstRebuild *rebuild, const PageData *page, SstCounters *counters)
{
	HashRebuild *state = (HashRebuild *) rebuild;
	int			nitems = sst_page_items(page);
	uint32		code = 0;
	uint64		length = 0;
	bool		has_long_run = false;
	int			nruns = 0;
	int			type;

	if (PageIsNew((Page) page))
		return;
	type = HashPageGetOpaque((Page) page)->hasho_flag & LH_PAGE_TYPE;
	if (type != LH_BUCKET_PAGE && type != LH_OVERFLOW_PAGE)
		return;

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		ItemId		item = PageGetItemId((Page) page, offnum);
		ItemPointerData tid;
		uint32		this_code;

		if (ItemIdGetLength(item) < sizeof(IndexTupleData) + sizeof(uint32))
			continue;
		memcpy(&tid, page + ItemIdGetOffset(item) +
			   offsetof(IndexTupleData, t_tid), sizeof(ItemPointerData));
		if (ItemIdIsDead(item) || sst_rebuild_leaves_out(rebuild, &tid))
		{
			counters->n[SST_REBUILT_DEAD_ENTRIES]++;
			continue;
		}

		memcpy(&this_code, page + ItemIdGetOffset(item) + sizeof(IndexTupleData),
			   sizeof(uint32));
		if (this_code != code)
		{
			count_run(state, counters, code, length, length >= LONG_RUN);
			has_long_run |= length >= LONG_RUN;
			nruns += length > 0;
			length = 0;
		}
		code = this_code;
		length++;
		state->nentries++;
		if (state->slots != NULL)
			state->slots[code & (state->nslots - 1)]++;
	}

	/*
	 * On an overflow page with nothing else, even a short run is the end of
	 * one.
	 */
	count_run(state, counters, code, length, length >= LONG_RUN ||
			  (length >= GROUP &&nruns == 0 && type == LH_OVERFLOW_PAGE));
	has_long_run |= length >= LONG_RUN;

	if (has_long_run && type == LH_BUCKET_PAGE)
		counters->n[SST_REBUILT_LONG_CHAINS]++;
}

/* Buckets allocated where n are in use: _hash_get_totalbuckets() in access/hash/hashutil.c */
static double
allocated_buckets(double n)
{
	double		total = 2;
	double		step;

	while (total < n)
		total *= 2;
	if (total < 1 << HASH_SPLITPOINT_GROUPS_WITH_ONE_PHASE)
		return total;

	/* From half of that on, in phases */
	step = total / 2 / (1 << HASH_SPLITPOINT_PHASE_BITS);
	return total / 2 + ceil((n - total / 2) / step) * step;
}

/*
 * Overflow pages of a bucket with this mean number of entries, which come in
 * groups of a size: sum of the chances that page after page is not enough
 */
static double
overflow_pages(double mean, double group)
{
	double		mean_groups = mean / group;
	double		most = mean_groups + 10 * sqrt(mean_groups) + 10;
	double		log_chance = -mean_groups;
	double		below = exp(log_chance);
	double		result = 0;
	int			page = 1;

	if (mean_groups <= 0)
		return 0;

	for (int k = 1; k <= most; k++)
	{
		/* Before k groups no longer fit on so many pages */
		while (k * group > (double) page * ENTRIES_PER_PAGE)
		{
			result += Max(1 - below, 0);
			page++;
		}
		log_chance += log(mean_groups / k);
		below += exp(log_chance);
	}

	return result;
}

/* Overflow pages of an index of that many entries in so many buckets */
static double
all_overflow_pages(double nentries, double nbuckets, double group)
{
	double		half = 1;
	double		nsplit;

	while (half * 2 <= nbuckets)
		half *= 2;
	nsplit = 2 * (nbuckets - half);

	return nsplit * overflow_pages(nentries / (half * 2), group) +
		(half * 2 - nbuckets) * overflow_pages(nentries / half, group);
}

/*
 * Overflow pages of equal entries, in so many buckets.  These fill the bucket's
 * page first.  The last page is a rest of the same size for all, or of any size:
 * take the middle.
 */
static double
long_overflow_pages(double nentries, double nchains)
{
	double		npages;

	if (nchains == 0)
		return nentries / ENTRIES_PER_PAGE;

	npages = nentries / nchains / ENTRIES_PER_PAGE;
	return nchains * Max((ceil(npages) + npages + 0.5) / 2 - 1, 0);
}

/* Were all entries seen, and counted in slots? */
static bool
all_counted(const HashRebuild *state)
{
	return state->slots != NULL && state->nseen >= state->nblocks;
}

/*
 * Overflow pages of all entries in so many buckets, exactly.  Negative if not all
 * entries were seen, or are to be there.
 */
static double
counted_overflow_pages(const HashRebuild *state, double nentries,
					   double nbuckets)
{
	uint32	   *buckets;
	uint32		mask = state->nslots - 1;
	double		result = 0;

	if (!all_counted(state) || nentries != state->nentries ||
		nbuckets > state->nslots)
		return -1;

	/* As _hash_hashkey2bucket(), whose masks are of powers of two */
	while (mask / 2 + 1 >= nbuckets)
		mask /= 2;
	buckets = state->slots + state->nslots;
	memset(buckets, 0, (Size) nbuckets * sizeof(uint32));
	for (uint32 i = 0; i < state->nslots; i++)
	{
		uint32		bucket = i & mask;

		buckets[bucket < nbuckets ? bucket : bucket & mask / 2] +=
			state->slots[i];
	}
	for (uint32 i = 0; i < nbuckets; i++)
	{
		if (buckets[i] > ENTRIES_PER_PAGE)
			result += (buckets[i] - 1) / ENTRIES_PER_PAGE;
	}
	return result;
}

/* Blocks when the table has so many rows as the build is told */
static double
blocks_for_rows(const HashRebuild *state, const double *counts, double nrows,
				bool whole)
{
	double		fill = state->fill;
	double		nentries = counts[SST_REBUILT_ENTRIES];
	double		nlong = counts[SST_REBUILT_LONG_RUNS];
	double		nshort = Max(nentries - nlong, 0);
	double		group = 1;
	double		initial = allocated_buckets(floor(nrows / fill));
	double		nbuckets = Max(initial, ceil(nentries / fill));
	double		noverflow = -1;

	if (whole)
		noverflow = counted_overflow_pages(state, nentries, nbuckets);
	if (noverflow < 0 || nbuckets != initial)
	{
		double		most;

		if (nshort > 0)
			group = Max(counts[SST_REBUILT_RUN_SQUARES] / nshort, 1);
		most = all_overflow_pages(nshort, nbuckets, group);

		/* An overflow page that growth has made superfluous stays, unused. */
		for (double n = initial; n < nbuckets && sst_go_on(state->base.pause);
			 n += Max(n / GROWTH_STEPS, 1))
			most = Max(most,
					   all_overflow_pages(n * fill * nshort / Max(nentries, 1),
										  n, group));
		most += long_overflow_pages(nlong, counts[SST_REBUILT_LONG_CHAINS]);
		noverflow = Max(noverflow, most);
	}

	/* A bitmap page has a bit for each overflow page, and for itself. */
	return 1 + allocated_buckets(nbuckets) + sst_round_up(noverflow, whole) +
		Max(ceil(noverflow / (BLCKSZ / 2 * BITS_PER_BYTE)), 1);
}

static double
hash_blocks(const SstRebuild *rebuild, const double *counts, bool whole)
{
	const HashRebuild *state = (const HashRebuild *) rebuild;

	return blocks_for_rows(state, counts, state->table_tuples, whole);
}

/*
 * Blocks if the server knew how many rows the table has.  NaN if the build makes
 * no more buckets for the estimate that there is, or if these counts do not say
 * how many rows there are.  Where VACUUM has counted rows, and nobody nulls, either many
 * rows are gone since, or many are null and have no entry; this is for the former.
 */
static double
blocks_if_analyzed(const HashRebuild *state, const double *counts)
{
	double		nrows = counts[SST_REBUILT_ENTRIES] / state->entry_fraction;
	double		fill = state->fill;

	if (!isfinite(nrows) ||
		allocated_buckets(floor(state->table_tuples / fill)) <=
		STALE * allocated_buckets(floor(nrows / fill)))
		return NAN;

	return blocks_for_rows(state, counts, nrows, true);
}

static void
hash_page(SstRebuild *rebuild, const PageData *page, BlockNumber blkno,
		  const SstKeptItems *kept, SstCounters *counters)
{
	HashRebuild *state = (HashRebuild *) rebuild;

	state->nseen++;
	take_page(rebuild, page, counters);

	/* Without growth, overflow pages are as many as they have to be. */
	if (all_counted(state) && state->nentries <= state->fill *
		allocated_buckets(floor(state->table_tuples / state->fill)))
		state->uncertainty = UNCERTAINTY_OF_ALL;
}

/* Each run of equal entries loses this fraction of them at random. */
static void
hash_scale_entries(const SstRebuild *rebuild, double *counts, double fraction)
{
	double		nshort = Max(counts[SST_REBUILT_ENTRIES] -
							 counts[SST_REBUILT_LONG_RUNS], 0);

	counts[SST_REBUILT_RUN_SQUARES] =
		fraction * fraction * counts[SST_REBUILT_RUN_SQUARES] +
		fraction * (1 - fraction) * nshort;
	counts[SST_REBUILT_ENTRIES] *= fraction;
	counts[SST_REBUILT_LONG_RUNS] *= fraction;
}

/* Slots for twice as many buckets as the index or the new one can have */
static void
make_slots(HashRebuild *state)
{
	double		nbuckets =
		Max(allocated_buckets(floor(state->table_tuples / state->fill)),
			(double) state->nblocks * ENTRIES_PER_PAGE / state->fill);

	state->nslots = 2;
	while (state->nslots < nbuckets && state->nslots <= MOST_SLOTS)
		state->nslots *= 2;
	if (state->nslots <= MOST_SLOTS)
	{
		state->slots = palloc(2 * state->nslots * sizeof(uint32));
		memset(state->slots, 0, state->nslots * sizeof(uint32));
	}
}

/*
 * The size grows in steps, not with each entry.  So the interval must include the sizes
 * for the fewest and for the most entries that there can be.
 */
static void
widen_by_steps(const SstRebuild *rebuild, const SstPageSample *sample,
			   const SstEstimate *kept, SstEstimate *estimate)
{
	static const SstStatistic entries =
	{"entries", SST_TOTAL, SST_REBUILT_ENTRIES, 0, MaxIndexTuplesPerPage, &sst_leaf_items};
	SstEstimate found = sst_estimate(&entries, sample);
	SstEstimate part = *kept;
	double		sizes[3];

	if (!(found.value > 0) || isnan(found.low))
		return;
	sst_widen(&part, kept->value * (1 - found.low / found.value),
			  kept->value * (found.high / found.value - 1));
	for (int i = 0; i < lengthof(sizes); i++)
	{
		double		fractions[] = {part.low, part.value, part.high};
		double		sums[lengthof(sample->totals)];

		memcpy(sums, sample->totals, sizeof(sums));
		hash_scale_entries(rebuild, sums, fractions[i]);
		sizes[i] = hash_blocks(rebuild, sums, false);
	}
	estimate->low = Min(estimate->low, estimate->value - (sizes[1] - sizes[0]));
	estimate->high = Max(estimate->high, estimate->value + (sizes[2] - sizes[1]));
}

/*
 * The pages that a build passes, as it looks for room for each entry from the beginning of
 * a chain (_hash_doinsert() in access/hash/hashinsert.c), where many entries are equal: for
 * each such value, half the square of its entries, by the entries of a page.
 *
 * In a sample, each pair of pages with the same value stands for the square of as many as
 * each page stands for.
 */
static double
passed_pages(const HashRebuild *state, double fraction)
{
	double		weight = Max((double) state->nblocks / Max(state->nseen, 1), 1);
	double		squares = 0;

	for (int i = 0; i < lengthof(state->long_codes); i++)
	{
		const LongCode *code = &state->long_codes[i];
		double		pairs = i == MOST_LONG_CODES ? 0 :
			code->nentries * code->nentries - code->squares;

		squares += weight * weight * pairs + weight * code->squares;
	}
	return fraction * fraction * squares / (2 * ENTRIES_PER_PAGE);
}

static void
hash_predict(SstRebuild *rebuild, const SstPageSample *sample,
			 const SstEstimate *kept, SstPrediction *prediction)
{
	HashRebuild *state = (HashRebuild *) rebuild;
	SstEstimate *blocks = &prediction->blocks;
	double		uncertainty;
	double		counts[lengthof(sample->totals)];

	*blocks = sst_predict_blocks(rebuild, sample);
	uncertainty = state->uncertainty * blocks->value;
	sst_widen(blocks, uncertainty, uncertainty);
	sst_leave_out(rebuild, sample, kept, 0, blocks);
	widen_by_steps(rebuild, sample, kept, blocks);

	memcpy(counts, sample->totals, sizeof(counts));
	hash_scale_entries(rebuild, counts, kept->value);
	prediction->analyzed_blocks = blocks_if_analyzed(state, counts);
	prediction->analyze_first = !isnan(prediction->analyzed_blocks) &&
		!state->guessed_nulls;
	prediction->passed_pages = passed_pages(state, kept->value);
}

/* NULL if nothing is known of the table */
static SstRebuild *
hash_begin(Relation rel, const SstTableFacts *table)
{
	HashRebuild *state;

	if (table->note != NULL)
		return NULL;
	state = palloc0(sizeof(HashRebuild));
	state->uncertainty = UNCERTAINTY;
	state->table_tuples = table->ntuples;
	state->entry_fraction = sst_entry_fraction(rel, 1);
	state->guessed_nulls = table->counted && isnan(sst_entry_fraction(rel, NAN));
	state->fill = Max(HashGetTargetPageUsage(rel) / (int) ENTRY_SIZE, MIN_FILL);
	state->nblocks = RelationGetNumberOfBlocks(rel);
	make_slots(state);
	return &state->base;
}

const SstModel sst_hash_model = {hash_begin, hash_page, hash_predict, hash_blocks,
hash_scale_entries, .needs_table = true};
