/*-------------------------------------------------------------------------
 *
 * layout_picture.c
 *	  A relation's file as text: a line for contents, one for caches
 *
 * Each bucket is one character of a line, in ASCII: any encoding of a database has
 * these, and any terminal shows them in the same width.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/layout_picture.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "api/layout_picture.h"

/* What the pages of a bucket contain, in one character */
static char
contents_glyph(const SstLayoutBucket *bucket)
{
	double		used = 100 - bucket->free_percent - bucket->dead_percent;

	if (bucket->corrupt_pages > 0)
		return '!';
	if (isnan(used))
		return '?';
	if (bucket->dead_percent >= 50)
		return 'X';
	if (bucket->dead_percent >= 20)
		return 'x';
	if (used >= 75)
		return '#';
	if (used >= 50)
		return '=';
	return used >= 25 ? '-' : '.';
}

/* Percent of a cache that is not known are none. */
static bool
has_half(double percent)
{
	return percent >= 50;
}

static bool
has_some(double percent)
{
	return percent > 0;
}

/* Which caches have most of a bucket, or else some of it, in one character */
static char
caches_glyph(const SstLayoutBucket *bucket)
{
	bool		buffers = has_half(bucket->buffered_percent);
	bool		page_cache = has_half(bucket->page_cache_percent);

	if (buffers || page_cache)
		return buffers && page_cache ? 'B' : buffers ? 'S' : 'P';

	buffers = has_some(bucket->buffered_percent);
	page_cache = has_some(bucket->page_cache_percent);
	if (buffers || page_cache)
		return buffers && page_cache ? 'b' : buffers ? 's' : 'p';

	return '.';
}

/* Draw what n buckets contain into a line, which has room for n + 1 bytes. */
void
sst_draw_contents(const SstLayoutBucket *buckets, int n, char *line)
{
	for (int i = 0; i < n; i++)
		line[i] = contents_glyph(&buckets[i]);
	line[n] = '\0';
}

/* The same for what is cached; false if that is not for the caller to know. */
bool
sst_draw_caches(const SstLayoutBucket *buckets, int n, char *line)
{
	for (int i = 0; i < n; i++)
		line[i] = caches_glyph(&buckets[i]);
	line[n] = '\0';

	return sst_may_see_caches();
}

/* Line i of what explains the picture; NULL if there is none */
const char *
sst_layout_legend(int i, const SstLayout *layout, BlockNumber nblocks)
{
	switch (i)
	{
		case 0:
			return psprintf("one character: %.1f blocks of %u",
							(double) nblocks / layout->nbuckets, nblocks);
		case 1:
			return "in use: # 3/4 or more, = 1/2, - 1/4, . less (free)";
		case 2:
			return "dead: X 1/2 or more, x 1/5; ! corrupt pages";
		case 3:
			return sst_may_see_caches() ?
				"below: S shared buffers, P page cache, B both" : NULL;
		default:
			return sst_may_see_caches() ?
				"       have 1/2 or more; s p b: less; . nothing" : NULL;
	}
}
