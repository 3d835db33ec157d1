/*-------------------------------------------------------------------------
 *
 * rebuild.c
 *	  What the contents of a page would take in a relation built anew
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/rebuild.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "optimizer/plancat.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/rel.h"

#include "relation/refuse.h"
#include "rebuild/rebuild.h"

/*
 * Find out the size of an index's table.  Whoever locks both locks the table
 * first: the index is locked, so that we must not wait for the table's lock.
 */
static void
estimate_table(SstRebuild *rebuild, Relation index)
{
	Oid			tableoid = index->rd_index->indrelid;
	Relation	table;
	BlockNumber nblocks;
	double		visible_share;

	if (!ConditionalLockRelationOid(tableoid, AccessShareLock))
	{
		rebuild->obstacle = gettext_noop("its table is locked");
		return;
	}
	table = relation_open(tableoid, NoLock);
	if (RELATION_IS_OTHER_TEMP(table))
		rebuild->obstacle = sst_state_note(SST_TARGET_OTHER_TEMP);
	else
	{
		rebuild->table_blocks = RelationGetNumberOfBlocks(table);
		estimate_rel_size(table, NULL, &nblocks, &rebuild->table_tuples,
						  &visible_share);
	}
	relation_close(table, AccessShareLock);
}

/* Set up for a target that is open. */
void
sst_rebuild_init(SstRebuild *rebuild, const SstTarget *target)
{
	memset(rebuild, 0, sizeof(SstRebuild));
	rebuild->kind = target->kind;

	switch (target->kind)
	{
		case SST_BTREE:
			sst_rebuild_btree_init(rebuild, target->rel);
			break;
		case SST_HASH:
			estimate_table(rebuild, target->rel);
			sst_rebuild_hash_init(rebuild, target->rel);
			break;
		case SST_BRIN:
			estimate_table(rebuild, target->rel);
			sst_rebuild_brin_init(rebuild, target->rel);
			break;
		case SST_GIN:
			sst_rebuild_gin_init(rebuild, target->rel);
			break;
		case SST_GIST:
			sst_rebuild_gist_init(rebuild, target->rel);
			break;
		case SST_SPGIST:
			sst_rebuild_spgist_init(rebuild, target->rel);
			break;
		case SST_HEAP:
			sst_rebuild_heap_init(rebuild, target->rel);
			break;
		case SST_SEQUENCE:
			rebuild->obstacle = gettext_noop("a sequence has nothing to be rebuilt");
			break;
		default:
			rebuild->obstacle = gettext_noop("not known for this access method");
			break;
	}
}
