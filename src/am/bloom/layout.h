/*-------------------------------------------------------------------------
 *
 * layout.h
 *	  Pages of a bloom index
 *
 * contrib/bloom installs no header files.  The layouts are those of bloom.h there, in
 * releases 15 to 19; an index of any other layout has another magic number.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/bloom/layout.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_BLOOM_LAYOUT_H
#define SST_BLOOM_LAYOUT_H

#include "storage/bufpage.h"
#include "storage/itemptr.h"

#include "compat/compat.h"

/* The special space of a page; neither flag is that of a page with tuples */
#define BLOOM_PAGE_IS_META (1 << 0)
#define BLOOM_PAGE_IS_DELETED (1 << 1)

#define BLOOM_ID 0xFF83

typedef struct BloomSpecial
{
	uint16		ntuples;
	uint16		flags;
	uint16		unused;
	uint16		page_id;
} BloomSpecial;

/* A signature has a whole number of words, unlike the option "length", which is in bits. */
#define BLOOM_WORD_BITS 16
#define BLOOM_DEFAULT_WORDS 5
#define BLOOM_MAX_WORDS 256

/* rd_options of the index, a copy of which its build puts into the metapage */
typedef struct BloomSettings
{
	int32		varlena_header;
	int32		nwords;
	int32		bits_per_column[INDEX_MAX_KEYS];
} BloomSettings;

#define BLOOM_MAGIC 0xDBAC0DED

/*
 * The metapage.  Block numbers of pages with free space follow up to the special space:
 * those from list_start to list_end - 1 are tried by inserts, before any other page.
 */
typedef struct BloomMeta
{
	uint32		magic;
	uint16		list_start;
	uint16		list_end;
	BloomSettings settings;
} BloomMeta;

/*
 * Tuples follow the page header without line pointers or gaps: the TID of a row, and its
 * signature.
 */
#define BLOOM_TUPLE_SIZE(nwords) \
	(sizeof(ItemPointerData) + (nwords) * sizeof(uint16))

#define BLOOM_PAGE_BYTES \
	(BLCKSZ - MAXALIGN(SizeOfPageHeaderData) - MAXALIGN(sizeof(BloomSpecial)))

#define BLOOM_LIST_SIZE \
	((BLOOM_PAGE_BYTES - MAXALIGN(sizeof(BloomMeta))) / sizeof(BlockNumber))

static inline const BloomSpecial *
sst_bloom_special(const PageData *page)
{
	return (const BloomSpecial *)
		(page + BLCKSZ - MAXALIGN(sizeof(BloomSpecial)));
}

/* The TID of tuple i, counted from 0 */
static inline const ItemPointerData *
sst_bloom_tid(const PageData *page, int i, int tuple_size)
{
	return (const ItemPointerData *)
		(page + MAXALIGN(SizeOfPageHeaderData) + i * tuple_size);
}

/* The size of a page's tuples, which fill it up to pd_lower; there is at least one. */
static inline int
sst_bloom_tuple_size(const PageData *page)
{
	return (((const PageHeaderData *) page)->pd_lower -
			(int) MAXALIGN(SizeOfPageHeaderData)) / sst_bloom_special(page)->ntuples;
}

#endif							/* SST_BLOOM_LAYOUT_H */
