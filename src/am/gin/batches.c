/*-------------------------------------------------------------------------
 *
 * batches.c
 *	  How full the batches of a build leave the pages of a GIN entry tree
 *
 * A build reads the table in the order of blocks, and collects keys with their
 * TIDs until that takes maintenance_work_mem.  Then it inserts them in the
 * entry tree, in the order of keys, and begins the next batch
 * (ginBuildCallback() in access/gin/gininsert.c).  With one batch, all pages but the last
 * are halves of a split.  With several, lists grow in place and new keys come
 * between old ones, so that the fill is anything from a half to three quarters:
 * it depends on how many batches there are, and whether keys come in their
 * order; and a page is nearly empty if its lists have moved to posting trees.  No
 * formula is as near as a build of a small index is, of a bounded number of keys and TIDs:
 *
 * - Keys are those of some pages, with a part of the TIDs of those that have many.
 *   Neighbours stay neighbours, so that it is seen if keys are in the table's order.
 * - TIDs of posting trees are taken to be the same for all, and all over the table.
 * - The table is cut into slices, whose TIDs come in no order.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "am/gin/state.h"

/* What is kept: 0.3 MB.  A build of it takes about 0.5 ms. */
#define MAX_PAGES		1024
#define MAX_KEYS		16384
#define MAX_TIDS		16384
#define MAX_TIDS_OF_KEY 8

/* Slices of the table, and the insertions of keys with posting trees that are enough */
#define NSLICES			2048
#define MOST_INSERTIONS 131072
#define MOST_BATCHES	256

/* After so many TIDs of a slice, the memory is looked at. */
#define TIDS_TOGETHER	8

/* access/gin/ginbulk.c: nodes that are allocated together, and TIDs of a new key */
#define NODES_TOGETHER	2048
#define FIRST_TIDS		5
#define FIRST_TIDS_MEMORY (32 + SST_CHUNK_HEADER_BYTES)

/* Memory for a TID of a key with many: the array is between half and full. */
#define MANY_TIDS_MEMORY 9

#define NO_PAGE PG_UINT16_MAX

typedef struct Key
{
	uint32		ntids;			/* 0: it has a posting tree */
	uint16		nkept;			/* TIDs */
	uint16		size;			/* of a tuple without a posting list */
	uint16		memory;			/* for its datum and first TIDs */
	uint16		list_bytes;		/* of differences */
} Key;

typedef struct SampledPage
{
	uint32		hash;			/* of the block */
	uint32		first_key;
	uint32		first_tid;
} SampledPage;

struct SstGinSample
{
	uint32		mask;			/* pages with one of these bits are left out */
	uint32		npages;
	uint32		nkeys;
	uint32		ntids;
	BlockNumber last_block;		/* of the table */
	SampledPage pages[MAX_PAGES];
	Key			keys[MAX_KEYS];
	BlockNumber blocks[MAX_TIDS];	/* of TIDs; at last, slices of the table */

	/* The keys of all TIDs, slice by slice */
	uint16		events[MAX_TIDS];
	uint32		slices[NSLICES + 1];
};

StaticAssertDecl(MAX_KEYS < NO_PAGE, "too many keys for their numbers");

SstGinSample *
sst_gin_sample_create(void)
{
	SstGinSample *sample = palloc(sizeof(SstGinSample));

	memset(sample, 0, offsetof(SstGinSample, pages));
	return sample;
}

