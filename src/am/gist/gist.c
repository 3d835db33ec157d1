/*-------------------------------------------------------------------------
 *
 * gist.c
 *	  Reading the pages of GiST and SP-GiST indexes, and their size after a rebuild
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/gist_private.h"
#include "access/itup.h"
#include "access/spgist_private.h"
#include "access/xlogrecord.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"
#include "utils/lsyscache.h"

#include "am/rebuild.h"

/* ----------
 * GiST
 *
 * There is no metapage: block 0 is the root.  Only leaf pages are ever deleted,
 * and only tuples on leaf pages marked dead.  access/gist.h has the layouts.
 * ----------
 */

#define GIST_FLAGS (F_LEAF | F_DELETED | F_TUPLES_DELETED | F_FOLLOW_RIGHT | \
					 F_HAS_GARBAGE)

/* Where the contents of a deleted page end: GistPageSetDeleted() */
#define DELETED_LOWER (MAXALIGN(SizeOfPageHeaderData) + \
					   sizeof(GISTDeletedPageContents))

/*
 * A deleted page has the time of its deletion in the place of line pointers, or
 * nothing there if an old release deleted it: GistPageGetDeleteXid().
 */
static bool
gist_deleted_page(const PageData *page, BlockNumber blkno, SstCounters *counters)
{
	int			lower = ((const PageHeaderData *) page)->pd_lower;

	if (blkno == GIST_ROOT_BLKNO ||
		(lower != DELETED_LOWER && lower != SizeOfPageHeaderData))
		return false;

	counters->n[SST_DELETED_PAGES]++;
	return true;
}

static bool
gist_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
		  SstCounters *counters)
{
	uint16		flags = GistPageGetOpaque((Page) page)->flags;
	SstLinePointers items;

	if ((flags & ~GIST_FLAGS) != 0)
		return false;

	if (flags & F_DELETED)
		return gist_deleted_page(page, blkno, counters);

	sst_read_line_pointers(page, FirstOffsetNumber, &visitor->lengths, &items);
	if (items.outside)
		return false;

	if (flags & F_LEAF)
	{
		sst_count_leaf(counters, sst_page_free_space(page),
					   SST_PAGE_ROOM(sizeof(GISTPageOpaqueData)));
		sst_count_items(counters, &items);
	}
	else
		counters->n[SST_INTERNAL_PAGES]++;

	return true;
}

static int
pgstattuple_first(const PageData *page)
{
	return GistPageIsLeaf((Page) page) ? FirstOffsetNumber : 0;
}

/* What a page is, for a diagnosis */
static void
gist_page_type(const PageData *page, BlockNumber blkno, SstPageType *type)
{
	type->flags = GistPageGetOpaque((Page) page)->flags;
	type->known = (type->flags & ~GIST_FLAGS) == 0;
	type->has_tuples = (type->flags & F_DELETED) == 0;
	type->has_contents = !type->has_tuples;
}

/* ----------
 * SP-GiST
 *
 * The roots of two trees follow the metapage: one for keys, and one for nulls.
 * Moved or removed tuples leave others in their place, which a tuple's state
 * distinguishes; access/spgist_private.h has the layouts.
 * ----------
 */

/* What is counted of SP-GiST indexes only */
enum
{
	SST_NULLS_PAGES = SST_OWN,	/* leaf or internal pages */
	SST_INNER_FREE_BYTES,		/* of inner pages */
	SST_INNER_USABLE_BYTES
};

#define SPGIST_ROOM SST_PAGE_ROOM(sizeof(SpGistPageOpaqueData))

/* Tuples of a page, by their state */
#define NSTATES (SPGIST_PLACEHOLDER + 1)

/* Nobody sets SPGIST_DELETED, but the server heeds it. */
#define SPGIST_FLAGS (SPGIST_META | SPGIST_DELETED | SPGIST_LEAF | SPGIST_NULLS)

/*
 * A page's flags and its block number must agree.  Each tree keeps its root,
 * and the root its tree.
 */
