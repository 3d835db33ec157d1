/*-------------------------------------------------------------------------
 *
 * heap.c
 *	  Reading the pages of a table, and its tuples
 *
 * Tuples are counted as pgstattuple does it, by the rules of a dirty snapshot,
 * and as VACUUM does it where the two differ.  Hint bits are read and never
 * written; where they are not set, xacts.c finds the state.
 *
 * For the model of a rewrite (model.c), and for corrupt_blocks, tuples are taken apart here.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/toast_compression.h"
#include "access/tupdesc_details.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "am/am.h"
#include "am/heap/heap.h"

/*
 * A tuple's status is an HTSV_Result.  A delete in progress is by another
 * transaction, and a dirty snapshot sees the tuple.  A delete by the current
 * transaction, which hides it, has a status of its own.
 */
#define HEAPTUPLE_OWN_DELETE (HEAPTUPLE_DELETE_IN_PROGRESS + 1)
#define NSTATUSES (HEAPTUPLE_OWN_DELETE + 1)

/* What the line pointers and tuples of a page are */
typedef struct PageItems
{
	int			nflags[LP_DEAD + 1];	/* line pointers with these flags */
	int			ntuples[NSTATUSES];
	int			bytes[NSTATUSES];	/* of these tuples */
	int			nheap_only;		/* not counted on an all-visible page */
	int			nsuperseded;	/* see is_superseded() */
	int			ndeleted;		/* see count_dead_version() */
	int			nupdated;
} PageItems;

/*
 * The state of the transaction that deleted or updated the tuple.  SST_XACT_ABORTED
 * if there is none.
 */
static SstXactStatus
deleter_status(SstXacts *xacts, const HeapTupleHeaderData *tuple,
			   TransactionId *xid)
{
	uint16		mask = tuple->t_infomask;

	if (mask & HEAP_XMAX_INVALID || HEAP_XMAX_IS_LOCKED_ONLY(mask))
		return SST_XACT_ABORTED;

	*xid = HeapTupleHeaderGetRawXmax(tuple);
	if (mask & HEAP_XMAX_IS_MULTI && !sst_multixact_updater(xacts, *xid, xid))
		return SST_XACT_IMPOSSIBLE;

	return mask & HEAP_XMAX_COMMITTED ? SST_XACT_COMMITTED :
		sst_xact_status(xacts, *xid);
}

/*
 * Find the status of a tuple by the rules of HeapTupleSatisfiesDirty() and
 * HeapTupleSatisfiesVacuum() (access/heap/heapam_visibility.c).  False if the
 * tuple names a transaction that no sound page can name.
 */
