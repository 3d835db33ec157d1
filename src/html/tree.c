/*-------------------------------------------------------------------------
 *
 * tree.c
 *	  Relations below their tables, with small ones combined
 *
 * The root is the database, its children are tables and partitioned tables.
 * Parents are found by name, because a report has only the name of a
 * relation's parent.  The number of leaves is bounded, whatever the number of
 * relations: those too small to be visible are added up, for each parent or
 * for each kind in a schema.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/html/tree.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/builtins.h"

#include "html/tree.h"

/* The most leaves, without sums by schema and kind; and the least share of all bytes */
#define MAX_LEAVES 480
#define MIN_SHARE 0.0002

/* The most sums of small relations, by schema and kind */
#define MAX_OTHERS 40

/* A node by a name */
typedef struct Named
{
	const char *name;
	SstNode    *node;
} Named;

typedef struct Names
{
	Named	   *named;
	int			n;
} Names;

static int
compare_names(const void *a, const void *b)
{
	return strcmp(((const Named *) a)->name, ((const Named *) b)->name);
}

static SstNode *
find_name(const Names *names, const char *name)
{
	Named		key = {name, NULL};
	Named	   *found = bsearch(&key, names->named, names->n, sizeof(Named),
								compare_names);

	return found == NULL ? NULL : found->node;
}

static SstNode *
new_node(const char *name)
{
	SstNode    *node = palloc0(sizeof(SstNode));

	node->name = name;
	return node;
}

static void
add_child(SstNode *parent, SstNode *child)
{
	child->parent = parent;
	child->next = parent->children;
	parent->children = child;
	parent->nchildren++;
}

static SstNode *
new_leaf(const SstPageRelation *relation)
{
	SstNode    *leaf = new_node(relation->name);

	leaf->relation = relation;
	leaf->schema = relation->schema;
	leaf->kind = relation->kind;
	leaf->nrelations = 1;
	leaf->bytes = relation->bytes;
	if (!isnan(relation->reclaimable.value))
	{
		leaf->known_bytes = relation->bytes;
		leaf->reclaimable = relation->reclaimable.value;
	}
	return leaf;
}

static bool
is_index(const SstPageRelation *relation)
{
	return relation->kind != NULL && strcmp(relation->kind, "index") == 0;
}

static bool
is_partition(const SstPageRelation *relation)
{
	return relation->kind != NULL && strcmp(relation->kind, "partition") == 0;
}

/* Make a node with the relation as its leaf for all that can have others under it. */
static void
make_owners(const SstPageData *data, SstNode **owners, Names *names)
{
	names->named = MemoryContextAllocHuge(CurrentMemoryContext,
										  sizeof(Named) * (data->nrelations + 1));
	names->n = 0;
	for (int i = 0; i < data->nrelations; i++)
	{
		const SstPageRelation *relation = &data->relations[i];

		CHECK_FOR_INTERRUPTS();
		if (is_index(relation) || relation->schema == NULL || relation->name == NULL)
			continue;
		owners[i] = new_node(relation->name);
		owners[i]->schema = relation->schema;
		owners[i]->kind = relation->kind;
		add_child(owners[i], new_leaf(relation));
		names->named[names->n].name =
			quote_qualified_identifier(relation->schema, relation->name);
		names->named[names->n++].node = owners[i];
	}
	qsort(names->named, names->n, sizeof(Named), compare_names);
}

/*
 * Put each relation under its parent.  A parent that has no row, as partitioned tables
 * have none, gets a node under the root.
 */
static void
link_relations(const SstPageData *data, SstNode **owners, const Names *names,
			   SstNode *root)
{
	Names		missing = {.named = MemoryContextAllocHuge(CurrentMemoryContext,
														   sizeof(Named) * (data->nrelations + 1))};
	SstNode    *parent = NULL;

	for (int i = 0; i < data->nrelations; i++)
	{
		const SstPageRelation *relation = &data->relations[i];
		SstNode    *node = owners[i] != NULL ? owners[i] : new_leaf(relation);

		CHECK_FOR_INTERRUPTS();
		parent = NULL;
		if (relation->parent != NULL && !is_partition(relation))
			parent = find_name(names, relation->parent);
		if (parent != NULL && parent != node)
			add_child(parent, node);
		else if (relation->parent == NULL)
			add_child(root, node);
		else
		{
			missing.named[missing.n].name = relation->parent;
			missing.named[missing.n++].node = node;
		}
	}

	qsort(missing.named, missing.n, sizeof(Named), compare_names);
	for (int i = 0; i < missing.n; i++)
	{
		SstNode    *node = missing.named[i].node;

		if (i == 0 || compare_names(&missing.named[i - 1], &missing.named[i]) != 0)
		{
			parent = new_node(missing.named[i].name);
			parent->kind = "partitioned table";
			add_child(root, parent);
		}
		add_child(parent, node);
	}
	pfree(missing.named);
}