static bool
flags_are_sound(uint16 flags, BlockNumber blkno)
{
	if ((flags & ~SPGIST_FLAGS) != 0)
		return false;

	switch (blkno)
	{
		case SPGIST_ROOT_BLKNO:
			return (flags & ~SPGIST_LEAF) == 0;
		case SPGIST_NULL_BLKNO:
			return (flags & ~SPGIST_LEAF) == SPGIST_NULLS;
		default:
			return (flags & SPGIST_META) == 0;
	}
}

/*
 * Count a page's tuples by their state; false if one of them makes no sense.
 *
 * All line pointers are in use.  A tuple of any kind is long enough to become
 * one that is not live, and has its state in the same place.
 */
static bool
count_states(const PageData *page, int ntuples[NSTATES])
{
	int			nitems = sst_page_items(page);

	memset(ntuples, 0, NSTATES * sizeof(int));

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		const ItemIdData *item = PageGetItemId((Page) page, offnum);
		SpGistDeadTupleData tuple;

		if (!ItemIdIsNormal(item) || sst_item_is_outside(page, offnum) ||
			ItemIdGetLength(item) < SGDTSIZE)
			return false;

		/* The tuple of a damaged page can be anywhere: align it. */
		memcpy(&tuple, page + ItemIdGetOffset(item), sizeof(tuple));
		ntuples[tuple.tupstate]++;
	}

	return true;
}

/* A page of one of the trees */
static bool
tree_page(const PageData *page, uint16 flags, SstCounters *counters)
{
	Size		freespace = sst_page_free_space(page);
	int			ntuples[NSTATES];

	if (!count_states(page, ntuples))
		return false;

	if (flags & SPGIST_LEAF)
	{
		sst_count_leaf(counters, freespace, SPGIST_ROOM);
		counters->n[SST_LIVE_ITEMS] += ntuples[SPGIST_LIVE];
	}
	else
	{
		counters->n[SST_INTERNAL_PAGES]++;
		counters->n[SST_INNER_FREE_BYTES] += freespace;
		counters->n[SST_INNER_USABLE_BYTES] += SPGIST_ROOM;
	}
	if (flags & SPGIST_NULLS)
		counters->n[SST_NULLS_PAGES]++;

	counters->n[SST_REDIRECT_ITEMS] += ntuples[SPGIST_REDIRECT];
	counters->n[SST_DEAD_ITEMS] += ntuples[SPGIST_DEAD];
	counters->n[SST_PLACEHOLDER_ITEMS] += ntuples[SPGIST_PLACEHOLDER];
	return true;
}

static bool
read_meta(SstMeta *meta, const PageData *page)
{
	return SpGistPageGetOpaque((Page) page)->flags == SPGIST_META &&
		SpGistPageGetMeta((Page) page)->magicNumber == SPGIST_MAGIC_NUMBER;
}

static bool
spgist_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
			SstCounters *counters)
{
	uint16		flags = SpGistPageGetOpaque((Page) page)->flags;

	if (!flags_are_sound(flags, blkno))
		return false;

	/*
	 * As VACUUM does, to have it used again (spgvacuumpage() in
	 * access/spgist/spgvacuum.c)
	 */
	if (flags & SPGIST_DELETED ||
		(blkno > SPGIST_NULL_BLKNO && sst_page_items(page) == 0))
	{
		counters->n[SST_DELETED_PAGES]++;
		return true;
	}

	return tree_page(page, flags, counters);
}

/* What a page is, for a diagnosis */
static void
spgist_page_type(const PageData *page, BlockNumber blkno, SstPageType *type)
{
	type->flags = SpGistPageGetOpaque((Page) page)->flags;
	type->known = (type->flags & ~SPGIST_FLAGS) == 0 &&
		((type->flags & SPGIST_META) != 0) == (blkno == SPGIST_METAPAGE_BLKNO);
	type->has_contents = blkno == SPGIST_METAPAGE_BLKNO;
	type->has_tuples = !type->has_contents && (type->flags & SPGIST_DELETED) == 0;
}

