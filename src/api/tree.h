/*-------------------------------------------------------------------------
 *
 * tree.h
 *	  The relations of a partition tree, one after the other
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/tree.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_TREE_H
#define SST_TREE_H

#include "nodes/pg_list.h"

#include "api/result.h"

typedef struct SstTree
{
	Relation	root;			/* open, AccessShareLock held */
	List	   *members;		/* OIDs, the root among them */
	bool		has_sum;		/* more than the root itself may be in it */
	int			next;			/* index of the next one */
	const char *function;
	instr_time	start;
	SstIoStats io_stats;		/* of the whole call */
} SstTree;

extern void sst_tree_begin(SstTree *tree, FunctionCallInfo fcinfo, int kinds,
						   char partitioned_relkind, SstRelationStats *sum,
						   const char *function);
extern bool sst_tree_next(SstTree *tree, SstTarget *target);
extern void sst_tree_end(SstTree *tree);

extern void sst_add_to_sum(SstRelationStats *sum, const SstRelationStats *found);

#endif							/* SST_TREE_H */