static inline bool
find_status(SstVisitor *visitor, const HeapTupleHeaderData *tuple, int *status)
{
	SstXactStatus inserter = sst_tuple_inserter(&visitor->xacts, tuple);
	SstXactStatus deleter;
	TransactionId xmax;

	if (inserter == SST_XACT_IMPOSSIBLE)
		return false;
	if (inserter == SST_XACT_ABORTED)
	{
		*status = HEAPTUPLE_DEAD;
		return true;
	}

	deleter = deleter_status(&visitor->xacts, tuple, &xmax);
	if (deleter == SST_XACT_IMPOSSIBLE)
		return false;

	if (inserter == SST_XACT_IN_PROGRESS ||
		(inserter == SST_XACT_OWN && deleter != SST_XACT_OWN))
		*status = HEAPTUPLE_INSERT_IN_PROGRESS;
	else if (deleter == SST_XACT_OWN)
		*status = HEAPTUPLE_OWN_DELETE;
	else if (deleter == SST_XACT_IN_PROGRESS)
		*status = HEAPTUPLE_DELETE_IN_PROGRESS;
	else if (deleter == SST_XACT_ABORTED)
		*status = HEAPTUPLE_LIVE;
	else if (TransactionIdPrecedes(xmax, visitor->horizon))
		*status = HEAPTUPLE_DEAD;
	else
		*status = HEAPTUPLE_RECENTLY_DEAD;

	return true;
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

/* Can the tuple's data begin where its header says? */
static inline bool
data_position_is_sound(const HeapTupleHeaderData *tuple, ItemId item)
{
	return tuple->t_hoff >= MAXALIGN(SizeofHeapTupleHeader) &&
		tuple->t_hoff <= ItemIdGetLength(item) &&
		tuple->t_hoff == MAXALIGN(tuple->t_hoff);
}

/*
 * Is the tuple a version of a row that has a later version in the same HOT
 * chain?  An index build then has no entry for it
 * (heapam_index_build_range_scan()).
 */
static inline bool
is_superseded(const HeapTupleHeaderData *tuple, int status)
{
	return (tuple->t_infomask2 & HEAP_HOT_UPDATED) != 0 &&
		(status == HEAPTUPLE_DELETE_IN_PROGRESS ||
		 status == HEAPTUPLE_OWN_DELETE ||
		 status == HEAPTUPLE_RECENTLY_DEAD);
}

/*
 * Count a dead tuple whose row was deleted, or whose next version has index entries of
 * its own.  One that was moved to another partition has no next version here.
 */
static inline void
count_dead_version(PageItems *items, const HeapTupleHeaderData *tuple,
				   BlockNumber blkno, OffsetNumber offnum)
{
	BlockNumber next = ItemPointerGetBlockNumberNoCheck(&tuple->t_ctid);
	OffsetNumber next_offnum = ItemPointerGetOffsetNumberNoCheck(&tuple->t_ctid);

	if (tuple->t_infomask2 & HEAP_HOT_UPDATED)
		return;
	if ((next == blkno && next_offnum == offnum) ||
		(next == MovedPartitionsBlockNumber && next_offnum == MovedPartitionsOffsetNumber))
		items->ndeleted++;
	else
		items->nupdated++;
}

/*
 * Count the items of an all-visible page, and list them as kept if the visitor is to do so, if
 * all of them are tuples.  False if there are others, or damage: then sort_items() tells.
 */
static inline bool
take_visible_tuples(SstVisitor *visitor, const PageData *page, PageItems *items)
{
	const PageHeaderData *header = (const PageHeaderData *) page;
	int			nitems = sst_page_items(page);
	int			bytes = sst_sum_tuples(page);
	SstItemList *kept = visitor->kept;

	if (bytes < 0 || bytes > header->pd_special - header->pd_upper)
		return false;

	if (kept != NULL)
	{
		for (int i = 0; i < nitems; i++)
			kept->offnums[i] = FirstOffsetNumber + i;
		kept->nitems = nitems;
	}
	items->nflags[LP_NORMAL] = items->ntuples[HEAPTUPLE_LIVE] = nitems;
	items->bytes[HEAPTUPLE_LIVE] = bytes;
	return true;
}

/*
 * Sort a page's items, and list the kept ones if the visitor is to do so.
 * False if they make no sense.  The page's header is sound.  If the visitor lists dead
 * ones, "built" is set for each tuple: does an index build make an entry for it?
 */
static inline bool
sort_items(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
		   bool all_visible, PageItems *items, bool *built)
{
	const PageHeaderData *header = (const PageHeaderData *) page;
	const bool	chains = visitor->chains && !all_visible;
	int			nitems = sst_page_items(page);
	int			all_bytes = 0;

	visitor->xacts.running = InvalidTransactionId;

	/* The CPU waits for all headers together, not for one after the other. */
	for (OffsetNumber offnum = FirstOffsetNumber; !all_visible && offnum <= nitems; offnum++)
		sst_load(page + ItemIdGetOffset(PageGetItemId((Page) page, offnum)));
	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		ItemId		item = PageGetItemId((Page) page, offnum);
		const HeapTupleHeaderData *tuple;
		int			status = HEAPTUPLE_LIVE;

		items->nflags[ItemIdGetFlags(item)]++;
		if (!ItemIdIsNormal(item))
		{
			if (ItemIdIsRedirected(item) && !sst_redirect_is_sound(page, offnum))
				return false;
			continue;
		}
		if (!tuple_is_inside(header, item))
			return false;

		/*
		 * On an all-visible page there is no need to look at the tuples, nor
		 * at the rest of those that are live by two bits; corrupt_blocks
		 * looks at them all.
		 */
		tuple = (const HeapTupleHeaderData *) (page + ItemIdGetOffset(item));
		if (!all_visible &&
			(tuple->t_infomask & (HEAP_XMIN_COMMITTED | HEAP_XMAX_INVALID)) !=
			(HEAP_XMIN_COMMITTED | HEAP_XMAX_INVALID) &&
			!(data_position_is_sound(tuple, item) &&
			  find_status(visitor, tuple, &status)))
			return false;

		if (chains)
		{
			items->nheap_only += HeapTupleHeaderIsHeapOnly(tuple) ? 1 : 0;
			items->nsuperseded += is_superseded(tuple, status);
			if (status == HEAPTUPLE_DEAD || status == HEAPTUPLE_RECENTLY_DEAD)
				count_dead_version(items, tuple, blkno, offnum);
		}
		items->ntuples[status]++;
		items->bytes[status] += ItemIdGetLength(item);
		all_bytes += ItemIdGetLength(item);

		if (visitor->kept != NULL && status != HEAPTUPLE_DEAD)
			visitor->kept->offnums[visitor->kept->nitems++] = offnum;
		if (visitor->dead != NULL)
			built[offnum] = status != HEAPTUPLE_DEAD && !is_superseded(tuple, status);
	}

	/* Do tuples overlap? */
	return all_bytes <= header->pd_special - header->pd_upper;
}