/* Tuples have their state and length in one place, but for live inner ones. */
static int
tuple_length(const PageData *page, const ItemIdData *item)
{
	const char *tuple = page + ItemIdGetOffset(item);

	return SpGistPageIsLeaf((Page) page) ||
		((const SpGistDeadTupleData *) tuple)->tupstate != SPGIST_LIVE ?
		((const SpGistDeadTupleData *) tuple)->size :
		((const SpGistInnerTupleData *) tuple)->size;
}

/* ----------
 * The model of both
 *
 * A build makes the entries that there are, without those of dead rows, and as
 * long as they are.  How full it leaves pages depends on how the operator
 * class splits them, which is code that is not run here, and on the order of
 * rows.  If the present pages do not tell, it is a fraction which bench/fill has
 * measured, with ends that held 95 percent of many kinds of keys, orders and histories.
 *
 * The present pages tell as long as few of them are nearly empty: the new ones will be about as
 * full, with as many inner pages for each leaf page.  And a build ends with records of the
 * log that have many pages each (log_newpage_range()).  A page that has its neighbor's LSN has not
 * been changed since, and if most have not, a rebuild changes hardly anything.
 * ----------
 */

/* Other fills than these would make no sense. */
#define LEAST_FILL 0.02
#define MOST_FILL 1.06

/* SP-GiST's metapage and two roots */
#define FIXED_BLOCKS (SPGIST_LAST_FIXED_BLKNO + 1)

typedef struct TreeRebuild
{
	SstRebuild	base;
	bool		spgist;
	bool		sorted;			/* by a build of GiST */
	bool		uneven;			/* see splits_unevenly() */
	int			room;			/* of a page, bytes */
	double		full;			/* of that, a build fills so much before it
								 * splits a page */

	/* The present leaf pages, and how full they are of what they can be */
	uint32		nleaves;
	uint32		nsparse;
	double		fill;			/* sum */
	double		fullest;

	/*
	 * Those that a build logs with the one before, and those that have its
	 * LSN
	 */
	BlockNumber last_leaf;
	XLogRecPtr	last_lsn;
	uint32		ncompared;
	uint32		nunchanged;

	double		kept;			/* fraction of the entries, if it is not known
								 * which */
	double		squares;		/* sum over entries of those of their bytes */
} TreeRebuild;

/*
 * How full a build usually leaves leaf pages of GiST and of SP-GiST, of what it fills before it
 * splits one, with the ends of 95 percent: see bench/fill.  The high end also holds where
 * addresses at even distances fill SP-GiST's pages, and the low end where a lattice of points or
 * a few long texts leave them two thirds empty (sql/bloat_trees), and points whose rows are in
 * their order seven tenths.
 */
static const SstEstimate usual_fill[] = {{0.70, 0.52, 1.00}, {0.70, 0.29, 1.00}};

/*
 * If no more than FEW_SPARSE of the leaf pages are less full than SPARSE, new pages will be as
 * full as the present ones, with these ends.  Not where a build sorts: it fills pages otherwise
 * than the inserts before it.
 */
#define SPARSE 0.35
#define FEW_SPARSE 0.2
#define LEAST_OF_PRESENT 0.9
#define MOST_OF_PRESENT 1.35

/* New pages are hardly less full than the present ones, whatever was deleted. */
#define LEAST_OF_DELETED 0.85

/*
 * ... but where splits are uneven: they can be half as full, down to the second fraction.
 * contrib's cube and intarray leave pages with an entry or two; what addresses do depends on how
 * dense networks are; and ranges that overlap and come in order fill a third of a page.
 */
#define LEAST_OF_UNEVEN 0.5
#define LEAST_UNEVEN 0.2

/*
 * If UNCHANGED of at least COMPARED leaf pages have the LSN of the one before, new pages will be
 * as full as the present ones, with these ends.  That is so only as long as KEPT of the rows are
 * not dead.  GiST's fillfactor can have been a lower one, by which no page was to be fuller than the
 * fullest is: surely if that has less than the larger half of a page that was split.
 */
#define COMPARED 7
#define UNCHANGED 0.85
#define KEPT 0.95
#define HALF 0.5
#define LEAST_OF_UNCHANGED 0.95
#define MOST_OF_UNCHANGED 1.07

