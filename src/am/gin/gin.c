/*-------------------------------------------------------------------------
 *
 * gin.c
 *	  Reading the pages of a GIN index
 *
 * A GIN index has a tree of keys, the entry tree.  Keys with many rows have a
 * tree of heap TIDs each, a posting tree.  Tuples yet to be moved there are in
 * a pending list.  What a page is, its flags say; access/ginblock.h has the
 * layouts.
 *
 * By tolerant rules the visitor is for all pages, by contrib's for the metapage.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_am.h"
#include "catalog/pg_type.h"

#include "am/gin/state.h"

/* Flags that exist */
#define KNOWN_FLAGS (GIN_DATA | GIN_LEAF | GIN_DELETED | GIN_META | GIN_LIST | \
					 GIN_LIST_FULLROW | GIN_INCOMPLETE_SPLIT | GIN_COMPRESSED)

/*
 * A posting tree page that VACUUM has deleted keeps its other flags, GIN_DATA among
 * them; a page of the pending list does not (ginDeletePage(), shiftList()).
 */
#define FLAGS_OF_DELETED (GIN_DELETED | GIN_DATA | GIN_LEAF | GIN_COMPRESSED | \
						  GIN_INCOMPLETE_SPLIT)

/* Of the metapage */
enum
{
	META_PENDING_PAGES = SST_META_OWN,
	META_PENDING_TUPLES
};

/* Take over what a metapage says, sound or not. */
static void
read_meta(SstMeta *meta, const PageData *page)
{
	const GinMetaPageData *metad = GinPageGetMeta((Page) page);

	meta->known = true;
	meta->field[SST_META_VERSION] = metad->ginVersion;
	meta->field[META_PENDING_PAGES] = metad->nPendingPages;
	meta->field[META_PENDING_TUPLES] = metad->nPendingHeapTuples;
}

/*
 * There is no magic number.  A pending list has a head, a tail and pages, or
 * none of them (shiftList() in access/gin/ginfast.c).
 */
static bool
meta_is_sound(const PageData *page)
{
	const GinMetaPageData *metad = GinPageGetMeta((Page) page);
	bool		empty = metad->head == InvalidBlockNumber;

	return metad->ginVersion >= 0 &&
		metad->ginVersion <= GIN_CURRENT_VERSION &&
		(metad->tail == InvalidBlockNumber) == empty &&
		(metad->nPendingPages == 0) == empty &&
		metad->nPendingHeapTuples >= 0 &&
		metad->tailFreeSize <= GinListPageSize;
}

/* What leaf pages of both kinds of trees have in common */
static void
count_tree_leaf(const GinPageOpaqueData *opaque, BlockNumber blkno,
				SstCounters *counters)
{
	counters->n[SST_ORDERED_LEAF_PAGES]++;
	if (opaque->rightlink < blkno)
		counters->n[SST_BACKWARD_LEAVES]++;
}

/*
 * A page with line pointers: of the entry tree, or of the pending list.  They
 * all are in use; GIN marks none as dead.
 */
static bool
tuple_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
		   SstCounters *counters)
{
	const GinPageOpaqueData *opaque = GinPageGetOpaque((Page) page);
	Size		freespace = sst_page_free_space(page);
	SstLinePointers items;

	sst_read_line_pointers(page, FirstOffsetNumber, &visitor->lengths, &items);
	if (items.outside)
		return false;

	if (opaque->flags & GIN_LIST)
	{
		counters->n[SST_PENDING_PAGES]++;
		counters->n[SST_PENDING_ITEMS] += items.nitems;
		counters->n[SST_PENDING_FREE_BYTES] += freespace;
		counters->n[SST_PENDING_USABLE_BYTES] += BLCKSZ - SizeOfPageHeaderData;
		sst_count_leaf(counters, freespace, SST_GIN_PAGE_ROOM);
	}
	else if (opaque->flags & GIN_LEAF)
	{
		counters->n[SST_ENTRY_LEAF_PAGES]++;
		counters->n[SST_ENTRY_ITEMS] += items.nitems;
		counters->n[SST_ENTRY_FREE_BYTES] += freespace;
		counters->n[SST_ENTRY_USABLE_BYTES] += SST_GIN_PAGE_ROOM;
		sst_count_leaf(counters, freespace, SST_GIN_PAGE_ROOM);
		count_tree_leaf(opaque, blkno, counters);
	}
	else
	{
		counters->n[SST_ENTRY_INTERNAL_PAGES]++;
		counters->n[SST_INTERNAL_PAGES]++;
	}

	return true;
}

/*
 * TIDs in the compressed posting lists of a page, or -1 if they do not end
 * where the page's data does.
 */
