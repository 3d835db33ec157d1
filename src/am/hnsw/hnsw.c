/*-------------------------------------------------------------------------
 *
 * hnsw.c
 *	  The pages of an hnsw index of pgvector, and its size after a rebuild
 *
 * The layouts are those of src/hnsw.h in pgvector 0.5.0 to 0.8.7.  An index of another
 * layout has another version number.
 *
 * A build puts elements on pages one after the other, each with its neighbors on the same
 * page if they fit there (CreateGraphPages() in pgvector's hnswbuild.c).  It draws the
 * level of each element at random, which decides how many neighbors there are.  So
 * pages are filled here in the same way, and the size varies by chance.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "utils/rel.h"

#include "am/am.h"
#include "am/rebuild.h"

/* The special space of a page: the next page, two unused bytes, and the ID */
#define HNSW_SPECIAL_SIZE 8
#define HNSW_ID 0xFF90
#define HNSW_MAGIC 0xA953A953
#define HNSW_VERSION 1

#define HNSW_PAGE_BYTES SST_PAGE_ROOM(HNSW_SPECIAL_SIZE)

/* The option "m", the first one */
#define HNSW_DEFAULT_M 16
#define HNSW_MIN_M 2
#define HNSW_MAX_M 100

typedef struct HnswMeta
{
	uint32		magic;
	uint32		version;
	uint32		dimensions;
	uint16		m;
	uint16		ef_construction;
	BlockNumber entry_block;
	OffsetNumber entry_offset;
	int16		entry_level;	/* -1 without elements */
	BlockNumber insert_block;
} HnswMeta;

/*
 * A page has tuples of both kinds.  An element is a vector with the rows that have it.
 * VACUUM removes the TIDs of dead rows, and marks an element without any deleted.
 */
#define HNSW_ELEMENT 1
#define HNSW_NEIGHBORS 2

#define HNSW_MAX_TIDS 10

typedef struct HnswElement
{
	uint8		type;
	uint8		level;
	uint8		deleted;
	uint8		version;		/* of the place, which is used again */
	ItemPointerData tids[HNSW_MAX_TIDS];	/* those in use come first */
	ItemPointerData neighbors;
	uint16		unused;
} HnswElement;					/* and the vector */

/* An element's neighbors: 2 * m on the lowest level, and m on each of the others */
typedef struct HnswNeighbors
{
	uint8		type;
	uint8		version;
	uint16		count;
} HnswNeighbors;				/* and the TIDs of their elements */

#define HNSW_NEIGHBORS_SIZE(ntids) \
	MAXALIGN(sizeof(HnswNeighbors) + (ntids) * sizeof(ItemPointerData))

/* Of the metapage */
enum
{
	META_DIMENSIONS = SST_META_OWN,
	META_M,
	META_EF_CONSTRUCTION,
	META_ENTRY_LEVEL
};

/* What is counted of hnsw indexes only */
enum
{
	NEIGHBOR_ITEMS = SST_OWN,
	HEAP_TIDS,
	REBUILT_ELEMENTS,
	REBUILT_SHARED				/* of these, with more than one TID */
};

/* Get the element of a line pointer that is within the page; false if there is none. */
static bool
get_element(const PageData *page, const ItemIdData *item, HnswElement *element)
{
	const char *tuple = page + ItemIdGetOffset(item);

	if (ItemIdGetLength(item) <= sizeof(HnswElement) || *tuple != HNSW_ELEMENT)
		return false;
	memcpy(element, tuple, sizeof(HnswElement));
	return true;
}

/* The number of an element's TIDs */
static int
count_tids(const HnswElement *element)
{
	int			n = 0;

	while (n < HNSW_MAX_TIDS && ItemPointerIsValid(&element->tids[n]))
		n++;
	return element->deleted ? 0 : n;
}

static bool
read_meta(SstMeta *meta, const PageData *page)
{
	const HnswMeta *metad = (const HnswMeta *) PageGetContents((Page) page);
	int64	   *field = meta->field;

	if (metad->dimensions < 1 || metad->dimensions > PG_INT32_MAX ||
		metad->m < HNSW_MIN_M || metad->m > HNSW_MAX_M)
		return false;

	field[SST_META_VERSION] = metad->version;
	field[META_DIMENSIONS] = metad->dimensions;
	field[META_M] = metad->m;
	field[META_EF_CONSTRUCTION] = metad->ef_construction;
	field[META_ENTRY_LEVEL] = metad->entry_level;
	return true;
}

