/*-------------------------------------------------------------------------
 *
 * check.c
 *	  What is wrong with a tuple of a b-tree
 *
 * Tuples of leaf pages point to rows: to one, or by a posting list to several.  All
 * others, high keys among them, are pivots, which have the number of their
 * attributes in the place of a TID, and where there is a page below them its block
 * number.  The comments of access/nbtree.h have the layouts.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/btree/check.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"

#include "am/check_items.h"

/* Is it a list of TIDs in order, which ends where the tuple does? */
static bool
posting_list_is_sound(const SstItemCheck *check, const IndexTupleData *itup)
{
	IndexTuple	tuple = (IndexTuple) itup;
	int			ntids = BTreeTupleGetNPosting(tuple);
	Size		begin = BTreeTupleGetPostingOffset(tuple);
	ItemPointer tids;

	/* An index with INCLUDE columns has none. */
	if (ntids < 2 || check->nkeyatts < check->tupdesc->natts ||
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
pivot_is_sound(const SstItemCheck *check, const IndexTupleData *itup,
			   bool minus_infinity)
{
	bool		is_pivot = BTreeTupleIsPivot((IndexTuple) itup);
	int			natts = ItemPointerGetOffsetNumberNoCheck(&itup->t_tid) & BT_OFFSET_MASK;
	bool		has_tid = (ItemPointerGetOffsetNumberNoCheck(&itup->t_tid) &
						   BT_PIVOT_HEAP_TID_ATTR) != 0;

	if (check->version <= BTREE_NOVAC_VERSION)
		return !is_pivot || natts <= check->tupdesc->natts;
	if (!is_pivot)
		return false;
	if (minus_infinity)
		return natts == 0;

	return natts > 0 && natts <= check->nkeyatts &&
		(!has_tid || natts == check->nkeyatts);
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
check_item(const SstItemCheck *check, const PageData *page,
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
		sound = pivot_is_sound(check, itup, offnum == first) &&
			(offnum < first || downlink_is_sound(itup));
	else if (BTreeTupleIsPosting((IndexTuple) itup))
		sound = posting_list_is_sound(check, itup);
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
bool
sst_check_btree_tuples(const SstItemCheck *check, SstVisitor *visitor,
					   const PageData *page, BlockNumber blkno,
					   SstDiagnosis *diagnosis)
{
	int			nitems = sst_page_items(page);

	if (!check_page(page, diagnosis))
		return false;
	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		if (!check_item(check, page, offnum, diagnosis))
			return false;
	}
	return true;
}
