/*-------------------------------------------------------------------------
 *
 * refuse.h
 *	  Why a relation cannot be read: notes for rows, and errors
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/relation/refuse.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_REFUSE_H
#define SST_REFUSE_H

#include "common/relpath.h"
#include "utils/rel.h"

#include "am/am.h"
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

/* The note on a distributed table in a report, not translated */
#define SST_SHARDS_REPORT_NOTE \
	gettext_noop("distributed by Citus, the data is in shards: " \
				 "SELECT * FROM run_command_on_all_nodes(" \
				 "$cmd$SELECT json_agg(r) FROM streamstat.database_report() r$cmd$)")

extern const char *sst_state_note(SstTargetState state);
extern const char *sst_no_storage_note(char relkind);
extern const char *sst_temporary_note(void);
extern const char *sst_tree_function(Relation rel);
extern char *sst_partitioned_note(const char *function);
extern char *sst_table_am_note(Oid amoid);
extern const char *sst_relation_note(Relation rel, SstTargetState state);

extern bool sst_is_distributed(Oid tableoid);
extern char *sst_shards_note(Relation rel);

extern void sst_refuse_wrong_kind(Relation rel, int kinds, SstRules rules);
extern void sst_refuse_other_index(Relation rel, const SstAccessMethod *am,
								   SstRules rules);
extern void sst_refuse_unreadable(Relation rel, SstRules rules);
extern void sst_refuse_other_format(Relation rel);

extern void sst_refuse_for_pgstattuple(Relation rel);
extern void sst_refuse_for_pgstattuple_approx(Relation rel);
extern void sst_refuse_for_pg_relpages(Relation rel);
extern void sst_refuse_without_storage(const char *name, char relkind);
extern void sst_refuse_for_pg_prewarm(Relation rel, ForkNumber forknum);

#endif							/* SST_REFUSE_H */
