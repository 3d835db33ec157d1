/*-------------------------------------------------------------------------
 *
 * visit.c
 *	  What visitors of all kinds of relations have in common
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/visit.h"

/*
 * Count a page whose header is not sound as new, if it is all zeros; false if
 * it is not.
 */
bool
sst_count_if_new(const PageData *page, BlockNumber blkno,
				 SstCounters *counters)
{
	for (int i = 0; i < BLCKSZ; i += sizeof(Size))
	{
		if (*(const Size *) (page + i) != 0)
			return false;
	}

	sst_count_new(counters, blkno);
	return true;
}

/* The same of an index, which always has its metapage or root in block 0 */
bool
sst_count_if_new_in_index(const PageData *page, BlockNumber blkno,
						  SstCounters *counters)
{
	return blkno != 0 && sst_count_if_new(page, blkno, counters);
}

/* ----------
 * What pgstattuple counts in pages of indexes
 *
 * pgstattuple leaves out block 0 (the metapage, or the root of a GiST index),
 * counts unused pages as completely free, and ignores pages whose special
 * space is not that of the access method.
 * ----------
 */

void
sst_pgstattuple_count_free(SstCounters *counters)
{
	counters->n[SST_FREE_BYTES] += BLCKSZ;
}

/* The tuples of a leaf page; lengths are those of the line pointers. */
void
sst_pgstattuple_count_tuples(const PageData *page, OffsetNumber first,
							 SstCounters *counters)
{
	int			nitems = sst_page_items(page);

	counters->n[SST_FREE_BYTES] += sst_page_free_space(page);

	for (OffsetNumber offnum = first; offnum <= nitems; offnum++)
	{
		ItemId		item = PageGetItemId((Page) page, offnum);

		if (ItemIdIsDead(item))
		{
			counters->n[SST_DEAD_TUPLES]++;
			counters->n[SST_DEAD_TUPLE_BYTES] += ItemIdGetLength(item);
		}
		else
		{
			counters->n[SST_TUPLES]++;
			counters->n[SST_TUPLE_BYTES] += ItemIdGetLength(item);
		}
	}
}

/* Is the page to be looked at: in use, with a special space of this size? */
bool
sst_pgstattuple_has_special(const PageData *page, BlockNumber blkno, Size size,
							SstCounters *counters)
{
	if (blkno == 0)
		return false;

	if (PageIsNew((Page) page))
	{
		sst_pgstattuple_count_free(counters);
		return false;
	}

	return ((const PageHeaderData *) page)->pd_special ==
		BLCKSZ - MAXALIGN(size);
}
