/*-------------------------------------------------------------------------
 *
 * heap.c
 *	  What the pages of a table say
 *
 * Tuples are counted as pgstattuple does it, by the rules of a dirty snapshot,
 * and as VACUUM does it where the two differ.  Hint bits are read and never
 * written; what they leave open, xacts.c finds out.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/visit/heap.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"

#include "rebuild/rebuild.h"
#include "visit/visit.h"

/*
 * What a tuple is, with the name that VACUUM has for it (access/heapam.h) and
 * whether a dirty snapshot sees it
 */
typedef enum Fate
{
	LIVE,						/* live; seen */
	INSERTING,					/* insert in progress; seen */
	DELETING,					/* delete in progress; seen */
	OWN_DELETED,				/* delete in progress, by ourselves; not seen */
	RECENTLY_DEAD,				/* recently dead; not seen */
	DEAD,						/* dead; not seen */
	IMPOSSIBLE,					/* names a transaction that cannot be */
} Fate;

#define NFATES (DEAD + 1)

/* Who inserted the tuple: has it committed? */
static SstXactStatus
inserter_status(SstXacts *xacts, const HeapTupleHeaderData *tuple)
{
	uint16		mask = tuple->t_infomask;

	/* A frozen tuple has both bits. */
	if (mask & HEAP_XMIN_COMMITTED)
		return SST_XACT_COMMITTED;
	if (mask & HEAP_XMIN_INVALID)
		return SST_XACT_ABORTED;

	/*
	 * VACUUM FULL of releases before 9.0 moved tuples, of which one copy
	 * counts: the new one if it committed, or else the old one.  It is long
	 * over.
	 */
	if (mask & HEAP_MOVED)
	{
		SstXactStatus status = sst_xact_status(xacts, tuple->t_choice.t_heap.t_field3.t_xvac);

		if (status == SST_XACT_IMPOSSIBLE)
			return status;
		return (status == SST_XACT_COMMITTED) == ((mask & HEAP_MOVED_IN) != 0) ?
			SST_XACT_COMMITTED : SST_XACT_ABORTED;
	}

	return sst_xact_status(xacts, HeapTupleHeaderGetRawXmin(tuple));
}

/*
 * Who deleted or updated the tuple: has it committed?  Nobody is as good as
 * one that has aborted.
 */
static SstXactStatus
deleter_status(SstXacts *xacts, const HeapTupleHeaderData *tuple,
			   TransactionId *xid)
{
	uint16		mask = tuple->t_infomask;

	if (mask & HEAP_XMAX_INVALID || HEAP_XMAX_IS_LOCKED_ONLY(mask))
		return SST_XACT_ABORTED;

	*xid = HeapTupleHeaderGetRawXmax(tuple);
	if (mask & HEAP_XMAX_IS_MULTI && !sst_multixact_updater(*xid, xid))
		return SST_XACT_IMPOSSIBLE;

	return mask & HEAP_XMAX_COMMITTED ? SST_XACT_COMMITTED :
		sst_xact_status(xacts, *xid);
}

/*
 * The rules of HeapTupleSatisfiesDirty() and HeapTupleSatisfiesVacuum()
 * (access/heap/heapam_visibility.c)
 */
static Fate
tuple_fate(SstVisitor *visitor, const HeapTupleHeaderData *tuple)
{
	SstXactStatus inserter = inserter_status(&visitor->xacts, tuple);
	SstXactStatus deleter;
	TransactionId xmax;

	if (inserter == SST_XACT_ABORTED)
		return DEAD;
	if (inserter == SST_XACT_IMPOSSIBLE)
		return IMPOSSIBLE;

	deleter = deleter_status(&visitor->xacts, tuple, &xmax);
	if (deleter == SST_XACT_IMPOSSIBLE)
		return IMPOSSIBLE;

	if (inserter == SST_XACT_OWN)
		return deleter == SST_XACT_OWN ? OWN_DELETED : INSERTING;
	if (inserter == SST_XACT_IN_PROGRESS)
		return INSERTING;

	switch (deleter)
	{
		case SST_XACT_OWN:
			return OWN_DELETED;
		case SST_XACT_IN_PROGRESS:
			return DELETING;
		case SST_XACT_COMMITTED:
			return TransactionIdPrecedes(xmax, visitor->horizon) ?
				DEAD : RECENTLY_DEAD;
		default:
			return LIVE;
	}
}

/*
 * Does the line pointer refer to a tuple?  Tuples lie between pd_upper and
 * pd_special.
 */
static inline bool
tuple_is_inside(const PageHeaderData *header, ItemId item)
{
	int			off = ItemIdGetOffset(item);
	int			len = ItemIdGetLength(item);

	return off >= header->pd_upper &&
		off + len <= header->pd_special &&
		off == MAXALIGN(off) &&
		len >= SizeofHeapTupleHeader;
}

/*
 * Is it a version of a row that is still there in a later version of the same
 * HOT chain?  An index build then has no entry for it
 * (heapam_index_build_range_scan()).
 */
static inline bool
is_superseded(const HeapTupleHeaderData *tuple, Fate fate)
{
	return (tuple->t_infomask2 & HEAP_HOT_UPDATED) != 0 &&
		(fate == DELETING || fate == OWN_DELETED || fate == RECENTLY_DEAD);
}