/*
 * Get the TID of a leaf page's tuple.  False for one that only stands in the place of an entry
 * that has gone.
 */
static bool
get_tid(const TreeRebuild *state, const PageData *page, const ItemIdData *item,
		ItemPointerData *tid)
{
	const char *tuple = page + ItemIdGetOffset(item);
	IndexTupleData entry;
	SpGistLeafTupleData leaf;	/* others have their state in the same place */

	if (ItemIdGetLength(item) < Max(sizeof(entry), sizeof(leaf)))
		return false;
	if (!state->spgist)
	{
		memcpy(&entry, tuple, sizeof(entry));
		*tid = entry.t_tid;
		return true;
	}
	memcpy(&leaf, tuple, sizeof(leaf));
	*tid = leaf.heapPtr;
	return leaf.tupstate == SPGIST_LIVE;
}

/* Add an item to the sums, or take it away again if the sign is -1. */
static inline void
add_item(SstItemSums *sums, const ItemIdData *item, bool dead, int sign)
{
	int64		size = sign * (int64) (MAXALIGN(ItemIdGetLength(item)) + sizeof(ItemIdData));

	sums->all_bytes += size;
	if (dead)
	{
		sums->ndead += sign;
		return;
	}
	sums->nlive += sign;
	sums->bytes += size;
	sums->squares += sign * size * size;
}

/*
 * Count the entries of a leaf page.  Returns the bytes that they take, with dead ones.  If all TIDs
 * are kept, line pointers tell, as what stands in the place of an entry has one size
 * (spgFormDeadTuple() in access/spgist/spgutils.c).
 */
static uint64
count_entries(TreeRebuild *state, const PageData *page, SstCounters *counters)
{
	SstItemSums sums = {0};
	bool		keeps_all = state->base.dead_tids == NULL;
	int			nitems = keeps_all && !state->spgist ? 0 : sst_page_items(page);

	if (keeps_all)
		sst_sum_items(page, &sums);
	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		const ItemIdData *item = PageGetItemId((Page) page, offnum);
		ItemPointerData tid;

		if (!keeps_all)
		{
			if (get_tid(state, page, item, &tid))
				add_item(&sums, item, ItemIdIsDead(item) ||
						 sst_rebuild_leaves_out(&state->base, &tid), 1);
		}
		else if (ItemIdGetLength(item) <= sizeof(SpGistDeadTupleData) &&
				 !get_tid(state, page, item, &tid))
			add_item(&sums, item, ItemIdIsDead(item), -1);
	}
	state->squares += sums.squares;
	counters->n[SST_REBUILT_DEAD_ENTRIES] += sums.ndead;
	counters->n[SST_REBUILT_ENTRIES] += sums.nlive;
	counters->n[SST_REBUILT_BYTES] += sums.bytes;
	return sums.all_bytes;
}

/* Compare a leaf page with the one before, if a build logs both together. */
static void
compare_leaf(TreeRebuild *state, BlockNumber blkno, XLogRecPtr lsn)
{
	if (state->last_lsn != InvalidXLogRecPtr &&
		blkno / XLR_MAX_BLOCK_ID == state->last_leaf / XLR_MAX_BLOCK_ID)
	{
		state->ncompared++;
		state->nunchanged += lsn == state->last_lsn;
	}
	state->last_leaf = blkno;
	state->last_lsn = lsn;
}

/* Take a leaf page in.  "built": none has been split into it since it was built. */
static void
take_leaf(TreeRebuild *state, const PageData *page, BlockNumber blkno,
		  bool built, SstCounters *counters)
{
	double		fill = (double) count_entries(state, page, counters) / state->room;

	if (built && fill <= state->full)
		fill /= state->full;
	state->nleaves++;
	state->nsparse += fill < SPARSE;
	state->fullest = Max(state->fullest, fill);
	state->fill += fill;
	compare_leaf(state, blkno, PageGetLSN((Page) page));
}