/* Count tuples and their bytes, as a dirty snapshot and VACUUM see them. */
static inline void
count_tuples(const PageItems *items, SstCounters *counters)
{
	const int  *ntuples = items->ntuples;
	const int  *bytes = items->bytes;

	counters->n[SST_TUPLES] += ntuples[HEAPTUPLE_LIVE] +
		ntuples[HEAPTUPLE_INSERT_IN_PROGRESS] +
		ntuples[HEAPTUPLE_DELETE_IN_PROGRESS];
	counters->n[SST_TUPLE_BYTES] += bytes[HEAPTUPLE_LIVE] +
		bytes[HEAPTUPLE_INSERT_IN_PROGRESS] +
		bytes[HEAPTUPLE_DELETE_IN_PROGRESS];
	counters->n[SST_DEAD_TUPLES] += ntuples[HEAPTUPLE_DEAD] +
		ntuples[HEAPTUPLE_RECENTLY_DEAD] + ntuples[HEAPTUPLE_OWN_DELETE];
	counters->n[SST_DEAD_TUPLE_BYTES] += bytes[HEAPTUPLE_DEAD] +
		bytes[HEAPTUPLE_RECENTLY_DEAD] + bytes[HEAPTUPLE_OWN_DELETE];
	counters->n[SST_RECENTLY_DEAD_TUPLES] += ntuples[HEAPTUPLE_RECENTLY_DEAD];
	counters->n[SST_INSERTING_TUPLES] += ntuples[HEAPTUPLE_INSERT_IN_PROGRESS];
	counters->n[SST_INSERTING_BYTES] += bytes[HEAPTUPLE_INSERT_IN_PROGRESS];
	counters->n[SST_DELETING_TUPLES] += ntuples[HEAPTUPLE_DELETE_IN_PROGRESS];
	counters->n[SST_OWN_DELETED_TUPLES] += ntuples[HEAPTUPLE_OWN_DELETE];
	counters->n[SST_OWN_DELETED_BYTES] += bytes[HEAPTUPLE_OWN_DELETE];
}

/* ----------
 * Roots of HOT chains that an index build skips
 *
 * An index entry has the TID of the root of a HOT chain: a tuple that is not
 * heap-only, a redirect to such a chain, or what pruning has left of a chain, a
 * line pointer that is dead.  An index build follows the chains in the other
 * direction: it gives the entry of a tuple the TID of its chain's root
 * (heap_get_root_tuples() in access/heap/pruneheap.c).  So a root of which no
 * tuple gets an entry is not in the new index.
 * ----------
 */

/* Does the chain have a tuple that a build makes an entry for? */
static bool
chain_is_built(const PageData *page, BlockNumber blkno, OffsetNumber offnum,
			   const bool *built)
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

		if (built[offnum])
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
 * List the line pointers.  The page's tuples are within it, and "built" tells of each whether a
 * build makes an entry for it.
 */
static void
list_dead_items(const PageData *page, BlockNumber blkno, const bool *built,
				SstItemList *dead)
{
	int			nitems = sst_page_items(page);

	dead->nitems = 0;
	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		ItemId		item = PageGetItemId((Page) page, offnum);
		OffsetNumber first = ItemIdIsRedirected(item) ? ItemIdGetRedirect(item) : offnum;

		if (!ItemIdIsUsed(item) ||
			(ItemIdIsNormal(item) &&
			 HeapTupleHeaderIsHeapOnly((HeapTupleHeader) (page + ItemIdGetOffset(item)))))
			continue;
		if (!chain_is_built(page, blkno, first, built))
			dead->offnums[dead->nitems++] = offnum;
	}
}

/* ----------
 * The visitor
 * ----------
 */

static bool
heap_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
		  SstCounters *counters)
{
	bool		all_visible = PageIsAllVisible((Page) page);
	bool		skips_tuples;
	PageItems	items = {0};
	bool		built[SST_MAX_ITEMS + 1];
	const int  *nflags = items.nflags;
	int			nkept;
	int			free_space;

	if (visitor->kept != NULL)
		visitor->kept->nitems = 0;
	if (visitor->dead != NULL)
		visitor->dead->nitems = 0;

	if (!sst_page_is_sound(page, visitor->am->special_size))
		return sst_count_if_new(page, blkno, counters);
	skips_tuples = all_visible && !visitor->all_tuples;
	if (!(skips_tuples && visitor->dead == NULL && take_visible_tuples(visitor, page, &items)) &&
		!sort_items(visitor, page, blkno, skips_tuples, &items, built))
		return false;

	nkept = nflags[LP_NORMAL] - items.ntuples[HEAPTUPLE_DEAD];
	free_space = sst_page_heap_free_space(page);

	counters->n[SST_HEAP_PAGES]++;
	counters->n[SST_ALL_VISIBLE_PAGES] += all_visible;
	counters->n[SST_DEAD_ITEMS] += nflags[LP_DEAD];
	counters->n[SST_REDIRECT_ITEMS] += nflags[LP_REDIRECT];
	counters->n[SST_UNUSED_ITEMS] += nflags[LP_UNUSED];
	count_tuples(&items, counters);

	if (visitor->chains)
	{
		counters->n[SST_INDEXED_ITEMS] += nflags[LP_DEAD] +
			(all_visible ? 0 : nflags[LP_REDIRECT]) + nflags[LP_NORMAL] -
			items.nheap_only;
		counters->n[SST_KEPT_CHAINS] += nkept - items.nsuperseded;
		counters->n[SST_DELETED_VERSIONS] += items.ndeleted;
		counters->n[SST_UPDATED_VERSIONS] += items.nupdated;
	}
	if (visitor->dead != NULL && !all_visible)
		list_dead_items(page, blkno, built, visitor->dead);

	counters->n[SST_FREE_BYTES] += free_space;
	counters->n[SST_USABLE_BYTES] += BLCKSZ - SizeOfPageHeaderData;
	counters->largest_free = Max(counters->largest_free, free_space);
	if (nkept > 0)
		counters->kept_end = Max(counters->kept_end, blkno + 1);

	return true;
}

