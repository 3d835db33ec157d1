/*-------------------------------------------------------------------------
 *
 * visit.h
 *	  Visitors: what a page contains, one for each kind of relation
 *
 * A visitor adds one page image to counters.  It does no I/O, allocates
 * nothing and raises no error, whatever the page contains; it looks at no byte
 * outside the page.  Only the one for tables needs more: the outcome of the
 * transactions that the page names (xacts.h).  For multixacts it may have to
 * read files, but not while xacts.page_locked: then it refuses the page and
 * sets xacts.postponed (xacts.c).  The caller keeps the page from
 * changing during the visit, and counts the pages that the visitor refuses.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_VISIT_H
#define SST_VISIT_H

#include "access/htup.h"

#include "am/heap/xacts.h"
#include "am/line_pointers.h"
#include "compat/compat.h"
#include "stream/rules.h"
#include "source/source.h"
#include "stats/counters.h"

/* What of a metapage a column shows; from SST_META_OWN on by access method */
typedef enum SstMetaField
{
	SST_META_NONE,
	SST_META_VERSION,
	SST_META_OWN
} SstMetaField;

/* What an index's metapage says; "known" once a sound one was seen */
typedef struct SstMeta
{
	bool		known;
	int64		field[SST_META_OWN + 4];
} SstMeta;

/* Line pointers of a table's page whose tuples a rewrite would keep */
typedef struct SstKeptItems
{
	int			nitems;
	OffsetNumber offnums[SST_MAX_ITEMS];
} SstKeptItems;

/*
 * Line pointers of a table's page that indexes can point to, and behind which an
 * index build finds no row
 */
typedef struct SstDeadItems
{
	int			nitems;
	OffsetNumber offnums[SST_MAX_ITEMS];

	/* While the page is visited: a build makes an entry for this tuple. */
	bool		built[SST_MAX_ITEMS + 1];
} SstDeadItems;

typedef struct SstVisitor SstVisitor;

/* Add a page.  False, with nothing added, when the page contents are inconsistent. */
typedef bool (*SstVisitPage) (SstVisitor *visitor, const PageData *page,
							  BlockNumber blkno, SstCounters *counters);

struct SstVisitor
{
	SstVisitPage page;
	SstPageNeeds needs;
	BlockNumber nblocks;		/* to be visited, or 0 for a sample; of a map,
								 * those that it describes */
	int			special_size;
	int			(*pgstattuple_first) (const PageData *page);

	SstMeta		meta;

	/* b-tree: look for posting list tuples on every so many'th block */
	SstTupleLengths lengths;
	BlockNumber posting_stride;

	/* heap */
	TransactionId horizon;		/* tuples deleted before it can be removed */
	bool		chains;			/* count what indexes point to, too */
	bool		all_tuples;		/* look at those of all-visible pages, too */
	SstKeptItems *kept;			/* filled for each sound page, unless NULL */
	SstDeadItems *dead;			/* likewise */
	SstXacts	xacts;

	/* visibility map, free space map */
	SstBlockSet *visible;		/* blocks that are all-visible, or NULL */
	SstBlockSet *frozen;		/* and all-frozen */
};

extern void sst_map_visitor_init(SstVisitor *visitor, ForkNumber map,
								 BlockNumber nblocks, SstBlockSet *visible,
								 SstBlockSet *frozen);

/*
 * Does the header make sense, and is the special space of the given size?
 */
static inline bool
sst_page_is_sound(const PageData *page, Size special_size)
{
	const PageHeaderData *header = (const PageHeaderData *) page;

	return header->pd_lower >= SizeOfPageHeaderData &&
		header->pd_lower <= header->pd_upper &&
		header->pd_upper <= header->pd_special &&
		header->pd_special == BLCKSZ - MAXALIGN(special_size) &&
		header->pd_pagesize_version == (BLCKSZ | PG_PAGE_LAYOUT_VERSION);
}

/* Bytes of a page for line pointers and tuples, with a special space of this size */
#define SST_PAGE_ROOM(special_size) \
	(BLCKSZ - (int) SizeOfPageHeaderData - (int) MAXALIGN(special_size))

/* By which the pages of many access methods can be told: their last two bytes */
static inline uint16
sst_page_id(const PageData *page)
{
	uint16		id;

	memcpy(&id, page + BLCKSZ - sizeof(id), sizeof(id));
	return id;
}

/* Count a leaf page, with what is free of its bytes for tuples. */
static inline void
sst_count_leaf(SstCounters *counters, Size free, Size usable)
{
	counters->n[SST_LEAF_PAGES]++;
	counters->n[SST_FREE_BYTES] += free;
	counters->n[SST_USABLE_BYTES] += usable;
}

/* Count the items of a leaf page. */
static inline void
sst_count_items(SstCounters *counters, const SstLinePointers *items)
{
	counters->n[SST_DEAD_ITEMS] += items->ndead;
	counters->n[SST_LIVE_ITEMS] += items->nitems - items->ndead;
}

#endif							/* SST_VISIT_H */
