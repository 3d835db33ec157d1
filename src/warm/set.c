/*-------------------------------------------------------------------------
 *
 * set.c
 *	  What to warm
 *
 * When memory is full, the rest is skipped.  So the newest partitions come
 * first, and in a schema or a database the most used tables.  The order in each is:
 * the maps, which are small and save other reads, then the indexes, the table, and the
 * TOAST table.  All but the order of partitions comes from a list of relations; none is
 * opened or locked.
 *
 * A second call goes on where one ended: it makes its set again, and leaves out what
 * comes before that place.  Without the place it comes to the same, as what is cached
 * is not read again.
 *
 * A query on a table reads it into the same caches, so the right to read the table is
 * sufficient to warm it.  Members of pg_stat_scan_tables may read every page with
 * other functions of this extension.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/index.h"
#include "catalog/partition.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "common/relpath.h"
#include "miscadmin.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "utils/acl.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"

#include "relation/relation.h"
#include "warm/warm.h"

/* ----------
 * Sets
 * ----------
 */

/*
 * Add a fork of a relation, which is not copied.  bytes is its size as far as it is
 * known, or -1; the note says why it cannot be warmed, or is NULL.  InvalidForkNumber is
 * for a relation of which nothing can be warmed.  Returns the fork's index.
 */
int
sst_warm_set_add_fork(SstWarmSet *set, const SstRelation *relation,
					  ForkNumber forknum, int64 bytes, const char *note)
{
	SstWarmFork *fork = sst_append(set->forks, set->nforks);

	memset(fork, 0, sizeof(SstWarmFork));
	fork->relation = relation;
	fork->forknum = forknum;
	fork->note = note;
	fork->nblocks = bytes < 0 ? InvalidBlockNumber : (BlockNumber) (bytes / BLCKSZ);
	fork->next_block = InvalidBlockNumber;

	return set->nforks - 1;
}

/* Add blocks of a fork, InvalidBlockNumber for those up to its end. */
void
sst_warm_set_add_range(SstWarmSet *set, int fork, BlockNumber first,
					   BlockNumber end)
{
	*sst_append(set->ranges, set->nranges) = (SstWarmRange)
	{
		.fork = fork, .first = first, .end = end
	};
}

/* ----------
 * By whom tables can be warmed
 * ----------
 */

/* May the user warm a table?  Who may not warm all may not if it does not exist. */
bool
sst_may_warm(Oid tableoid)
{
	bool		missing = false;

	return has_privs_of_role(GetUserId(), ROLE_PG_STAT_SCAN_TABLES) ||
		(pg_class_aclcheck_ext(tableoid, GetUserId(), ACL_SELECT,
							   &missing) == ACLCHECK_OK && !missing);
}

/* ----------
 * The tables and indexes that a call names
 * ----------
 */

/*
 * A table with what belongs to it, or an index alone; or a table of which an index is
 * meant, because a partitioned one was named
 */
typedef struct Unit
{
	Oid			relid;
	Oid			named;			/* it, or the partitioned one above that was
								 * named */

	/* Where the order is by use: with indexes and TOAST table */
	int64		fetched;		/* blocks, in buffers or not */
	int64		bytes;
} Unit;

/* The units of a call, in the order of warming; zeros at first */
typedef struct Units
{
	int			n;
	Unit	   *units;
} Units;

/*
 * Add a relation that is named, or of a partitioned table the leaves of its tree, newest
 * first: those by range by descending upper bounds, others by descending OIDs, as the one
 * made last is the next best guess, and the default one last.  A table is locked for a
 * moment, to read the bounds; if others have locked it, the order is that of OIDs.
 */
