/*-------------------------------------------------------------------------
 *
 * visit.h
 *	  What a page says: one visitor for each kind of relation
 *
 * A visitor adds one page image to counters.  It does no I/O, allocates
 * nothing and raises no error, whatever the page contains; it looks at no
 * byte outside the page.  The caller keeps the page from changing during the
 * visit.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/visit/visit.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_VISIT_H
#define SST_VISIT_H

#include "compat/compat.h"
#include "stats/counters.h"
#include "visit/line_pointers.h"

/* What an index's metapage says; "known" once a sound one was seen */
typedef struct SstMeta
{
	bool		known;
	uint32		version;

	/* b-tree */
	uint32		tree_level;
	BlockNumber root;
	bool		allequalimage;	/* equal keys are identical: can deduplicate */

	/* hash */
	uint32		max_bucket;

	/* GIN */
	uint32		pending_pages;
	int64		pending_tuples;
} SstMeta;

typedef struct SstVisitor SstVisitor;

struct SstVisitor
{
	void		(*page) (SstVisitor *visitor, const PageData *page,
						 BlockNumber blkno, SstCounters *counters);

	/*
	 * Set for the visitors that judge as pgstattuple does.  The scan stops at
	 * the first page counted as corrupt, and lets through the errors of the
	 * buffer manager.
	 */
	bool		strict;

	/* Bytes from the start of a page that the visitor will look at */
	int			prefetch_bytes;

	SstMeta		meta;

	/* b-tree: look for posting list tuples on every so many'th block */
	SstTupleLengths lengths;
	BlockNumber posting_stride;
};

extern void sst_btree_visitor_init(SstVisitor *visitor, Relation rel,
								   BlockNumber nblocks);
extern void sst_btree_strict_visitor_init(SstVisitor *visitor);
extern void sst_hash_visitor_init(SstVisitor *visitor);
extern void sst_hash_strict_visitor_init(SstVisitor *visitor);
extern void sst_gin_meta_visitor_init(SstVisitor *visitor);
extern void sst_heap_visitor_init(SstVisitor *visitor);

/*
 * Of a page's line pointers, prefetch this many bytes; the CPU's own
 * prefetcher then sees to the rest.  Found by trying 64 to 1536.
 */
#define SST_LINE_POINTER_PREFETCH 896

extern bool sst_count_unsound_page(const PageData *page, BlockNumber blkno,
								   SstCounters *counters);

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

#endif							/* SST_VISIT_H */
