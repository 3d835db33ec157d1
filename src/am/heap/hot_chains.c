/*-------------------------------------------------------------------------
 *
 * hot_chains.c
 *	  Roots of HOT chains on a table's page that an index build skips
 *
 * An index entry has the TID of the root of a HOT chain: a tuple that is not
 * heap-only, a redirect to such a chain, or what pruning has left of a chain, a
 * line pointer that is dead.  An index build follows the chains in the other
 * direction: it gives the entry of a tuple the TID of its chain's root
 * (heap_get_root_tuples() in access/heap/pruneheap.c).  So a root of which no
 * tuple gets an entry is not in the new index.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/heap/hot_chains.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"

#include "am/visit.h"

/* Does the chain have a tuple that a build makes an entry for? */
static bool
chain_is_built(const PageData *page, BlockNumber blkno, OffsetNumber offnum,
			   const SstDeadItems *dead)
{
	int			nitems = sst_page_items(page);
	TransactionId xmax = InvalidTransactionId;	/* of the version before */

	/* On a damaged page, chains can be circles. */
	for (int i = 0; i < nitems; i++)
	{
		ItemId		item;
		const HeapTupleHeaderData *tuple;

		if (offnum < FirstOffsetNumber || offnum > nitems)
			return false;
		item = PageGetItemId((Page) page, offnum);
		if (!ItemIdIsNormal(item))
			return false;
		tuple = (const HeapTupleHeaderData *) (page + ItemIdGetOffset(item));

		/* The line pointer may have been used again, for another row. */
		if (i > 0 && !HeapTupleHeaderIsHeapOnly(tuple))
			return false;
		if (TransactionIdIsValid(xmax) &&
			HeapTupleHeaderGetRawXmin(tuple) != xmax)
			return false;

		if (dead->built[offnum])
			return true;
		if ((tuple->t_infomask2 & HEAP_HOT_UPDATED) == 0 ||
			ItemPointerGetBlockNumberNoCheck(&tuple->t_ctid) != blkno)
			return false;

		xmax = tuple->t_infomask & HEAP_XMAX_IS_MULTI ?
			InvalidTransactionId : HeapTupleHeaderGetRawXmax(tuple);
		offnum = ItemPointerGetOffsetNumberNoCheck(&tuple->t_ctid);
	}
	return false;
}

/*
 * List the line pointers in dead->offnums.  The page's tuples are within it, and
 * dead->built tells of each what a build makes of it.
 */
void
sst_list_dead_items(const PageData *page, BlockNumber blkno, SstDeadItems *dead)
{
	int			nitems = sst_page_items(page);

	dead->nitems = 0;
	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		ItemId		item = PageGetItemId((Page) page, offnum);
		bool		is_dead = false;

		if (ItemIdIsDead(item))
			is_dead = true;
		else if (ItemIdIsRedirected(item))
			is_dead = !chain_is_built(page, blkno, ItemIdGetRedirect(item), dead);
		else if (ItemIdIsNormal(item))
		{
			const HeapTupleHeaderData *tuple =
				(const HeapTupleHeaderData *) (page + ItemIdGetOffset(item));

			is_dead = !HeapTupleHeaderIsHeapOnly(tuple) &&
				!chain_is_built(page, blkno, offnum, dead);
		}

		if (is_dead)
			dead->offnums[dead->nitems++] = offnum;
	}
}
