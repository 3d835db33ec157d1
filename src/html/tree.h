/*-------------------------------------------------------------------------
 *
 * tree.h
 *	  Relations below their tables, with small ones combined
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/html/tree.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_HTML_TREE_H
#define SST_HTML_TREE_H

#include "html/page_data.h"

/*
 * A relation, or several.  Children are in descending order of bytes.  What a table
 * node has under it are the table itself, its indexes and its TOAST table.
 */
typedef struct SstNode SstNode;

struct SstNode
{
	const SstPageRelation *relation;	/* of a leaf; NULL for several */
	const char *schema;			/* NULL if not one */
	const char *name;			/* what a node with children is called */
	const char *kind;			/* of several relations of one kind, or NULL */
	int64		nrelations;
	double		bytes;

	/* Those whose reclaimable bytes are known */
	double		known_bytes;
	double		reclaimable;

	SstNode    *parent;
	SstNode    *children;		/* the first, and their chain */
	SstNode    *next;
	int			nchildren;
};

extern SstNode *sst_make_tree(const SstPageData *data);

#endif							/* SST_HTML_TREE_H */