/* Leave out the pages with one more bit of their hash. */
static void
drop_half(SstGinSample *sample)
{
	uint32		npages = 0;
	uint32		nkeys = 0;
	uint32		ntids = 0;

	sample->mask = sample->mask << 1 | 1;
	for (uint32 i = 0; i < sample->npages; i++)
	{
		SampledPage page = sample->pages[i];
		uint32		end_key = sample->nkeys;
		uint32		end_tid = sample->ntids;

		/* The next one has not been moved yet. */
		if (i + 1 < sample->npages)
		{
			end_key = sample->pages[i + 1].first_key;
			end_tid = sample->pages[i + 1].first_tid;
		}
		if ((page.hash & sample->mask) != 0)
			continue;

		sample->pages[npages++] = (SampledPage)
		{
			page.hash, nkeys, ntids
		};
		memmove(&sample->keys[nkeys], &sample->keys[page.first_key],
				(end_key - page.first_key) * sizeof(Key));
		nkeys += end_key - page.first_key;
		memmove(&sample->blocks[ntids], &sample->blocks[page.first_tid],
				(end_tid - page.first_tid) * sizeof(BlockNumber));
		ntids += end_tid - page.first_tid;
	}
	sample->npages = npages;
	sample->nkeys = nkeys;
	sample->ntids = ntids;
}

/* Is a page with this hash to be sampled?  The caller then adds its keys in their order. */
bool
sst_gin_sample_page(SstGinSample *sample, uint32 hash)
{
	while ((hash & sample->mask) == 0)
	{
		if (sample->npages < MAX_PAGES &&
			sample->nkeys + SST_GIN_MAX_ITEMS <= MAX_KEYS &&
			sample->ntids + SST_GIN_MAX_ITEMS * MAX_TIDS_OF_KEY <= MAX_TIDS)
		{
			sample->pages[sample->npages++] = (SampledPage)
			{
				hash, sample->nkeys, sample->ntids
			};
			return true;
		}
		if (sample->mask == PG_UINT32_MAX)
			break;
		drop_half(sample);
	}
	return false;
}

/* Memory that the allocator takes for so many bytes (utils/mmgr/aset.c) */
static double
chunk_bytes(double size)
{
	double		chunk = 8;

	if (size > 8192)
		return size + SST_CHUNK_HEADER_BYTES;
	while (chunk < size)
		chunk *= 2;
	return chunk + SST_CHUNK_HEADER_BYTES;
}

static double
list_chunk(double ntids)
{
	return chunk_bytes(ntids * sizeof(ItemPointerData));
}

/*
 * Add a key.  It has a posting tree, or else so many TIDs, and bytes of differences.  Of its
 * list, at whose first TID this begins, the first ones are enough: the others are taken to be
 * as far apart.  Where the table ends, a list of every eighth page shows.
 */
void
sst_gin_sample_key(SstGinSample *sample, int key_size, int datum_size,
				   SstGinList *list, uint32 ntids, uint32 bytes)
{
	Key		   *key = &sample->keys[sample->nkeys];
	uint64		first;

	if (sample->nkeys == MAX_KEYS)
		return;
	sample->nkeys++;
	*key = (Key)
	{
		.ntids = ntids, .size = key_size, .list_bytes = Min(bytes, PG_UINT16_MAX),
			.memory = FIRST_TIDS_MEMORY +
			(datum_size > 0 ? chunk_bytes(datum_size) : 0)
	};
	if (list == NULL)
		return;
	first = list->tid;
	do
	{
		uint64		tid = list->tid;

		if (sample->ntids == MAX_TIDS)
			break;
		if (ntids > MAX_TIDS_OF_KEY)
			tid = first + (tid - first) * ntids / MAX_TIDS_OF_KEY;
		sample->blocks[sample->ntids++] = (BlockNumber) (tid >> SST_GIN_OFFSET_BITS);
		key->nkept++;
	} while (key->nkept < Min(ntids, MAX_TIDS_OF_KEY) && sst_gin_list_next(list));

	if (sample->npages % 8 == 1 &&
		sample->nkeys - 1 == sample->pages[sample->npages - 1].first_key)
	{
		while (sst_gin_list_next(list))
			 /* to its end */ ;
	}
	sample->last_block = Max(sample->last_block,
							 (BlockNumber) (list->tid >> SST_GIN_OFFSET_BITS));
}

