/*-------------------------------------------------------------------------
 *
 * reading_order.c
 *	  The order in which a report first reads its relations
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/reading_order.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "report/reading_order.h"

/*
 * An entry, how many blocks its place in the order is by, and how many it depends on
 */
typedef struct Place
{
	SstReportEntry *entry;
	uint64		nblocks;
	int			depth;
} Place;

/* The largest first, a table before its indexes and TOAST table; then by OID */
static int
compare_places(const void *a, const void *b)
{
	const Place *left = a;
	const Place *right = b;

	if (left->nblocks != right->nblocks)
		return left->nblocks < right->nblocks ? 1 : -1;
	if (left->depth != right->depth)
		return left->depth - right->depth;
	return (left->entry->relid > right->entry->relid) -
		(left->entry->relid < right->entry->relid);
}

/*
 * The order in which entries are read, in the given context.  A table has the place
 * of its largest index or its TOAST table, if that is larger.
 */
SstReportEntry **
sst_reading_order(const SstReport *report, MemoryContext context)
{
	int			n = report->relations.n;
	SstReportEntry **order = MemoryContextAllocHuge(context,
													sizeof(SstReportEntry *) * (n + 1));
	Place	   *places = MemoryContextAllocHuge(context,
												sizeof(Place) * (n + 1));

	for (int i = 0; i < n; i++)
	{
		places[i].entry = &report->entries[i];
		places[i].nblocks = report->entries[i].estimate.nblocks;
		places[i].depth = 0;
	}
	for (int i = 0; i < n; i++)
	{
		const SstReportEntry *entry = &report->entries[i];

		for (const SstReportEntry *on = entry->table; on != NULL; on = on->table)
		{
			Place	   *table = &places[on - report->entries];

			table->nblocks = Max(table->nblocks, entry->estimate.nblocks);
			places[i].depth++;
		}
	}
	qsort(places, n, sizeof(Place), compare_places);
	for (int i = 0; i < n; i++)
		order[i] = places[i].entry;
	pfree(places);

	return order;
}
