/*-------------------------------------------------------------------------
 *
 * btree.c
 *	  What the pages of a b-tree say
 *
 * By tolerant rules the visitor looks at every item, and damaged pages are
 * counted.  By contrib's it counts as pgstatindex does, and looks at page headers
 * and special space only.  On sound pages both agree.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/visit/btree.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/itup.h"
#include "access/nbtree.h"
#include "access/tupmacs.h"

#include "visit/visit.h"

/* From which size on to look at tuples on some pages only, and on how many */
#define LARGE_INDEX_BLOCKS 1024
#define LARGE_INDEX_STRIDE 16

/* Take over what a metapage says, sound or not. */
static void
read_meta(SstMeta *meta, const PageData *page)
{
	const BTMetaPageData *metad = BTPageGetMeta((Page) page);

	meta->known = true;
	meta->version = metad->btm_version;
	meta->tree_level = metad->btm_level;
	meta->root = metad->btm_root;

	/*
	 * The field came with version 4; _bt_metaversion() reads it like this. On
	 * a damaged page its byte can be one that no bool has.
	 */
	meta->allequalimage = metad->btm_version > BTREE_NOVAC_VERSION &&
		*(const uint8 *) &metad->btm_allequalimage != 0;
}

/*
 * Count a page that is in use as a leaf, half-dead, deleted or internal page;
 * true for a leaf.  The order of the tests is that of pgstatindex.
 */
static inline bool
count_page_type(const PageData *page, const BTPageOpaqueData *opaque,
				BlockNumber blkno, SstCounters *counters)
{
	if (P_ISDELETED(opaque))
		counters->n[SST_DELETED_PAGES]++;
	else if (P_IGNORE(opaque))
		counters->n[SST_EMPTY_PAGES]++;
	else if (P_ISLEAF(opaque))
	{
		const PageHeaderData *header = (const PageHeaderData *) page;

		sst_count_leaf(counters, sst_page_free_space(page),
					   header->pd_special - SizeOfPageHeaderData);

		/* A right sibling on an earlier block breaks the reading order. */
		if (opaque->btpo_next != P_NONE && opaque->btpo_next < blkno)
			counters->n[SST_BACKWARD_LEAVES]++;
		return true;
	}
	else
		counters->n[SST_INTERNAL_PAGES]++;

	return false;
}

/*
 * Posting list tuples among the items whose length does not tell.  The line
 * pointers are known to stay within the tuple space.
 */
static int
count_unclear_posting_tuples(const PageData *page, OffsetNumber first,
							 const SstTupleLengths *lengths)
{
	int			nitems = sst_page_items(page);
	int			nposting = 0;

	for (OffsetNumber offnum = first; offnum <= nitems; offnum++)
	{
		ItemId		item = PageGetItemId((Page) page, offnum);
		IndexTupleData itup;

		if (ItemIdGetLength(item) < lengths->min_posting ||
			ItemIdGetLength(item) > lengths->max_plain)
			continue;

		/* On a damaged page it can be anywhere, and not aligned. */
		memcpy(&itup, page + ItemIdGetOffset(item), sizeof(IndexTupleData));
		nposting += BTreeTupleIsPosting(&itup);
	}

	return nposting;
}

/*
 * A page of the tree.  The high key's length often is not that of the other
 * items: it is looked at apart, so that they can be seen to have one length.
 */
static inline bool
tree_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
		  SstCounters *counters)
{
	const BTPageOpaqueData *opaque = BTPageGetOpaque((Page) page);
	OffsetNumber first = P_FIRSTDATAKEY(opaque);
	SstLinePointers items;

	sst_read_line_pointers(page, first, &visitor->lengths, &items);
	if (items.outside ||
		(first > P_HIKEY && sst_item_is_outside(page, P_HIKEY)))
		return false;

	if (!count_page_type(page, opaque, blkno, counters))
		return true;
	sst_count_items(counters, &items);

	if (blkno % visitor->posting_stride != 0)
		return true;
	counters->n[SST_ITEMS_TOLD_APART] += items.nitems;
	counters->n[SST_POSTING_TUPLES] += items.nlong;
	if (items.nunclear > 0)
		counters->n[SST_POSTING_TUPLES] +=
			count_unclear_posting_tuples(page, first, &visitor->lengths);

	return true;
}

