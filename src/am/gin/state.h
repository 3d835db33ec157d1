/*-------------------------------------------------------------------------
 *
 * state.h
 *	  What is known of a GIN index, for the size of a new one, and reading its
 *	  compressed posting lists
 *
 * A list has its first TID as it is, then the difference of each to the one
 * before, seven bits a byte; the last byte of each, and no other, has its high bit clear.
 * An odd number of bytes is padded (access/gin/ginpostinglist.c).  Nothing is assumed of its
 * bytes: a damaged list gives fewer TIDs.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_GIN_STATE_H
#define SST_GIN_STATE_H

#include "access/gin_private.h"
#include "access/itup.h"

#include "am/rebuild.h"

/* What is counted of GIN indexes only */
enum
{
	SST_ENTRY_LEAF_PAGES = SST_OWN,
	SST_ENTRY_INTERNAL_PAGES,
	SST_POSTING_LEAF_PAGES,
	SST_POSTING_INTERNAL_PAGES,
	SST_PENDING_PAGES,			/* leaf pages */
	SST_ENTRY_ITEMS,			/* leaf tuples of the entry tree */
	SST_POSTING_ITEMS,			/* heap TIDs in posting trees */
	SST_PENDING_ITEMS,			/* tuples in the pending list */
	SST_ENTRY_FREE_BYTES,		/* of its kinds of leaf pages */
	SST_ENTRY_USABLE_BYTES,
	SST_POSTING_FREE_BYTES,
	SST_POSTING_USABLE_BYTES,
	SST_PENDING_FREE_BYTES,
	SST_PENDING_USABLE_BYTES,
	SST_REBUILT_PENDING_BYTES,	/* tuples of the pending list */
	SST_REBUILT_TREES,			/* posting trees */
	SST_REBUILT_DEEP_TREES,		/* of these, have internal pages */
	SST_REBUILT_LAST_BYTES,		/* of SST_REBUILT_TREE_BYTES, those of a
								 * tree's last page */
	SST_REBUILT_SHORT_TREES,	/* last pages that fit into an entry */
	SST_REBUILT_SHORT_BYTES		/* of these, the posting lists */
};

StaticAssertDecl((int) SST_REBUILT_SHORT_BYTES < (int) SST_OWN_END,
				 "too many counters");

/* A TID as a number: access/gin/ginpostinglist.c has 11 bits for the offset, too. */
#define SST_GIN_OFFSET_BITS		11
#define SST_GIN_MOST_TID		((UINT64CONST(1) << (32 + SST_GIN_OFFSET_BITS)) - 1)

#define SST_GIN_LIST_HEADER		((int) offsetof(GinPostingList, bytes))

/* Where the data of a posting tree page begins: GinDataPageGetData() */
#define SST_GIN_POSTING_OFFSET	((int) (MAXALIGN(SizeOfPageHeaderData) + \
										MAXALIGN(sizeof(ItemPointerData))))

typedef struct SstGinList
{
	uint64		tid;			/* the one read last */
	int			nbytes;			/* of differences */
	int			size;			/* with header and padding */
	const unsigned char *pos;
	const unsigned char *end;
} SstGinList;

static inline uint64
sst_gin_tid_number(const ItemPointerData *tid)
{
	return (uint64) ItemPointerGetBlockNumberNoCheck(tid) << SST_GIN_OFFSET_BITS |
		(ItemPointerGetOffsetNumberNoCheck(tid) &
		 ((1 << SST_GIN_OFFSET_BITS) - 1));
}

/* Read the first TID.  False if the list does not end within "limit" bytes. */
static inline bool
sst_gin_list_begin(SstGinList *list, const char *data, int limit)
{
	GinPostingList header;

	if (limit < SST_GIN_LIST_HEADER)
		return false;
	memcpy(&header, data, SST_GIN_LIST_HEADER);
	list->nbytes = header.nbytes;
	list->size = SST_GIN_LIST_HEADER + SHORTALIGN(list->nbytes);
	list->tid = sst_gin_tid_number(&header.first);
	list->pos = (const unsigned char *) data + SST_GIN_LIST_HEADER;
	list->end = list->pos + list->nbytes;
	return SST_GIN_LIST_HEADER + list->nbytes <= limit;
}