static void
gist_model_page(SstRebuild *rebuild, const PageData *page, BlockNumber blkno,
				const SstItemList *kept, SstCounters *counters)
{
	uint16		flags;

	if (sst_page_items(page) == 0)
		return;
	flags = GistPageGetOpaque((Page) page)->flags;
	if ((flags & (F_DELETED | F_LEAF)) == F_LEAF)
		take_leaf((TreeRebuild *) rebuild, page, blkno,
				  GistPageGetNSN((Page) page) <= GistBuildLSN, counters);
}

static void
spgist_model_page(SstRebuild *rebuild, const PageData *page, BlockNumber blkno,
				  const SstItemList *kept, SstCounters *counters)
{
	uint16		flags;

	if (sst_page_items(page) == 0)
		return;
	flags = SpGistPageGetOpaque((Page) page)->flags;
	if ((flags & (SPGIST_META | SPGIST_DELETED | SPGIST_LEAF)) == SPGIST_LEAF)
		take_leaf((TreeRebuild *) rebuild, page, blkno, true, counters);
}

/* How full leaf pages will be, with the ends of 95 percent */
static SstEstimate
expected_fill(const TreeRebuild *state, const double *counts)
{
	SstEstimate usual = usual_fill[state->spgist];
	double		present = state->fill / Max(state->nleaves, 1);
	double		live = counts[SST_REBUILT_ENTRIES];
	bool		few_dead = state->kept * live >=
		KEPT * (live + counts[SST_REBUILT_DEAD_ENTRIES]);
	double		fullest = state->spgist ? 1 : Min(state->fullest, 1);
	SstEstimate result = {present, LEAST_OF_PRESENT * present, MOST_OF_PRESENT * present};

	if (few_dead && state->ncompared >= COMPARED &&
		state->nunchanged >= UNCHANGED * state->ncompared && fullest >= HALF)
	{
		result.low = LEAST_OF_UNCHANGED * present;
		result.high = MOST_OF_UNCHANGED * present / fullest;
		return result;
	}
	if (state->sorted || state->nsparse > FEW_SPARSE * state->nleaves)
	{
		result.value = Max(usual.value, present);
		result.low = Max(usual.low, LEAST_OF_DELETED * present);
		result.high = Max(usual.high, result.high);
	}
	else
	{
		if (!few_dead)
			result.low = Min(result.low, usual.low);

		/* Entries can be gone from all pages alike, so that none is sparse. */
		if (!few_dead || present < usual.value)
			result.high = Max(result.high, usual.high);
	}
	if (state->uneven)
		result.low = Min(result.low, Max(LEAST_OF_UNEVEN * present, LEAST_UNEVEN));
	return result;
}

/* Blocks of the index if leaf pages are so full, where so full ones were expected */
static double
blocks_of_fill(const TreeRebuild *state, const double *counts, double expected,
			   double fill, bool whole)
{
	double		room = state->full * state->room;
	double		bytes = counts[SST_REBUILT_BYTES];

	/* SP-GiST has a root for nulls, which is mostly empty. */
	int			nroots = state->spgist;
	double		inner = counts[SST_INTERNAL_PAGES] - nroots;
	double		nleaves;

	if (bytes <= room)
		return state->spgist ? FIXED_BLOCKS : 1;
	fill = Max(Min(fill, MOST_FILL), LEAST_FILL);
	nleaves = Max(sst_round_up(bytes / (fill * room), whole), 2);

	/*
	 * A build of SP-GiST leaves pages empty, too: at most as many as inner
	 * pages.
	 */
	if (state->spgist)
		inner += Min(counts[SST_DELETED_PAGES], inner);

	/* If leaf pages become less full than expected, so do the others. */
	inner *= nleaves / Max(counts[SST_LEAF_PAGES] - nroots, 1) * expected / fill;
	inner = Max(whole ? rint(inner) : inner, !state->spgist);
	return (state->spgist ? FIXED_BLOCKS : 0) + nleaves + inner;
}

static double
tree_blocks(const SstRebuild *rebuild, const double *counts, bool whole)
{
	const TreeRebuild *state = (const TreeRebuild *) rebuild;
	double		fill = expected_fill(state, counts).value;

	return blocks_of_fill(state, counts, fill, fill, whole);
}

