/*-------------------------------------------------------------------------
 *
 * layout.h
 *	  Pages of an ivfflat index
 *
 * The layouts are those of src/ivfflat.h in pgvector 0.5.0 to 0.8.6.  An index of another
 * layout has another version number.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/ivfflat/layout.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_IVFFLAT_LAYOUT_H
#define SST_IVFFLAT_LAYOUT_H

#include "access/itup.h"

#include "am/visit.h"

/* The special space of a page; lists, and the entries of each list, are in chains of pages. */
typedef struct IvfflatSpecial
{
	BlockNumber next;
	uint16		unused;
	uint16		page_id;
} IvfflatSpecial;

#define IVFFLAT_ID 0xFF84
#define IVFFLAT_MAGIC 0x14FF1A7
#define IVFFLAT_VERSION 1

/* rd_options of the index */
typedef struct IvfflatSettings
{
	int32		varlena_header;
	int32		lists;
} IvfflatSettings;

#define IVFFLAT_DEFAULT_LISTS 100
#define IVFFLAT_MAX_LISTS 32768

typedef struct IvfflatMeta
{
	uint32		magic;
	uint32		version;
	uint16		dimensions;
	uint16		lists;
} IvfflatMeta;

/* A list: its pages, and the vector in its center */
typedef struct IvfflatList
{
	BlockNumber start_block;
	BlockNumber insert_block;
	int32		varlena_header; /* of the vector */
} IvfflatList;

#define IVFFLAT_PAGE_BYTES \
	(BLCKSZ - (int) SizeOfPageHeaderData - (int) MAXALIGN(sizeof(IvfflatSpecial)))

/* What a page has, which nothing but its tuples says */
typedef enum IvfflatPageKind
{
	IVFFLAT_LISTS,
	IVFFLAT_ENTRIES,
	IVFFLAT_NEITHER
} IvfflatPageKind;

/*
 * Is it the line pointer of an entry, which is an index tuple with a vector?  A list has the
 * upper half of a block number in the place of the tuple's length, which cannot be so high;
 * or the lower half, where the most significant byte comes first.
 */
static inline bool
sst_ivfflat_is_entry(const PageData *page, const ItemIdData *item)
{
	IndexTupleData tuple;

	memcpy(&tuple, page + ItemIdGetOffset(item), sizeof(tuple));
	return tuple.t_info == (ItemIdGetLength(item) | INDEX_VAR_MASK);
}

/*
 * What a page behind the metapage has, whose line pointers are within it.  Lists come
 * first, and are never added or removed.
 */
static inline IvfflatPageKind
sst_ivfflat_page_kind(const PageData *page, BlockNumber blkno)
{
	int			nitems = sst_page_items(page);
	bool		lists = blkno <= IVFFLAT_MAX_LISTS;
	bool		entries = blkno > 1;

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		const ItemIdData *item = PageGetItemId((Page) page, offnum);
		IvfflatList list;

		if (ItemIdGetLength(item) <= sizeof(list))
			return IVFFLAT_NEITHER;
		memcpy(&list, page + ItemIdGetOffset(item), sizeof(list));
		if (blkno == 1 || !sst_ivfflat_is_entry(page, item))
			entries = false;
#ifndef WORDS_BIGENDIAN
		else
			lists = false;
#endif

		/* Neither is block 0, nor InvalidBlockNumber. */
		if (list.start_block + 1 <= 1 || list.insert_block + 1 <= 1)
			lists = false;
	}
	return entries ? IVFFLAT_ENTRIES : lists ? IVFFLAT_LISTS : IVFFLAT_NEITHER;
}

#endif							/* SST_IVFFLAT_LAYOUT_H */