static void
add_leaves(Units *list, Oid relid, Oid named)
{
	List	   *oldest_first = NIL;
	Oid			defaultoid;
	SstTarget	target;
	PartitionKey key;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (get_rel_relkind(relid) != RELKIND_PARTITIONED_TABLE)
	{
		*sst_append(list->units, list->n) = (Unit)
		{
			.relid = relid, .named = named
		};
		return;
	}

	sst_target_try_open(&target, relid, InvalidOid, SST_TABLE, false);
	key = target.rel == NULL ? NULL : RelationGetPartitionKey(target.rel);
	if (key != NULL && key->strategy == PARTITION_STRATEGY_RANGE)
	{
		PartitionDesc desc = RelationGetPartitionDesc(target.rel, true);

		/* Ranges do not overlap, and ascend. */
		for (int i = 0; i < desc->nparts; i++)
			oldest_first = lappend_oid(oldest_first, desc->oids[i]);
	}
	else
		oldest_first = find_inheritance_children(relid, NoLock);	/* by OID */
	sst_target_close(&target);

	defaultoid = get_default_partition_oid(relid);
	if (list_member_oid(oldest_first, defaultoid))
		oldest_first = lcons_oid(defaultoid, list_delete_oid(oldest_first, defaultoid));
	for (int i = list_length(oldest_first) - 1; i >= 0; i--)
		add_leaves(list, list_nth_oid(oldest_first, i), named);
	list_free(oldest_first);
}

/* Most fetched per block first; then the smaller one, then by OID */
static int
compare_uses(const void *a, const void *b)
{
	const Unit *left = a;
	const Unit *right = b;
	double		left_use = (double) left->fetched / Max(left->bytes, BLCKSZ);
	double		right_use = (double) right->fetched / Max(right->bytes, BLCKSZ);

	if (left_use != right_use)
		return left_use < right_use ? 1 : -1;
	if (left->bytes != right->bytes)
		return left->bytes < right->bytes ? -1 : 1;
	return (left->relid > right->relid) - (left->relid < right->relid);
}

/*
 * Add up the use that the cumulative statistics know, for each listed relation that is no
 * index and no TOAST table of another.
 */
static void
add_up_uses(const SstRelations *relations, Unit *units)
{
	for (int i = 0; i < relations->n; i++)
	{
		const SstRelation *relation = &relations->relation[i];
		const SstRelation *table = sst_owning_table(relations, relation);
		Datum		fetched;
		Unit	   *unit;

		CHECK_FOR_INTERRUPTS();
		if (table == NULL)
			continue;
		unit = &units[table - relations->relation];
		fetched = DirectFunctionCall1(pg_stat_get_blocks_fetched,
									  ObjectIdGetDatum(relation->relid));
		unit->bytes += Max(relation->bytes, 0);
		unit->fetched += DatumGetInt64(fetched);
	}
}

/*
 * Add the tables and materialized views of a list: those of a schema, or all for NULL.
 * A TOAST table is added only where its own schema is asked for, as it belongs to its
 * table.  The order is that of OIDs, which stays the same from one call to the next,
 * or by use: those first of which most blocks were fetched for each one there is.
 */
