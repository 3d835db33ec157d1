/*-------------------------------------------------------------------------
 *
 * section_strips.c
 *	  Layout strips: what the files of the largest relations look like
 *
 * Each relation is locked without waiting, and few of its blocks are read.  An
 * error affects only the strip of its relation, except in recovery, which
 * allows no subtransaction: there it ends the call.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/html/section_strips.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/relation.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"

#include "html/parts.h"
#include "html/sections.h"
#include "run/layout.h"
#include "run/subtransaction.h"

/* The most strips, blocks that are read for each, and parts that it has */
#define MAX_STRIPS 10
#define MAX_BLOCKS 2000
#define MAX_PARTS 200

/* The height of a strip in its own unit, which is percent */
#define FULL 100

typedef struct Strip
{
	Oid			relid;
	SstIoStats *io_stats;

	/* Found */
	const char *missing;		/* why there is no layout, or NULL */
	BlockNumber nblocks;
	SstLayout	layout;
} Strip;

/* The relation's OID now; InvalidOid if there is none of this name */
static Oid
find_relation(const SstPageRelation *relation)
{
	Oid			schema;

	if (OidIsValid(relation->relid))
		return relation->relid;
	if (relation->schema == NULL || relation->name == NULL)
		return InvalidOid;

	schema = get_namespace_oid(relation->schema, true);
	return OidIsValid(schema) ? get_relname_relid(relation->name, schema) :
		InvalidOid;
}

/*
 * Read the layout, if the relation, and before it the table of an index, can be locked
 * at once.
 */
static void
read_strip(void *arg)
{
	Strip	   *strip = arg;
	Oid			tableoid = InvalidOid;
	Relation	rel = NULL;
	SstTarget	target;

	strip->missing = "locked by another session";
	if (get_rel_relkind(strip->relid) == RELKIND_INDEX)
		tableoid = IndexGetRelation(strip->relid, true);
	if (OidIsValid(tableoid) && !ConditionalLockRelationOid(tableoid, AccessShareLock))
		return;
	if (ConditionalLockRelationOid(strip->relid, AccessShareLock))
	{
		strip->missing = "no longer exists";
		rel = try_relation_open(strip->relid, NoLock);
		if (rel == NULL)
			UnlockRelationOid(strip->relid, AccessShareLock);
	}
	if (rel != NULL)
	{
		strip->missing = "cannot be read";
		sst_target_examine(&target, rel);
		strip->nblocks = target.nblocks;
		if (sst_target_is_readable(&target))
		{
			sst_read_layout(&target, MAX_PARTS, MAX_BLOCKS, strip->io_stats,
							&strip->layout);
			strip->missing = NULL;
		}
		sst_target_close(&target);
	}
	if (OidIsValid(tableoid))
		UnlockRelationOid(tableoid, AccessShareLock);
}

/* Read it, whatever goes wrong. */
static void
try_strip(Strip *strip)
{
	if (!OidIsValid(strip->relid))
	{
		strip->missing = "no longer exists";
		return;
	}
	if (sst_contain_errors(read_strip, strip) != NULL)
		strip->missing = "cannot be read";
}

/* What a strip shows of a bucket, in percent of its height */
typedef double (*Level) (const SstLayoutBucket *bucket);

static double
used_level(const SstLayoutBucket *bucket)
{
	return FULL - bucket->free_percent - bucket->dead_percent;
}

static double
dead_level(const SstLayoutBucket *bucket)
{
	return FULL - bucket->free_percent;
}

static double
buffered_level(const SstLayoutBucket *bucket)
{
	return bucket->buffered_percent;
}

static double
page_cache_level(const SstLayoutBucket *bucket)
{
	return bucket->page_cache_percent;
}

/* A whole number from 0 to 100 */
static int
as_level(double percent)
{
	return percent > 0 ? (int) rint(Min(percent, FULL)) : 0;
}

/* Add an area with a step for each bucket, from the bottom up to its level. */
static void
put_area(StringInfo out, const char *class, const SstLayout *layout, Level level)
{
	int			height = FULL;
	int			flat = 0;

	appendStringInfo(out, "<path class=\"%s\" d=\"M0 %d", class, FULL);
	for (int i = 0; i < layout->nbuckets; i++)
	{
		int			next = FULL - as_level(level(&layout->buckets[i]));

		if (next != height)
		{
			if (flat > 0)
				appendStringInfo(out, "h%d", flat);
			appendStringInfo(out, "V%d", next);
			height = next;
			flat = 0;
		}
		flat++;
	}
	appendStringInfo(out, "h%dV%dz\"/>", flat, FULL);
}

static bool
has_dead(const SstLayout *layout)
{
	for (int i = 0; i < layout->nbuckets; i++)
	{
		if (layout->buckets[i].dead_percent >= 0.5)
			return true;
	}
	return false;
}