/* A sequence's special space has a magic number (commands/sequence.c). */
#define SEQUENCE_SPECIAL_SIZE sizeof(uint32)

/* ----------
 * Values, and their size in a rewritten tuple
 *
 * A rewrite deforms each tuple and forms it again.  Dropped columns become
 * null, columns that were added after the tuple get their values, and short
 * values lose the padding that they have if stored as PLAIN
 * (reform_and_rewrite_tuple() in access/heap/heapam_handler.c, heap_form_tuple()
 * in access/common/heaptuple.c).  Only the sizes of values matter here.
 * ----------
 */

/* A size that a varlena cannot have is cut to one that it can. */
static int32
sane_size(int64 size)
{
	return (int32) Max(Min(size, MaxAllocSize), VARHDRSZ);
}

/* Read a pointer to the TOAST table, which can be anywhere in memory. */
static void
read_pointer(const char *data, SstValue *value)
{
	struct varatt_external pointer;

	memcpy(&pointer, data + VARHDRSZ_EXTERNAL, sizeof(pointer));
	value->form = SST_VALUE_POINTER;
	value->size = VARHDRSZ_EXTERNAL + sizeof(pointer);
	value->fetched_size =
		sane_size((int64) VARATT_EXTERNAL_GET_EXTSIZE(pointer) + VARHDRSZ);
	value->raw_size = sane_size(pointer.va_rawsize);
}

/*
 * Read a value at data, of which there are not more than room bytes.  data need not
 * be aligned.  False if the value is longer than that, or makes no sense.
 */
static inline bool
read_value(Form_pg_attribute att, const char *data, int room, SstValue *value)
{
	memset(value, 0, sizeof(SstValue));
	value->form = SST_VALUE_FIXED;
	value->data = data;
	if (att->attlen > 0)
		value->size = att->attlen;
	else if (room <= 0)
		return false;
	else if (att->attlen == -2)
		value->size = strnlen(data, room) + 1;
	else if (VARATT_IS_1B_E(data))
	{
		if (room < VARHDRSZ_EXTERNAL + (int) sizeof(struct varatt_external) ||
			VARTAG_1B_E(data) != VARTAG_ONDISK)
			return false;
		read_pointer(data, value);
	}
	else if (VARATT_IS_1B(data))
	{
		value->form = SST_VALUE_SHORT;
		value->size = VARSIZE_1B(data);
	}
	else
	{
		varattrib_4b header;

		if (room < VARHDRSZ)
			return false;
		memcpy(&header, data, VARHDRSZ);
		value->form = VARATT_IS_4B_C(&header) ? SST_VALUE_COMPRESSED :
			SST_VALUE_LONG;
		value->size = VARSIZE_4B(&header);
		if (value->size < VARHDRSZ)
			return false;
	}

	return value->size <= room;
}

/* Is the value stored with a header of one byte, or as a pointer: unaligned? */
static inline bool
becomes_short(Form_pg_attribute att, const SstValue *value)
{
	if (value->form == SST_VALUE_LONG)
		return att->attstorage != TYPSTORAGE_PLAIN &&
			value->size - VARHDRSZ + VARHDRSZ_SHORT <= VARATT_SHORT_MAX;
	return value->form == SST_VALUE_SHORT || value->form == SST_VALUE_POINTER;
}

/* The size of a tuple's data with a value, not null, behind what it has */
static inline int64
add_value(int64 size, Form_pg_attribute att, const SstValue *value)
{
	if (!becomes_short(att, value))
		size = att_align_nominal(size, att->attalign);
	else if (value->form == SST_VALUE_LONG)
		size -= VARHDRSZ - VARHDRSZ_SHORT;
	return size + value->size;
}

/*
 * Read the value of a column that a tuple has, not null, which begins at an offset or
 * behind the padding there.  The offset is moved to the end of the value.  False if that
 * is not within the tuple, or the value makes no sense.
 */
