/*-------------------------------------------------------------------------
 *
 * one_relation.h
 *	  Calls about one relation, or about the tree of one: opening and scanning
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/one_relation.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_ONE_RELATION_H
#define SST_ONE_RELATION_H

#include "nodes/pg_list.h"

#include "api/row.h"
#include "run/call.h"
#include "run/scan.h"

extern bool sst_has_toast(const SstTarget *target);
extern Relation sst_open_name_or_oid(FunctionCallInfo fcinfo);
extern void sst_call_open(SstCall *call, FunctionCallInfo fcinfo,
						  SstTarget *target, int kinds);
extern void sst_call_try_open(SstCall *call, FunctionCallInfo fcinfo,
							  SstTarget *target, int kinds);
extern void sst_call_close(SstCall *call, SstTarget *target);
extern void sst_scan_target(FunctionCallInfo fcinfo, const SstTarget *target,
							SstRules rules, SstIndexCounts counts,
							SstRelationStats *found);

typedef struct SstTree
{
	SstTarget	root;			/* not open if it does not exist */
	int			kinds;			/* of relations that are read */
	bool		alone;			/* the root is not accepted */
	List	   *members;		/* OIDs, the root among them */
	bool		has_sum;		/* more than the root itself may be in it */
	int			next;			/* index of the next one */
	SstCall		call;
} SstTree;

extern void sst_tree_begin(SstTree *tree, FunctionCallInfo fcinfo, int kinds);
extern bool sst_tree_next(SstTree *tree, SstTarget *target);
extern void sst_tree_end(SstTree *tree);

#endif							/* SST_ONE_RELATION_H */
