/*-------------------------------------------------------------------------
 *
 * advice.c
 *	  What a rebuild gives back, and the command that does it
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
#include <math.h>

#include "catalog/pg_class.h"
#include "utils/builtins.h"

#include "api/advice.h"
#include "compat/catalog.h"

/* A command is worth it from these on: percent of the relation, or bytes */
#define WORTH_PERCENT 10
#define WORTH_BYTES (10.0 * 1024 * 1024)

/* ... but for less than this nobody runs one */
#define MIN_BYTES (64.0 * 1024)

/*
 * REPACK (CONCURRENTLY) inserts rows, and a table that rows are inserted into is
 * extended by up to so many blocks at a time (MAX_BUFFERS_TO_EXTEND_BY in
 * access/heap/hio.c): what the last extension had too much stays.
 */
#define MAX_EXTENSION 64

/*
 * Bytes that a relation of nblocks becomes smaller by, from the blocks that it
 * would have.  A size that the prediction does not tell from the present one
 * gives back nothing; so does one that would grow.
 */
SstEstimate
sst_bytes_back(uint64 nblocks, SstEstimate rebuilt_blocks)
{
	SstEstimate back = {NAN, NAN, NAN};
	double		bytes = (double) nblocks * BLCKSZ;

	if (isnan(rebuilt_blocks.value))
		return back;

	back.value = Max(bytes - rebuilt_blocks.value * BLCKSZ, 0);
	if (isnan(rebuilt_blocks.low) || isnan(rebuilt_blocks.high))
		return back;

	if (rebuilt_blocks.low <= nblocks && nblocks <= rebuilt_blocks.high)
		back.value = 0;
	back.low = Max(bytes - rebuilt_blocks.high * BLCKSZ, 0);
	back.high = Max(bytes - rebuilt_blocks.low * BLCKSZ, 0);

	return back;
}

static bool
is_worth_it(double bytes, double percent)
{
	return bytes >= WORTH_BYTES ||
		(percent >= WORTH_PERCENT && bytes >= MIN_BYTES);
}

/* Another one of the same name has a number behind that. */
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
 * not completed, or an old one that was not dropped?  Their names tell (see
 * "Rebuilding Indexes Concurrently" in the description of REINDEX).
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
 * The command that gives back what is expected, or makes space of dead tuples;
 * NULL if none is worth it.
 */
char *
sst_advice(const SstRelations *list, const SstRelation *relation,
		   uint64 nblocks, SstEstimate back, SstEstimate dead_share)
{
	const SstRelation *table = relation;
	double		bytes = (double) nblocks * BLCKSZ;
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
	gain = back.value - leaves;
	if (back.low > leaves && is_worth_it(gain, 100 * gain / bytes))
		return relation->relkind == RELKIND_INDEX ? rebuild_index(relation) :
			rebuild_table(table);
	if (relation->relkind != RELKIND_INDEX && dead_share.low > 0 &&
		is_worth_it(bytes * dead_share.value / 100, dead_share.value))
		return psprintf("VACUUM %s", qualified(table));

	return NULL;
}