static inline bool
next_value(Form_pg_attribute att, const HeapTupleHeaderData *tuple, int len,
		   int *offset, SstValue *value)
{
	const char *data = (const char *) tuple;

	/* A byte of padding is zero, the header of a short value is not. */
	if (*offset >= len)
		return false;
	if (att->attlen != -1 || data[*offset] == 0)
		*offset = att_align_nominal(*offset, att->attalign);
	if (!read_value(att, data + *offset, len - *offset, value))
		return false;
	*offset += value->size;
	return true;
}

/*
 * Read the value that the i-th column has in tuples from before it was added, if it is not
 * null there.
 */
static bool
read_missing_value(TupleDesc tupdesc, int i, SstValue *value)
{
	Form_pg_attribute att = TupleDescAttr(tupdesc, i);

	if (!att->atthasmissing || att->attisdropped ||
		tupdesc->constr == NULL || tupdesc->constr->missing == NULL ||
		!tupdesc->constr->missing[i].am_present)
		return true;
	if (att->attbyval)
	{
		memset(value, 0, sizeof(SstValue));
		value->form = SST_VALUE_FIXED;
		value->size = att->attlen;
		return true;
	}

	return read_value(att, DatumGetPointer(tupdesc->constr->missing[i].am_value),
					  MaxAllocSize, value);
}

/*
 * Find the values of all columns of a tuple, for which the result has memory, and its
 * length when formed again.  False if the tuple makes no sense: then the values are those
 * before the first one that is invalid.
 */
bool
sst_read_tuple(TupleDesc tupdesc, const HeapTupleHeaderData *tuple, int len,
			   SstTuple *result)
{
	bool		has_nulls = (tuple->t_infomask & HEAP_HASNULL) != 0;
	int			natts = Min(HeapTupleHeaderGetNatts(tuple), tupdesc->natts);
	int			offset = tuple->t_hoff;
	int64		size = 0;
	bool		gets_nulls = false;

	result->nvalues = 0;
	if (offset < (int) SizeofHeapTupleHeader ||
		offset < (int) SizeofHeapTupleHeader +
		(has_nulls ? BITMAPLEN(HeapTupleHeaderGetNatts(tuple)) : 0) ||
		offset > len)
		return false;

	result->has_pointers = result->has_dropped = false;
	for (int i = 0; i < tupdesc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);
		SstValue   *value = &result->values[i];

		result->nvalues = i;
		value->form = SST_VALUE_NULL;
		if (i < natts)
		{
			if (!(has_nulls && att_isnull(i, tuple->t_bits)) &&
				!next_value(att, tuple, len, &offset, value))
				return false;
		}
		else if (!read_missing_value(tupdesc, i, value))
			return false;

		if (value->form == SST_VALUE_NULL)
			gets_nulls = true;
		else if (att->attisdropped)
			gets_nulls = result->has_dropped = true;
		else
			size = add_value(size, att, value);
		result->has_pointers |= value->form == SST_VALUE_POINTER;
	}

	result->nvalues = tupdesc->natts;
	result->len = size + MAXALIGN(SizeofHeapTupleHeader +
								  (gets_nulls ? BITMAPLEN(tupdesc->natts) : 0));
	return true;
}

/* The size of a tuple with these values, behind its header */
int64
sst_tuple_data_size(TupleDesc tupdesc, const SstValue *values)
{
	int64		size = 0;

	for (int i = 0; i < tupdesc->natts; i++)
	{
		if (values[i].form != SST_VALUE_NULL)
			size = add_value(size, TupleDescAttr(tupdesc, i), &values[i]);
	}

	return size;
}

/* ----------
 * What corrupt_blocks looks at, too
 *
 * Besides each tuple on its own, the chains of row versions on the page are looked
 * at: the versions that line pointers redirect to, and heap-only tuples, must be
 * those of one row (access/heap/README.HOT).
 * ----------
 */

/* A page that is being checked */
typedef struct HeapPage
{
	Relation	rel;
	SstVisitor *visitor;
	const PageData *page;
	BlockNumber blkno;
	int			nitems;

	/* Of each item with a tuple: its inserter, and what comes next */
	uint8		inserter[SST_MAX_ITEMS + 1];
	OffsetNumber next[SST_MAX_ITEMS + 1];
	SstTuple	read;			/* the last one */
	SstDiagnosis *diagnosis;
} HeapPage;

static const HeapTupleHeaderData *
get_tuple(const HeapPage *heap, OffsetNumber offnum)
{
	const ItemIdData *item = PageGetItemId((Page) heap->page, offnum);

	return (const HeapTupleHeaderData *) (heap->page + ItemIdGetOffset(item));
}

/* Do the lengths in the header agree with each other? */
static bool
header_is_sound(const HeapTupleHeaderData *tuple, int length)
{
	int			natts = HeapTupleHeaderGetNatts(tuple);
	Size		size = SizeofHeapTupleHeader;

	if (tuple->t_infomask & HEAP_HASNULL)
		size += BITMAPLEN(natts);

	return tuple->t_hoff == MAXALIGN(size) && tuple->t_hoff <= length;
}

