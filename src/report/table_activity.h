/*-------------------------------------------------------------------------
 *
 * table_activity.h
 *	  Is the free space of a table used again, and does autovacuum come late?
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/table_activity.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_TABLE_ACTIVITY_H
#define SST_TABLE_ACTIVITY_H

#include "relation/relations.h"
#include "report/bloat_estimate.h"

extern bool sst_space_is_reused(Oid tableoid, const SstBloatEstimate *table,
								const SstBloatEstimate *toast);
extern bool sst_index_space_is_reused(Oid indexoid, Oid tableoid,
									  const SstBloatEstimate *index,
									  const SstBloatEstimate *table);
extern bool sst_has_fillfactor(Oid tableoid);
extern const char *sst_late_vacuum_reason(const SstRelation *table, bool dead);

#endif							/* SST_TABLE_ACTIVITY_H */
