/*-------------------------------------------------------------------------
 *
 * layout_map.c
 *	  layout_map, layout_maps and layout_picture: where in a relation's file the
 *	  space is
 *
 * They show what run/layout.c finds: as rows of numbers, or as lines of characters.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/memutils.h"

#include "api/api.h"

PG_FUNCTION_INFO_V1(sst_layout_map);
PG_FUNCTION_INFO_V1(sst_layout_maps);
PG_FUNCTION_INFO_V1(sst_layout_picture);

#define BAR_LENGTH 40

#define LAYOUT_KINDS (SST_INDEX | SST_TABLE)

/* A picture of a bucket: what is in use, what is dead, what is free */
static char *
draw_bar(double dead, double free)
{
	char	   *bar = palloc(BAR_LENGTH + 1);
	int			nfree = (int) rint(free * BAR_LENGTH / 100.0);
	int			ndead = Min((int) rint(dead * BAR_LENGTH / 100.0),
							BAR_LENGTH - nfree);

	memset(bar, '#', BAR_LENGTH);
	memset(bar + BAR_LENGTH - nfree - ndead, 'x', ndead);
	memset(bar + BAR_LENGTH - nfree, '.', nfree);
	bar[BAR_LENGTH] = '\0';

	return bar;
}

/* A number from 1 to SST_MAX_BUCKETS; ERROR if it is another one.  what names it. */
static int
number_argument(FunctionCallInfo fcinfo, int argno, const char *what)
{
	sst_require_argument(fcinfo, argno, what);
	sst_check_range(PG_GETARG_INT32(argno), 1, SST_MAX_BUCKETS, what);

	return PG_GETARG_INT32(argno);
}

/*
 * Read the layout of the relation that argument 0 names, in as many buckets as argument
 * 1 says, from as many blocks as argument blocks_argno says: null, or not there, is all.
 * Returns its number of blocks.
 */
static BlockNumber
read_argument(FunctionCallInfo fcinfo, int blocks_argno, SstLayout *layout)
{
	int			nbuckets = number_argument(fcinfo, 1, "number of buckets");
	BlockNumber most = 0;
	SstTarget	target;
	SstCall		call;

	if (PG_NARGS() > blocks_argno && !PG_ARGISNULL(blocks_argno))
		most = sst_sample_size_argument(fcinfo, blocks_argno);

	sst_call_open(&call, fcinfo, &target, LAYOUT_KINDS);
	sst_progress_totals(1, (int64) (most == 0 ? target.nblocks :
									Min(most, target.nblocks)) * BLCKSZ);
	sst_read_layout(&target, nbuckets, most, &call.io_stats, layout);
	sst_call_close(&call, &target);

	return target.nblocks;
}

/*
 * Put a row for each bucket, or one with nulls if there is none: what layout_map has of it,
 * and layout_maps.
 */
static void
put_layout(SstRow *row, Oid relid, const SstLayout *layout, const char *note)
{
	static const SstLayoutBucket unknown = {0, 0, 0, NAN, NAN, NAN, NAN};
	int			i = 0;

	do
	{
		bool		exists = i < layout->nbuckets;
		const SstLayoutBucket *bucket = exists ? &layout->buckets[i] : &unknown;

		sst_put_regclass(row, "relation", relid);
		sst_put_datum(row, "bucket", INT4OID, Int32GetDatum(i + 1), !exists);
		sst_put_count(row, "first_block", exists ? (int64) bucket->first : -1);
		sst_put_count(row, "last_block", (int64) bucket->end - 1);
		sst_put_float8(row, "free_percent", bucket->free_percent);
		sst_put_float8(row, "dead_percent", bucket->dead_percent);
		sst_put_float8(row, "buffered_percent", bucket->buffered_percent);
		sst_put_float8(row, "page_cache_percent", bucket->page_cache_percent);
		sst_put_text(row, "bar", isnan(bucket->free_percent) ? NULL :
					 draw_bar(bucket->dead_percent, bucket->free_percent));
		sst_put_text(row, "note", note);
		sst_row_store(row);
	} while (++i < layout->nbuckets);
}

Datum
sst_layout_map(PG_FUNCTION_ARGS)
{
	SstLayout	layout;
	SstRow		row;

	(void) read_argument(fcinfo, 2, &layout);
	sst_rows_begin(&row, fcinfo);
	if (layout.nbuckets > 0)
		put_layout(&row, InvalidOid, &layout, NULL);

	return (Datum) 0;
}

/*
 * Several relations
 */

/* One of them, and its layout, or why it has none */
typedef struct OneLayout
{
	Oid			relid;
	int			nbuckets;		/* as many are wanted */
	BlockNumber most;
	SstIoStats *io_stats;
	SstLayout	layout;
	const char *note;
} OneLayout;