/* Put TIDs in order by slices of the table, when no more come. */
void
sst_gin_sample_sort(SstGinSample *sample)
{
	double		scale = (double) NSLICES / ((double) sample->last_block + 1);
	uint32		tid = 0;

	memset(sample->slices, 0, sizeof(sample->slices));
	for (uint32 i = 0; i < sample->ntids; i++)
	{
		sample->blocks[i] = (uint32) Min(sample->blocks[i] * scale, NSLICES - 1);
		sample->slices[sample->blocks[i] + 1]++;
	}
	for (int i = 1; i <= NSLICES; i++)
		sample->slices[i] += sample->slices[i - 1];
	for (uint32 k = 0; k < sample->nkeys; k++)
	{
		for (int i = 0; i < sample->keys[k].nkept; i++)
			sample->events[sample->slices[sample->blocks[tid++]]++] = k;
	}
	memmove(&sample->slices[1], &sample->slices[0], NSLICES * sizeof(uint32));
	sample->slices[0] = 0;
}

/* A key of the new index */
typedef struct KeyState
{
	uint32		batch;			/* the last one that has it */
	uint16		size;			/* in the tree, or 0 */
	float		ntids;			/* in all batches */
	float		batch_tids;		/* in that */
	float		max_tids;		/* that it has memory for */
} KeyState;

/* A leaf page: the keys from "low" to where the next one begins */
typedef struct LeafPage
{
	uint16		low;
	uint16		next;
	uint16		used;
} LeafPage;

typedef struct Batches
{
	const SstGinSample *sample;
	const SstGinBuild *build;
	double		scale;			/* keys in the index for each of the sample */
	uint32		batch;
	uint32		nkeys;			/* of this batch */
	double		chunks;			/* memory for their lists and datums */
	uint32		ntrees;			/* keys with posting trees */
	double		begin;			/* of the batch: 0 to 1 is the table */
	double		shortest;		/* batch, so that there are not too many */
	KeyState	keys[MAX_KEYS];
	uint32		npages;
	LeafPage	pages[MAX_KEYS];
} Batches;

/*
 * Memory of a batch of this part of the table, with so many keys with posting lists, and
 * bytes for their lists and datums.  Of the keys with posting trees, those are there that
 * have a TID in it.
 */
static inline double
batch_memory(const SstGinBuild *build, double part, double nkeys, double chunks)
{
	double		tids = build->tree_tids * part;
	double		trees = build->ntrees * (1 - exp(-tids));

	return ceil((nkeys + trees) / NODES_TOGETHER) *
		(sizeof(GinEntryAccumulator) * NODES_TOGETHER + SST_CHUNK_HEADER_BYTES) +
		chunks + trees *
		(FIRST_TIDS_MEMORY + MANY_TIDS_MEMORY * Max(tids - FIRST_TIDS, 0));
}

/* Add some TIDs to a key (ginCombineData() in access/gin/ginbulk.c). */
static void
add_tids(Batches *batches, uint32 k)
{
	const Key  *key = &batches->sample->keys[k];
	KeyState   *state = &batches->keys[k];

	if (state->batch != batches->batch)
	{
		state->batch = batches->batch;
		state->batch_tids = 0;
		state->max_tids = FIRST_TIDS;
		batches->nkeys++;
		batches->chunks += key->memory;
	}
	state->batch_tids += (float) key->ntids / key->nkept;
	while (state->batch_tids > state->max_tids)
	{
		batches->chunks -= list_chunk(state->max_tids);
		state->max_tids *= 2;
		batches->chunks += list_chunk(state->max_tids);
	}
}

/* Move half of an overfull page to a new one behind it (entrySplitPage() in access/gin/ginentrypage.c). */
static void
split_page(Batches *batches, LeafPage *page)
{
	LeafPage   *right = &batches->pages[batches->npages];
	uint32		left = 0;
	uint32		k = page->low;

	while (left <= page->used / 2)
		left += batches->keys[k++].size;
	*right = (LeafPage)
	{
		k, page->next, page->used - left
	};
	page->used = left;
	page->next = batches->npages++;
}