static void
add_all(Units *list, const SstRelations *relations, const char *schema, bool by_use)
{
	list->units = palloc_extended(sizeof(Unit) * (relations->n + 1),
								  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	if (by_use)
		add_up_uses(relations, list->units);
	for (int i = 0; i < relations->n; i++)
	{
		const SstRelation *relation = &relations->relation[i];
		Unit	   *unit = &list->units[i];

		unit->relid = unit->named = relation->relid;
		if (relation->relkind != RELKIND_INDEX &&
			(schema != NULL ? strcmp(relation->schema, schema) == 0 :
			 relation->relkind != RELKIND_TOASTVALUE))
			list->units[list->n++] = *unit;
	}
	if (by_use)
		qsort(list->units, list->n, sizeof(Unit), compare_uses);
}

/* ----------
 * What belongs to a table
 * ----------
 */

/* What is known of a listed relation */
typedef struct Member
{
	bool		added;			/* each relation is once */
	const SstRelation *first_index; /* of a table, by OID; or NULL */
	const SstRelation *next_index;	/* behind an index, of the same table */
} Member;

/* The set in the making */
typedef struct Builder
{
	SstWarmSet *set;
	const SstRelations *relations;
	const SstWarmParts *parts;
	Member	   *members;		/* by place in the list */
} Builder;

static Member *
member_of(const Builder *builder, const SstRelation *relation)
{
	return &builder->members[relation - builder->relations->relation];
}

/* Give each table its indexes, by OID, as the list is. */
static void
chain_indexes(Builder *builder)
{
	const SstRelations *relations = builder->relations;

	for (int i = relations->n - 1; i >= 0; i--)
	{
		const SstRelation *relation = &relations->relation[i];
		const SstRelation *table = relation->relkind != RELKIND_INDEX ? NULL :
			sst_find_relation(relations, relation->parent);

		if (table == NULL)
			continue;
		builder->members[i].next_index = member_of(builder, table)->first_index;
		member_of(builder, table)->first_index = relation;
	}
}

/* Add all blocks of a fork; of a map, if the relation has it. */
static void
add_fork(Builder *builder, const SstRelation *relation, ForkNumber forknum)
{
	int64		bytes = forknum == MAIN_FORKNUM ? relation->bytes :
		sst_fork_bytes(&relation->files, forknum);

	if (forknum == MAIN_FORKNUM || bytes >= 0)
		sst_warm_set_add_range(builder->set,
							   sst_warm_set_add_fork(builder->set, relation,
													 forknum, bytes, NULL),
							   0, InvalidBlockNumber);
}

/*
 * Add a relation with its indexes and its TOAST table, each as far as it is asked for and
 * for the first time.  If it cannot be warmed, its note is added.
 */
static void
add_relation(Builder *builder, const SstRelation *relation, bool maps)
{
	const SstWarmParts *parts = builder->parts;
	Member	   *member = member_of(builder, relation);
	const SstRelation *toast = !parts->toast ? NULL :
		sst_find_relation(builder->relations, relation->toastrelid);
	const char *note = sst_warm_refusal(relation);

	if (member->added)
		return;
	member->added = true;
	if (note != NULL)
	{
		sst_warm_set_add_fork(builder->set, relation, InvalidForkNumber, -1, note);
		return;
	}

	if (maps && relation->relkind != RELKIND_INDEX)
		add_fork(builder, relation, VISIBILITYMAP_FORKNUM);
	if (maps)
		add_fork(builder, relation, FSM_FORKNUM);

	/* A TOAST table is of no use without its index, nor is that without it. */
	if (parts->indexes || relation->relkind == RELKIND_TOASTVALUE)
		for (const SstRelation *index = member->first_index; index != NULL;
			 index = member_of(builder, index)->next_index)
			add_relation(builder, index, parts->maps);
	if (!parts->only_maps)
		add_fork(builder, relation, MAIN_FORKNUM);
	if (toast != NULL)
		add_relation(builder, toast, parts->maps);
}

/* Find the partition of an index among the indexes of a listed table, or return NULL. */
static const SstRelation *
find_partition_of(const Builder *builder, const SstRelation *table, Oid partitioned)
{
	const SstRelation *index = member_of(builder, table)->first_index;

	while (index != NULL &&
		   !list_member_oid(get_partition_ancestors(index->relid), partitioned))
		index = member_of(builder, index)->next_index;

	return index;
}

/*
 * May the user warm a unit?  Who may read a partitioned table may read its partitions
 * through it.
 */
static bool
is_permitted(const Unit *unit)
{
	return sst_may_warm(sst_table_of(unit->relid)) ||
		(unit->named != unit->relid && sst_may_warm(sst_table_of(unit->named)));
}

static void
add_parts(Builder *builder, const Unit *unit)
{
	const SstRelation *relation = sst_find_relation(builder->relations,
													unit->relid);
	const char *note = NULL;

	/* If it was named by something else than its table: a partitioned index */
	if (relation != NULL && unit->named != unit->relid &&
		get_rel_relkind(unit->named) != RELKIND_PARTITIONED_TABLE)
	{
		relation = find_partition_of(builder, relation, unit->named);
		if (relation == NULL)
			return;				/* this partition has none */
	}
	if (relation == NULL)
	{
		SstRelation *missing = palloc0(sizeof(SstRelation));

		missing->relid = unit->relid;
		relation = missing;
		note = sst_state_note(SST_TARGET_MISSING);
	}
	else if (!is_permitted(unit))
		note = _("permission denied");

	if (note != NULL)
		sst_warm_set_add_fork(builder->set, relation, InvalidForkNumber, -1, note);
	else
		add_relation(builder, relation, builder->parts->maps ||
					 relation->relkind == RELKIND_INDEX);
}

/*
 * Make the set of relations that are named or, for NULL, of the tables of a schema, or of
 * the database, by use or not.  Each has with it what belongs to it and is asked for, and
 * is in it once.  An index alone is added whatever is asked for of tables.  What does not
 * exist, cannot be warmed or is not permitted gets a note.
 *
 * The set is allocated in the current memory context.
 */
void
sst_warm_set(SstWarmSet *set, const Oid *relids, int n, const char *schema, bool by_use,
			 const SstWarmParts *parts)
{
	SstRelations *relations = palloc(sizeof(SstRelations));
	Builder		builder = {.set = set, .relations = relations, .parts = parts};
	Units		units = {0};

	if (relids != NULL)
	{
		Oid		   *chosen;

		/*
		 * The partitions of an index are found among the indexes of the
		 * table's.
		 */
		for (int i = 0; i < n; i++)
		{
			Oid			table = get_rel_relkind(relids[i]) == RELKIND_PARTITIONED_INDEX ?
				IndexGetRelation(relids[i], true) : InvalidOid;

			add_leaves(&units, OidIsValid(table) ? table : relids[i], relids[i]);
		}
		chosen = palloc_extended(sizeof(Oid) * Max(units.n, 1), MCXT_ALLOC_HUGE);
		for (int i = 0; i < units.n; i++)
			chosen[i] = units.units[i].relid;
		sst_list_chosen_relations(relations, chosen, units.n);
	}
	else
	{
		sst_list_relations(relations);
		add_all(&units, relations, schema, by_use);
	}

	memset(set, 0, sizeof(SstWarmSet));
	builder.members = palloc_extended(sizeof(Member) * (relations->n + 1),
									  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	chain_indexes(&builder);
	for (int i = 0; i < units.n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		add_parts(&builder, &units.units[i]);
	}
	pfree(builder.members);
}

/* ----------
 * Where a second call continues
 * ----------
 */

/*
 * Return the place at which a second call goes on with a set, as in
 * "16384/main/1024"; NULL if there is nothing left.
 */
char *
sst_resume_text(const SstWarmSet *set)
{
	for (int i = 0; i < set->nforks; i++)
	{
		const SstWarmFork *fork = &set->forks[i];

		if (fork->next_block != InvalidBlockNumber)
			return psprintf("%u/%s/%u", fork->relation->relid,
							forkNames[fork->forknum], fork->next_block);
	}

	return NULL;
}

/*
 * Leave out the forks and blocks of a set that come before the place in a text.  ERROR
 * if it is none, or not in the set.
 */
void
sst_resume(SstWarmSet *set, const char *text)
{
	unsigned int relid;
	unsigned int blkno;
	char		name[8];
	int			fork = 0;
	int64		nranges = 0;

	if (sscanf(text, "%u/%7[a-z]/%u", &relid, name, &blkno) != 3 ||
		strcmp(text, psprintf("%u/%s/%u", relid, name, blkno)) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for parameter \"%s\": \"%s\"",
						"resume_from", text),
				 errhint("Use the value of this column in the first row of an earlier call.")));

	while (fork < set->nforks && (set->forks[fork].relation->relid != relid ||
								  set->forks[fork].forknum != forkname_to_number(name)))
		fork++;
	if (fork == set->nforks)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("could not find the place to resume from"),
				 errhint("Leave out \"%s\": what is cached is not read again.",
						 "resume_from")));

	for (int64 i = 0; i < set->nranges; i++)
	{
		SstWarmRange range = set->ranges[i];

		if (range.fork == fork)
			range.first = Max(range.first, blkno);
		range.fork -= fork;
		if (range.fork >= 0 && range.first < range.end)
			set->ranges[nranges++] = range;
	}
	set->nranges = nranges;
	set->nforks -= fork;
	memmove(set->forks, set->forks + fork, sizeof(SstWarmFork) * set->nforks);
}