/* Read the layout, if the relation, and before it the table of an index, can be locked at once. */
static void
read_unless_locked(void *arg)
{
	OneLayout  *one = arg;
	SstTarget	target;

	sst_target_try_open(&target, one->relid, sst_index_table(one->relid), LAYOUT_KINDS, false);
	one->note = target.note;
	if (sst_target_is_readable(&target))
		sst_read_layout(&target, one->nbuckets, one->most, one->io_stats, &one->layout);
	sst_target_close(&target);
}

/* Read it; an error about the relation becomes the note, and others pass. */
static void
try_layout(OneLayout *one)
{
	ErrorData  *error;

	error = sst_contain_errors(read_unless_locked, one);
	if (error == NULL)
		return;
	if (error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE && sst_is_blocking())
		ReThrowError(error);
	one->layout.nbuckets = 0;
	one->note = error->message;
}

Datum
sst_layout_maps(PG_FUNCTION_ARGS)
{
	int			n;
	const Oid  *relids = sst_oids_argument(fcinfo, 0, "relations", &n);
	OneLayout	one = {.nbuckets = number_argument(fcinfo, 1, "number of buckets")};
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "streamstat layout",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext oldcontext;
	SstCall		call;
	SstRow		row;

	if (!PG_ARGISNULL(2))
		one.most = sst_sample_size_argument(fcinfo, 2);
	sst_rows_begin(&row, fcinfo);
	sst_call_begin(&call, fcinfo, n, SST_PROGRESS_UNKNOWN);
	one.io_stats = &call.io_stats;
	oldcontext = MemoryContextSwitchTo(context);
	for (int i = 0; i < n; i++)
	{
		one.relid = relids[i];
		one.layout.nbuckets = 0;
		try_layout(&one);
		put_layout(&row, one.relid, &one.layout, one.note);
		MemoryContextReset(context);
		sst_progress_relations(i + 1);
	}
	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(context);
	sst_call_end(&call);

	return (Datum) 0;
}

/*
 * A picture: each bucket is a character of a line for contents and one for caches
 *
 * It is in ASCII: any encoding of a database has these characters, and any terminal
 * shows them in the same width.
 */

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

/*
 * Which caches have most of a bucket, or else some of it, in one character.  Percent
 * that are not known are none.
 */
static char
caches_glyph(const SstLayoutBucket *bucket)
{
	static const char most[] = {'\0', 'S', 'P', 'B'};
	static const char some[] = {'.', 's', 'p', 'b'};
	int			half = (bucket->buffered_percent >= 50) +
		2 * (bucket->page_cache_percent >= 50);

	return half > 0 ? most[half] :
		some[(bucket->buffered_percent > 0) + 2 * (bucket->page_cache_percent > 0)];
}

/* Draw n buckets, a glyph for each, into a line, which has room for n + 1 bytes. */
static char *
draw(const SstLayoutBucket *buckets, int n,
	 char (*glyph) (const SstLayoutBucket *), char *line)
{
	for (int i = 0; i < n; i++)
		line[i] = glyph(&buckets[i]);
	line[n] = '\0';

	return line;
}

/* A line of the picture; first is the block that it begins with, or -1. */
static void
put_line(SstRow *row, int64 first, const char *line)
{
	sst_put_count(row, "first_block", first);
	sst_put_text(row, "picture", line);
	sst_row_store(row);
}

/* The lines that explain the picture.  The last two of them are about caches. */
static void
put_legend(SstRow *row, int nbuckets, BlockNumber nblocks, bool with_caches)
{
	const char *const lines[] = {
		psprintf("one character: %.1f blocks of %u", (double) nblocks / nbuckets, nblocks),
		"in use: # 3/4 or more, = 1/2, - 1/4, . less (free)",
		"dead: X 1/2 or more, x 1/5; ! corrupt pages",
		"below: S shared buffers, P page cache, B both",
		"       have 1/2 or more; s p b: less; . nothing"
	};
	int			n = lengthof(lines) - (with_caches ? 0 : 2);

	for (int i = 0; i < n; i++)
		put_line(row, -1, lines[i]);
}

Datum
sst_layout_picture(PG_FUNCTION_ARGS)
{
	int			width = number_argument(fcinfo, 2, "width");
	SstLayout	layout;
	SstRow		row;
	BlockNumber nblocks = read_argument(fcinfo, 3, &layout);
	bool		with_caches = sst_may_see_caches();
	char	   *line = palloc(width + 1);

	sst_rows_begin(&row, fcinfo);
	for (int i = 0; i < layout.nbuckets; i += width)
	{
		const SstLayoutBucket *buckets = &layout.buckets[i];
		int			n = Min(width, layout.nbuckets - i);

		put_line(&row, buckets->first, draw(buckets, n, contents_glyph, line));
		if (with_caches)
			put_line(&row, -1, draw(buckets, n, caches_glyph, line));
	}
	if (layout.nbuckets > 0)
		put_legend(&row, layout.nbuckets, nblocks, with_caches);

	return (Datum) 0;
}