static bool
hnsw_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
		  SstCounters *counters)
{
	SstCounters own;
	int			nitems = sst_page_items(page);

	if (!sst_items_are_normal(page))
		return false;

	sst_counters_init(&own);
	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		const ItemIdData *item = PageGetItemId((Page) page, offnum);
		HnswElement element;

		if (get_element(page, item, &element))
		{
			int			ntids = count_tids(&element);

			own.n[ntids > 0 ? SST_LIVE_ITEMS : SST_DEAD_ITEMS]++;
			own.n[HEAP_TIDS] += ntids;
		}
		else if (ItemIdGetLength(item) > sizeof(HnswNeighbors) &&
				 page[ItemIdGetOffset(item)] == HNSW_NEIGHBORS)
			own.n[NEIGHBOR_ITEMS]++;
		else
			return false;
	}
	sst_count_leaf(&own, PageGetExactFreeSpace((Page) page), HNSW_PAGE_BYTES);
	sst_counters_merge(counters, &own);
	return true;
}

/* That of a deleted element is not known: its vector is zeroed. */
static int
tuple_length(const PageData *page, const ItemIdData *item)
{
	const char *tuple = page + ItemIdGetOffset(item);
	HnswElement element;

	if (!get_element(page, item, &element))
		return HNSW_NEIGHBORS_SIZE(((const HnswNeighbors *) tuple)->count);
	return element.deleted ? ItemIdGetLength(item) :
		MAXALIGN(sizeof(HnswElement) + VARSIZE_4B(tuple + sizeof(HnswElement)));
}

#define MAX_ELEMENTS (HNSW_PAGE_BYTES / (sizeof(HnswElement) + sizeof(ItemIdData)))
#define MAX_NEIGHBORS \
	(HNSW_PAGE_BYTES / (HNSW_NEIGHBORS_SIZE(2 * HNSW_MIN_M) + sizeof(ItemIdData)))

static const SstColumn hnsw_columns[] = {
	{"version", INT4OID, .meta = SST_META_VERSION},
	{"dimensions", INT4OID, .meta = META_DIMENSIONS},
	{"m", INT4OID, .meta = META_M},
	{"ef_construction", INT4OID, .meta = META_EF_CONSTRUCTION},
	{"entry_level", INT4OID, .meta = META_ENTRY_LEVEL},
	SST_SIZE_COLUMNS,
	{"live_items", INT8OID, SST_LIVE_ITEMS, .most = MAX_ELEMENTS},
	{"dead_items", INT8OID, SST_DEAD_ITEMS, .most = MAX_ELEMENTS},
	{"neighbor_items", INT8OID, NEIGHBOR_ITEMS, .most = MAX_NEIGHBORS},
	{"heap_tids", INT8OID, HEAP_TIDS, .most = MAX_ELEMENTS * HNSW_MAX_TIDS},
	{"free_bytes", INT8OID, SST_FREE_BYTES, .most = BLCKSZ},
	{"free_percent", FLOAT8OID, SST_FREE_BYTES, .percent_of = SST_USABLE_BYTES, .main = true},
	SST_DAMAGE_COLUMNS,
};

/* So many elements stand for all those that were seen, and fill pages. */
#define NSIZES 1024
#define NFILLED 32768

/* Memory of an element in a build, besides its vector, and of each of its neighbors */
#define GRAPH_ELEMENT 200
#define GRAPH_NEIGHBOR 16

typedef struct HnswRebuild
{
	SstRebuild	base;
	int			m;
	uint64		nseen;
	uint16		sizes[NSIZES];
	pg_prng_state random;
	double		pages;			/* for an element */
} HnswRebuild;

static void
model_page(SstRebuild *rebuild, const PageData *page, BlockNumber blkno,
		   const SstItemList *kept, SstCounters *counters)
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

		if (!get_element(page, item, &element))
			continue;
		ntids = count_tids(&element);
		for (int j = 0; j < ntids; j++)
			nleft += !sst_rebuild_leaves_out(rebuild, &element.tids[j]);
		n[SST_REBUILT_ENTRIES] += nleft;
		n[SST_REBUILT_DEAD_ENTRIES] += ntids - nleft;
		if (nleft == 0)
			continue;
		n[REBUILT_ELEMENTS]++;
		n[SST_REBUILT_BYTES] += MAXALIGN(ItemIdGetLength(item)) +
			HNSW_NEIGHBORS_SIZE(2 * state->m) + 2 * sizeof(ItemIdData);
		n[REBUILT_SHARED] += ntids > 1;

		/* Each element is kept with the same probability. */
		i = state->nseen++;
		if (i >= NSIZES)
			i = pg_prng_uint64_range(&state->random, 0, i);
		if (i < NSIZES)
			state->sizes[i] = MAXALIGN(ItemIdGetLength(item));
	}
}

