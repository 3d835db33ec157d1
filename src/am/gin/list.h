/*-------------------------------------------------------------------------
 *
 * list.h
 *	  Reading the compressed posting lists of a GIN index
 *
 * A list has its first TID as it is, then the difference of each to the one
 * before, seven bits a byte; the last byte of each, and no other, has its high bit clear.
 * An odd number of bytes is padded (access/gin/ginpostinglist.c).  Nothing is assumed of its
 * bytes: a damaged list gives fewer TIDs.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/gin/list.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_GIN_LIST_H
#define SST_GIN_LIST_H

#include "access/gin_private.h"

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

static inline ItemPointerData
sst_gin_tid(uint64 number)
{
	ItemPointerData tid;

	ItemPointerSet(&tid, (BlockNumber) (number >> SST_GIN_OFFSET_BITS),
				   number & ((1 << SST_GIN_OFFSET_BITS) - 1));
	return tid;
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
	const unsigned char *bytes = list->pos;
	int			nbytes = list->nbytes;
	uint32		n = 1;

	for (; nbytes >= (int) sizeof(uint64); nbytes -= sizeof(uint64), bytes += sizeof(uint64))
	{
		uint64		word;

		memcpy(&word, bytes, sizeof(word));
		n += ((~word & high) >> 7) * UINT64CONST(0x0101010101010101) >> 56;
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

#endif							/* SST_GIN_LIST_H */
