/*-------------------------------------------------------------------------
 *
 * btree.c
 *	  Reading the pages of a b-tree
 *
 * By tolerant rules the visitor looks at every item, and damaged pages are
 * counted.  By contrib's it counts as pgstatindex does, and looks at page headers
 * and special space only.  On sound pages both agree.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/itup.h"
#include "access/nbtree.h"
#include "access/transam.h"
#include "access/tupmacs.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"

#include "am/btree/fill.h"

/* From which size on to look at tuples on some pages only, and on how many */
#define LARGE_INDEX_BLOCKS 1024
#define LARGE_INDEX_STRIDE 16

/* Flags that a page in use, a half-dead page and a deleted page can have */
#define FLAGS_IN_USE (BTP_LEAF | BTP_ROOT | BTP_SPLIT_END | BTP_HAS_GARBAGE | \
					  BTP_INCOMPLETE_SPLIT)
#define FLAGS_OF_HALF_DEAD (BTP_LEAF | BTP_HALF_DEAD | BTP_SPLIT_END | \
							BTP_HAS_GARBAGE)
#define FLAGS_OF_DELETED (BTP_LEAF | BTP_DELETED | BTP_HAS_FULLXID | \
						  BTP_SPLIT_END | BTP_HAS_GARBAGE)

/* Flags that exist */
#define KNOWN_FLAGS (FLAGS_IN_USE | FLAGS_OF_HALF_DEAD | FLAGS_OF_DELETED | BTP_META)

/*
 * A level is added when the root has been filled by splits below it, each of
 * which took several splits further down.  So no tree is as high as this.
 */
#define MAX_LEVEL 64

/* Where the contents of a deleted page end: BTPageSetDeleted() */
#define DELETED_LOWER (MAXALIGN(SizeOfPageHeaderData) + \
					   sizeof(BTDeletedPageData))

/*
 * Items of a page that a release before 14 deleted, at most: the high key, and
 * the last downlink of an internal page.
 */
#define MAX_OLD_DELETED_ITEMS 2

/* Of the metapage */
enum
{
	META_LEVEL = SST_META_OWN,
	META_ROOT,
	META_ALLEQUALIMAGE			/* equal keys are identical: can deduplicate */
};

/* Take over what a metapage says, sound or not. */
static void
read_meta(SstMeta *meta, const PageData *page)
{
	const BTMetaPageData *metad = BTPageGetMeta((Page) page);

	meta->known = true;
	meta->field[SST_META_VERSION] = metad->btm_version;
	meta->field[META_LEVEL] = metad->btm_level;
	meta->field[META_ROOT] = metad->btm_root;

	/*
	 * The field came with version 4; _bt_metaversion() reads it like this. On
	 * a damaged page its byte can be one that no bool has.
	 */
	meta->field[META_ALLEQUALIMAGE] = metad->btm_version > BTREE_NOVAC_VERSION &&
		*(const uint8 *) &metad->btm_allequalimage != 0;
}

/*
 * The special space of the metapage has its flag and nothing else: _bt_initmetapage().
 */
static bool
meta_is_sound(const PageData *page, const BTPageOpaqueData *opaque)
{
	const BTMetaPageData *metad = BTPageGetMeta((Page) page);

	return metad->btm_magic == BTREE_MAGIC &&
		metad->btm_version >= BTREE_MIN_VERSION &&
		metad->btm_version <= BTREE_VERSION &&
		opaque->btpo_flags == BTP_META &&
		opaque->btpo_prev == P_NONE && opaque->btpo_next == P_NONE &&
		opaque->btpo_level == 0 && opaque->btpo_cycleid == 0;
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
		counters->n[SST_ORDERED_LEAF_PAGES]++;

		/* A right sibling on an earlier block breaks the reading order. */
		if (opaque->btpo_next != P_NONE && opaque->btpo_next < blkno)
			counters->n[SST_BACKWARD_LEAVES]++;
		return true;
	}
	else
		counters->n[SST_INTERNAL_PAGES]++;

	return false;
}

/* Is it an internal page's level, or a leaf page's? */
static inline bool
level_is_sound(const BTPageOpaqueData *opaque)
{
	return P_ISLEAF(opaque) ? opaque->btpo_level == 0 :
		opaque->btpo_level > 0 && opaque->btpo_level <= MAX_LEVEL;
}

