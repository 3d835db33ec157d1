/*-------------------------------------------------------------------------
 *
 * batches.c
 *	  How full a build leaves the pages of a GIN entry tree
 *
 * A build reads the table in the order of blocks, and collects keys with their
 * TIDs until that takes maintenance_work_mem.  Then it inserts them in the
 * entry tree, in the order of keys, and begins the next batch
 * (ginBuildCallback() in access/gin/gininsert.c).  With one batch, all pages but the last
 * are halves of a split.  With several, lists grow in place and new keys come
 * between old ones, so that the fill is anything from a half to three quarters:
 * it depends on how many batches there are, and whether keys come in their
 * order; and a page is nearly empty if its lists have moved to posting trees.  No
 * formula is as near as a build of a small index is, of a bounded number of keys:
 *
 * - Keys are those of some pages.  Neighbours stay neighbours, so that it is seen if keys are
 *   in the table's order.
 * - The TIDs of a key are as far apart as the first two.
 * - Posting trees are all alike, with TIDs all over the table.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "common/hashfn.h"
#include "port/pg_bitutils.h"

#include "am/gin/state.h"

/* Keys that are kept: 0.2 MB; and where one batch is enough */
#define MAX_KEYS		8192
#define FEW_KEYS		4096

/* One of so many lists is read to its end, for the table's end. */
#define LISTS_FOR_END	64

/* The shortest batch, and how often it is tried to find its end, to a part of its memory */
#define MOST_BATCHES	40
#define MOST_TRIES		6
#define NEAR_LIMIT		0.01

/* access/gin/ginbulk.c: nodes that are allocated together, and TIDs of a new key */
#define NODES_TOGETHER	2048
#define FIRST_TIDS		5
#define FIRST_TIDS_MEMORY (32 + SST_CHUNK_HEADER_BYTES)

/* Memory for a TID of a key with many: the array is between half and full. */
#define MANY_TIDS_MEMORY 9

#define NO_PAGE PG_UINT16_MAX

typedef struct Key
{
	uint32		hash;			/* of the page's block */
	uint32		ntids;			/* 0: it has a posting tree */
	float		first;			/* TID */
	float		last;			/* if all are as far apart as the first two */
	uint16		size;			/* of a tuple without a posting list */
	uint16		memory;			/* for its datum */
	uint16		list_bytes;		/* of differences */
} Key;

struct SstGinSample
{
	uint32		mask;			/* pages with one of these bits are left out */
	uint32		hash;			/* of the page that is being added */
	uint32		nkeys;
	uint32		most_keys;
	float		end;			/* of the table: the greatest TID */
	Key			keys[MAX_KEYS];
};

StaticAssertDecl(MAX_KEYS < NO_PAGE, "too many keys for their numbers");

/* A sample of an index that a build makes in one batch, or may make in several */
SstGinSample *
sst_gin_sample_create(bool one_batch)
{
	SstGinSample *sample = palloc(sizeof(SstGinSample));

	memset(sample, 0, offsetof(SstGinSample, keys));
	sample->most_keys = one_batch ? FEW_KEYS : MAX_KEYS;
	return sample;
}

/* Is this page to be sampled?  The caller then adds its keys in their order. */
bool
sst_gin_sample_page(SstGinSample *sample, BlockNumber blkno)
{
	sample->hash = hash_bytes_uint32(blkno);
	while ((sample->hash & sample->mask) == 0)
	{
		uint32		nkeys = 0;

		if (sample->nkeys + SST_GIN_MAX_ITEMS <= sample->most_keys)
			return true;
		if (sample->mask == PG_UINT32_MAX)
			break;

		/* Leave out the pages with one more bit. */
		sample->mask = sample->mask << 1 | 1;
		for (uint32 k = 0; k < sample->nkeys; k++)
		{
			if ((sample->keys[k].hash & sample->mask) == 0)
				sample->keys[nkeys++] = sample->keys[k];
		}
		sample->nkeys = nkeys;
	}
	return false;
}

/* Memory that the allocator takes for so many bytes (utils/mmgr/aset.c) */
static double
chunk_bytes(double size)
{
	return (size > 8192 ? size : pg_nextpower2_32(Max((uint32) size, 8))) + SST_CHUNK_HEADER_BYTES;
}

