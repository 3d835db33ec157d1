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

/* A command, in the memory context in which it was made */
typedef struct SstCommand
{
	const char *text;
	const char *lock_mode;		/* the strongest lock that it holds as it
								 * works */
	bool		blocks_reads;
	bool		blocks_writes;

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

extern bool sst_is_left_over(const SstRelation *index);
extern bool sst_is_to_be_dropped(const SstRelation *index);

extern SstCommand sst_drop_index_command(const SstRelation *index);
extern SstCommand sst_rebuild_index_command(const SstRelation *index);
extern SstCommand sst_rebuild_table_command(const SstTools *tools,
											const SstRelation *table);
extern SstCommand sst_vacuum_command(const SstRelation *table, bool analyze);
extern SstCommand sst_analyze_command(const SstRelation *table);

#endif							/* SST_COMMAND_H */
