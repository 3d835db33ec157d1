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
 * formula is as near as a build of a small index is, of a bounded number of keys and batches:
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

#include <float.h>
#include <math.h>

#include "common/hashfn.h"
#include "port/pg_bitutils.h"

#include "am/gin/state.h"

/* Keys that are kept, of a small index, and for each block of a larger one, and in all: 0.2 MB */
#define SMALL_INDEX		512
#define KEYS_OF_SMALL	4096
#define KEYS_OF_BLOCK	3
#define LEAST_KEYS		2048
#define MAX_KEYS		8192

/* ... and that are inserted in batches */
#define LEAST_IN_BATCHES	1536

/* One of so many lists is read to its end, for the table's end. */
#define LISTS_FOR_END	64

/*
 * Most batches, and how often it is tried to find the end of one, to a part of its length.  A build can
 * have more: what difference that makes is within the ends (bench/bloat -r SEED:COUNT:gin).
 */
#define MOST_BATCHES	8
#define MOST_TRIES		5
#define NEAR_END		0.05

/*
 * access/gin/ginbulk.c: nodes that are allocated together, and TIDs of a new key, for which the
 * allocator has this much; for more of them twice as much and so on
 */
#define NODES_TOGETHER	2048
#define FIRST_TIDS		5
#define FIRST_TIDS_MEMORY 32

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
	uint32		limit;			/* pages with a higher hash are left out */
	uint32		hash;			/* of the page that is being added */
	uint32		nkeys;
	uint32		most_keys;
	float		end;			/* of the table: the greatest TID */
	Key			keys[MAX_KEYS];
};

StaticAssertDecl(MAX_KEYS < NO_PAGE, "too many keys for their numbers");

/* A sample of an index with so many blocks */
SstGinSample *
sst_gin_sample_create(BlockNumber nblocks)
{
	SstGinSample *sample = palloc(sizeof(SstGinSample));

	memset(sample, 0, offsetof(SstGinSample, keys));
	sample->limit = PG_UINT32_MAX;
	sample->most_keys = nblocks <= SMALL_INDEX ? KEYS_OF_SMALL :
		Min(Max(KEYS_OF_BLOCK * (uint64) nblocks, LEAST_KEYS), MAX_KEYS);
	return sample;
}

/* Leave out a quarter of the pages. */
static void
leave_out_pages(SstGinSample *sample)
{
	uint32		nkeys = 0;

	sample->limit = sample->limit / 4 * 3;
	for (uint32 k = 0; k < sample->nkeys; k++)
	{
		if (sample->keys[k].hash <= sample->limit)
			sample->keys[nkeys++] = sample->keys[k];
	}
	sample->nkeys = nkeys;
}

/* Is this page to be sampled?  The caller then adds its keys in their order. */
bool
sst_gin_sample_page(SstGinSample *sample, BlockNumber blkno)
{
	sample->hash = hash_bytes_uint32(blkno);
	while (sample->hash <= sample->limit)
	{
		if (sample->nkeys + SST_GIN_MAX_ITEMS <= sample->most_keys)
			return true;
		leave_out_pages(sample);
	}
	return false;
}

/* Has it the keys of all pages that were shown? */
bool
sst_gin_sample_has_all(const SstGinSample *sample)
{
	return sample->limit == PG_UINT32_MAX;
}