/*
 * Can the page have these siblings?  They may lie behind what was the end of the
 * index when the scan began.
 */
static inline bool
siblings_are_sound(const BTPageOpaqueData *opaque, BlockNumber blkno)
{
	return opaque->btpo_prev != InvalidBlockNumber &&
		opaque->btpo_next != InvalidBlockNumber &&
		opaque->btpo_prev != blkno &&
		opaque->btpo_next != blkno &&
		(opaque->btpo_prev != opaque->btpo_next || P_LEFTMOST(opaque));
}

/*
 * Is it a page that was initialized, and then not used because of an error?  Nothing
 * refers to it.  contrib's functions count it as an internal page.
 */
static bool
is_unused(const PageData *page, const BTPageOpaqueData *opaque)
{
	return sst_page_items(page) == 0 && opaque->btpo_flags == 0 &&
		P_LEFTMOST(opaque) && P_RIGHTMOST(opaque) &&
		opaque->btpo_level == 0 && opaque->btpo_cycleid == 0;
}

/*
 * Does the special space of a page of the tree agree with itself?  The rules are
 * those that contrib/amcheck and the code that sets the fields have.  A half-dead
 * internal page is an error to VACUUM as well.
 *
 * A deleted page of a release before 14 has no BTP_HAS_FULLXID, and a transaction
 * ID in the place of the level.
 */
static inline bool
special_is_sound(const BTPageOpaqueData *opaque, BlockNumber blkno)
{
	uint16		flags = opaque->btpo_flags;

	if (opaque->btpo_cycleid > MAX_BT_CYCLE_ID ||
		!siblings_are_sound(opaque, blkno))
		return false;

	if (P_ISDELETED(opaque))
		return (flags & ~FLAGS_OF_DELETED) == 0 &&
			(P_HAS_FULLXID(opaque) ? level_is_sound(opaque) :
			 TransactionIdIsNormal(opaque->btpo_level));
	if (!level_is_sound(opaque))
		return false;
	if (P_ISHALFDEAD(opaque))
		return (flags & ~FLAGS_OF_HALF_DEAD) == 0 && P_ISLEAF(opaque);

	return (flags & ~FLAGS_IN_USE) == 0 &&
		(P_ISLEAF(opaque) || !P_HAS_GARBAGE(opaque)) &&
		(!P_ISROOT(opaque) ||
		 (P_LEFTMOST(opaque) && P_RIGHTMOST(opaque) &&
		  !P_INCOMPLETE_SPLIT(opaque)));
}

/*
 * A deleted page has the transaction ID of its deletion and nothing else, in the
 * place of line pointers; or, if a release before 14 deleted it, next to no items.
 */
