/*-------------------------------------------------------------------------
 *
 * shards.h
 *	  Tables whose data Citus keeps in shards
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/relation/shards.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_SHARDS_H
#define SST_SHARDS_H

#include "utils/rel.h"

/* The note on a distributed table in a report, not translated */
#define SST_SHARDS_REPORT_NOTE \
	gettext_noop("distributed by Citus, the data is in shards: " \
				 "SELECT * FROM run_command_on_all_nodes(" \
				 "$cmd$SELECT json_agg(r) FROM streamstat.database_report() r$cmd$)")

extern bool sst_is_distributed(Oid tableoid);
extern char *sst_shards_note(Relation rel);

#endif							/* SST_SHARDS_H */
