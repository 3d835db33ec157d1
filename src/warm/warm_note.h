/*-------------------------------------------------------------------------
 *
 * warm_note.h
 *	  Why a listed relation is not to be warmed
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/warm_note.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_WARM_NOTE_H
#define SST_WARM_NOTE_H

#include "relation/relations.h"

extern const char *sst_warm_note(const SstRelations *list,
								 const SstRelation *relation);

#endif							/* SST_WARM_NOTE_H */