static bool
heap_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
		  SstCounters *counters)
{
	const PageHeaderData *header = (const PageHeaderData *) page;
	bool		all_visible = PageIsAllVisible((Page) page);
	int			nitems = sst_page_items(page);
	int			nstate[LP_DEAD + 1] = {0};
	int			nfate[NFATES] = {0};
	int			bytes[NFATES] = {0};
	int			all_bytes = 0;
	int			nheap_only = 0;
	int			nupdated = 0;
	int			free_space;
	const SstRebuild *rebuild = visitor->rebuild;
	const bool	chains = visitor->chains && !all_visible;
	SstHeapRewrite rewrite = {0};

	if (!sst_page_is_sound(page, visitor->special_size))
		return sst_count_if_new(page, blkno, counters);

	if (rebuild != NULL)
		rewrite = rebuild->u.heap.rewrite;

	visitor->xacts.running = InvalidTransactionId;
	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		ItemId		item = PageGetItemId((Page) page, offnum);
		const HeapTupleHeaderData *tuple;
		Fate		fate = LIVE;

		nstate[ItemIdGetFlags(item)]++;
		if (!ItemIdIsNormal(item))
			continue;
		if (!tuple_is_inside(header, item))
			return false;

		/* On an all-visible page there is no need to look at the tuples. */
		tuple = (const HeapTupleHeaderData *) (page + ItemIdGetOffset(item));
		if (!all_visible &&
			(tuple->t_infomask & (HEAP_XMIN_COMMITTED | HEAP_XMAX_INVALID)) !=
			(HEAP_XMIN_COMMITTED | HEAP_XMAX_INVALID))
		{
			fate = tuple_fate(visitor, tuple);
			if (fate == IMPOSSIBLE)
				return false;
		}
		if (chains)
		{
			nheap_only += HeapTupleHeaderIsHeapOnly(tuple) ? 1 : 0;
			nupdated += is_superseded(tuple, fate);
		}
		nfate[fate]++;
		bytes[fate] += ItemIdGetLength(item);
		all_bytes += ItemIdGetLength(item);

		if (rebuild != NULL && fate != DEAD)
			sst_rebuild_heap_tuple(rebuild, &rewrite, tuple,
								   ItemIdGetLength(item));
	}

	/* Do tuples overlap? */
	if (all_bytes > header->pd_special - header->pd_upper)
		return false;

	if (rebuild != NULL)
	{
		counters->n[SST_REBUILT_BYTES] += rewrite.bytes -
			visitor->rebuild->u.heap.rewrite.bytes;
		visitor->rebuild->u.heap.rewrite = rewrite;
	}

	free_space = sst_page_heap_free_space(page);

	counters->n[SST_HEAP_PAGES]++;
	counters->n[SST_ALL_VISIBLE_PAGES] += all_visible;
	counters->n[SST_DEAD_ITEMS] += nstate[LP_DEAD];
	counters->n[SST_REDIRECT_ITEMS] += nstate[LP_REDIRECT];
	counters->n[SST_UNUSED_ITEMS] += nstate[LP_UNUSED];

	counters->n[SST_TUPLES] += nfate[LIVE] + nfate[INSERTING] + nfate[DELETING];
	counters->n[SST_TUPLE_BYTES] += bytes[LIVE] + bytes[INSERTING] + bytes[DELETING];
	counters->n[SST_DEAD_TUPLES] += nfate[DEAD] + nfate[RECENTLY_DEAD] + nfate[OWN_DELETED];
	counters->n[SST_DEAD_TUPLE_BYTES] += bytes[DEAD] + bytes[RECENTLY_DEAD] + bytes[OWN_DELETED];
	counters->n[SST_RECENTLY_DEAD_TUPLES] += nfate[RECENTLY_DEAD];
	counters->n[SST_INSERTING_TUPLES] += nfate[INSERTING];
	counters->n[SST_INSERTING_BYTES] += bytes[INSERTING];
	counters->n[SST_DELETING_TUPLES] += nfate[DELETING];
	counters->n[SST_OWN_DELETED_TUPLES] += nfate[OWN_DELETED];
	counters->n[SST_OWN_DELETED_BYTES] += bytes[OWN_DELETED];

	if (visitor->chains)
	{
		counters->n[SST_INDEXED_ITEMS] += nstate[LP_DEAD] +
			(all_visible ? 0 : nstate[LP_REDIRECT]) + nstate[LP_NORMAL] - nheap_only;
		counters->n[SST_KEPT_CHAINS] += nstate[LP_NORMAL] - nfate[DEAD] - nupdated;
	}

	counters->n[SST_FREE_BYTES] += free_space;
	counters->n[SST_USABLE_BYTES] += BLCKSZ - SizeOfPageHeaderData;
	counters->largest_free = Max(counters->largest_free, free_space);
	if (nstate[LP_NORMAL] > nfate[DEAD])
		counters->kept_end = Max(counters->kept_end, blkno + 1);

	return true;
}

/*
 * A visitor for a table's pages, or those of a sequence, whose special space has
 * a size.  Tuples deleted by transactions before the horizon can be removed.
 */
void
sst_heap_visitor_init(SstVisitor *visitor, int special_size,
					  TransactionId horizon)
{
	memset(visitor, 0, sizeof(SstVisitor));
	visitor->page = heap_page;
	visitor->prefetch_bytes = SST_LINE_POINTER_PREFETCH;
	visitor->special_size = special_size;
	visitor->horizon = horizon;
}
