/*-------------------------------------------------------------------------
 *
 * hash.c
 *	  Reading the pages of a hash index
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/hash/hash.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/hash.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"

#include "am/am.h"

/* What is counted of hash indexes only; model.c has more of it */
enum
{
	SST_BUCKET_PAGES = SST_OWN, /* leaf pages */
	SST_OVERFLOW_PAGES,			/* leaf pages */
	SST_BITMAP_PAGES			/* internal pages */
};

StaticAssertDecl((int) SST_BITMAP_PAGES == (int) SST_OWN + 2,
				 "model.c has the counters behind these");

#define META_BUCKETS SST_META_OWN

static void
read_meta(SstMeta *meta, const PageData *page)
{
	const HashMetaPageData *metad = HashPageGetMeta((Page) page);

	meta->known = true;
	meta->field[SST_META_VERSION] = metad->hashm_version;
	meta->field[META_BUCKETS] = (int64) metad->hashm_maxbucket + 1;
}

/* A page in use or kept for later has this many bytes for tuples. */
#define USABLE_BYTES SST_PAGE_ROOM(sizeof(HashPageOpaqueData))

/* Flags of a page that has tuples, but for those of its type */
#define FLAGS_OF_OVERFLOW LH_PAGE_HAS_DEAD_TUPLES
#define FLAGS_OF_BUCKET (LH_PAGE_HAS_DEAD_TUPLES | LH_BUCKET_BEING_POPULATED | \
						 LH_BUCKET_BEING_SPLIT | LH_BUCKET_NEEDS_SPLIT_CLEANUP)

/* Flags that exist */
#define KNOWN_FLAGS (LH_PAGE_TYPE | FLAGS_OF_BUCKET)

/* pgstathashindex takes pages out of use for free space, new ones as well. */
static void
count_unused_page(SstCounters *counters)
{
	counters->n[SST_UNUSED_PAGES]++;
	counters->n[SST_FREE_BYTES] += USABLE_BYTES;
	counters->n[SST_USABLE_BYTES] += USABLE_BYTES;
}

/*
 * Is it a page that is initialized and nothing more?  _hash_expandtable() leaves one in
 * the buffer of the next bucket, without writing it, if it does not get the cleanup
 * lock because somebody has a pin there.
 */
static bool
is_initialized_only(const PageData *page)
{
	static const HashPageOpaqueData zeros = {0};

	return PageIsEmpty((Page) page) &&
		((const PageHeaderData *) page)->pd_upper == BLCKSZ - MAXALIGN(sizeof(zeros)) &&
		memcmp(HashPageGetOpaque((Page) page), &zeros, sizeof(zeros)) == 0;
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
		if (!sst_count_if_new_in_index(page, blkno, counters))
			return false;
		count_unused_page(counters);
		return true;
	}

	if (!special_is_sound(HashPageGetOpaque((Page) page)))
	{
		if (blkno == HASH_METAPAGE || !is_initialized_only(page))
			return false;
		sst_count_new(counters, blkno);
		count_unused_page(counters);
		return true;
	}
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

static bool
hash_pgstattuple_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
					  SstCounters *counters)
{
	if (!sst_pgstattuple_has_special(page, blkno, sizeof(HashPageOpaqueData), counters))
		return true;

	switch (HashPageGetOpaque((Page) page)->hasho_flag & LH_PAGE_TYPE)
	{
		case LH_UNUSED_PAGE:
			sst_pgstattuple_count_free(counters);
			break;
		case LH_BUCKET_PAGE:
		case LH_OVERFLOW_PAGE:
			sst_pgstattuple_count_tuples(page, FirstOffsetNumber, counters);
			break;
	}

	return true;
}

/* What a page is, for a diagnosis */
static void
page_type(const PageData *page, BlockNumber blkno, SstPageType *type)
{
	uint16		kind;

	type->flags = HashPageGetOpaque((Page) page)->hasho_flag;
	kind = type->flags & LH_PAGE_TYPE;
	type->known = (type->flags & ~KNOWN_FLAGS) == 0 && (kind & (kind - 1)) == 0 &&
		(kind == LH_META_PAGE) == (blkno == HASH_METAPAGE);
	type->has_tuples = (kind & (LH_BUCKET_PAGE | LH_OVERFLOW_PAGE)) != 0;
	type->has_contents = blkno == HASH_METAPAGE;
}

/* pgstathashindex has 0 where there is no space for tuples. */
static Datum
contrib_free_percent(const SstRelationStats *found, bool *isnull)
{
	Datum		percent = sst_percent(SST_COUNT(found, SST_FREE_BYTES),
									  SST_COUNT(found, SST_USABLE_BYTES), isnull);

	if (!*isnull)
		return percent;
	*isnull = false;
	return Float8GetDatum(0.0);
}

static const SstColumn hash_columns[] = {
	{"version", INT4OID, .meta = SST_META_VERSION},
	{"buckets", INT8OID, .meta = META_BUCKETS},
	SST_SIZE_COLUMNS,
	{"bucket_pages", INT8OID, SST_BUCKET_PAGES, .most = 1},
	{"overflow_pages", INT8OID, SST_OVERFLOW_PAGES, .most = 1},
	{"bitmap_pages", INT8OID, SST_BITMAP_PAGES, .most = 1},
	{"unused_pages", INT8OID, SST_UNUSED_PAGES, .most = 1},
	{"live_items", INT8OID, SST_LIVE_ITEMS, .most = MaxIndexTuplesPerPage, .items = &sst_leaf_items},
	{"dead_items", INT8OID, SST_DEAD_ITEMS, .most = MaxIndexTuplesPerPage, .items = &sst_leaf_items},
	{"free_bytes", INT8OID, SST_FREE_BYTES, .most = BLCKSZ},
	{"free_percent", FLOAT8OID, SST_FREE_BYTES, .percent_of = SST_USABLE_BYTES, .main = true},
	SST_DAMAGE_COLUMNS,
};

static const SstColumn pgstathashindex_columns[] = {
	{"version", INT4OID, .meta = SST_META_VERSION},
	{"bucket_pages", INT8OID, SST_BUCKET_PAGES},
	{"overflow_pages", INT8OID, SST_OVERFLOW_PAGES},
	{"bitmap_pages", INT8OID, SST_BITMAP_PAGES},
	{"unused_pages", INT8OID, SST_UNUSED_PAGES},
	{"live_items", INT8OID, SST_LIVE_ITEMS},
	{"dead_items", INT8OID, SST_DEAD_ITEMS},
	{"free_percent", FLOAT8OID, 0, contrib_free_percent},
};

const SstAccessMethod sst_hash_am = {
	.name = "hash",
	.oid = HASH_AM_OID,
	.kind = SST_INDEX,
	.flags = SST_AM_META | SST_AM_ENTRY_A_ROW | SST_AM_NO_NULLS | SST_AM_RESERVES_PAGES,
	.refusal = gettext_noop("relation \"%s\" is not a hash index"),
	.page = hash_page,
	.part = SST_PART_LINE_POINTERS,
	.contrib_page = hash_contrib_page,
	.contrib_part = SST_PART_LINE_POINTERS,
	.pgstattuple_page = hash_pgstattuple_page,
	.special_size = sizeof(HashPageOpaqueData),
	.page_id = HASHO_PAGE_ID,
	.page_type = page_type,
	.columns = {hash_columns, lengthof(hash_columns)},
	.contrib_columns = {pgstathashindex_columns, lengthof(pgstathashindex_columns)},
	.model = &sst_hash_model,
};
