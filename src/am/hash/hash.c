/*-------------------------------------------------------------------------
 *
 * hash.c
 *	  Reading the pages of a hash index, and its size after a rebuild
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/hash.h"
#include "access/itup.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"

#include "am/rebuild.h"

/* What is counted of hash indexes only */
enum
{
	BUCKET_PAGES = SST_OWN,		/* leaf pages */
	OVERFLOW_PAGES,				/* leaf pages */
	BITMAP_PAGES,				/* internal pages */
	REBUILT_LONG_RUNS,			/* entries that many others equal */
	REBUILT_LONG_CHAINS,		/* buckets with such */
	REBUILT_RUN_SQUARES			/* sum over runs of equal hash codes */
};

#define META_BUCKETS SST_META_OWN

static void
read_meta(SstMeta *meta, const PageData *page)
{
	const HashMetaPageData *metad = HashPageGetMeta((Page) page);

	meta->known = true;
	meta->field[SST_META_VERSION] = metad->hashm_version;
	meta->field[META_BUCKETS] = (int64) metad->hashm_maxbucket + 1;
}

/* A page in use or kept for later has this many bytes for tuples. */
#define USABLE_BYTES SST_PAGE_ROOM(sizeof(HashPageOpaqueData))

/* Flags of a page that has tuples, but for those of its type */
#define FLAGS_OF_OVERFLOW LH_PAGE_HAS_DEAD_TUPLES
#define FLAGS_OF_BUCKET (LH_PAGE_HAS_DEAD_TUPLES | LH_BUCKET_BEING_POPULATED | \
						 LH_BUCKET_BEING_SPLIT | LH_BUCKET_NEEDS_SPLIT_CLEANUP)

/* Flags that exist */
#define KNOWN_FLAGS (LH_PAGE_TYPE | FLAGS_OF_BUCKET)

/* pgstathashindex takes pages out of use for free space, new ones as well. */
static void
count_unused_page(SstCounters *counters)
{
	counters->n[SST_UNUSED_PAGES]++;
	counters->n[SST_FREE_BYTES] += USABLE_BYTES;
	counters->n[SST_USABLE_BYTES] += USABLE_BYTES;
}

/*
 * Is it a page that is initialized and nothing more?  _hash_expandtable() leaves one in
 * the buffer of the next bucket, without writing it, if it does not get the cleanup
 * lock because somebody has a pin there.
 */
static bool
is_initialized_only(const PageData *page)
{
	static const HashPageOpaqueData zeros = {0};

	return PageIsEmpty((Page) page) &&
		((const PageHeaderData *) page)->pd_upper == BLCKSZ - MAXALIGN(sizeof(zeros)) &&
		memcmp(HashPageGetOpaque((Page) page), &zeros, sizeof(zeros)) == 0;
}

/*
 * Does the special space agree with itself?  Pages other than those with tuples are
 * of no bucket, and have no neighbours: _hash_freeovflpage(), _hash_init().
 */
static bool
special_is_sound(const HashPageOpaqueData *opaque)
{
	uint16		type = opaque->hasho_flag & LH_PAGE_TYPE;
	uint16		flags = opaque->hasho_flag & ~LH_PAGE_TYPE;

	if (opaque->hasho_page_id != HASHO_PAGE_ID)
		return false;
	if (type == LH_BUCKET_PAGE)
		return (flags & ~FLAGS_OF_BUCKET) == 0;
	if (type == LH_OVERFLOW_PAGE)
		return (flags & ~FLAGS_OF_OVERFLOW) == 0;

	return flags == 0 &&
		opaque->hasho_bucket == InvalidBucket &&
		opaque->hasho_prevblkno == InvalidBlockNumber &&
		opaque->hasho_nextblkno == InvalidBlockNumber;
}

/*
 * Count a page whose special space is in place.  By contrib's rules, items count
 * wherever they point to, as pgstathashindex has it.
 */