/* Do bits exclude each other? */
static bool
bits_are_sound(const HeapTupleHeaderData *tuple)
{
	uint16		mask = tuple->t_infomask;

	if ((mask & HEAP_XMAX_COMMITTED) &&
		(mask & (HEAP_XMAX_INVALID | HEAP_XMAX_IS_MULTI)))
		return false;
	if (HeapTupleHeaderIsHeapOnly(tuple) && !(mask & HEAP_UPDATED))
		return false;

	return !HeapTupleHeaderIsHotUpdated(tuple) ||
		TransactionIdIsValid(HeapTupleHeaderGetRawXmax(tuple));
}

/* Can a tuple that is not frozen name the transaction? */
static bool
xid_is_possible(HeapPage *heap, TransactionId xid)
{
	TransactionId frozenxid = heap->rel->rd_rel->relfrozenxid;

	return !TransactionIdIsNormal(xid) ||
		((!TransactionIdIsValid(frozenxid) ||
		  !TransactionIdPrecedes(xid, frozenxid)) &&
		 sst_xact_has_begun(&heap->visitor->xacts, xid));
}

/* Can it name the multixact?  One from before 9.3 means nothing. */
static bool
multi_is_possible(const HeapPage *heap, const HeapTupleHeaderData *tuple)
{
	MultiXactId multi = HeapTupleHeaderGetRawXmax(tuple);

	return HEAP_LOCKED_UPGRADED(tuple->t_infomask) ||
		(MultiXactIdIsValid(multi) &&
		 !MultiXactIdPrecedes(multi, heap->rel->rd_rel->relminmxid) &&
		 sst_multixact_has_begun(multi));
}

/*
 * Find the transaction that updated or deleted the tuple, committed or not; invalid if
 * there is none.  False if the tuple names one that cannot be.
 */
static bool
find_deleter(HeapPage *heap, const HeapTupleHeaderData *tuple,
			 TransactionId *xid)
{
	uint16		mask = tuple->t_infomask;

	*xid = InvalidTransactionId;
	if (mask & HEAP_XMAX_IS_MULTI)
	{
		if (!multi_is_possible(heap, tuple))
			return false;
		if (mask & HEAP_XMAX_INVALID || HEAP_XMAX_IS_LOCKED_ONLY(mask))
			return true;
		return sst_multixact_updater(&heap->visitor->xacts,
									 HeapTupleHeaderGetRawXmax(tuple), xid) &&
			TransactionIdIsValid(*xid) && xid_is_possible(heap, *xid);
	}
	if (HEAP_XMAX_IS_LOCKED_ONLY(mask))
		return true;

	*xid = HeapTupleHeaderGetRawXmax(tuple);
	return mask & HEAP_XMAX_INVALID || xid_is_possible(heap, *xid);
}

/* Can the tuple name its inserter? */
static bool
inserter_is_possible(HeapPage *heap, const HeapTupleHeaderData *tuple)
{
	uint16		mask = tuple->t_infomask;
	TransactionId xvac = tuple->t_choice.t_heap.t_field3.t_xvac;

	/* VACUUM FULL of releases before 9.0; see sst_tuple_inserter() */
	if ((mask & HEAP_MOVED) != 0 &&
		(mask & (HEAP_XMIN_COMMITTED | HEAP_XMIN_INVALID)) == 0 &&
		(!TransactionIdIsValid(xvac) || !xid_is_possible(heap, xvac)))
		return false;

	return xid_is_possible(heap, HeapTupleHeaderGetXmin(tuple));
}

/* Does what is said of a value in the TOAST table make sense? */
static bool
toast_pointer_is_sound(const HeapPage *heap, const HeapTupleHeaderData *tuple,
					   const char *value)
{
	struct varatt_external pointer;

	memcpy(&pointer, VARDATA_EXTERNAL(value), sizeof(pointer));
	return (tuple->t_infomask & HEAP_HASEXTERNAL) != 0 &&
		OidIsValid(heap->rel->rd_rel->reltoastrelid) &&
		pointer.va_rawsize >= VARHDRSZ &&
		pointer.va_rawsize <= MaxAllocSize &&
		VARATT_EXTERNAL_GET_EXTSIZE(pointer) <= pointer.va_rawsize - VARHDRSZ &&
		(!VARATT_EXTERNAL_IS_COMPRESSED(pointer) ||
		 VARATT_EXTERNAL_GET_COMPRESS_METHOD(pointer) < TOAST_INVALID_COMPRESSION_ID);
}

/*
 * Check the attributes of a tuple.  Its inserter has committed: else it can be of a
 * time when the table had other columns.
 */
