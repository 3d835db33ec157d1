/*-------------------------------------------------------------------------
 *
 * saved_cache_names.h
 *	  The names by which relations are saved and found
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/saved_cache_names.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_SAVED_CACHE_NAMES_H
#define SST_SAVED_CACHE_NAMES_H

#include "relation/relations.h"
#include "warm/saved_cache.h"

/* The relations of a list, by the names under which they are saved */
typedef struct SstNamedRelation
{
	SstSavedRelation name;
	const SstRelation *relation;
} SstNamedRelation;

typedef struct SstNamedRelations
{
	int			n;
	SstNamedRelation *named;	/* sorted */
} SstNamedRelations;

extern bool sst_name_to_save(const SstRelations *list,
							 const SstRelation *relation,
							 SstSavedRelation *name);
extern void sst_index_names(const SstRelations *list, SstNamedRelations *names);
extern const SstRelation *sst_find_saved_relation(const SstNamedRelations *names,
												  const SstSavedRelation *name);

#endif							/* SST_SAVED_CACHE_NAMES_H */
