/*-------------------------------------------------------------------------
 *
 * relation.h
 *	  Opening relations, reasons not to, and lists of them
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_RELATION_H
#define SST_RELATION_H

#include "common/relpath.h"
#include "datatype/timestamp.h"
#include "utils/rel.h"

#include "am/am.h"
#include "compat/compat.h"
#include "stream/rules.h"

/*
 * Whether a relation can be read, and why not.  Decisions are made by the state;
 * the note is for people.
 */
typedef enum SstTargetState
{
	SST_TARGET_READABLE,
	SST_TARGET_INVALID,			/* an index that is not valid, but complete */

	/* All below cannot be read. */
	SST_TARGET_NOT_READY,		/* an index whose build has not ended */
	SST_TARGET_OTHER_TEMP,		/* of another session */
	SST_TARGET_NO_DATA,			/* unlogged, during recovery */
	SST_TARGET_PARTITIONED,
	SST_TARGET_NO_STORAGE,		/* a view, foreign table or composite type */
	SST_TARGET_OTHER_TABLE_AM,	/* not heap */
	SST_TARGET_OTHER_FORMAT,	/* of an index, which we do not know */
	SST_TARGET_WRONG_KIND,		/* another function reads it */
	SST_TARGET_LOCKED,			/* by others, and was not to be waited for */
	SST_TARGET_MISSING			/* does not exist */
} SstTargetState;

typedef struct SstTarget
{
	Relation	rel;			/* open, AccessShareLock held; or NULL */
	Oid			relid;
	const SstAccessMethod *am;	/* or NULL */
	SstTargetKind kind;			/* 0 if it is none of them */
	SstTargetState state;
	const char *note;			/* on that state, translated, or NULL */
	bool		distributed;	/* a shell: Citus has its data in shards */
	BlockNumber nblocks;		/* of the main fork, if it can be read */
	Oid			tableoid;		/* its table, locked with it, or InvalidOid */
} SstTarget;

static inline bool
sst_target_is_readable(const SstTarget *target)
{
	return target->state <= SST_TARGET_INVALID;
}

/* The note on a distributed table in a report, not translated */
#define SST_SHARDS_REPORT_NOTE \
	gettext_noop("distributed by Citus, the data is in shards: " \
				 "SELECT * FROM run_command_on_all_nodes(" \
				 "$cmd$SELECT json_agg(r) FROM streamstat.database_report() r$cmd$)")

/* in refuse.c */
extern const char *sst_state_note(SstTargetState state);
extern const char *sst_tree_function(Relation rel);
extern char *sst_partitioned_note(const char *function);
extern char *sst_table_am_note(Oid amoid);
extern const char *sst_relation_note(Relation rel, SstTargetState state);

extern bool sst_is_distributed(Oid tableoid);
extern char *sst_shards_note(Relation rel);

extern void sst_refuse_target(const SstTarget *target, int kinds, SstRules rules);
extern void sst_refuse_other_index(Relation rel, const SstAccessMethod *am,
								   SstRules rules);
extern void sst_refuse_for_pgstattuple(Relation rel);
extern void sst_refuse_for_pgstattuple_approx(Relation rel);
extern void sst_refuse_for_pg_relpages(Relation rel);
extern void sst_refuse_without_storage(const char *name, char relkind);
extern void sst_refuse_for_pg_prewarm(Relation rel, ForkNumber forknum);

/* in target.c */
extern void sst_target_examine(SstTarget *target, Relation rel);
extern Oid	sst_index_table(Oid relid);
extern void sst_target_try_open(SstTarget *target, Oid relid, Oid tableoid, int kinds,
								bool wait);
extern void sst_target_adopt(SstTarget *target, Relation rel, int kinds,
							 SstRules rules);
extern void sst_target_adopt_index(SstTarget *target, Relation rel,
								   const SstAccessMethod *am, SstRules rules);
extern void sst_target_close(SstTarget *target);
extern Relation sst_open_with_table(Oid relid, Oid *tableoid);

/*
 * Arrays that grow
 */

/* Elements that an array has room for at first: a power of two */
#define SST_FIRST_ELEMENTS 16

/*
 * Make room behind the n elements of an array, which is doubled when n is a power of
 * two, so that there is no count of what is allocated.
 */
static inline void *
sst_room_for_one(void *array, int64 n, Size size)
{
	if (array == NULL)
		return palloc(size * SST_FIRST_ELEMENTS);
	if (n < SST_FIRST_ELEMENTS || (n & (n - 1)) != 0)
		return array;

	return repalloc_huge(array, size * n * 2);
}

/*
 * Count one more element, and point to it.  The array is NULL and n 0 at first; only
 * this adds to it.
 */
#define sst_append(array, n) \
	((array) = sst_room_for_one(array, n, sizeof(*(array))), &(array)[(n)++])

/* A relation, from the catalogs and the file system */
typedef struct SstRelation
{
	Oid			relid;			/* comes first, for oid_cmp() */
	const char *schema;
	const char *name;
	char		relkind;
	char		persistence;
	Oid			amoid;
	bool		shared;
	bool		partition;
	bool		catalog;		/* cannot be reindexed concurrently */
	bool		other_temp;		/* temporary, of another session */

	/* Of a table: its replica identity, and whether that is an index */
	char		replident;
	bool		identity;

	/* Of an index */
	bool		valid;
	bool		live;			/* not being dropped */
	bool		ready;			/* its build has ended */
	bool		building;		/* not valid: others may be building it */
	bool		exclusion;		/* of a constraint that is no plain unique one */
	bool		unique;

	/*
	 * The table of an index or a TOAST table, or the partitioned table of a
	 * partition; or InvalidOid
	 */
	Oid			parent;
	const char *parent_schema;
	const char *parent_name;
	Oid			toastrelid;

	SstFiles	files;			/* valid if it has any */
	int64		bytes;			/* of the main fork, or -1 if it has no file */
	TimestampTz last_vacuum;	/* of an index, its table's; 0 if not known */
} SstRelation;

typedef struct SstRelations
{
	int			n;
	SstRelation *relation;		/* by OID */
	struct HTAB *names;			/* while it is made */
} SstRelations;

/* in refuse.c */
extern const char *sst_warm_refusal(const SstRelation *relation);

/* in relations.c */
extern int64 sst_fork_bytes(const SstFiles *files, ForkNumber forknum);
extern bool sst_has_pages_to_report(char relkind);
extern void sst_read_catalog(Oid catalogid, Oid indexid, AttrNumber attno, Oid value,
							 void (*add) (void *arg, const void *row), void *arg);
extern void sst_list_relations(SstRelations *list);
extern const SstRelation *sst_owning_table(const SstRelations *list,
										   const SstRelation *relation);
extern TimestampTz sst_last_vacuum(Oid tableoid);
extern SstTargetState sst_listed_state(const SstRelation *relation);
extern SstRelation *sst_find_relation(const SstRelations *list, Oid relid);

extern void sst_list_chosen_relations(SstRelations *list, const Oid *relids,
									  int n);
extern void sst_look_up_activity(SstRelations *list);
extern bool sst_present_files(Oid relid, SstFiles *files, char *persistence);
extern Oid	sst_toast_owner(Oid toastoid);
extern Oid	sst_table_of(Oid relid);

#endif							/* SST_RELATION_H */
