/*-------------------------------------------------------------------------
 *
 * target.c
 *	  Opening a relation, and whether it can be read
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"

#include "relation/relation.h"
#include "stream/stream.h"

static SstTargetState
find_state(Relation rel)
{
	char		relkind = rel->rd_rel->relkind;

	if (RELATION_IS_OTHER_TEMP(rel))
		return SST_TARGET_OTHER_TEMP;
	if (RELKIND_HAS_PARTITIONS(relkind))
		return SST_TARGET_PARTITIONED;
	if (!RELKIND_HAS_STORAGE(relkind))
		return SST_TARGET_NO_STORAGE;

	/* On a standby an unlogged relation has no data. */
	if (!RelationIsPermanent(rel) && RecoveryInProgress())
		return SST_TARGET_NO_DATA;
	if (RELKIND_HAS_TABLE_AM(relkind) && rel->rd_rel->relam != HEAP_TABLE_AM_OID)
		return SST_TARGET_OTHER_TABLE_AM;

	/*
	 * The build of an index writes pages without the buffer manager, some of
	 * them twice.  A page that is read into a buffer meanwhile would stay
	 * there in an old state, for all sessions.
	 */
	if (relkind == RELKIND_INDEX && !rel->rd_index->indisready)
		return SST_TARGET_NOT_READY;
	if (relkind == RELKIND_INDEX && !rel->rd_index->indisvalid)
		return SST_TARGET_INVALID;

	return SST_TARGET_READABLE;
}

static void
set_state(SstTarget *target, SstTargetState state)
{
	target->state = state;
	target->note = sst_relation_note(target->rel, state);
}

/*
 * Does the metapage say that the index is of a format that is not known?  One that cannot
 * be read or is damaged does not: it will be counted as corrupt.
 */
static bool
has_other_format(Relation rel, const SstAccessMethod *am)
{
	PGAlignedBlock metapage;

	return am != NULL && am->magic != 0 && RelationGetNumberOfBlocks(rel) > 0 &&
		sst_copy_block_noerror(rel, 0, metapage.data) &&
		sst_is_other_format(am, metapage.data);
}

/*
 * The blocks of the relation.  An index has a first one from its build on; where that is
 * gone, it counts all the same, as one that cannot be read.
 */
static BlockNumber
target_blocks(const SstTarget *target)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(target->rel);

	return nblocks == 0 && target->kind == SST_INDEX &&
		target->state == SST_TARGET_READABLE ? 1 : nblocks;
}

/*
 * Make an open relation, locked in AccessShareLock mode, the target, whatever it
 * is, and find out whether it can be read.  The note may be palloc'd in the
 * current context.
 */
void
sst_target_examine(SstTarget *target, Relation rel)
{
	target->rel = rel;
	target->relid = RelationGetRelid(rel);
	target->am = sst_relation_am(rel);
	target->kind = target->am != NULL ? target->am->kind : 0;
	set_state(target, find_state(rel));
	if (sst_target_is_readable(target) && has_other_format(rel, target->am))
		set_state(target, SST_TARGET_OTHER_FORMAT);
	target->distributed = sst_is_distributed(rel->rd_index != NULL ?
											 rel->rd_index->indrelid :
											 RelationGetRelid(rel));
	if (target->distributed && target->note == NULL)
		target->note = sst_shards_note(rel);
	target->nblocks = sst_target_is_readable(target) ?
		target_blocks(target) : 0;
	target->tableoid = InvalidOid;
}

/*
 * Make an open relation, locked in AccessShareLock mode, the target, if it is
 * of one of the given kinds and can be read now; else ERROR.
 */
void
sst_target_adopt(SstTarget *target, Relation rel, int kinds, SstRules rules)
{
	sst_target_examine(target, rel);
	sst_refuse_target(target, kinds, rules);
	if (rules == SST_RULES_CONTRIB)
		target->nblocks = RelationGetNumberOfBlocks(rel);
}