static void
begin_picture(StringInfo out, const SstLayout *layout, int pixels)
{
	appendStringInfo(out, "<svg viewBox=\"0 0 %d %d\" height=\"%d\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
					 layout->nbuckets, FULL, pixels);
}

static void
put_picture(StringInfo out, const Strip *strip)
{
	begin_picture(out, &strip->layout, 46);
	if (has_dead(&strip->layout))
		put_area(out, "dead", &strip->layout, dead_level);
	put_area(out, "use", &strip->layout, used_level);
	appendStringInfoString(out, "</svg>");
	if (sst_may_see_caches())
	{
		begin_picture(out, &strip->layout, 9);
		put_area(out, "sb", &strip->layout, buffered_level);
		appendStringInfoString(out, "</svg>");
		begin_picture(out, &strip->layout, 9);
		put_area(out, "pc", &strip->layout, page_cache_level);
		appendStringInfoString(out, "</svg>");
	}
	appendStringInfoChar(out, '\n');
}

/* Mean shares, for those who do not see the picture */
static void
put_means(StringInfo out, const Strip *strip)
{
	double		free = 0;
	double		dead = 0;
	int			n = strip->layout.nbuckets;

	for (int i = 0; i < n; i++)
	{
		free += strip->layout.buckets[i].free_percent / n;
		dead += strip->layout.buckets[i].dead_percent / n;
	}
	appendStringInfoString(out, "free ");
	sst_html_percent(out, free);
	appendStringInfoString(out, ", dead ");
	sst_html_percent(out, dead);
}

static void
put_strip(StringInfo out, const SstPageRelation *relation, const Strip *strip)
{
	appendStringInfoString(out, "<figure><h3>");
	sst_html_relation(out, relation->schema, relation->name, relation->kind,
					  relation->parent);
	appendStringInfoString(out, "</h3>\n");
	if (strip->missing == NULL && strip->layout.nbuckets > 0)
		put_picture(out, strip);
	appendStringInfoString(out, "<figcaption>");
	if (strip->missing != NULL)
		appendStringInfo(out, "No picture: %s", strip->missing);
	else
	{
		sst_html_bytes(out, (double) strip->nblocks * BLCKSZ);
		appendStringInfoString(out, ": ");
		put_means(out, strip);
	}
	appendStringInfoString(out, "</figcaption></figure>\n");
}

/* The largest relations that can have a strip, in descending order of bytes */
static int
choose_relations(const SstPageData *data, const SstPageRelation **chosen)
{
	int			n = 0;

	for (int i = 0; i < data->nrelations; i++)
	{
		const SstPageRelation *relation = &data->relations[i];
		int			place = n;

		if (relation->skipped || relation->bytes < BLCKSZ)
			continue;
		while (place > 0 && chosen[place - 1]->bytes < relation->bytes)
			place--;
		if (place == MAX_STRIPS)
			continue;
		n = Min(n + 1, MAX_STRIPS);
		memmove(&chosen[place + 1], &chosen[place],
				sizeof(SstPageRelation *) * (n - 1 - place));
		chosen[place] = relation;
	}

	return n;
}

/*
 * Add strips of the largest relations.  Reads at most MAX_BLOCKS of each, waits for no
 * lock, and adds what was read to io_stats.
 */
void
sst_html_strips(StringInfo out, const SstPageData *data, SstIoStats *io_stats)
{
	const SstPageRelation *chosen[MAX_STRIPS];
	int			n = choose_relations(data, chosen);

	if (n == 0)
		return;

	appendStringInfoString(out, "<section>\n<h2>Inside the largest files</h2>\n");
	if (!data->may_read_layouts)
	{
		appendStringInfoString(out, "<p class=\"note\">Requires permission to call layout_map.</p>\n</section>\n");
		return;
	}
	appendStringInfo(out, "<p class=\"note\">Each file from its first block on the left to its last, as it was when the"
					 " page was made, from at most %s blocks of each.</p>\n"
					 "<ul class=\"key\"><li><span class=\"use\"></span>in use</li>"
					 "<li><span class=\"dead\"></span>dead</li>"
					 "<li><span class=\"free\"></span>free</li>", "2,000");
	if (sst_may_see_caches())
		appendStringInfoString(out, "<li><span class=\"sb\"></span>in shared buffers (upper line)</li>"
							   "<li><span class=\"pc\"></span>in the page cache (lower line)</li>");
	appendStringInfoString(out, "</ul>\n<figure class=\"strips\">\n");
	for (int i = 0; i < n; i++)
	{
		Strip		strip = {.relid = find_relation(chosen[i]), .io_stats = io_stats};

		try_strip(&strip);
		put_strip(out, chosen[i], &strip);
	}
	appendStringInfoString(out, "</figure>\n</section>\n");
}