static bool
btree_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
		   SstCounters *counters)
{
	const BTPageOpaqueData *opaque;

	if (!sst_page_is_sound(page, sizeof(BTPageOpaqueData)))
		return sst_count_if_new(page, blkno, counters);

	opaque = BTPageGetOpaque((Page) page);
	if (P_ISMETA(opaque) != (blkno == BTREE_METAPAGE))
		return false;

	if (blkno == BTREE_METAPAGE)
	{
		if (BTPageGetMeta((Page) page)->btm_magic != BTREE_MAGIC)
			return false;
		counters->n[SST_META_PAGES]++;
		read_meta(&visitor->meta, page);
		return true;
	}

	/* What a deleted page has behind its header are no line pointers. */
	if (P_ISDELETED(opaque))
	{
		(void) count_page_type(page, opaque, blkno, counters);
		return true;
	}

	return tree_page(visitor, page, blkno, counters);
}

static bool
btree_contrib_page(SstVisitor *visitor, const PageData *page,
				   BlockNumber blkno, SstCounters *counters)
{
	const PageHeaderData *header = (const PageHeaderData *) page;
	BTPageOpaqueData opaque;

	if (blkno == BTREE_METAPAGE)
	{
		read_meta(&visitor->meta, page);
		return true;
	}

	/*
	 * pgstatindex takes the special space from where the header says, aligned
	 * or not.  It would count whatever lies behind the page, where we stop.
	 */
	if (header->pd_special > BLCKSZ - sizeof(BTPageOpaqueData))
		return false;

	memcpy(&opaque, page + header->pd_special, sizeof(BTPageOpaqueData));
	(void) count_page_type(page, &opaque, blkno, counters);

	return true;
}

/*
 * How long can the index's leaf tuples be, with and without a posting list?
 *
 * A posting list tuple is a plain one, with at least two TIDs added at its
 * end (_bt_form_posting()); both parts are MAXALIGN'ed.  So it is at least
 * MAXALIGN(2 * sizeof(ItemPointerData)) longer than its key.  The header of a
 * plain tuple has a bitmap if one of its columns is null (index_form_tuple()).
 */
static void
set_tuple_lengths(SstTupleLengths *lengths, Relation rel)
{
	TupleDesc	tupdesc = RelationGetDescr(rel);
	Size		null_header = MAXALIGN(sizeof(IndexTupleData) +
									   sizeof(IndexAttributeBitMapData));
	Size		data = 0;
	Size		max_plain;
	Size		min_plain;

	for (int i = 0; i < tupdesc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);

		if (att->attlen <= 0)
		{
			/* Of any length: shorter than every posting list tuple is plain. */
			lengths->max_plain = BLCKSZ - 1;
			lengths->min_posting = MAXALIGN(sizeof(IndexTupleData) + 1) +
				MAXALIGN(2 * sizeof(ItemPointerData));
			return;
		}
		data = att_align_nominal(data, att->attalign) + att->attlen;
	}

	max_plain = min_plain = MAXALIGN(sizeof(IndexTupleData) + data);
	if (!rel->rd_index->indisprimary ||
		tupdesc->natts > rel->rd_index->indnkeyatts)
	{
		/* With one column, a null leaves no data behind the bitmap. */
		min_plain = Min(min_plain, null_header);
		max_plain = Max(max_plain, tupdesc->natts == 1 ? null_header :
						MAXALIGN(null_header + data));
	}

	lengths->max_plain = max_plain;
	lengths->min_posting = Min(min_plain + MAXALIGN(2 * sizeof(ItemPointerData)),
							   max_plain + 1);
}

/*
 * A visitor for an index of nblocks blocks, or 0 for a sample of its blocks.
 *
 * To look at every tuple of a page takes several times as long as to look at
 * its line pointers.  So where lengths do not tell plain tuples from posting
 * list tuples, the percentage of the latter in a large index comes from some of
 * its pages.
 */
void
sst_btree_visitor_init(SstVisitor *visitor, SstRules rules, Relation rel,
					   BlockNumber nblocks)
{
	if (rules == SST_RULES_CONTRIB)
	{
		sst_visitor_init(visitor, btree_contrib_page, 1);
		return;
	}

	sst_visitor_init(visitor, btree_page, SST_LINE_POINTER_PREFETCH);
	set_tuple_lengths(&visitor->lengths, rel);
	visitor->posting_stride = 1;
	if (visitor->lengths.min_posting <= visitor->lengths.max_plain &&
		nblocks > LARGE_INDEX_BLOCKS)
		visitor->posting_stride = LARGE_INDEX_STRIDE;
}