/*
 * Add a key.  It has a posting tree, or else so many TIDs, and bytes of differences; its list
 * has just begun.  Where the last TID is, the first two tell, as if all were as far apart.
 */
void
sst_gin_sample_key(SstGinSample *sample, int key_size, int datum_size,
				   SstGinList *list, uint32 ntids, uint32 bytes)
{
	uint64		first = list->tid;
	double		length = 0;

	/* Tuples that overlap are damage, and may be too many. */
	if (sample->nkeys == MAX_KEYS)
		return;
	if (ntids > 1 && sst_gin_list_next(list))
		length = (double) (list->tid - first) * (ntids - 1);
	if (sample->nkeys % LISTS_FOR_END == 0)
	{
		while (sst_gin_list_next(list))
			 /* to its end */ ;
	}
	sample->end = Max(sample->end, (float) list->tid);
	sample->keys[sample->nkeys++] = (Key)
	{
		.hash = sample->hash, .ntids = ntids, .first = first, .last = first + length,
			.size = Min(key_size, (int) GinMaxItemSize), .list_bytes = Min(bytes, PG_UINT16_MAX),
			.memory = datum_size > 0 ? chunk_bytes(datum_size) : 0
	};
}

/* A leaf page: the keys from "low" to where the next one begins */
typedef struct LeafPage
{
	uint16		low;
	uint16		next;
	uint16		used;
} LeafPage;

typedef struct NewIndex
{
	const SstGinSample *sample;
	const SstGinBuild *build;
	double		scale;			/* keys in the index for each of the sample */
	double		end;			/* of the table */
	uint16		sizes[MAX_KEYS];	/* of their tuples, or 0 */
	uint32		npages;
	LeafPage	pages[MAX_KEYS];
} NewIndex;

/* TIDs that a key has in the table before a place.  A key with a posting tree comes at once. */
static inline uint32
tids_before(const NewIndex *index, const Key *key, double place)
{
	double		last = Min(key->last, index->end);

	if (place <= key->first)
		return 0;
	if (key->ntids == 0)
		return 1 + (uint32) (index->build->tree_tids * place / index->end);
	if (place >= last)
		return key->ntids;
	return 1 + (uint32) ((key->ntids - 1) * (place - key->first) / (last - key->first));
}

/* Memory for the keys and TIDs of a batch (ginCombineData() in access/gin/ginbulk.c) */
static double
batch_memory(const NewIndex *index, double begin, double end)
{
	const SstGinSample *sample = index->sample;
	const SstGinBuild *build = index->build;
	double		tree_tids = build->tree_tids * (end - begin) / index->end;
	double		ntrees = build->ntrees * Min(tree_tids, 1);
	double		nkeys = 0;
	double		chunks = 0;

	for (uint32 k = 0; k < sample->nkeys; k++)
	{
		const Key  *key = &sample->keys[k];
		uint32		room = FIRST_TIDS;
		uint32		ntids;

		if (key->ntids == 0 || key->first >= end || key->last < begin)
			continue;
		ntids = tids_before(index, key, end) - tids_before(index, key, begin);
		if (ntids == 0)
			continue;
		while (room < ntids)
			room *= 2;
		nkeys++;
		chunks += key->memory + (room == FIRST_TIDS ? FIRST_TIDS_MEMORY :
								 chunk_bytes(room * sizeof(ItemPointerData)));
	}
	return ceil((nkeys * index->scale + ntrees) / NODES_TOGETHER) *
		(sizeof(GinEntryAccumulator) * NODES_TOGETHER + SST_CHUNK_HEADER_BYTES) +
		chunks * index->scale + ntrees *
		(FIRST_TIDS_MEMORY + MANY_TIDS_MEMORY * Max(tree_tids - FIRST_TIDS, 0));
}

/*
 * Find the end of a batch, between ends that are too early and too late.  The one before had this
 * length, and the search sets out from there.
 */
