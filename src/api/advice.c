/*-------------------------------------------------------------------------
 *
 * advice.c
 *	  The command that makes a relation smaller
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/advice.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "catalog/pg_class.h"
#include "utils/builtins.h"

#include "api/advice.h"
#include "compat/catalog.h"

/* A command is worth running from one of these on: percent of the relation, or bytes */
#define WORTH_PERCENT 10
#define WORTH_BYTES (10.0 * 1024 * 1024)

/* ... but never for less than this */
#define MIN_BYTES (64.0 * 1024)

/*
 * REPACK (CONCURRENTLY) inserts rows, and inserts extend a table by up to so many
 * blocks at a time (MAX_BUFFERS_TO_EXTEND_BY in access/heap/hio.c).  What the last
 * extension added and did not use stays in the table.
 */
#define MAX_EXTENSION 64

static bool
is_worth_it(double bytes, double percent)
{
	return bytes >= WORTH_BYTES ||
		(percent >= WORTH_PERCENT && bytes >= MIN_BYTES);
}

/* Does the name end so, apart from a number that tells it from others? */
static bool
ends_with(const char *name, const char *ending)
{
	size_t		len = strlen(name);

	while (len > 0 && isdigit((unsigned char) name[len - 1]))
		len--;
	return len >= strlen(ending) &&
		memcmp(name + len - strlen(ending), ending, strlen(ending)) == 0;
}

/*
 * Is it an index that REINDEX CONCURRENTLY has left behind: a new one that was
 * not completed, or an old one that was not dropped?  The documentation of REINDEX
 * says that their names tell ("Rebuilding Indexes Concurrently").
 */
bool
sst_is_left_over(const SstRelation *index)
{
	return !index->valid && (ends_with(index->name, "_ccnew") ||
							 ends_with(index->name, "_ccold"));
}

static const char *
qualified(const SstRelation *relation)
{
	return quote_qualified_identifier(relation->schema, relation->name);
}

/* Can a command on the relation leave it usable meanwhile? */
static bool
can_be_concurrent(const SstRelation *relation)
{
	return !relation->catalog && !relation->exclusion &&
		relation->persistence != RELPERSISTENCE_TEMP;
}

static char *
rebuild_index(const SstRelation *index)
{
	return psprintf("REINDEX INDEX %s%s",
					can_be_concurrent(index) ? "CONCURRENTLY " : "",
					qualified(index));
}

/* REPACK (CONCURRENTLY) needs WAL, and an index that identifies rows. */
static bool
can_repack_concurrently(const SstRelation *table)
{
#ifdef SST_HAVE_REPACK
	return table->identity &&
		table->persistence == RELPERSISTENCE_PERMANENT &&
		can_be_concurrent(table);
#else
	return false;
#endif
}

static char *
rebuild_table(const SstRelation *table)
{
#ifdef SST_HAVE_REPACK
	return psprintf("REPACK %s%s",
					can_repack_concurrently(table) ? "(CONCURRENTLY) " : "",
					qualified(table));
#else
	return psprintf("VACUUM FULL %s", qualified(table));
#endif
}

/*
 * The command that returns the reclaimable bytes of a relation, or makes free space
 * of its dead tuples; NULL if none is worth running.  It is in the current memory
 * context.
 */
char *
sst_advice(const SstRelations *list, const SstRelation *relation,
		   const SstBloatEstimate *estimate)
{
	SstEstimate reclaimable = sst_reclaimable_bytes(estimate);
	const SstEstimate *dead = &estimate->dead_percent;
	const SstRelation *table = relation;
	double		bytes = (double) estimate->nblocks * BLCKSZ;
	double		leaves = 0;
	double		gain;

	if (sst_is_left_over(relation))
		return psprintf("DROP INDEX %s%s",
						can_be_concurrent(relation) ? "CONCURRENTLY " : "",
						qualified(relation));
	if (!relation->valid)
		return rebuild_index(relation);
	if (bytes == 0)
		return NULL;

	if (relation->relkind == RELKIND_TOASTVALUE)
	{
		table = sst_find_relation(list, relation->parent);
		if (table == NULL)
			return NULL;
	}

	if (relation->relkind != RELKIND_INDEX && can_repack_concurrently(table))
		leaves = MAX_EXTENSION * BLCKSZ;
	gain = reclaimable.value - leaves;
	if (reclaimable.low > leaves && is_worth_it(gain, 100 * gain / bytes))
		return relation->relkind == RELKIND_INDEX ? rebuild_index(relation) :
			rebuild_table(table);
	if (relation->relkind != RELKIND_INDEX && dead->low > 0 &&
		is_worth_it(bytes * dead->value / 100, dead->value))
		return psprintf("VACUUM %s", qualified(table));

	return NULL;
}
