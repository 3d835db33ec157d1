/*-------------------------------------------------------------------------
 *
 * command.h
 *	  Commands that shrink a relation, and their locks
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/command.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_COMMAND_H
#define SST_COMMAND_H

#include "relation/relations.h"

/* For whom a command waits, before it works or at its end: transactions that have */
#define SST_WAITS_LOCK		0x01	/* a lock on the table */
#define SST_WAITS_STRONG	0x02	/* one that keeps VACUUM or DDL from it */
#define SST_WAITS_SNAPSHOT	0x04	/* a snapshot of this database */
#define SST_WAITS_XID		0x08	/* an ID, in any database */

/* A command, in the memory context in which it was made */
typedef struct SstCommand
{
	const char *text;
	const char *lock_mode;		/* the strongest lock that it holds as it
								 * works */
	bool		blocks;			/* readers and writers */
	int			waits;			/* SST_WAITS_... */

	/* Of a rebuilt table */
	bool		by_inserts;		/* row by row, which may leave empty pages */
	bool		skips_invalid;	/* invalid indexes are not rebuilt with it */
	const char *remark;			/* translated; or NULL */
} SstCommand;

/* What there is to rebuild tables with, besides the server's own commands */
typedef struct SstTools
{
	bool		pg_repack;
	bool		pg_squeeze;
	const char *database;
} SstTools;

extern void sst_find_tools(SstTools *tools);

extern bool sst_is_own_table(const SstRelation *table);
extern bool sst_is_left_over(const SstRelation *index);
extern bool sst_is_to_be_dropped(const SstRelation *index);

extern SstCommand sst_index_command(const SstRelation *index, bool drops);
extern SstCommand sst_rebuild_table_command(const SstTools *tools,
											const SstRelation *table);
extern SstCommand sst_upkeep_command(const char *verb, const SstRelation *table);

#endif							/* SST_COMMAND_H */