/* Fill pages with elements, on random levels or the lowest: how many does one take? */
static double
pages_each(HnswRebuild *state, bool levels)
{
	int			nsizes = Min(state->nseen, NSIZES);
	int			free = 0;
	int			npages = 0;

	for (int i = 0; i < NFILLED && nsizes > 0; i++)
	{
		int			size = state->sizes[pg_prng_uint64_range(&state->random, 0, nsizes - 1)];
		double		drawn = levels ? pg_prng_double(&state->random) : 0;
		int			level = -log(1 - drawn) / log(state->m);
		int			nbytes = size + HNSW_NEIGHBORS_SIZE((level + 2) * state->m) +
			2 * sizeof(ItemIdData);

		/* What is too large for a page has two for itself. */
		if (free < nbytes)
		{
			npages += nbytes > HNSW_PAGE_BYTES ? 2 : 1;
			free = HNSW_PAGE_BYTES;
		}
		free -= nbytes;
	}

	return (npages - (double) Max(free, 0) / HNSW_PAGE_BYTES) / NFILLED;
}

/* The metapage, and at least one other */
static double
blocks(const SstRebuild *rebuild, const double *counts, bool whole)
{
	double		pages = counts[REBUILT_ELEMENTS] *
		((const HnswRebuild *) rebuild)->pages;

	return 1 + Max(sst_round_up(pages, whole), 1);
}

/*
 * A build that does not fit into memory fills gaps that were left on pages.  It joins elements
 * of equal vectors that have lost rows: at most those with several, and as many others.  The
 * number of higher levels is distributed geometrically: its variance is m times its mean squared.
 */
static void
predict(SstRebuild *rebuild, const SstPageSample *sample,
		const SstEstimate *kept, SstEstimate *blocks)
{
	HnswRebuild *state = (HnswRebuild *) rebuild;
	const double *counts = sample->totals;
	double		nelements = counts[REBUILT_ELEMENTS];
	double		joined;
	double		chance;
	double		gaps = 0;

	state->pages = pages_each(state, true);
	if ((counts[SST_REBUILT_BYTES] + nelements * (GRAPH_ELEMENT + 2 * state->m * GRAPH_NEIGHBOR)) >
		maintenance_work_mem * 1024.0)
	{
		rebuild->note = gettext_noop("a build needs more than maintenance_work_mem; the size is for the current setting");
		gaps = Max(nelements * state->pages - counts[SST_REBUILT_BYTES] / HNSW_PAGE_BYTES, 0);
	}
	chance = SST_Z * sqrt(nelements * state->m) * fabs(state->pages - pages_each(state, false));
	*blocks = sst_predict_blocks(rebuild, sample);
	joined = Min(2 * counts[REBUILT_SHARED],
				 nelements - counts[SST_REBUILT_ENTRIES] / HNSW_MAX_TIDS);
	sst_widen(blocks,
			  chance + gaps + state->pages * Max(joined, 0), chance);
	sst_leave_out(rebuild, sample, kept, 0, blocks);
}

static SstRebuild *
model_begin(Relation rel)
{
	HnswRebuild *state = palloc0(sizeof(HnswRebuild));

	state->m = sst_extension_option(rel, HNSW_MIN_M, HNSW_MAX_M, HNSW_DEFAULT_M);
	pg_prng_seed(&state->random, 0);	/* each call draws the same */
	return &state->base;
}

static const SstModel hnsw_model = {model_begin, model_page, predict, blocks};

const SstAccessMethod sst_hnsw_am = {
	.name = "hnsw",
	.handler = "hnswhandler",
	.kind = SST_INDEX,
	.flags = SST_AM_META,
	.refusal = gettext_noop("relation \"%s\" is not an hnsw index"),
	.page = sst_index_page,
	.read_meta = read_meta,
	.sound_page = hnsw_page,
	.part = SST_PART_ALL,
	.special_size = HNSW_SPECIAL_SIZE,
	.page_id = HNSW_ID,
	.magic = HNSW_MAGIC,
	.version = HNSW_VERSION,
	.page_type = sst_page_type_by_block,
	.tuple_length = tuple_length,
	.columns = {hnsw_columns, lengthof(hnsw_columns)},
	.model = &hnsw_model,
};
