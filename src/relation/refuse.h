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

#include "relation/kind.h"
#include "relation/rules.h"
#include "utils/rel.h"

extern const char *sst_state_note(SstTargetState state);
extern const char *sst_no_storage_note(char relkind);
extern const char *sst_temporary_note(void);
extern char *sst_partitioned_note(const char *function);
extern char *sst_table_am_note(Oid amoid);
extern const char *sst_relation_note(Relation rel, SstTargetState state);

extern void sst_refuse_wrong_kind(Relation rel, SstTargetKind kind, int kinds,
								  SstRules rules);
extern void sst_refuse_unreadable(Relation rel, SstTargetKind kind,
								  SstRules rules);

extern void sst_refuse_for_pgstattuple(Relation rel);
extern void sst_refuse_for_pgstattuple_approx(Relation rel);
extern void sst_refuse_for_pg_relpages(Relation rel);
extern void sst_refuse_without_storage(const char *name, char relkind);
extern void sst_refuse_for_pg_prewarm(Relation rel, ForkNumber forknum);

#endif							/* SST_REFUSE_H */