static int
count_compressed(const PageData *page)
{
	const int	lower = ((const PageHeaderData *) page)->pd_lower;
	int			pos = SST_GIN_POSTING_OFFSET;
	int			ntids = 0;

	while (pos < lower)
	{
		SstGinList	list;

		if (!sst_gin_list_begin(&list, page + pos, lower - pos) ||
			((const GinPostingList *) (page + pos))->first.ip_posid == InvalidOffsetNumber ||
			(list.nbytes > 0 && list.end[-1] >= 0x80))
			return -1;
		ntids += sst_gin_list_ntids(&list);
		pos += list.size;
	}

	return pos == lower ? ntids : -1;
}

/*
 * A leaf page of a posting tree.  Before 9.4 it had an array of TIDs, and a
 * pd_lower that said nothing.
 */
static bool
posting_leaf(const PageData *page, BlockNumber blkno, SstCounters *counters)
{
	const GinPageOpaqueData *opaque = GinPageGetOpaque((Page) page);
	int			ntids;
	int			freespace;

	if (opaque->flags & GIN_COMPRESSED)
	{
		ntids = count_compressed(page);
		freespace = PageGetExactFreeSpace((Page) page);
	}
	else
	{
		ntids = opaque->maxoff;
		freespace = (int) GinDataPageMaxDataSize -
			ntids * (int) sizeof(ItemPointerData);
	}
	if (ntids < 0 || freespace < 0)
		return false;

	counters->n[SST_POSTING_LEAF_PAGES]++;
	counters->n[SST_POSTING_ITEMS] += ntids;
	counters->n[SST_POSTING_FREE_BYTES] += freespace;
	counters->n[SST_POSTING_USABLE_BYTES] += GinDataPageMaxDataSize;
	sst_count_leaf(counters, freespace, GinDataPageMaxDataSize);
	count_tree_leaf(opaque, blkno, counters);
	return true;
}

/*
 * VACUUM deletes pages of a posting tree that are empty (ginScanToDelete()).  The
 * contents of a page of the pending list may be there still, or not.
 */
static bool
deleted_is_sound(const PageData *page, uint16 flags)
{
	if (flags == GIN_DELETED)
		return true;
	if ((flags & ~FLAGS_OF_DELETED) != 0 || (flags & GIN_DATA) == 0)
		return false;

	return flags & GIN_COMPRESSED ?
		((const PageHeaderData *) page)->pd_lower == SST_GIN_POSTING_OFFSET :
		GinPageGetOpaque((Page) page)->maxoff == 0;
}

static bool
gin_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
		 SstCounters *counters)
{
	const GinPageOpaqueData *opaque;
	uint16		flags;

	if (!sst_page_is_sound(page, sizeof(GinPageOpaqueData)))
		return sst_count_if_new_in_index(page, blkno, counters);

	opaque = GinPageGetOpaque((Page) page);
	flags = opaque->flags;
	if ((flags == GIN_META) != (blkno == GIN_METAPAGE_BLKNO))
		return false;

	if (flags & GIN_DELETED)
	{
		if (!deleted_is_sound(page, flags))
			return false;
		counters->n[SST_DELETED_PAGES]++;
		return true;
	}

	switch (flags)
	{
		case GIN_META:
			if (!meta_is_sound(page))
				return false;
			counters->n[SST_OTHER_PAGES]++;
			read_meta(&visitor->meta, page);
			return true;
		case 0:
		case GIN_INCOMPLETE_SPLIT:
		case GIN_LEAF:
		case GIN_LEAF | GIN_INCOMPLETE_SPLIT:
		case GIN_LIST:
		case GIN_LIST | GIN_LIST_FULLROW:
			return tuple_page(visitor, page, blkno, counters);
		case GIN_DATA:
		case GIN_DATA | GIN_INCOMPLETE_SPLIT:
			if (opaque->maxoff * sizeof(PostingItem) > GinDataPageMaxDataSize)
				return false;
			counters->n[SST_POSTING_INTERNAL_PAGES]++;
			counters->n[SST_INTERNAL_PAGES]++;
			return true;
		case GIN_DATA | GIN_LEAF:
		case GIN_DATA | GIN_LEAF | GIN_INCOMPLETE_SPLIT:
		case GIN_DATA | GIN_LEAF | GIN_COMPRESSED:
		case GIN_DATA | GIN_LEAF | GIN_COMPRESSED | GIN_INCOMPLETE_SPLIT:
			return posting_leaf(page, blkno, counters);
		default:
			return false;
	}
}

static bool
gin_contrib_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
				 SstCounters *counters)
{
	Assert(blkno == GIN_METAPAGE_BLKNO);

	read_meta(&visitor->meta, page);
	return true;
}