static bool
count_page(SstVisitor *visitor, const PageData *page, SstRules rules,
		   SstCounters *counters)
{
	const HashPageOpaqueData *opaque = HashPageGetOpaque((Page) page);
	SstLinePointers items;

	switch (opaque->hasho_flag & LH_PAGE_TYPE)
	{
		case LH_BUCKET_PAGE:
		case LH_OVERFLOW_PAGE:
			sst_read_line_pointers(page, FirstOffsetNumber,
								   &visitor->lengths, &items);
			if (items.outside && rules == SST_RULES_TOLERANT)
				return false;
			if (opaque->hasho_flag & LH_BUCKET_PAGE)
				counters->n[BUCKET_PAGES]++;
			else
				counters->n[OVERFLOW_PAGES]++;
			sst_count_leaf(counters, PageGetExactFreeSpace((Page) page),
						   USABLE_BYTES);
			sst_count_items(counters, &items);
			return true;
		case LH_BITMAP_PAGE:
			counters->n[SST_INTERNAL_PAGES]++;
			counters->n[BITMAP_PAGES]++;
			return true;
		case LH_UNUSED_PAGE:
			if (rules == SST_RULES_TOLERANT && sst_page_items(page) > 0)
				return false;
			counters->n[SST_DELETED_PAGES]++;
			count_unused_page(counters);
			return true;
		default:
			return false;
	}
}

static bool
hash_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
		  SstCounters *counters)
{
	if (!sst_page_is_sound(page, sizeof(HashPageOpaqueData)))
	{
		if (!sst_count_if_new_in_index(page, blkno, counters))
			return false;
		count_unused_page(counters);
		return true;
	}

	if (!special_is_sound(HashPageGetOpaque((Page) page)))
	{
		if (blkno == HASH_METAPAGE || !is_initialized_only(page))
			return false;
		sst_count_new(counters, blkno);
		count_unused_page(counters);
		return true;
	}
	if (blkno != HASH_METAPAGE)
		return count_page(visitor, page, SST_RULES_TOLERANT, counters);

	if ((HashPageGetOpaque((Page) page)->hasho_flag & LH_PAGE_TYPE) != LH_META_PAGE ||
		HashPageGetMeta((Page) page)->hashm_magic != HASH_MAGIC)
		return false;
	counters->n[SST_OTHER_PAGES]++;
	read_meta(&visitor->meta, page);
	return true;
}

static bool
hash_contrib_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
				  SstCounters *counters)
{
	const PageHeaderData *header = (const PageHeaderData *) page;

	if (blkno == HASH_METAPAGE)
	{
		read_meta(&visitor->meta, page);
		return true;
	}

	if (PageIsNew((Page) page))
	{
		sst_count_new(counters, blkno);
		count_unused_page(counters);
		return true;
	}

	/*
	 * The page's size is what the header says; a special space that is behind
	 * the end of the page by that is where we stop.
	 */
	if (PageGetSpecialSize((Page) page) != MAXALIGN(sizeof(HashPageOpaqueData)) ||
		header->pd_special > BLCKSZ - MAXALIGN(sizeof(HashPageOpaqueData)))
		return false;

	return count_page(visitor, page, SST_RULES_CONTRIB, counters);
}

static int
pgstattuple_first(const PageData *page)
{
	uint16		type = HashPageGetOpaque((Page) page)->hasho_flag & LH_PAGE_TYPE;

	if (type == LH_UNUSED_PAGE)
		return SST_PGSTATTUPLE_FREE;
	return type == LH_BUCKET_PAGE || type == LH_OVERFLOW_PAGE ? FirstOffsetNumber : 0;
}

/* What a page is, for a diagnosis */
static void
page_type(const PageData *page, BlockNumber blkno, SstPageType *type)
{
	uint16		kind;

	type->flags = HashPageGetOpaque((Page) page)->hasho_flag;
	kind = type->flags & LH_PAGE_TYPE;
	type->known = (type->flags & ~KNOWN_FLAGS) == 0 && (kind & (kind - 1)) == 0 &&
		(kind == LH_META_PAGE) == (blkno == HASH_METAPAGE);
	type->has_tuples = (kind & (LH_BUCKET_PAGE | LH_OVERFLOW_PAGE)) != 0;
	type->has_contents = blkno == HASH_METAPAGE;
}

