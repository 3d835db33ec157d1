/*-------------------------------------------------------------------------
 *
 * gist.c
 *	  Reading the pages of a GiST index
 *
 * There is no metapage: block 0 is the root.  Only leaf pages are ever deleted,
 * and only tuples on leaf pages marked dead.  access/gist.h has the layouts.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/gist.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"

#include "am/am.h"

#define ROOT_BLKNO 0			/* GIST_ROOT_BLKNO, in access/gist_private.h */

#define KNOWN_FLAGS (F_LEAF | F_DELETED | F_TUPLES_DELETED | F_FOLLOW_RIGHT | \
					 F_HAS_GARBAGE)

/* Where the contents of a deleted page end: GistPageSetDeleted() */
#define DELETED_LOWER (MAXALIGN(SizeOfPageHeaderData) + \
					   sizeof(GISTDeletedPageContents))

/*
 * A deleted page has the time of its deletion in the place of line pointers, or
 * nothing there if an old release deleted it: GistPageGetDeleteXid().
 */
static bool
deleted_page(const PageData *page, BlockNumber blkno, SstCounters *counters)
{
	int			lower = ((const PageHeaderData *) page)->pd_lower;

	if (blkno == ROOT_BLKNO ||
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

	if ((flags & ~KNOWN_FLAGS) != 0)
		return false;

	if (flags & F_DELETED)
		return deleted_page(page, blkno, counters);

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
page_type(const PageData *page, BlockNumber blkno, SstPageType *type)
{
	type->flags = GistPageGetOpaque((Page) page)->flags;
	type->known = (type->flags & ~KNOWN_FLAGS) == 0;
	type->has_tuples = (type->flags & F_DELETED) == 0;
	type->has_contents = !type->has_tuples;
}

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
	.page_type = page_type,
	.columns = {gist_columns, lengthof(gist_columns)},
	.model = &sst_gist_model,
};