static double
find_end(const NewIndex *index, double begin, double *length, double *memory)
{
	double		least = index->end / MOST_BATCHES;
	double		early = begin;
	double		late = INFINITY;
	double		early_used = 0; /* parts of the memory */
	double		late_used = 1;
	double		end = Min(begin + *length, index->end);

	for (int i = 0; i < MOST_TRIES; i++)
	{
		double		used;

		*memory = batch_memory(index, begin, end);
		used = *memory / index->build->memory;
		if (fabs(used - 1) < NEAR_LIMIT || (used < 1 && end == index->end) ||
			(used > 1 && end - begin <= least))
			break;
		if (used < 1)
		{
			early = end;
			early_used = used;
		}
		else
		{
			late = end;
			late_used = used;
		}
		if (isinf(late))
			end = begin + (end - begin) * Min(1 / used, 4);
		else
			end = early + (late - early) * (1 - early_used) / (late_used - early_used);
		end = Min(Max(end, begin + least), index->end);
	}
	*length = end - begin;
	return end;
}

/* Move half of an overfull page to a new one behind it (entrySplitPage() in access/gin/ginentrypage.c). */
static void
split_page(NewIndex *index, LeafPage *page)
{
	LeafPage   *right = &index->pages[index->npages];
	uint32		left = 0;
	uint32		k = page->low;

	while (left <= page->used / 2)
		left += index->sizes[k++];
	*right = (LeafPage)
	{
		k, page->next, page->used - left
	};
	page->used = left;
	page->next = index->npages++;
}

/* Bytes of the tuple of a key with so many TIDs */
static int
tuple_bytes(const NewIndex *index, const Key *key, uint32 ntids)
{
	double		bytes = ntids - 1.0;	/* of differences */

	if (key->ntids > 0)
		bytes *= key->list_bytes / Max(key->ntids - 1.0, 1);
	else if (ntids < index->build->tree_tids)
		bytes *= index->build->difference;
	else
		bytes = GinMaxItemSize; /* in the end, the list is too long */
	bytes = SHORTALIGN(key->size) + SST_GIN_LIST_HEADER + bytes;
	return SST_GIN_ITEM_BYTES((int) (bytes > GinMaxItemSize ? key->size : bytes));
}

/* Insert the keys of a batch. */
static void
insert_batch(NewIndex *index, double begin, double end)
{
	LeafPage   *page = &index->pages[0];

	for (uint32 k = 0; k < index->sample->nkeys; k++)
	{
		const Key  *key = &index->sample->keys[k];
		uint32		ntids = tids_before(index, key, end);
		int			size;

		if (ntids == tids_before(index, key, begin))
			continue;
		size = tuple_bytes(index, key, ntids);
		while (page->next != NO_PAGE && index->pages[page->next].low <= k)
			page = &index->pages[page->next];
		page->used += size - index->sizes[k];
		index->sizes[k] = size;
		if (page->used > SST_GIN_PAGE_ROOM)
			split_page(index, page);
	}
}

/* Build an index of the keys.  If there are none, it has one page. */
void
sst_gin_build(const SstGinSample *sample, const SstGinBuild *build, SstGinBuilt *built)
{
	NewIndex   *index = palloc(sizeof(NewIndex));
	double		length = INFINITY;
	double		begin = 0;
	double		bytes = 0;
	double		pivots = 0;

	index->sample = sample;
	index->build = build;
	index->scale = Max(build->nkeys / Max(sample->nkeys, 1), 1);
	index->end = sample->end + 1.0;
	memset(index->sizes, 0, sample->nkeys * sizeof(uint16));
	index->npages = 1;
	index->pages[0] = (LeafPage)
	{
		0, NO_PAGE, 0
	};
	while (begin < index->end)
	{
		double		end = find_end(index, begin, &length, &built->memory);

		insert_batch(index, begin, end);
		begin = end;
		if (!sst_go_on(build->pause))
			break;
	}

	for (uint32 i = 0; i < index->npages; i++)
	{
		const LeafPage *page = &index->pages[i];

		if (page->next == NO_PAGE)
		{
			built->last = page->used;
			continue;
		}
		bytes += page->used;
		pivots += SST_GIN_ITEM_BYTES(sample->keys[index->pages[page->next].low - 1].size);
	}
	built->pages = index->npages;
	built->fill = bytes / Max(built->pages - 1, 1);
	built->pivot = pivots / Max(built->pages - 1, 1);
	pfree(index);
}