/* Bytes of the tuple of a key with so many TIDs */
static int
tuple_bytes(const Batches *batches, const Key *key, double ntids)
{
	double		all = key->ntids;
	double		list;

	if (all == 0)				/* as long as the list is not too long */
		list = ntids < 1 ? 0 : SST_GIN_LIST_HEADER +
			(ntids - 1) * batches->build->difference;
	else
		list = SST_GIN_LIST_HEADER +
			(all > 1 ? key->list_bytes * (ntids - 1) / (all - 1) : 0);
	list = MAXALIGN((int) Min(SHORTALIGN(key->size) + list, BLCKSZ));
	return (int) (list > GinMaxItemSize ? MAXALIGN(key->size) : list) +
		(int) sizeof(ItemIdData);
}

/* Insert the keys of a batch, which ends here; those with posting trees are in all. */
static void
end_batch(Batches *batches, double x)
{
	const SstGinSample *sample = batches->sample;
	double		tree_tids = batches->build->tree_tids;
	LeafPage   *page = &batches->pages[0];

	for (uint32 k = 0; k < sample->nkeys; k++)
	{
		const Key  *key = &sample->keys[k];
		KeyState   *state = &batches->keys[k];
		int			size;

		if (key->ntids > 0 && state->batch != batches->batch)
			continue;
		if (key->ntids > 0)
			state->ntids += state->batch_tids;
		else if (tree_tids * (x - state->ntids / tree_tids) >= 1)
			state->ntids = tree_tids * x;
		size = tuple_bytes(batches, key, state->ntids);

		while (page->next != NO_PAGE && batches->pages[page->next].low <= k)
			page = &batches->pages[page->next];
		page->used += size - state->size;
		state->size = size;
		if (page->used > SST_GIN_PAGE_ROOM)
			split_page(batches, page);
	}

	batches->batch++;
	batches->nkeys = 0;
	batches->chunks = 0;
	batches->begin = x;
}

/* Build an index of the keys.  If there are none, it has one page. */
void
sst_gin_build(const SstGinSample *sample, const SstGinBuild *build,
			  SstGinBuilt *built)
{
	Batches    *batches;

	*built = (SstGinBuilt)
	{
		1, 1, 1, batch_memory(build, 1, 0, 0)
	};
	if (sample->nkeys == 0)
		return;

	batches = palloc0(sizeof(Batches));
	batches->sample = sample;
	batches->build = build;
	batches->scale = Max(build->nkeys / sample->nkeys, 1);
	batches->batch = 1;
	batches->npages = 1;
	batches->pages[0].next = NO_PAGE;
	for (uint32 k = 0; k < sample->nkeys; k++)
		batches->ntrees += sample->keys[k].ntids == 0;
	batches->shortest = Max(1.0 / MOST_BATCHES,
							(double) batches->ntrees / MOST_INSERTIONS);

	for (int slice = 0; slice < NSLICES; slice++)
	{
		uint32		begin = sample->slices[slice];
		uint32		n = sample->slices[slice + 1] - begin;

		if (slice % 64 == 0 && !sst_go_on(build->pause))
			break;
		for (uint32 i = 0; i < Max(n, 1); i++)
		{
			double		x = (slice + (i + 1.0) / Max(n, 1)) / NSLICES;

			if (n > 0)
				add_tids(batches, sample->events[begin + i]);
			if (i % TIDS_TOGETHER != 0)
				continue;
			if (x - batches->begin >= batches->shortest &&
				batch_memory(build, x - batches->begin, batches->scale * batches->nkeys,
							 batches->scale * batches->chunks) >= build->memory)
			{
				end_batch(batches, x);
				(void) sst_go_on(build->pause);
			}
		}
	}
	built->memory = batch_memory(build, 1 - batches->begin, batches->scale * batches->nkeys,
								 batches->scale * batches->chunks);
	end_batch(batches, 1);
	built->nbatches = batches->batch - 1;
	built->pages = batches->npages;
	built->scale = batches->scale;
	pfree(batches);
}
