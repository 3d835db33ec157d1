/*-------------------------------------------------------------------------
 *
 * advice.h
 *	  What a rebuild gives back, and the command that does it
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

#include "stats/estimate.h"
#include "relation/relations.h"

extern bool sst_is_left_over(const SstRelation *index);

extern SstEstimate sst_bytes_back(uint64 nblocks, SstEstimate rebuilt_blocks);
extern char *sst_advice(const SstRelations *list, const SstRelation *relation,
						uint64 nblocks, SstEstimate back,
						SstEstimate dead_share);

#endif							/* SST_ADVICE_H */