static bool
deleted_page(SstVisitor *visitor, const PageData *page,
			 const BTPageOpaqueData *opaque, SstCounters *counters)
{
	const PageHeaderData *header = (const PageHeaderData *) page;
	SstLinePointers items;

	if (P_HAS_FULLXID(opaque))
	{
		if (header->pd_lower != DELETED_LOWER ||
			header->pd_upper != header->pd_special)
			return false;
	}
	else
	{
		sst_read_line_pointers(page, FirstOffsetNumber, &visitor->lengths,
							   &items);
		if (items.outside || items.nitems > MAX_OLD_DELETED_ITEMS)
			return false;
	}

	counters->n[SST_DELETED_PAGES]++;
	return true;
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

	/* A page becomes half-dead when it has no items but the high key. */
	if (P_ISHALFDEAD(opaque) && sst_page_items(page) > P_HIKEY)
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
		return sst_count_if_new_in_index(page, blkno, counters);

	opaque = BTPageGetOpaque((Page) page);
	if (blkno == BTREE_METAPAGE)
	{
		if (!meta_is_sound(page, opaque))
			return false;
		counters->n[SST_OTHER_PAGES]++;
		read_meta(&visitor->meta, page);
		return true;
	}

	if (!special_is_sound(opaque, blkno) && !is_unused(page, opaque))
		return false;
	if (P_ISDELETED(opaque))
		return deleted_page(visitor, page, opaque, counters);

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
 * How long can an index's leaf tuples be, with and without a posting list?
 *
 * A posting list tuple is a plain one, with at least two TIDs added at its
 * end (_bt_form_posting() in access/nbtree/nbtdedup.c); both parts are MAXALIGN'ed.  So it is at least
 * MAXALIGN(2 * sizeof(ItemPointerData)) longer than its key.  The header of a
 * plain tuple has a bitmap if one of its columns is null (index_form_tuple()).
 */
void
sst_btree_tuple_lengths(SstTupleLengths *lengths, Relation rel)
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
 * To look at every tuple of a page takes several times as long as to look at
 * its line pointers.  So where lengths do not tell plain tuples from posting
 * list tuples, the percentage of the latter in a large index comes from some of
 * its pages.  Where the scan is for the model of a rebuild, nobody asks for it.
 */
static void
begin(SstVisitor *visitor, Relation rel)
{
	sst_btree_tuple_lengths(&visitor->lengths, rel);
	visitor->posting_stride = 1;
	if (visitor->lengths.min_posting > visitor->lengths.max_plain)
		return;
	if (visitor->kept != NULL)
		visitor->posting_stride = MaxBlockNumber;
	else if (visitor->nblocks > LARGE_INDEX_BLOCKS)
		visitor->posting_stride = LARGE_INDEX_STRIDE;
	visitor->needs.stride = visitor->posting_stride;
}

static int
pgstattuple_first(const PageData *page)
{
	const BTPageOpaqueData *opaque = BTPageGetOpaque((Page) page);

	if (P_IGNORE(opaque))
		return SST_PGSTATTUPLE_FREE;
	return P_ISLEAF(opaque) ? P_FIRSTDATAKEY(opaque) : 0;
}

/* What a page is, for a diagnosis */
static void
page_type(const PageData *page, BlockNumber blkno, SstPageType *type)
{
	const BTPageOpaqueData *opaque = BTPageGetOpaque((Page) page);

	type->flags = opaque->btpo_flags;
	type->known = (type->flags & ~KNOWN_FLAGS) == 0 &&
		((type->flags & BTP_META) != 0) == (blkno == BTREE_METAPAGE);
	type->has_tuples = blkno != BTREE_METAPAGE && !P_IGNORE(opaque);
	type->has_contents = blkno == BTREE_METAPAGE || P_ISDELETED(opaque);
	if (blkno != BTREE_METAPAGE)
		type->empty_lower = P_HAS_FULLXID(opaque) ? DELETED_LOWER :
			SizeOfPageHeaderData;
}

static void
diagnose_special(const PageData *page, SstDiagnosis *diagnosis)
{
	const BTPageOpaqueData *opaque = BTPageGetOpaque((Page) page);

	sst_set_diagnosis(diagnosis, SST_FAULT_SPECIAL,
					  _("special space is inconsistent, page flags 0x%04X, level %u, siblings %u and %u"),
					  opaque->btpo_flags, opaque->btpo_level,
					  opaque->btpo_prev, opaque->btpo_next);
}

/* ----------
 * What corrupt_blocks looks at, too
 *
 * Tuples of leaf pages point to rows: to one, or by a posting list to several.  All
 * others, high keys among them, are pivots, which have the number of their
 * attributes in the place of a TID, and where there is a page below them its block
 * number.  The comments of access/nbtree.h have the layouts.
 * ----------
 */

/* Is it a list of TIDs in order, which ends where the tuple does? */
static bool
posting_list_is_sound(Relation rel, const IndexTupleData *itup)
{
	IndexTuple	tuple = (IndexTuple) itup;
	int			ntids = BTreeTupleGetNPosting(tuple);
	Size		begin = BTreeTupleGetPostingOffset(tuple);
	ItemPointer tids;

	/* An index with INCLUDE columns has none. */
	if (ntids < 2 || rel->rd_index->indnkeyatts < RelationGetDescr(rel)->natts ||
		begin != MAXALIGN(begin) || begin < sizeof(IndexTupleData) ||
		begin > IndexTupleSize(tuple) ||
		ntids * sizeof(ItemPointerData) > IndexTupleSize(tuple) - begin)
		return false;

	tids = (ItemPointer) ((char *) tuple + begin);
	for (int i = 0; i < ntids; i++)
	{
		if (!ItemPointerIsValid(&tids[i]) ||
			(i > 0 && ItemPointerCompare(&tids[i - 1], &tids[i]) >= 0))
			return false;
	}
	return true;
}

/*
 * Has the pivot attributes as one in its place has?  Before version 4 of the index,
 * pivots looked like other tuples.
 */
static bool
pivot_is_sound(Relation rel, const SstMeta *meta, const IndexTupleData *itup,
			   bool minus_infinity)
{
	int			nkeyatts = rel->rd_index->indnkeyatts;
	bool		is_pivot = BTreeTupleIsPivot((IndexTuple) itup);
	int			natts = ItemPointerGetOffsetNumberNoCheck(&itup->t_tid) & BT_OFFSET_MASK;
	bool		has_tid = (ItemPointerGetOffsetNumberNoCheck(&itup->t_tid) &
						   BT_PIVOT_HEAP_TID_ATTR) != 0;

	if (!meta->known || meta->field[SST_META_VERSION] <= BTREE_NOVAC_VERSION)
		return !is_pivot || natts <= RelationGetDescr(rel)->natts;
	if (!is_pivot)
		return false;
	if (minus_infinity)
		return natts == 0;

	return natts > 0 && natts <= nkeyatts && (!has_tid || natts == nkeyatts);
}

/* Can the page below have this block number? */
static bool
downlink_is_sound(const IndexTupleData *itup)
{
	BlockNumber blkno = ItemPointerGetBlockNumberNoCheck(&itup->t_tid);

	return blkno != BTREE_METAPAGE && blkno != InvalidBlockNumber;
}

/*
 * Has a page of the tree its high key and, if it is not a leaf, a downlink?  A page
 * that was never used has neither.
 */
static bool
check_page(const PageData *page, SstDiagnosis *diagnosis)
{
	const BTPageOpaqueData *opaque = BTPageGetOpaque((Page) page);
	int			nitems = sst_page_items(page);

	if (nitems >= P_FIRSTDATAKEY(opaque) - (P_ISLEAF(opaque) ? 1 : 0) ||
		(!P_ISLEAF(opaque) && opaque->btpo_level == 0))
		return true;
	return sst_refuse(diagnosis, SST_FAULT_LINE_POINTERS,
					  _("%d line pointers are too few for page flags 0x%04X"),
					  nitems, opaque->btpo_flags);
}

/*
 * Check an item of a page of the tree, which is within the page, aligned and not
 * shorter than a tuple.
 */
static bool
check_item(Relation rel, const SstMeta *meta, const PageData *page,
		   OffsetNumber offnum, SstDiagnosis *diagnosis)
{
	const BTPageOpaqueData *opaque = BTPageGetOpaque((Page) page);
	const ItemIdData *item = PageGetItemId((Page) page, offnum);
	const IndexTupleData *itup =
		(const IndexTupleData *) (page + ItemIdGetOffset(item));
	OffsetNumber first = P_FIRSTDATAKEY(opaque);
	bool		sound;

	if (IndexTupleSize(itup) != ItemIdGetLength(item))
		sound = false;
	else if (offnum < first || !P_ISLEAF(opaque))
		sound = pivot_is_sound(rel, meta, itup, offnum == first) &&
			(offnum < first || downlink_is_sound(itup));
	else if (BTreeTupleIsPosting((IndexTuple) itup))
		sound = posting_list_is_sound(rel, itup);
	else
		sound = !BTreeTupleIsPivot((IndexTuple) itup) &&
			ItemPointerGetOffsetNumberNoCheck(&itup->t_tid) != InvalidOffsetNumber;

	if (!sound)
		sst_set_diagnosis(diagnosis, SST_FAULT_TUPLES,
						  _("tuple %u: header 0x%04X%04X %u, flags 0x%04X, which it cannot have in this place"),
						  offnum, itup->t_tid.ip_blkid.bi_hi,
						  itup->t_tid.ip_blkid.bi_lo, itup->t_tid.ip_posid,
						  itup->t_info);
	return sound;
}

/*
 * Check the tuples of a page, which are within it.  The result is that of
 * sst_check_items().
 */
static bool
check_tuples(Relation rel, SstVisitor *visitor, const PageData *page,
			 BlockNumber blkno, SstDiagnosis *diagnosis)
{
	int			nitems = sst_page_items(page);

	if (!check_page(page, diagnosis))
		return false;
	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		if (!check_item(rel, &visitor->meta, page, offnum, diagnosis))
			return false;
	}
	return true;
}

