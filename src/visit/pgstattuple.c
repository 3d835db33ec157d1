/*-------------------------------------------------------------------------
 *
 * pgstattuple.c
 *	  Pages of indexes, as pgstattuple counts their tuples
 *
 * pgstattuple leaves out block 0 (the metapage, or the root of a GiST index),
 * counts unused pages as completely free, and ignores pages whose special
 * space is not that of the access method.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/visit/pgstattuple.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/gist.h"
#include "access/hash.h"
#include "access/nbtree.h"

#include "visit/visit.h"

static void
count_free_page(SstCounters *counters)
{
	counters->n[SST_FREE_BYTES] += BLCKSZ;
}

/* The tuples of a leaf page; lengths are those of the line pointers. */
static void
count_tuples(const PageData *page, OffsetNumber first, SstCounters *counters)
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
static bool
has_special(const PageData *page, BlockNumber blkno, Size size,
			SstCounters *counters)
{
	if (blkno == 0)
		return false;

	if (PageIsNew((Page) page))
	{
		count_free_page(counters);
		return false;
	}

	return ((const PageHeaderData *) page)->pd_special ==
		BLCKSZ - MAXALIGN(size);
}

static bool
btree_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
		   SstCounters *counters)
{
	const BTPageOpaqueData *opaque;

	if (!has_special(page, blkno, sizeof(BTPageOpaqueData), counters))
		return true;

	opaque = BTPageGetOpaque((Page) page);
	if (P_IGNORE(opaque))
		count_free_page(counters);
	else if (P_ISLEAF(opaque))
		count_tuples(page, P_FIRSTDATAKEY(opaque), counters);

	return true;
}

static bool
hash_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
		  SstCounters *counters)
{
	if (!has_special(page, blkno, sizeof(HashPageOpaqueData), counters))
		return true;

	switch (HashPageGetOpaque((Page) page)->hasho_flag & LH_PAGE_TYPE)
	{
		case LH_UNUSED_PAGE:
			count_free_page(counters);
			break;
		case LH_BUCKET_PAGE:
		case LH_OVERFLOW_PAGE:
			count_tuples(page, FirstOffsetNumber, counters);
			break;
	}

	return true;
}

static bool
gist_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
		  SstCounters *counters)
{
	if (has_special(page, blkno, sizeof(GISTPageOpaqueData), counters) &&
		GistPageIsLeaf((Page) page))
		count_tuples(page, FirstOffsetNumber, counters);

	return true;
}

/* The visitor that judges the pages of an index as pgstattuple does. */
void
sst_pgstattuple_visitor_init(SstVisitor *visitor, SstTargetKind kind)
{
	sst_visitor_init(visitor, kind == SST_BTREE ? btree_page :
					 kind == SST_HASH ? hash_page : gist_page,
					 SST_LINE_POINTER_PREFETCH, SST_PART_LINE_POINTERS);
}