/* The same for an index of this access method */
void
sst_target_adopt_index(SstTarget *target, Relation rel,
					   const SstAccessMethod *am, SstRules rules)
{
	if (sst_relation_am(rel) != am)
		sst_refuse_other_index(rel, am, rules);
	sst_target_adopt(target, rel, SST_INDEX, rules);
}

/* Close the target's relation, if there is one, and release its lock and its table's. */
void
sst_target_close(SstTarget *target)
{
	if (target->rel != NULL)
		relation_close(target->rel, AccessShareLock);
	target->rel = NULL;
	if (OidIsValid(target->tableoid))
		UnlockRelationOid(target->tableoid, AccessShareLock);
	target->tableoid = InvalidOid;
}

/* The table of an index, which is to be locked before it; InvalidOid for others */
Oid
sst_index_table(Oid relid)
{
	char		relkind = get_rel_relkind(relid);

	return relkind == RELKIND_INDEX || relkind == RELKIND_PARTITIONED_INDEX ?
		IndexGetRelation(relid, true) : InvalidOid;
}

/* Lock a relation in AccessShareLock mode.  False if others have locked it, unless it waits. */
static bool
lock_oid(Oid relid, bool wait)
{
	if (!wait)
		return ConditionalLockRelationOid(relid, AccessShareLock);
	LockRelationOid(relid, AccessShareLock);
	return true;
}

/*
 * Open a relation that is locked in AccessShareLock mode, and before it the table that it
 * has to be an index of, unless that is InvalidOid: the server's own order.
 *
 * NULL, and nothing is locked, if others have locked one of them and it does not wait, or,
 * as the state says, the relation does not exist or is now another table's: before it was
 * locked, its OID may have been used again.
 */
static Relation
open_locked(Oid relid, Oid tableoid, bool wait, SstTargetState *state)
{
	Relation	rel;

	*state = SST_TARGET_LOCKED;
	if (OidIsValid(tableoid) && !lock_oid(tableoid, wait))
		return NULL;
	if (lock_oid(relid, wait))
	{
		rel = try_relation_open(relid, NoLock);
		if (rel != NULL && (!OidIsValid(tableoid) ||
							(rel->rd_index != NULL && rel->rd_index->indrelid == tableoid)))
			return rel;
		if (rel != NULL)
			relation_close(rel, NoLock);
		UnlockRelationOid(relid, AccessShareLock);
		*state = SST_TARGET_MISSING;
	}
	if (OidIsValid(tableoid))
		UnlockRelationOid(tableoid, AccessShareLock);
	return NULL;
}

/*
 * Open a relation by OID, and lock it; if it is an index, with its table, *tableoid, which
 * the caller unlocks in the end.  ERROR if one of them is gone.
 */
Relation
sst_open_with_table(Oid relid, Oid *tableoid)
{
	SstTargetState state;
	Relation	rel;

	*tableoid = sst_index_table(relid);
	rel = open_locked(relid, *tableoid, true, &state);
	if (rel != NULL)
		return rel;
	rel = relation_open(relid, AccessShareLock);
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_TABLE),
			 errmsg("could not find parent table of index \"%s\"",
					RelationGetRelationName(rel))));
}

/*
 * Open and lock a relation by OID, whatever it is, and make it the target; with the table
 * that it has to be an index of, unless that is InvalidOid.  There is no ERROR because of
 * what it is: state and note say whether it exists, can be locked, if that is not waited for,
 * can be read, and is of one of the given kinds.
 *
 * If target->rel is NULL, nothing is locked.
 */
void
sst_target_try_open(SstTarget *target, Oid relid, Oid tableoid, int kinds, bool wait)
{
	SstTargetState state;
	Relation	rel = open_locked(relid, tableoid, wait, &state);

	if (rel == NULL)
	{
		memset(target, 0, sizeof(SstTarget));
		target->relid = relid;
		target->state = state;
		target->note = sst_state_note(state);
		return;
	}

	sst_target_examine(target, rel);
	target->tableoid = tableoid;
	if (sst_target_is_readable(target) && (target->kind & kinds) == 0)
	{
		set_state(target, SST_TARGET_WRONG_KIND);
		target->nblocks = 0;
	}
}
