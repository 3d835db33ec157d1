/*-------------------------------------------------------------------------
 *
 * locked_relations.c
 *	  Relations that are locked while reads of their blocks are in flight
 *
 * A relation is locked before its first block is requested, and unlocked when
 * its last run is read.  It is identified by its files, and not opened, so
 * that the relation cache does not grow.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/locked_relations.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/lmgr.h"

#include "compat/shared_blocks.h"
#include "relation/relations.h"
#include "warm/locked_relations.h"

/* Prepare to have at most so many relations locked, with the current context's memory. */
void
sst_locked_relations_init(SstLockedRelations *ring, int most)
{
	memset(ring, 0, sizeof(SstLockedRelations));
	ring->relations = palloc(sizeof(SstLockedRelation) * most);
	ring->allocated = most;
}

static void
unlock(SstLockedRelation *relation)
{
	sst_files_close(&relation->files);
	UnlockRelationOid(relation->relid, AccessShareLock);
}

/*
 * Lock a relation in AccessShareLock, unless it is the last one already.  No lock is
 * waited for: NULL, with a note, if others have locked it or it is gone.  The one
 * before is unlocked if no run of it is under way.
 */
SstLockedRelation *
sst_lock_next_relation(SstLockedRelations *ring, Oid relid, const char **note)
{
	SstLockedRelation *last = sst_last_locked_relation(ring);
	SstFiles	files;
	char		persistence;

	if (last != NULL && last->relid == relid)
		return last;

	if (!ConditionalLockRelationOid(relid, AccessShareLock))
	{
		*note = _("locked by another session");
		return NULL;
	}
	if (!sst_present_files(relid, &files, &persistence))
	{
		UnlockRelationOid(relid, AccessShareLock);
		*note = _("dropped meanwhile");
		return NULL;
	}

	if (last != NULL && last->nruns == 0)
		unlock(last);
	else
		ring->n++;
	Assert(ring->n <= ring->allocated);
	last = sst_last_locked_relation(ring);
	last->relid = relid;
	last->files = files;
	last->persistence = persistence;
	last->nruns = 0;

	return last;
}

/* Unlock relations of which no run is under way, but for the last one. */
void
sst_unlock_done_relations(SstLockedRelations *ring)
{
	while (ring->n > 1 && ring->relations[ring->first].nruns == 0)
	{
		unlock(&ring->relations[ring->first]);
		ring->first = (ring->first + 1) % ring->allocated;
		ring->n--;
	}
}

/* Unlock all: no run is under way. */
void
sst_unlock_all_relations(SstLockedRelations *ring)
{
	for (; ring->n > 0; ring->n--)
		unlock(sst_last_locked_relation(ring));
}