/* ----------
 * Columns, and the descriptor
 * ----------
 */

static const SstItems btree_items =
{2, {SST_LIVE_ITEMS, SST_DEAD_ITEMS}, SST_USABLE_BYTES, SST_FREE_BYTES, SST_POSTING_TUPLES};

static const SstColumn btree_columns[] = {
	{"version", INT4OID, .meta = SST_META_VERSION},
	{"tree_level", INT4OID, .meta = META_LEVEL},
	{"root_block_no", INT8OID, .meta = META_ROOT},
	{"allequalimage", BOOLOID, .meta = META_ALLEQUALIMAGE},
	SST_SIZE_COLUMNS,
	{"internal_pages", INT8OID, SST_INTERNAL_PAGES, .most = 1},
	{"leaf_pages", INT8OID, SST_LEAF_PAGES, .most = 1},
	{"empty_pages", INT8OID, SST_EMPTY_PAGES, .most = 1},
	{"deleted_pages", INT8OID, SST_DELETED_PAGES, .most = 1},
	{"live_items", INT8OID, SST_LIVE_ITEMS, .most = MaxIndexTuplesPerPage, .items = &btree_items},
	{"dead_items", INT8OID, SST_DEAD_ITEMS, .most = MaxIndexTuplesPerPage, .items = &sst_leaf_items},
	{"posting_percent", FLOAT8OID, SST_POSTING_TUPLES, .percent_of = SST_ITEMS_TOLD_APART, .most = MaxIndexTuplesPerPage},
	{"free_bytes", INT8OID, SST_FREE_BYTES, .most = BLCKSZ},
	{"avg_leaf_density", FLOAT8OID, SST_FREE_BYTES, .percent_of = SST_USABLE_BYTES, .left = true, .main = true},
	{"leaf_fragmentation", FLOAT8OID, SST_BACKWARD_LEAVES, .percent_of = SST_LEAF_PAGES, .most = 1},
	SST_DAMAGE_COLUMNS,
};