/* Add to a node what another one has. */
static void
add_sums(SstNode *to, const SstNode *from)
{
	to->nrelations += from->nrelations;
	to->bytes += from->bytes;
	to->known_bytes += from->known_bytes;
	to->reclaimable += from->reclaimable;
}

static void
add_up(SstNode *node)
{
	for (SstNode *child = node->children; child != NULL; child = child->next)
	{
		add_up(child);
		add_sums(node, child);
	}
}

static int
compare_sizes(const void *a, const void *b)
{
	const SstNode *left = *(SstNode *const *) a;
	const SstNode *right = *(SstNode *const *) b;

	if (left->bytes != right->bytes)
		return left->bytes < right->bytes ? 1 : -1;
	return strcmp(left->name != NULL ? left->name : "",
				  right->name != NULL ? right->name : "");
}

/* Put the children in order. */
static void
sort_children(SstNode *node)
{
	SstNode   **children = MemoryContextAllocHuge(CurrentMemoryContext,
												  sizeof(SstNode *) * (node->nchildren + 1));
	int			n = 0;

	for (SstNode *child = node->children; child != NULL; child = child->next)
		children[n++] = child;
	qsort(children, n, sizeof(SstNode *), compare_sizes);
	children[n] = NULL;
	node->children = children[0];
	for (int i = 0; i < n; i++)
		children[i]->next = children[i + 1];
	pfree(children);
}

/* How many leaves has a node if what is smaller than that is folded? */
static int
count_leaves(const SstNode *node, double least)
{
	int			n = 0;
	int			nfolded = 0;

	if (node->children == NULL)
		return 1;
	for (const SstNode *child = node->children; child != NULL; child = child->next)
	{
		if (child->bytes >= least)
			n += count_leaves(child, least);
		else
			nfolded = 1;
	}

	return n + nfolded;
}

/* The fewest bytes of what is not folded */
static double
smallest_node(const SstNode *root)
{
	double		least = Max(root->bytes * MIN_SHARE, 1);

	while (count_leaves(root, least) > MAX_LEAVES)
	{
		CHECK_FOR_INTERRUPTS();
		least *= 1.2;
	}

	return least;
}

static bool
is_same(const char *a, const char *b)
{
	return a == NULL || (b != NULL && strcmp(a, b) == 0);
}

/*
 * The sum of the folded relations of the leaf's kind and schema; of all others if
 * there are too many such sums
 */
static SstNode *
others_of(SstNode **others, int *nothers, const SstNode *leaf)
{
	SstNode    *node;

	for (int i = 0; i < *nothers; i++)
	{
		node = others[i];
		if (is_same(node->schema, leaf->schema) && is_same(node->kind, leaf->kind))
			return node;
	}

	node = new_node(NULL);
	if (*nothers < MAX_OTHERS && leaf->schema != NULL && leaf->kind != NULL)
	{
		node->schema = leaf->schema;
		node->kind = leaf->kind;
	}
	others[(*nothers)++] = node;
	return node;
}

/* Add all leaves under a node to the sums of their schema and kind. */
static void
fold_under_root(SstNode **others, int *nothers, const SstNode *node)
{
	if (node->children == NULL)
		add_sums(others_of(others, nothers, node), node);
	for (const SstNode *child = node->children; child != NULL; child = child->next)
		fold_under_root(others, nothers, child);
}

/*
 * Fold what is smaller than that.  A child of a table becomes part of one "others" beside
 * its siblings; a table of the root, of those by schema and kind.
 */
static void
fold(SstNode *root, SstNode *node, double least)
{
	SstNode    *others[MAX_OTHERS + 1];
	SstNode    *child = node->children;
	int			nothers = 0;

	node->children = NULL;
	node->nchildren = 0;
	while (child != NULL)
	{
		SstNode    *next = child->next;

		if (child->bytes >= least)
		{
			add_child(node, child);
			fold(root, child, least);
		}
		else if (node == root)
			fold_under_root(others, &nothers, child);
		else
		{
			if (nothers == 0)
				others[nothers++] = new_node(NULL);
			add_sums(others[0], child);
		}
		child = next;
	}
	for (int i = 0; i < nothers; i++)
	{
		if (others[i]->bytes > 0)
			add_child(node, others[i]);
	}
	sort_children(node);
}

/*
 * Make the tree of a report's relations; empty ones are counted, and have no node.
 * Memory is taken from the current context.
 */
SstNode *
sst_make_tree(const SstPageData *data)
{
	SstNode    *root = new_node(data->database);
	SstNode   **owners = MemoryContextAllocExtended(CurrentMemoryContext,
													sizeof(SstNode *) * (data->nrelations + 1),
													MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	Names		names;

	make_owners(data, owners, &names);
	link_relations(data, owners, &names, root);
	add_up(root);
	fold(root, root, smallest_node(root));
	pfree(names.named);
	pfree(owners);

	return root;
}