/* Does a GiST build sort (gistbuild() in access/gist/gistbuild.c), or insert? */
static bool
build_sorts(Relation rel, const GiSTOptions *options)
{
	if (options != NULL && options->buffering_mode == GIST_OPTION_BUFFERING_ON)
		return false;

	for (int i = 1; i <= IndexRelationGetNumberOfKeyAttributes(rel); i++)
	{
		if (!OidIsValid(index_getprocid(rel, i, GIST_SORTSUPPORT_PROC)))
			return false;
	}
	return true;
}

/* Does the operator class of a column split pages unevenly (LEAST_OF_UNEVEN)? */
static bool
splits_unevenly(Relation rel, int procnum)
{
	static const char *const names[] = {
		"g_cube_picksplit", "g_int_picksplit", "g_intbig_picksplit",
		"inet_gist_picksplit", "inet_spg_picksplit", "range_gist_picksplit"
	};

	for (int i = 1; i <= IndexRelationGetNumberOfKeyAttributes(rel); i++)
	{
		char	   *split = get_func_name(index_getprocid(rel, i, procnum));

		for (int n = 0; split != NULL && n < lengthof(names); n++)
		{
			if (strcmp(split, names[n]) == 0)
				return true;
		}
	}
	return false;
}

static void
tree_predict(SstRebuild *rebuild, const SstPageSample *sample,
			 const SstEstimate *kept, SstEstimate *blocks)
{
	TreeRebuild *state = (TreeRebuild *) rebuild;
	const uint64 *seen = sample->sums.n;
	const double *counts = sample->totals;
	SstEstimate fill;
	double		few;
	double		low;
	double		high;

	state->kept = kept->value;
	*blocks = sst_predict_blocks(rebuild, sample);

	/* How full a few pages are varies more than the mean of many. */
	fill = expected_fill(state, counts);
	few = 1 + fill.value * state->room / Max(counts[SST_REBUILT_BYTES], 1);
	low = blocks_of_fill(state, counts, fill.value, fill.high * few, true);
	high = blocks_of_fill(state, counts, fill.value, fill.low / few, true);

	/*
	 * A sample does not show whether little more than a page's bytes are
	 * that.
	 */
	if (!sst_sample_is_exact(sample) &&
		counts[SST_REBUILT_BYTES] <= 2 * state->full * state->room)
		low = state->spgist ? FIXED_BLOCKS : 1;
	sst_widen(blocks, Max(blocks->value - low, 0), Max(high - blocks->value, 0));
	sst_leave_out(rebuild, sample, kept,
				  sst_most_unlike(kept->value, seen[SST_REBUILT_ENTRIES], seen[SST_REBUILT_BYTES],
								  state->squares), blocks);
}

static SstRebuild *
gist_begin(Relation rel)
{
	TreeRebuild *state = palloc0(sizeof(TreeRebuild));
	const GiSTOptions *options = (const GiSTOptions *) rel->rd_options;

	state->room = SST_PAGE_ROOM(sizeof(GISTPageOpaqueData));
	state->sorted = build_sorts(rel, options);
	state->uneven = !state->sorted && splits_unevenly(rel, GIST_PICKSPLIT_PROC);
	state->full = state->sorted ? 1 :
		(options != NULL ? options->fillfactor : GIST_DEFAULT_FILLFACTOR) / 100.0;
	return &state->base;
}

static SstRebuild *
spgist_begin(Relation rel)
{
	TreeRebuild *state = palloc0(sizeof(TreeRebuild));

	state->room = SPGIST_ROOM;
	state->spgist = true;
	state->uneven = splits_unevenly(rel, SPGIST_PICKSPLIT_PROC);
	state->full = 1;
	return &state->base;
}

static const SstModel gist_model = {gist_begin, gist_model_page, tree_predict, tree_blocks};
static const SstModel spgist_model = {spgist_begin, spgist_model_page, tree_predict, tree_blocks};

/* ----------
 * The descriptors
 * ----------
 */

