/*-------------------------------------------------------------------------
 *
 * layout.h
 *	  Pages of an hnsw index
 *
 * The layouts are those of src/hnsw.h in pgvector 0.5.0 to 0.8.6.  An index of another
 * layout has another version number.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/hnsw/layout.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_HNSW_LAYOUT_H
#define SST_HNSW_LAYOUT_H

#include "storage/bufpage.h"
#include "storage/itemptr.h"

#include "am/visit.h"

/* The special space of a page.  All pages behind the metapage are in one chain. */
typedef struct HnswSpecial
{
	BlockNumber next;
	uint16		unused;
	uint16		page_id;
} HnswSpecial;

#define HNSW_ID 0xFF90
#define HNSW_MAGIC 0xA953A953
#define HNSW_VERSION 1

/* rd_options of the index */
typedef struct HnswSettings
{
	int32		varlena_header;
	int32		m;
	int32		ef_construction;
} HnswSettings;

#define HNSW_DEFAULT_M 16
#define HNSW_MIN_M 2
#define HNSW_MAX_M 100

typedef struct HnswMeta
{
	uint32		magic;
	uint32		version;
	uint32		dimensions;
	uint16		m;
	uint16		ef_construction;
	BlockNumber entry_block;
	OffsetNumber entry_offset;
	int16		entry_level;	/* -1 without elements */
	BlockNumber insert_block;
} HnswMeta;

/*
 * A page has tuples of both kinds.  An element is a vector with the rows that have it.
 * VACUUM removes the TIDs of dead rows, and marks an element without any deleted.
 */
#define HNSW_ELEMENT 1
#define HNSW_NEIGHBORS 2

#define HNSW_MAX_TIDS 10
#define HNSW_MAX_LEVEL 63

typedef struct HnswElement
{
	uint8		type;
	uint8		level;
	uint8		deleted;
	uint8		version;		/* of the place, which is used again */
	ItemPointerData tids[HNSW_MAX_TIDS];	/* those in use come first */
	ItemPointerData neighbors;
	uint16		unused;
} HnswElement;					/* and the vector */

/* An element's neighbors: 2 * m on the lowest level, and m on each of the others */
typedef struct HnswNeighbors
{
	uint8		type;
	uint8		version;
	uint16		count;
} HnswNeighbors;				/* and the TIDs of their elements */

#define HNSW_NEIGHBORS_SIZE(ntids) \
	MAXALIGN(sizeof(HnswNeighbors) + (ntids) * sizeof(ItemPointerData))

#define HNSW_PAGE_BYTES \
	(BLCKSZ - (int) SizeOfPageHeaderData - (int) MAXALIGN(sizeof(HnswSpecial)))

/* Get the element of a line pointer that is within the page; false if there is none. */
static inline bool
sst_hnsw_element(const PageData *page, const ItemIdData *item,
				 HnswElement *element)
{
	const char *tuple = page + ItemIdGetOffset(item);

	if (ItemIdGetLength(item) <= sizeof(HnswElement) || *tuple != HNSW_ELEMENT)
		return false;
	memcpy(element, tuple, sizeof(HnswElement));
	return true;
}

/* The number of an element's TIDs */
static inline int
sst_hnsw_ntids(const HnswElement *element)
{
	int			n = 0;

	while (n < HNSW_MAX_TIDS && ItemPointerIsValid(&element->tids[n]))
		n++;
	return element->deleted ? 0 : n;
}

#endif							/* SST_HNSW_LAYOUT_H */
