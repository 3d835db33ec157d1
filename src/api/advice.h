/*-------------------------------------------------------------------------
 *
 * advice.h
 *	  The command that makes a relation smaller
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/advice.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_ADVICE_H
#define SST_ADVICE_H

#include "relation/relations.h"
#include "report/bloat_estimate.h"

extern bool sst_is_left_over(const SstRelation *index);
extern char *sst_advice(const SstRelations *list, const SstRelation *relation,
						const SstBloatEstimate *estimate);

#endif							/* SST_ADVICE_H */