static const SstColumn gist_columns[] = {
	SST_SIZE_COLUMNS,
	{"internal_pages", INT8OID, SST_INTERNAL_PAGES, .most = 1},
	{"leaf_pages", INT8OID, SST_LEAF_PAGES, .most = 1},
	{"deleted_pages", INT8OID, SST_DELETED_PAGES, .most = 1},
	{"live_items", INT8OID, SST_LIVE_ITEMS, .most = MaxIndexTuplesPerPage, .items = &sst_leaf_items},
	{"dead_items", INT8OID, SST_DEAD_ITEMS, .most = MaxIndexTuplesPerPage, .items = &sst_leaf_items},
	{"free_bytes", INT8OID, SST_FREE_BYTES, .most = BLCKSZ},
	{"avg_leaf_density", FLOAT8OID, SST_FREE_BYTES, .percent_of = SST_USABLE_BYTES, .left = true, .main = true},
	SST_DAMAGE_COLUMNS,
};

const SstAccessMethod sst_gist_am = {
	.name = "gist",
	.oid = GIST_AM_OID,
	.kind = SST_INDEX,
	.flags = SST_AM_ENTRY_A_ROW,
	.refusal = gettext_noop("relation \"%s\" is not a GiST index"),
	.page = sst_index_page,
	.sound_page = gist_page,
	.part = SST_PART_LINE_POINTERS,
	.pgstattuple_first = pgstattuple_first,
	.special_size = sizeof(GISTPageOpaqueData),
	.page_id = GIST_PAGE_ID,
	.page_type = gist_page_type,
	.columns = {gist_columns, lengthof(gist_columns)},
	.model = &gist_model,
};

static const SstColumn spgist_columns[] = {
	SST_SIZE_COLUMNS,
	{"inner_pages", INT8OID, SST_INTERNAL_PAGES, .most = 1},
	{"leaf_pages", INT8OID, SST_LEAF_PAGES, .most = 1},
	{"nulls_pages", INT8OID, SST_NULLS_PAGES, .most = 1},
	{"deleted_pages", INT8OID, SST_DELETED_PAGES, .most = 1},
	{"live_items", INT8OID, SST_LIVE_ITEMS, .most = MaxIndexTuplesPerPage, .items = &sst_leaf_items},
	{"dead_items", INT8OID, SST_DEAD_ITEMS, .most = MaxIndexTuplesPerPage, .items = &sst_leaf_items},
	{"redirect_items", INT8OID, SST_REDIRECT_ITEMS, .most = MaxIndexTuplesPerPage, .items = &sst_leaf_items},
	{"placeholder_items", INT8OID, SST_PLACEHOLDER_ITEMS, .most = MaxIndexTuplesPerPage, .items = &sst_leaf_items},
	{"free_bytes", INT8OID, SST_FREE_BYTES, .most = BLCKSZ},
	{"inner_free_bytes", INT8OID, SST_INNER_FREE_BYTES, .most = BLCKSZ},
	{"avg_leaf_density", FLOAT8OID, SST_FREE_BYTES, .percent_of = SST_USABLE_BYTES, .left = true, .main = true},
	{"avg_inner_density", FLOAT8OID, SST_INNER_FREE_BYTES, .percent_of = SST_INNER_USABLE_BYTES, .left = true},
	SST_DAMAGE_COLUMNS,
};

const SstAccessMethod sst_spgist_am = {
	.name = "spgist",
	.oid = SPGIST_AM_OID,
	.kind = SST_INDEX,
	.flags = SST_AM_META | SST_AM_ENTRY_A_ROW,
	.refusal = gettext_noop("relation \"%s\" is not an SP-GiST index"),
	.page = sst_index_page,
	.read_meta = read_meta,
	.sound_page = spgist_page,
	.part = SST_PART_ALL,
	.special_size = sizeof(SpGistPageOpaqueData),
	.page_id = SPGIST_PAGE_ID,
	.page_type = spgist_page_type,
	.tuple_length = tuple_length,
	.columns = {spgist_columns, lengthof(spgist_columns)},
	.model = &spgist_model,
};
