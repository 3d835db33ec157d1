/*-------------------------------------------------------------------------
 *
 * hash.c
 *	  Reading the pages of a hash index
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/visit/hash.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/hash.h"

#include "visit/visit.h"

static void
read_meta(SstMeta *meta, const PageData *page)
{
	const HashMetaPageData *metad = HashPageGetMeta((Page) page);

	meta->known = true;
	meta->version = metad->hashm_version;
	meta->max_bucket = metad->hashm_maxbucket;
}

/* A page in use or kept for later has this many bytes for tuples. */
#define USABLE_BYTES (BLCKSZ - SizeOfPageHeaderData - \
					  MAXALIGN(sizeof(HashPageOpaqueData)))

/* Flags of a page that has tuples, but for those of its type */
#define FLAGS_OF_OVERFLOW LH_PAGE_HAS_DEAD_TUPLES
#define FLAGS_OF_BUCKET (LH_PAGE_HAS_DEAD_TUPLES | LH_BUCKET_BEING_POPULATED | \
						 LH_BUCKET_BEING_SPLIT | LH_BUCKET_NEEDS_SPLIT_CLEANUP)

/* pgstathashindex takes pages out of use for free space, new ones as well. */
static void
count_unused_page(SstCounters *counters)
{
	counters->n[SST_UNUSED_PAGES]++;
	counters->n[SST_FREE_BYTES] += USABLE_BYTES;
	counters->n[SST_USABLE_BYTES] += USABLE_BYTES;
}

/*
 * Does the special space agree with itself?  Pages other than those with tuples are
 * of no bucket, and have no neighbours: _hash_freeovflpage(), _hash_init().
 */
static bool
special_is_sound(const HashPageOpaqueData *opaque)
{
	uint16		type = opaque->hasho_flag & LH_PAGE_TYPE;
	uint16		flags = opaque->hasho_flag & ~LH_PAGE_TYPE;

	if (opaque->hasho_page_id != HASHO_PAGE_ID)
		return false;
	if (type == LH_BUCKET_PAGE)
		return (flags & ~FLAGS_OF_BUCKET) == 0;
	if (type == LH_OVERFLOW_PAGE)
		return (flags & ~FLAGS_OF_OVERFLOW) == 0;

	return flags == 0 &&
		opaque->hasho_bucket == InvalidBucket &&
		opaque->hasho_prevblkno == InvalidBlockNumber &&
		opaque->hasho_nextblkno == InvalidBlockNumber;
}

/*
 * Count a page whose special space is in place.  By contrib's rules, items count
 * wherever they point to, as pgstathashindex has it.
 */
static bool
count_page(SstVisitor *visitor, const PageData *page, SstRules rules,
		   SstCounters *counters)
{
	const HashPageOpaqueData *opaque = HashPageGetOpaque((Page) page);
	SstLinePointers items;

	switch (opaque->hasho_flag & LH_PAGE_TYPE)
	{
		case LH_BUCKET_PAGE:
		case LH_OVERFLOW_PAGE:
			sst_read_line_pointers(page, FirstOffsetNumber,
								   &visitor->lengths, &items);
			if (items.outside && rules == SST_RULES_TOLERANT)
				return false;
			if (opaque->hasho_flag & LH_BUCKET_PAGE)
				counters->n[SST_BUCKET_PAGES]++;
			else
				counters->n[SST_OVERFLOW_PAGES]++;
			sst_count_leaf(counters, PageGetExactFreeSpace((Page) page),
						   USABLE_BYTES);
			sst_count_items(counters, &items);
			return true;
		case LH_BITMAP_PAGE:
			counters->n[SST_INTERNAL_PAGES]++;
			counters->n[SST_BITMAP_PAGES]++;
			return true;
		case LH_UNUSED_PAGE:
			if (rules == SST_RULES_TOLERANT && sst_page_items(page) > 0)
				return false;
			counters->n[SST_DELETED_PAGES]++;
			count_unused_page(counters);
			return true;
		default:
			return false;
	}
}

static bool
hash_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
		  SstCounters *counters)
{
	if (!sst_page_is_sound(page, sizeof(HashPageOpaqueData)))
	{
		if (!sst_count_if_new(page, blkno, counters))
			return false;
		count_unused_page(counters);
		return true;
	}

	if (!special_is_sound(HashPageGetOpaque((Page) page)))
		return false;
	if (blkno != HASH_METAPAGE)
		return count_page(visitor, page, SST_RULES_TOLERANT, counters);

	if ((HashPageGetOpaque((Page) page)->hasho_flag & LH_PAGE_TYPE) != LH_META_PAGE ||
		HashPageGetMeta((Page) page)->hashm_magic != HASH_MAGIC)
		return false;
	counters->n[SST_OTHER_PAGES]++;
	read_meta(&visitor->meta, page);
	return true;
}

static bool
hash_contrib_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
				  SstCounters *counters)
{
	const PageHeaderData *header = (const PageHeaderData *) page;

	if (blkno == HASH_METAPAGE)
	{
		read_meta(&visitor->meta, page);
		return true;
	}

	if (PageIsNew((Page) page))
	{
		sst_count_new(counters, blkno);
		count_unused_page(counters);
		return true;
	}

	/*
	 * The page's size is what the header says; a special space that is behind
	 * the end of the page by that is where we stop.
	 */
	if (PageGetSpecialSize((Page) page) != MAXALIGN(sizeof(HashPageOpaqueData)) ||
		header->pd_special > BLCKSZ - MAXALIGN(sizeof(HashPageOpaqueData)))
		return false;

	return count_page(visitor, page, SST_RULES_CONTRIB, counters);
}

/*
 * By contrib's rules, corrupt pages are those that pgstathashindex raises an error
 * for.
 */
void
sst_hash_visitor_init(SstVisitor *visitor, SstRules rules)
{
	sst_visitor_init(visitor,
					 rules == SST_RULES_CONTRIB ? hash_contrib_page : hash_page,
					 SST_LINE_POINTER_PREFETCH, SST_PART_LINE_POINTERS);
}