/* Keep no more keys than can be inserted in batches, for an index with so many blocks, in reasonable time. */
void
sst_gin_sample_for_batches(SstGinSample *sample, BlockNumber nblocks)
{
	while (sample->nkeys > Max(KEYS_OF_BLOCK * (uint64) nblocks, LEAST_IN_BATCHES))
		leave_out_pages(sample);
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

/* A key, as it is being inserted */
typedef struct NewKey
{
	float		first;			/* TID; and the last, on this side of the
								 * table's end */
	float		last;
	float		rate;			/* TIDs for one more of the table */
	uint32		ntids;			/* MANY_TIDS: it has a posting tree */
	uint32		done;			/* of these, inserted */
	uint16		bytes;			/* of its tuple, or 0 */
} NewKey;

#define MANY_TIDS PG_UINT32_MAX

typedef struct NewIndex
{
	const SstGinSample *sample;
	const SstGinBuild *build;
	double		scale;			/* keys in the index for each of the sample */
	float		end;			/* of the table */
	uint32		npages;
	NewKey		keys[MAX_KEYS];
	LeafPage	pages[MAX_KEYS];
} NewIndex;

/* Prepare to insert the sample's keys in an index of one page.  Those with posting trees come all over the table. */
static void
begin_index(NewIndex *index, const SstGinSample *sample, const SstGinBuild *build)
{
	index->sample = sample;
	index->build = build;
	index->scale = Max(build->nkeys / Max(sample->nkeys, 1), 1);
	/* behind the greatest TID, also as a float */
	index->end = sample->end * (1 + 4 * FLT_EPSILON) + 1;
	for (uint32 k = 0; k < sample->nkeys; k++)
	{
		const Key  *key = &sample->keys[k];
		NewKey		new = {key->first, INFINITY, build->tree_tids / (index->end - key->first), MANY_TIDS};

		if (key->ntids > 0)
		{
			new.last = Min(key->last, index->end);
			new.ntids = key->ntids;
			new.rate = (key->ntids - 1) / Max(new.last - new.first, 1);
		}
		index->keys[k] = new;
	}
	index->npages = 1;
	index->pages[0] = (LeafPage)
	{
		0, NO_PAGE, 0
	};
}

/* TIDs that a key has in the table before a place, and that have not been inserted */
static inline uint32
next_tids(const NewKey *key, float place)
{
	if (place <= key->first || key->done == key->ntids)
		return 0;
	if (place >= key->last)
		return key->ntids - key->done;
	return 1 + (uint32) Min(key->rate * (place - key->first), (float) INT_MAX) - key->done;
}

/* Memory for the keys and TIDs of a batch (ginCombineData() in access/gin/ginbulk.c) */
static double
batch_memory(const NewIndex *index, float begin, float end)
{
	const SstGinBuild *build = index->build;
	double		tree_tids = build->tree_tids * (end - begin) / index->end;
	double		ntrees = build->ntrees * Min(tree_tids, 1);
	uint32		nkeys = 0;
	uint64		chunks = 0;

	for (uint32 k = 0; k < index->sample->nkeys; k++)
	{
		const NewKey *key = &index->keys[k];
		uint32		ntids = next_tids(key, end);

		if (ntids == 0 || key->ntids == MANY_TIDS)
			continue;
		nkeys++;
		chunks += index->sample->keys[k].memory + SST_CHUNK_HEADER_BYTES +
			FIRST_TIDS_MEMORY * pg_nextpower2_32((ntids + FIRST_TIDS - 1) / FIRST_TIDS);
	}
	return ceil((nkeys * index->scale + ntrees) / NODES_TOGETHER) *
		(sizeof(GinEntryAccumulator) * NODES_TOGETHER + SST_CHUNK_HEADER_BYTES) +
		chunks * index->scale + ntrees *
		(FIRST_TIDS_MEMORY + MANY_TIDS_MEMORY * Max(tree_tids - FIRST_TIDS, 0));
}

/*
 * Find the end of a batch, between ends that are too early and too late, and the memory that it takes.
 * The one before had this length, from which the search sets out, and which becomes that of this one.
 */
static float
find_end(const NewIndex *index, float begin, float *length, double *memory)
{
	float		least = begin + index->end / MOST_BATCHES;
	float		early = begin;
	float		late = INFINITY;
	float		early_used = 0; /* parts of the memory */
	float		late_used = 1;
	float		end = begin;
	float		next = begin + *length;

	for (int i = 0; i < MOST_TRIES; i++)
	{
		float		used;

		next = Min(Max(next, least), index->end);
		if (fabs(next - end) <= NEAR_END * (next - begin))
			break;
		end = next;
		*memory = batch_memory(index, begin, end);
		used = *memory / index->build->memory;
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
		next = isinf(late) ? begin + (end - begin) * Min(1 / used, 4) :
			early + (late - early) * (1 - early_used) / (late_used - early_used);
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
		left += index->keys[k++].bytes;
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
insert_batch(NewIndex *index, float end)
{
	LeafPage   *page = &index->pages[0];

	for (uint32 k = 0; k < index->sample->nkeys; k++)
	{
		NewKey	   *key = &index->keys[k];
		uint32		ntids = next_tids(key, end);
		int			bytes;

		if (ntids == 0)
			continue;
		key->done += ntids;
		bytes = tuple_bytes(index, &index->sample->keys[k], key->done);
		while (page->next != NO_PAGE && index->pages[page->next].low <= k)
			page = &index->pages[page->next];
		page->used += bytes - key->bytes;
		key->bytes = bytes;
		if (page->used > SST_GIN_PAGE_ROOM)
			split_page(index, page);
	}
}

/* Build an index of the keys.  If there are none, it has one page. */
void
sst_gin_build(const SstGinSample *sample, const SstGinBuild *build, SstGinBuilt *built)
{
	NewIndex   *index = palloc(sizeof(NewIndex));
	float		begin = 0;
	float		length;
	double		bytes = 0;
	double		pivots = 0;

	begin_index(index, sample, build);
	length = index->end * build->part;
	built->batches = 0;
	while (begin < index->end)
	{
		float		end = find_end(index, begin, &length, &built->memory);

		insert_batch(index, end);
		built->batches++;
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
