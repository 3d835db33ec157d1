/*-------------------------------------------------------------------------
 *
 * bloom.c
 *	  The pages of an index of contrib's bloom, and its size after a rebuild
 *
 * contrib/bloom installs no header files.  The layouts are those of bloom.h there, in
 * releases 15 to 19; an index of any other layout has another magic number.
 *
 * A build fills one page after the other.  All tuples have one size, which follows from
 * the option "length" as it is now: it may have been altered since the last build.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/rel.h"

#include "am/am.h"
#include "am/rebuild.h"

/* The special space of a page; neither flag is that of a page with tuples */
#define BLOOM_PAGE_IS_META (1 << 0)
#define BLOOM_PAGE_IS_DELETED (1 << 1)

#define BLOOM_ID 0xFF83

typedef struct BloomSpecial
{
	uint16		ntuples;
	uint16		flags;
	uint16		unused;
	uint16		page_id;
} BloomSpecial;

/* A signature has a whole number of words, unlike the option "length", which is in bits. */
#define BLOOM_WORD_BITS 16
#define BLOOM_DEFAULT_WORDS 5
#define BLOOM_MAX_WORDS 256

/* rd_options of the index, a copy of which its build puts into the metapage */
typedef struct BloomSettings
{
	int32		varlena_header;
	int32		nwords;
	int32		bits_per_column[INDEX_MAX_KEYS];
} BloomSettings;

#define BLOOM_MAGIC 0xDBAC0DED

/*
 * The metapage.  Block numbers of pages with free space follow up to the special space:
 * those from list_start to list_end - 1 are tried by inserts, before any other page.
 */
typedef struct BloomMeta
{
	uint32		magic;
	uint16		list_start;
	uint16		list_end;
	BloomSettings settings;
} BloomMeta;

/*
 * Tuples follow the page header without line pointers or gaps: the TID of a row, and its
 * signature.
 */
#define BLOOM_TUPLE_SIZE(nwords) \
	(sizeof(ItemPointerData) + (nwords) * sizeof(uint16))

#define BLOOM_PAGE_BYTES \
	(BLCKSZ - MAXALIGN(SizeOfPageHeaderData) - MAXALIGN(sizeof(BloomSpecial)))

#define BLOOM_LIST_SIZE \
	((BLOOM_PAGE_BYTES - MAXALIGN(sizeof(BloomMeta))) / sizeof(BlockNumber))

/* Of the metapage */
#define META_SIGNATURE_BITS SST_META_OWN
#define META_NONFULL_PAGES (SST_META_OWN + 1)

static const BloomSpecial *
get_special(const PageData *page)
{
	return (const BloomSpecial *)
		(page + BLCKSZ - MAXALIGN(sizeof(BloomSpecial)));
}

/* The TID of tuple i, counted from 0 */
static const ItemPointerData *
get_tid(const PageData *page, int i, int size)
{
	return (const ItemPointerData *)
		(page + MAXALIGN(SizeOfPageHeaderData) + i * size);
}

/* The size of a page's tuples, which fill it up to pd_lower; there is at least one. */
static int
tuple_size(const PageData *page)
{
	return (((const PageHeaderData *) page)->pd_lower -
			(int) MAXALIGN(SizeOfPageHeaderData)) / get_special(page)->ntuples;
}

static bool
read_meta(SstMeta *meta, const PageData *page)
{
	const BloomMeta *metad = (const BloomMeta *) PageGetContents((Page) page);

	if (get_special(page)->flags != BLOOM_PAGE_IS_META ||
		metad->settings.nwords < 1 || metad->settings.nwords > BLOOM_MAX_WORDS ||
		metad->list_start > metad->list_end || metad->list_end > BLOOM_LIST_SIZE)
		return false;

	meta->field[META_SIGNATURE_BITS] = metad->settings.nwords * BLOOM_WORD_BITS;
	meta->field[META_NONFULL_PAGES] = metad->list_end - metad->list_start;
	return true;
}

/*
 * A page with tuples.  All have the size that the metapage tells, but a visitor may not
 * have seen that: they have one that signatures can have, and end at pd_lower.
 */
static bool
tuple_page(const PageData *page, SstCounters *counters)
{
	const PageHeaderData *header = (const PageHeaderData *) page;
	int			ntuples = get_special(page)->ntuples;
	int			nbytes = header->pd_lower - MAXALIGN(SizeOfPageHeaderData);
	int			size = ntuples > 0 ? tuple_size(page) : 0;

	if (header->pd_upper != header->pd_special || nbytes != ntuples * size)
		return false;
	if (ntuples > 0 &&
		(size < BLOOM_TUPLE_SIZE(1) || size > BLOOM_TUPLE_SIZE(BLOOM_MAX_WORDS) ||
		 size % sizeof(uint16) != 0))
		return false;

	for (int i = 0; i < ntuples; i++)
	{
		const ItemPointerData *tid = get_tid(page, i, size);
		OffsetNumber offnum = ItemPointerGetOffsetNumberNoCheck(tid);

		if (ItemPointerGetBlockNumberNoCheck(tid) == InvalidBlockNumber ||
			offnum == InvalidOffsetNumber || offnum > MaxOffsetNumber)
			return false;
	}

	sst_count_leaf(counters, BLOOM_PAGE_BYTES - nbytes, BLOOM_PAGE_BYTES);
	counters->n[SST_LIVE_ITEMS] += ntuples;
	return true;
}

