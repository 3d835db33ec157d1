/*-------------------------------------------------------------------------
 *
 * reason.h
 *	  The reasons for the commands of a plan, in words
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/reason.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_REASON_H
#define SST_REASON_H

#include "report/command.h"
#include "report/gain.h"

/* Why a relation that would become smaller has no command */
typedef enum SstWithheld
{
	SST_NOT_WITHHELD,
	SST_WITHIN_MARGIN,			/* nothing may come back */
	SST_LITTLE,					/* for what it takes */
	SST_SPACE_REUSED,
	SST_SMALL_CATALOG,
	SST_FILLFACTOR,
	SST_FEW_DEAD,				/* rows; VACUUM frees little */
	SST_TABLE_CORRUPT,
	SST_ANALYZE_FIRST
} SstWithheld;

/* All are translated, in the current memory context. */
extern const char *sst_withheld_reason(SstWithheld withheld);
extern const char *sst_queue_reason(const SstCommand *command);
extern const char *sst_rebuild_reason(const SstGain *gain);
extern const char *sst_kept_reason(double kept, const char *holder);
extern const char *sst_corrupt_index_reason(const SstRelation *index,
											const SstBloatEstimate *estimate);
extern const char *sst_invalid_too_reason(const SstRelation *index);
extern const char *sst_reindex_reason(const SstBloatEstimate *index, const SstGain *gain);
extern const char *sst_drop_reason(const SstRelation *index);
extern const char *sst_invalid_reason(const SstRelation *index);
extern const char *sst_corrupt_reason(const SstRelation *table, const SstBloatEstimate *estimate);
extern const char *sst_vacuum_reason(double removable, double truncated);
extern const char *sst_useless_vacuum_reason(double kept, const char *holder);
extern const char *sst_analyze_reason(void);

#endif							/* SST_REASON_H */