/* What a page is, for a diagnosis */
static void
page_type(const PageData *page, BlockNumber blkno, SstPageType *type)
{
	type->flags = GinPageGetOpaque((Page) page)->flags;
	type->known = (type->flags & ~KNOWN_FLAGS) == 0 &&
		((type->flags & GIN_META) != 0) == (blkno == GIN_METAPAGE_BLKNO);
	type->has_tuples = (type->flags & (GIN_META | GIN_DATA | GIN_DELETED)) == 0;
	type->has_contents = !type->has_tuples;
}

static const SstItems entry_items =
{1, {SST_ENTRY_ITEMS}, SST_ENTRY_USABLE_BYTES, SST_ENTRY_FREE_BYTES};
static const SstItems posting_items =
{1, {SST_POSTING_ITEMS}, SST_POSTING_USABLE_BYTES, SST_POSTING_FREE_BYTES};
static const SstItems pending_items =
{1, {SST_PENDING_ITEMS}, SST_PENDING_USABLE_BYTES, SST_PENDING_FREE_BYTES};

static const SstColumn gin_columns[] = {
	{"version", INT4OID, .meta = SST_META_VERSION},
	SST_SIZE_COLUMNS,
	{"entry_internal_pages", INT8OID, SST_ENTRY_INTERNAL_PAGES, .most = 1},
	{"entry_leaf_pages", INT8OID, SST_ENTRY_LEAF_PAGES, .most = 1},
	{"posting_internal_pages", INT8OID, SST_POSTING_INTERNAL_PAGES, .most = 1},
	{"posting_leaf_pages", INT8OID, SST_POSTING_LEAF_PAGES, .most = 1},
	{"pending_list_pages", INT8OID, SST_PENDING_PAGES, .most = 1},
	{"pending_pages", INT8OID, .meta = META_PENDING_PAGES},
	{"deleted_pages", INT8OID, SST_DELETED_PAGES, .most = 1},
	{"entry_items", INT8OID, SST_ENTRY_ITEMS, .most = MaxIndexTuplesPerPage, .items = &entry_items},
	/* a TID in a compressed list takes a byte at least */
	{"posting_items", INT8OID, SST_POSTING_ITEMS, .most = BLCKSZ, .items = &posting_items},
	{"pending_items", INT8OID, SST_PENDING_ITEMS, .most = MaxIndexTuplesPerPage, .items = &pending_items},
	{"pending_tuples", INT8OID, .meta = META_PENDING_TUPLES},
	{"free_bytes", INT8OID, SST_FREE_BYTES, .most = BLCKSZ},
	{"entry_free_bytes", INT8OID, SST_ENTRY_FREE_BYTES},
	{"posting_free_bytes", INT8OID, SST_POSTING_FREE_BYTES},
	{"pending_free_bytes", INT8OID, SST_PENDING_FREE_BYTES},
	{"entry_leaf_density", FLOAT8OID, SST_ENTRY_FREE_BYTES, .percent_of = SST_ENTRY_USABLE_BYTES, .left = true, .main = true},
	{"posting_leaf_density", FLOAT8OID, SST_POSTING_FREE_BYTES, .percent_of = SST_POSTING_USABLE_BYTES, .left = true, .main = true},
	{"leaf_fragmentation", FLOAT8OID, SST_BACKWARD_LEAVES, .percent_of = SST_ORDERED_LEAF_PAGES, .most = 1},
	SST_DAMAGE_COLUMNS,
};

static const SstColumn pgstatginindex_columns[] = {
	{"version", INT4OID, .meta = SST_META_VERSION},
	{"pending_pages", INT4OID, .meta = META_PENDING_PAGES},
	{"pending_tuples", INT8OID, .meta = META_PENDING_TUPLES},
};

const SstAccessMethod sst_gin_am = {
	.name = "gin",
	.oid = GIN_AM_OID,
	.kind = SST_INDEX,
#ifdef SST_HAVE_PARALLEL_GIN_BUILD
	.flags = SST_AM_META | SST_AM_TID_DIFFERENCES | SST_AM_PARALLEL_BUILD,
#else
	.flags = SST_AM_META | SST_AM_TID_DIFFERENCES,
#endif
	.refusal = gettext_noop("relation \"%s\" is not a GIN index"),
	.page = gin_page,
	.part = SST_PART_ALL,
	.contrib_page = gin_contrib_page,
	.special_size = sizeof(GinPageOpaqueData),
	.page_type = page_type,
	.columns = {gin_columns, lengthof(gin_columns)},
	.contrib_columns = {pgstatginindex_columns, lengthof(pgstatginindex_columns)},
	.model = &sst_gin_model,
};
