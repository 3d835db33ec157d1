/*-------------------------------------------------------------------------
 *
 * toast_estimate.h
 *	  The size of a TOAST table, from the needs of its table's rows
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/toast_estimate.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_TOAST_ESTIMATE_H
#define SST_TOAST_ESTIMATE_H

#include "am/rebuild.h"
#include "report/bloat_estimate.h"

extern void sst_try_toast_compression(const SstTarget *table,
									  SstSampling *sampling,
									  SstRebuild *rebuild);
extern void sst_estimate_toast(const SstTarget *target,
							   const SstPageSample *sample,
							   SstBloatEstimate *estimate);
extern void sst_predict_toast(const SstTarget *toast,
							  const SstIndexTable *table,
							  SstSampling *sampling,
							  SstBloatEstimate *estimate);
extern const SstToastNeeds *sst_toast_needs(const SstBloatEstimate *table);
extern bool sst_apply_toast_needs(const SstBloatEstimate *table,
								  SstBloatEstimate *toast);
extern bool sst_toast_needs_rows(const SstBloatEstimate *table,
								 const SstBloatEstimate *toast);

#endif							/* SST_TOAST_ESTIMATE_H */