static bool
check_attributes(HeapPage *heap, OffsetNumber offnum,
				 const HeapTupleHeaderData *tuple, int length)
{
	TupleDesc	tupdesc = RelationGetDescr(heap->rel);
	int			natts = HeapTupleHeaderGetNatts(tuple);
	SstTuple   *read = &heap->read;
	int			i = 0;

	if (natts > tupdesc->natts)
		return sst_refuse(heap->diagnosis, SST_FAULT_TUPLES,
						  _("tuple %u: %d attributes, but the relation has %d"),
						  offnum, natts, tupdesc->natts);

	(void) sst_read_tuple(tupdesc, tuple, length, read);
	while (i < read->nvalues && (read->values[i].form != SST_VALUE_POINTER ||
								 toast_pointer_is_sound(heap, tuple, read->values[i].data)))
		i++;
	if (i < tupdesc->natts)
		return sst_refuse(heap->diagnosis, SST_FAULT_TUPLES,
						  _("tuple %u: attribute %d is not valid, or ends beyond the tuple's length %d"),
						  offnum, i + 1, length);

	return true;
}

/* Check a tuple on its own, and note who inserted it and which version is next. */
static bool
check_tuple(HeapPage *heap, OffsetNumber offnum)
{
	const HeapTupleHeaderData *tuple = get_tuple(heap, offnum);
	int			length = ItemIdGetLength(PageGetItemId((Page) heap->page, offnum));
	OffsetNumber next = ItemPointerGetOffsetNumberNoCheck(&tuple->t_ctid);
	TransactionId deleter = InvalidTransactionId;
	SstXactStatus inserter;

	if (!header_is_sound(tuple, length))
		return sst_refuse(heap->diagnosis, SST_FAULT_TUPLES,
						  _("tuple %u: data of %d attributes begins at %u, length %d"),
						  offnum, HeapTupleHeaderGetNatts(tuple),
						  tuple->t_hoff, length);
	if (!bits_are_sound(tuple))
		return sst_refuse(heap->diagnosis, SST_FAULT_TUPLES,
						  _("tuple %u: infomask 0x%04X and 0x%04X exclude each other, xmax %u"),
						  offnum, tuple->t_infomask, tuple->t_infomask2,
						  HeapTupleHeaderGetRawXmax(tuple));

	inserter = sst_tuple_inserter(&heap->visitor->xacts, tuple);
	if (!inserter_is_possible(heap, tuple) ||
		(inserter == SST_XACT_COMMITTED && !find_deleter(heap, tuple, &deleter)))
		return sst_refuse(heap->diagnosis, SST_FAULT_TUPLES,
						  _("tuple %u: impossible transaction, xmin %u, xmax %u, infomask 0x%04X"),
						  offnum, HeapTupleHeaderGetRawXmin(tuple),
						  HeapTupleHeaderGetRawXmax(tuple), tuple->t_infomask);
	if (inserter == SST_XACT_COMMITTED &&
		!check_attributes(heap, offnum, tuple, length))
		return false;

	if (inserter != SST_XACT_COMMITTED)
		deleter = HeapTupleHeaderGetRawXmax(tuple);
	heap->inserter[offnum] = inserter;
	if (TransactionIdIsValid(deleter) &&
		ItemPointerGetBlockNumberNoCheck(&tuple->t_ctid) == heap->blkno &&
		next >= FirstOffsetNumber && next <= heap->nitems && next != offnum &&
		ItemIdIsNormal(PageGetItemId((Page) heap->page, next)) &&
		HeapTupleHeaderGetXmin(get_tuple(heap, next)) == deleter)
		heap->next[offnum] = next;

	return true;
}

/* Can a tuple be the version that follows another one in its chain? */
static bool
versions_agree(const HeapPage *heap, OffsetNumber offnum, OffsetNumber next)
{
	const HeapTupleHeaderData *tuple = get_tuple(heap, offnum);
	bool		hot = (tuple->t_infomask2 & HEAP_HOT_UPDATED) != 0;

	return HeapTupleHeaderIsHeapOnly(get_tuple(heap, next)) == hot &&
		(heap->inserter[offnum] != SST_XACT_ABORTED ||
		 heap->inserter[next] != SST_XACT_COMMITTED);
}

/* Check that each version of a row follows another one, and none follows two. */
static bool
check_chains(HeapPage *heap)
{
	bool		followed[SST_MAX_ITEMS + 1] = {0};

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= heap->nitems; offnum++)
	{
		const ItemIdData *item = PageGetItemId((Page) heap->page, offnum);
		OffsetNumber next = heap->next[offnum];

		if (next == InvalidOffsetNumber)
			continue;
		if (followed[next])
			return sst_refuse(heap->diagnosis, SST_FAULT_TUPLES,
							  _("tuple %u: line pointer %u, and one before it, point to this version of a row"),
							  next, offnum);
		followed[next] = true;

		if (ItemIdIsRedirected(item) ?
			!HeapTupleHeaderIsHeapOnly(get_tuple(heap, next)) :
			!versions_agree(heap, offnum, next))
			return sst_refuse(heap->diagnosis, SST_FAULT_TUPLES,
							  _("tuple %u: it does not agree with line pointer %u, which points to this version of a row"),
							  next, offnum);
	}

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= heap->nitems; offnum++)
	{
		if (!followed[offnum] &&
			ItemIdIsNormal(PageGetItemId((Page) heap->page, offnum)) &&
			HeapTupleHeaderIsHeapOnly(get_tuple(heap, offnum)) &&
			(heap->inserter[offnum] == SST_XACT_COMMITTED ||
			 heap->inserter[offnum] == SST_XACT_IN_PROGRESS))
			return sst_refuse(heap->diagnosis, SST_FAULT_TUPLES,
							  _("tuple %u: heap-only, but nothing points to it"),
							  offnum);
	}

	return true;
}