/* pgstathashindex has 0 where there is no space for tuples. */
static Datum
contrib_free_percent(const SstRelationStats *found, bool *isnull)
{
	Datum		percent = sst_percent(SST_COUNT(found, SST_FREE_BYTES),
									  SST_COUNT(found, SST_USABLE_BYTES), isnull);

	if (!*isnull)
		return percent;
	*isnull = false;
	return Float8GetDatum(0.0);
}

static const SstColumn hash_columns[] = {
	{"version", INT4OID, .meta = SST_META_VERSION},
	{"buckets", INT8OID, .meta = META_BUCKETS},
	SST_SIZE_COLUMNS,
	{"bucket_pages", INT8OID, BUCKET_PAGES, .most = 1},
	{"overflow_pages", INT8OID, OVERFLOW_PAGES, .most = 1},
	{"bitmap_pages", INT8OID, BITMAP_PAGES, .most = 1},
	{"unused_pages", INT8OID, SST_UNUSED_PAGES, .most = 1},
	{"live_items", INT8OID, SST_LIVE_ITEMS, .most = MaxIndexTuplesPerPage, .items = &sst_leaf_items},
	{"dead_items", INT8OID, SST_DEAD_ITEMS, .most = MaxIndexTuplesPerPage, .items = &sst_leaf_items},
	{"free_bytes", INT8OID, SST_FREE_BYTES, .most = BLCKSZ},
	{"free_percent", FLOAT8OID, SST_FREE_BYTES, .percent_of = SST_USABLE_BYTES, .main = true},
	SST_DAMAGE_COLUMNS,
};

static const SstColumn pgstathashindex_columns[] = {
	{"version", INT4OID, .meta = SST_META_VERSION},
	{"bucket_pages", INT8OID, BUCKET_PAGES},
	{"overflow_pages", INT8OID, OVERFLOW_PAGES},
	{"bitmap_pages", INT8OID, BITMAP_PAGES},
	{"unused_pages", INT8OID, SST_UNUSED_PAGES},
	{"live_items", INT8OID, SST_LIVE_ITEMS},
	{"dead_items", INT8OID, SST_DEAD_ITEMS},
	{"free_percent", FLOAT8OID, 0, contrib_free_percent},
};

/* ----------
 * The model
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
 * ----------
 */

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
		counters->n[REBUILT_LONG_RUNS] += length;
		count_long_run(state, code, length);
		state->uncertainty = UNCERTAINTY_OF_LONG_RUNS;
		return;
	}
	counters->n[REBUILT_RUN_SQUARES] += length * length;
	if (length >= GROUP)
		state->uncertainty = Max(state->uncertainty, UNCERTAINTY_OF_GROUPS);
}