static bool
bloom_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
		   SstCounters *counters)
{
	const BloomSpecial *special = get_special(page);

	switch (special->flags)
	{
		case 0:
			return tuple_page(page, counters);
		case BLOOM_PAGE_IS_DELETED:
			if (special->ntuples > 0 ||
				((const PageHeaderData *) page)->pd_lower != SizeOfPageHeaderData)
				return false;
			counters->n[SST_DELETED_PAGES]++;
			return true;
		default:
			return false;
	}
}

/* What a page is, for a diagnosis; the special space has the number of its tuples. */
static void
page_type(const PageData *page, BlockNumber blkno, SstPageType *type)
{
	type->flags = get_special(page)->flags;
	type->known = blkno == 0 ? type->flags == BLOOM_PAGE_IS_META :
		(type->flags & ~BLOOM_PAGE_IS_DELETED) == 0;
	type->has_contents = true;
	type->empty_lower = type->flags == BLOOM_PAGE_IS_DELETED ? SizeOfPageHeaderData : 0;
}

#define MAX_BLOOM_TUPLES (BLOOM_PAGE_BYTES / BLOOM_TUPLE_SIZE(1))

static const SstColumn bloom_columns[] = {
	{"signature_bits", INT4OID, .meta = META_SIGNATURE_BITS},
	SST_SIZE_COLUMNS,
	{"leaf_pages", INT8OID, SST_LEAF_PAGES, .most = 1},
	{"deleted_pages", INT8OID, SST_DELETED_PAGES, .most = 1},
	{"nonfull_pages", INT8OID, .meta = META_NONFULL_PAGES},
	{"live_items", INT8OID, SST_LIVE_ITEMS, .most = MAX_BLOOM_TUPLES},
	{"free_bytes", INT8OID, SST_FREE_BYTES, .most = BLCKSZ},
	{"avg_leaf_density", FLOAT8OID, SST_FREE_BYTES, .percent_of = SST_USABLE_BYTES, .left = true, .main = true},
	SST_DAMAGE_COLUMNS,
};

typedef struct BloomRebuild
{
	SstRebuild	base;
	int			tuples_per_page;
} BloomRebuild;

static void
model_page(SstRebuild *rebuild, const PageData *page, BlockNumber blkno,
		   const SstItemList *kept, SstCounters *counters)
{
	int			ntuples;
	int			ndead = 0;

	if (blkno == 0 || PageIsNew((Page) page))
		return;

	ntuples = get_special(page)->ntuples;
	if (rebuild->dead_tids != NULL && ntuples > 0)
	{
		int			size = tuple_size(page);

		for (int i = 0; i < ntuples; i++)
			ndead += sst_rebuild_leaves_out(rebuild, get_tid(page, i, size));
	}
	counters->n[SST_REBUILT_ENTRIES] += ntuples - ndead;
	counters->n[SST_REBUILT_DEAD_ENTRIES] += ndead;
}

/* The metapage, and pages that are all full but for the last one */
static double
bloom_blocks(const SstRebuild *rebuild, const double *counts, bool whole)
{
	const BloomRebuild *state = (const BloomRebuild *) rebuild;

	return 1 + sst_round_up(counts[SST_REBUILT_ENTRIES] / state->tuples_per_page,
							whole);
}

static void
predict(SstRebuild *rebuild, const SstPageSample *sample,
		const SstEstimate *kept, SstEstimate *blocks)
{
	*blocks = sst_predict_blocks(rebuild, sample);
	sst_leave_out(rebuild, sample, kept, 0, blocks);
}

static SstRebuild *
model_begin(Relation rel)
{
	BloomRebuild *state = palloc0(sizeof(BloomRebuild));
	int			nwords = sst_extension_option(rel, 1, BLOOM_MAX_WORDS, BLOOM_DEFAULT_WORDS);

	state->tuples_per_page = BLOOM_PAGE_BYTES / BLOOM_TUPLE_SIZE(nwords);
	return &state->base;
}

static const SstModel bloom_model = {model_begin, model_page, predict, bloom_blocks};

const SstAccessMethod sst_bloom_am = {
	.name = "bloom",
	.handler = "blhandler",
	.kind = SST_INDEX,
	.flags = SST_AM_META | SST_AM_ENTRY_A_ROW,
	.refusal = gettext_noop("relation \"%s\" is not a bloom index"),
	.page = sst_index_page,
	.read_meta = read_meta,
	.sound_page = bloom_page,
	.part = SST_PART_LINE_POINTERS,
	.special_size = sizeof(BloomSpecial),
	.page_id = BLOOM_ID,
	.magic = BLOOM_MAGIC,
	.page_type = page_type,
	.columns = {bloom_columns, lengthof(bloom_columns)},
	.model = &bloom_model,
};
