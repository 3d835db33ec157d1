/*-------------------------------------------------------------------------
 *
 * locked_relations.h
 *	  Relations that are locked while reads of their blocks are in flight
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/locked_relations.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_LOCKED_RELATIONS_H
#define SST_LOCKED_RELATIONS_H

#include "compat/catalog.h"

typedef struct SstLockedRelation
{
	Oid			relid;
	SstFiles	files;
	char		persistence;
	int			nruns;			/* under way */
} SstLockedRelation;

/* A ring, in the order in which they were locked */
typedef struct SstLockedRelations
{
	SstLockedRelation *relations;
	int			allocated;
	int			first;
	int			n;
} SstLockedRelations;

/* The one that was locked last, or NULL */
static inline SstLockedRelation *
sst_last_locked_relation(const SstLockedRelations *ring)
{
	return ring->n == 0 ? NULL :
		&ring->relations[(ring->first + ring->n - 1) % ring->allocated];
}

extern void sst_locked_relations_init(SstLockedRelations *ring, int most);
extern SstLockedRelation *sst_lock_next_relation(SstLockedRelations *ring,
												 Oid relid, const char **note);
extern void sst_unlock_done_relations(SstLockedRelations *ring);
extern void sst_unlock_all_relations(SstLockedRelations *ring);

#endif							/* SST_LOCKED_RELATIONS_H */