/* pgstatindex rounds, and has NaN where there are no leaf pages. */

static Datum
rounded_density(const SstRelationStats *found, bool *isnull)
{
	if (SST_COUNT(found, SST_USABLE_BYTES) == 0)
		return Float8GetDatum(NAN);

	return sst_two_decimals(100.0 - (double) SST_COUNT(found, SST_FREE_BYTES) /
							(double) SST_COUNT(found, SST_USABLE_BYTES) * 100.0);
}

static Datum
rounded_fragmentation(const SstRelationStats *found, bool *isnull)
{
	if (SST_COUNT(found, SST_LEAF_PAGES) == 0)
		return Float8GetDatum(NAN);

	return sst_two_decimals((double) SST_COUNT(found, SST_BACKWARD_LEAVES) /
							(double) SST_COUNT(found, SST_LEAF_PAGES) * 100.0);
}

static const SstColumn pgstatindex_columns[] = {
	{"version", INT4OID, .meta = SST_META_VERSION},
	{"tree_level", INT4OID, .meta = META_LEVEL},
	{"index_size", INT8OID, 0, sst_size_column},
	{"root_block_no", INT8OID, .meta = META_ROOT},
	{"internal_pages", INT8OID, SST_INTERNAL_PAGES},
	{"leaf_pages", INT8OID, SST_LEAF_PAGES},
	{"empty_pages", INT8OID, SST_EMPTY_PAGES},
	{"deleted_pages", INT8OID, SST_DELETED_PAGES},
	{"avg_leaf_density", FLOAT8OID, 0, rounded_density},
	{"leaf_fragmentation", FLOAT8OID, 0, rounded_fragmentation},
};

const SstAccessMethod sst_btree_am = {
	.name = "btree",
	.oid = BTREE_AM_OID,
	.kind = SST_INDEX,
	.flags = SST_AM_META | SST_AM_ENTRY_A_ROW | SST_AM_TEMPORARY_TABLES | SST_AM_PARALLEL_BUILD,
	.refusal = gettext_noop("relation \"%s\" is not a btree index"),
	.page = btree_page,
	.part = SST_PART_LINE_POINTERS,
	.begin = begin,
	.contrib_page = btree_contrib_page,
	.pgstattuple_first = pgstattuple_first,
	.special_size = sizeof(BTPageOpaqueData),
	.page_type = page_type,
	.diagnose_special = diagnose_special,
	.check = check_tuples,
	.columns = {btree_columns, lengthof(btree_columns)},
	.contrib_columns = {pgstatindex_columns, lengthof(pgstatindex_columns)},
	.model = &sst_btree_model,
};