/* Entries are sorted by hash code on each page. */
static void
model_page(SstRebuild *rebuild, const PageData *page, BlockNumber blkno,
		   const SstItemList *kept, SstCounters *counters)
{
	HashRebuild *state = (HashRebuild *) rebuild;
	int			nitems = sst_page_items(page);
	uint32		code = 0;
	uint64		length = 0;
	bool		has_long_run = false;
	int			nruns = 0;
	int			type;

	state->nseen++;
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
		counters->n[REBUILT_LONG_CHAINS]++;
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
	double		nlong = counts[REBUILT_LONG_RUNS];
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
			group = Max(counts[REBUILT_RUN_SQUARES] / nshort, 1);
		most = all_overflow_pages(nshort, nbuckets, group);

		/* An overflow page that growth has made superfluous stays, unused. */
		for (double n = initial; n < nbuckets && sst_go_on(state->base.pause);
			 n += Max(n / GROWTH_STEPS, 1))
			most = Max(most,
					   all_overflow_pages(n * fill * nshort / Max(nentries, 1),
										  n, group));
		most += long_overflow_pages(nlong, counts[REBUILT_LONG_CHAINS]);
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

/* Each run of equal entries loses this fraction of them at random. */
static void
hash_scale_entries(const SstRebuild *rebuild, double *counts, double fraction)
{
	double		nshort = Max(counts[SST_REBUILT_ENTRIES] -
							 counts[REBUILT_LONG_RUNS], 0);

	counts[REBUILT_RUN_SQUARES] =
		fraction * fraction * counts[REBUILT_RUN_SQUARES] +
		fraction * (1 - fraction) * nshort;
	counts[SST_REBUILT_ENTRIES] *= fraction;
	counts[REBUILT_LONG_RUNS] *= fraction;
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
	static const SstColumn entries =
	{.count = SST_REBUILT_ENTRIES, .most = MaxIndexTuplesPerPage, .items = &sst_leaf_items};
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
			 const SstEstimate *kept, SstEstimate *blocks)
{
	HashRebuild *state = (HashRebuild *) rebuild;
	double		uncertainty = state->uncertainty;
	double		counts[lengthof(sample->totals)];

	/* Without growth, overflow pages are as many as they have to be. */
	if (all_counted(state) && state->nentries <= state->fill *
		allocated_buckets(floor(state->table_tuples / state->fill)))
		uncertainty = UNCERTAINTY_OF_ALL;
	*blocks = sst_predict_blocks(rebuild, sample);
	uncertainty *= blocks->value;
	sst_widen(blocks, uncertainty, uncertainty);
	sst_leave_out(rebuild, sample, kept, 0, blocks);
	widen_by_steps(rebuild, sample, kept, blocks);

	memcpy(counts, sample->totals, sizeof(counts));
	hash_scale_entries(rebuild, counts, kept->value);
	rebuild->analyzed_blocks = blocks_if_analyzed(state, counts);
	rebuild->analyze_first = !isnan(rebuild->analyzed_blocks) &&
		!state->guessed_nulls;
	rebuild->passed_pages = passed_pages(state, kept->value);
}

static SstRebuild *
hash_begin(Relation rel)
{
	SstTableFacts table;
	HashRebuild *state;

	if (!sst_get_table_facts(rel, &table))
		return NULL;
	state = palloc0(sizeof(HashRebuild));
	state->uncertainty = UNCERTAINTY;
	state->table_tuples = table.ntuples;
	state->entry_fraction = sst_entry_fraction(rel, 1);
	state->guessed_nulls = table.counted && isnan(sst_entry_fraction(rel, NAN));
	state->fill = Max(HashGetTargetPageUsage(rel) / (int) ENTRY_SIZE, MIN_FILL);
	state->nblocks = RelationGetNumberOfBlocks(rel);
	make_slots(state);
	return &state->base;
}

static const SstModel hash_model = {hash_begin, model_page, hash_predict, hash_blocks,
hash_scale_entries};

/* ----------
 * The descriptor
 * ----------
 */

const SstAccessMethod sst_hash_am = {
	.name = "hash",
	.oid = HASH_AM_OID,
	.kind = SST_INDEX,
	.flags = SST_AM_META | SST_AM_ENTRY_A_ROW | SST_AM_NO_NULLS | SST_AM_RESERVES_PAGES,
	.refusal = gettext_noop("relation \"%s\" is not a hash index"),
	.page = hash_page,
	.part = SST_PART_LINE_POINTERS,
	.contrib_page = hash_contrib_page,
	.contrib_part = SST_PART_LINE_POINTERS,
	.pgstattuple_first = pgstattuple_first,
	.special_size = sizeof(HashPageOpaqueData),
	.page_id = HASHO_PAGE_ID,
	.page_type = page_type,
	.columns = {hash_columns, lengthof(hash_columns)},
	.contrib_columns = {pgstathashindex_columns, lengthof(pgstathashindex_columns)},
	.model = &hash_model,
};