/*
 * Check the tuples of a page, which the visitor has found to be within it.  The result
 * is that of sst_check_items().
 */
static bool
check_tuples(Relation rel, SstVisitor *visitor, const PageData *page,
			 BlockNumber blkno, SstDiagnosis *diagnosis)
{
	HeapPage	heap = {.rel = rel, .visitor = visitor, .page = page,
	.blkno = blkno, .nitems = sst_page_items(page), .diagnosis = diagnosis};
	bool		sound = true;

	heap.read.values = palloc(RelationGetDescr(rel)->natts * sizeof(SstValue));
	for (OffsetNumber offnum = FirstOffsetNumber; sound && offnum <= heap.nitems; offnum++)
	{
		const ItemIdData *item = PageGetItemId((Page) page, offnum);

		if (ItemIdIsRedirected(item))
			heap.next[offnum] = ItemIdGetRedirect(item);
		else if (ItemIdIsNormal(item))
			sound = check_tuple(&heap, offnum);
	}
	sound = sound && check_chains(&heap);
	pfree(heap.read.values);

	return sound;
}

/* ----------
 * The descriptors
 * ----------
 */

/* Pages are all of one type. */
static void
page_type(const PageData *page, BlockNumber blkno, SstPageType *type)
{
	type->known = true;
	type->has_tuples = true;
}

/* For sample_stats only: table_stats counts what is in maps, too. */
static const SstColumn heap_columns[] = {
	{"all_visible_pages", INT8OID, SST_ALL_VISIBLE_PAGES, .most = 1},
	{"all_visible_percent", FLOAT8OID, SST_ALL_VISIBLE_PAGES, .percent_of = SST_HEAP_PAGES},
	{"live_tuples", INT8OID, SST_TUPLES, .most = MaxHeapTuplesPerPage, .items = &sst_heap_tuples},
	{"live_tuple_bytes", INT8OID, SST_TUPLE_BYTES, .most = BLCKSZ},
	{"live_tuple_percent", FLOAT8OID, SST_TUPLE_BYTES, .percent_of = SST_PAGE_BYTES},
	{"dead_tuples", INT8OID, SST_DEAD_TUPLES, .most = MaxHeapTuplesPerPage, .items = &sst_heap_tuples},
	{"dead_tuple_bytes", INT8OID, SST_DEAD_TUPLE_BYTES, .most = BLCKSZ},
	{"dead_tuple_percent", FLOAT8OID, SST_DEAD_TUPLE_BYTES, .percent_of = SST_PAGE_BYTES},
	{"dead_line_pointers", INT8OID, SST_DEAD_ITEMS, .most = MaxHeapTuplesPerPage, .items = &sst_heap_tuples},
	{"redirect_line_pointers", INT8OID, SST_REDIRECT_ITEMS, .most = MaxHeapTuplesPerPage, .items = &sst_heap_tuples},
	{"unused_line_pointers", INT8OID, SST_UNUSED_ITEMS, .most = MaxHeapTuplesPerPage, .items = &sst_heap_tuples},
	{"free_bytes", INT8OID, SST_FREE_BYTES, .most = BLCKSZ, .plus_pages = true},
	{"free_percent", FLOAT8OID, SST_FREE_BYTES, .percent_of = SST_PAGE_BYTES, .main = true, .plus_pages = true},
	SST_DAMAGE_COLUMNS,
};

const SstAccessMethod sst_heap_am = {
	.name = "heap",
	.oid = HEAP_TABLE_AM_OID,
	.kind = SST_HEAP,
	.page = heap_page,
	.part = SST_PART_TUPLES_IF_CHANGED,
	.page_type = page_type,
	.check = check_tuples,
	.columns = {heap_columns, lengthof(heap_columns)},
	.model = &sst_heap_model,
};

/* A sequence is a table of one row, with a special space, and no access method. */
const SstAccessMethod sst_sequence_am = {
	.kind = SST_SEQUENCE,
	.page = heap_page,
	.part = SST_PART_TUPLES_IF_CHANGED,
	.special_size = SEQUENCE_SPECIAL_SIZE,
	.page_type = page_type,
	.check = check_tuples,
	.columns = {heap_columns, lengthof(heap_columns)},
	.no_model = gettext_noop("a sequence cannot be rebuilt"),
};
