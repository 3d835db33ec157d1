/*-------------------------------------------------------------------------
 *
 * relations.h
 *	  The relations of the current database that have pages
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/relation/relations.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_RELATIONS_H
#define SST_RELATIONS_H

#include "datatype/timestamp.h"

#include "compat/compat.h"
#include "relation/target.h"

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
} SstRelations;

extern int64 sst_fork_bytes(const SstFiles *files, ForkNumber forknum);
extern bool sst_has_pages_to_report(char relkind);
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

#endif							/* SST_RELATIONS_H */