/* How many TIDs has a list that has just begun?  The last bytes of differences tell. */
static inline uint32
sst_gin_list_ntids(const SstGinList *list)
{
	const uint64 high = UINT64CONST(0x8080808080808080);
	const uint64 even = UINT64CONST(0x00ff00ff00ff00ff);
	const unsigned char *bytes = list->pos;
	int			nbytes = list->nbytes;
	uint32		n = 1;

	while (nbytes >= (int) sizeof(uint64))
	{
		int			nwords = Min(nbytes / sizeof(uint64), 255);
		uint64		ends = 0;	/* a sum in each byte */

		for (int i = 0; i < nwords; i++)
		{
			uint64		word;

			memcpy(&word, bytes + i * sizeof(word), sizeof(word));
			ends += (~word & high) >> 7;
		}
		ends = (ends & even) + (ends >> 8 & even);
		n += ends * UINT64CONST(0x0001000100010001) >> 48;
		bytes += nwords * sizeof(uint64);
		nbytes -= nwords * sizeof(uint64);
	}
	for (int i = 0; i < nbytes; i++)
		n += bytes[i] < 0x80;
	return n;
}

/* Read the next TID.  False if there is none, or it makes no sense. */
static inline bool
sst_gin_list_next(SstGinList *list)
{
	uint64		difference = 0;
	int			shift = 0;

	while (list->pos < list->end && shift < 64)
	{
		unsigned char byte = *list->pos++;

		difference |= (uint64) (byte & 0x7f) << shift;
		if (byte < 0x80)
		{
			if (difference == 0 || difference > SST_GIN_MOST_TID - list->tid)
				return false;
			list->tid += difference;
			return true;
		}
		shift += 7;
	}
	return false;
}

/* A page with line pointers has this many bytes for them and tuples. */
#define SST_GIN_PAGE_ROOM SST_PAGE_ROOM(sizeof(GinPageOpaqueData))

/* What a tuple of the entry tree takes on a page */
#define SST_GIN_ITEM_BYTES(size) ((int) (MAXALIGN(size) + sizeof(ItemIdData)))

/* The most tuples that have room on a page */
#define SST_GIN_MAX_ITEMS \
	(SST_GIN_PAGE_ROOM / SST_GIN_ITEM_BYTES(sizeof(IndexTupleData) + 1))

/* Keys of some pages, and where their TIDs are */
typedef struct SstGinSample SstGinSample;

/* An index to build */
typedef struct SstGinBuild
{
	double		nkeys;			/* all of the sample's kind, in the index */
	double		ntrees;			/* posting trees of the index */
	double		tree_tids;		/* of each of these */
	double		difference;		/* bytes from one of these TIDs to the next */
	double		memory;			/* for all keys; INFINITY for no limit */
	double		part;			/* of the table that a batch may have, to
								 * begin with */
	SstPause   *pause;
} SstGinBuild;

/* What comes of it: leaf pages, of the sampled keys */
typedef struct SstGinBuilt
{
	double		pages;
	double		fill;			/* bytes on these, but for the last one */
	double		last;			/* bytes on that */
	double		pivot;			/* of the tuples that inner pages have for
								 * these */
	double		memory;			/* of the last batch */
	int			batches;
} SstGinBuilt;

/* in batches.c */
extern SstGinSample *sst_gin_sample_create(BlockNumber nblocks);
extern bool sst_gin_sample_page(SstGinSample *sample, BlockNumber blkno);
extern bool sst_gin_sample_has_all(const SstGinSample *sample);
extern void sst_gin_sample_for_batches(SstGinSample *sample, BlockNumber nblocks);
extern void sst_gin_sample_key(SstGinSample *sample, int key_size,
							   int datum_size, SstGinList *list, uint32 ntids,
							   uint32 bytes);
extern void sst_gin_build(const SstGinSample *sample, const SstGinBuild *build,
						  SstGinBuilt *built);

#endif							/* SST_GIN_STATE_H */
