/*-------------------------------------------------------------------------
 *
 * tree.h
 *	  The relations of a partition tree, one at a time
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

#include "api/row.h"
#include "run/call.h"

typedef struct SstTree
{
	SstTarget	root;			/* not open if it does not exist */
	Oid			root_table;		/* of an index, locked; or InvalidOid */
	int			kinds;			/* of relations that are read */
	bool		alone;			/* the root is not accepted */
	List	   *members;		/* OIDs, the root among them */
	bool		has_sum;		/* more than the root itself may be in it */
	int			next;			/* index of the next one */
	Oid			table;			/* of the index that is open, locked; or
								 * InvalidOid */
	SstCall		call;
} SstTree;

extern void sst_tree_begin(SstTree *tree, FunctionCallInfo fcinfo, int kinds);
extern void sst_tree_init_sum(const SstTree *tree, SstRelationStats *sum);
extern bool sst_tree_next(SstTree *tree, SstTarget *target);
extern void sst_tree_close(SstTree *tree, SstTarget *target);
extern void sst_tree_end(SstTree *tree);

extern void sst_add_to_sum(SstRelationStats *sum, const SstRelationStats *found);

#endif							/* SST_TREE_H */
