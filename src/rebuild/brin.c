/*-------------------------------------------------------------------------
 *
 * brin.c
 *	  What a BRIN index would take when built anew
 *
 * It has one tuple for each range of the table's blocks, of about the size that
 * tuples have now.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/brin.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/brin.h"
#include "access/brin_page.h"
#include "access/brin_tuple.h"
#include "catalog/pg_am.h"

#include "rebuild/rebuild.h"

#define USABLE_BYTES (BLCKSZ - SizeOfPageHeaderData - \
					  MAXALIGN(sizeof(BrinSpecialSpace)))

static void
brin_page(SstRebuild *rebuild, const PageData *page, BlockNumber blkno,
		  const SstKeptItems *kept, SstCounters *counters)
{
	int			nitems = sst_page_items(page);

	if (PageIsNew((Page) page) ||
		BrinPageType((Page) page) != BRIN_PAGETYPE_REGULAR)
		return;

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		ItemId		item = PageGetItemId((Page) page, offnum);

		if (!ItemIdIsNormal(item) ||
			(page[ItemIdGetOffset(item) + offsetof(BrinTuple, bt_info)] &
			 BRIN_PLACEHOLDER_MASK) != 0)
			continue;
		counters->n[SST_REBUILT_ENTRIES]++;
		counters->n[SST_REBUILT_BYTES] += MAXALIGN(ItemIdGetLength(item)) +
			sizeof(ItemIdData);
	}
}

/* NaN where no tuple was seen: then their size is not known. */
static double
brin_blocks(const SstRebuild *rebuild, const double *counts,
			const SstMeta *meta, bool whole)
{
	double		nranges = ceil((double) rebuild->table_blocks /
							   rebuild->u.brin.pages_per_range);
	double		per_page;

	if (counts[SST_REBUILT_ENTRIES] == 0)
		return NAN;

	/* The build of an empty table's index makes a tuple all the same. */
	nranges = Max(nranges, 1);
	per_page = USABLE_BYTES /
		(counts[SST_REBUILT_BYTES] / counts[SST_REBUILT_ENTRIES]);
	if (whole)
		per_page = floor(per_page);

	return 1 + ceil(nranges / REVMAP_PAGE_MAXITEMS) +
		sst_round_up(nranges / Max(per_page, 1), whole);
}

/* The size of the table is known, or the rebuild is unpredictable. */
void
sst_rebuild_brin_init(SstRebuild *rebuild, Relation rel)
{
	sst_rebuild_set_model(rebuild, brin_page, brin_blocks, NULL, 0.03);
	rebuild->u.brin.pages_per_range = BrinGetPagesPerRange(rel);
}
