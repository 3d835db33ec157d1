/*-------------------------------------------------------------------------
 *
 * plan_reasons.h
 *	  The reasons for the commands of a plan, in words
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/plan_reasons.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PLAN_REASONS_H
#define SST_PLAN_REASONS_H

#include "report/plan_costs.h"
#include "report/planned_command.h"

/* All are translated, in the current memory context. */
extern const char *sst_withheld_reason(SstWithheld withheld);
extern const char *sst_rebuild_reason(const SstGain *gain,
									  const SstCommand *command, bool catalog);
extern const char *sst_add_kept_reason(const char *reason, double kept,
									   const char *holder);
extern const char *sst_reindex_reason(const SstBloatEstimate *index,
									  const SstGain *gain);
extern const char *sst_drop_reason(const SstRelation *index,
								   const SstCommand *rebuild);
extern const char *sst_invalid_reason(const SstRelation *index);
extern const char *sst_corrupt_reason(const SstRelation *table,
									  const SstBloatEstimate *estimate);
extern const char *sst_vacuum_reason(double removable, double kept,
									 const char *holder);
extern const char *sst_kept_reason(double kept, const char *holder);
extern const char *sst_analyze_reason(void);

#endif							/* SST_PLAN_REASONS_H */
