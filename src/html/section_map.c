/*-------------------------------------------------------------------------
 *
 * section_map.c
 *	  The treemap: the database by bytes, coloured by reclaimable space
 *
 * Each box is as large as its relation.  Places are in percent of the box
 * around it, so that the map adapts to any width without a script.
 * Reclaimable space is not shown by colour alone: that fraction of a box is
 * hatched, and its text and title say it.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/html/section_map.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "html/parts.h"
#include "html/sections.h"
#include "html/tree.h"
#include "html/treemap.h"

/* The shape that boxes are laid out for */
#define MAP_WIDTH 2.0
#define MAP_HEIGHT 1.0

/* Boxes with a smaller share of the map never have room for text. */
#define MIN_SHARE_FOR_TEXT 0.001

/* Reclaimable bytes in percent of those of which they are known; NaN if of none */
static double
share_of(const SstNode *node)
{
	return node->known_bytes > 0 ? 100 * node->reclaimable / node->known_bytes :
		NAN;
}

/* What the node is, in words for a title */
static void
put_what(StringInfo out, const SstNode *node)
{
	const SstPageRelation *relation = node->relation;

	if (relation != NULL)
	{
		sst_html_name(out, relation->schema, relation->name);
		appendStringInfoString(out, "&#10;");
		sst_html_text(out, relation->kind);
		if (relation->access_method != NULL && relation->kind != NULL &&
			strcmp(relation->kind, "index") == 0)
		{
			appendStringInfoString(out, ", ");
			sst_html_text(out, relation->access_method);
		}
		if (relation->parent != NULL)
		{
			appendStringInfoString(out, " of ");
			sst_html_text(out, relation->parent);
		}
		return;
	}

	sst_html_count(out, node->nrelations);
	appendStringInfoString(out, " small relations");
	if (node->schema != NULL)
	{
		appendStringInfoString(out, " in schema ");
		sst_html_text(out, node->schema);
	}
	if (node->kind != NULL)
	{
		appendStringInfoString(out, "&#10;kind: ");
		sst_html_text(out, node->kind);
	}
}

static void
put_title(StringInfo out, const SstNode *node)
{
	const SstPageRelation *relation = node->relation;

	put_what(out, node);
	appendStringInfoString(out, "&#10;");
	sst_html_bytes(out, node->bytes);
	if (node->known_bytes <= 0)
		appendStringInfoString(out, ", reclaimable bytes not known");
	else
	{
		appendStringInfoString(out, ", reclaimable ");
		if (relation != NULL)
			sst_html_plain_range(out, relation->reclaimable);
		else
			sst_html_bytes(out, node->reclaimable);
		appendStringInfoString(out, ", ");
		sst_html_percent(out, share_of(node));
		if (node->known_bytes < node->bytes)
		{
			appendStringInfoString(out, " of the ");
			sst_html_bytes(out, node->known_bytes);
			appendStringInfoString(out, " of which that is known");
		}
	}
}

static void
put_text(StringInfo out, const SstNode *node)
{
	appendStringInfoString(out, "<b>");
	if (node->kind != NULL && strcmp(node->kind, "toast table") == 0)
		appendStringInfoString(out, "TOAST");
	else if (node->relation != NULL)
		sst_html_text(out, node->name);
	else
	{
		sst_html_count(out, node->nrelations);
		appendStringInfoString(out, " small");
	}
	appendStringInfoString(out, "</b><i>");
	sst_html_bytes(out, node->bytes);
	if (node->known_bytes > 0)
	{
		appendStringInfoString(out, " &#183; ");
		sst_html_percent(out, share_of(node));
	}
	appendStringInfoString(out, "</i>");
}

static void
put_place(StringInfo out, const SstBox *box)
{
	appendStringInfoString(out, "left:");
	sst_html_place(out, box->left);
	appendStringInfoString(out, "%;top:");
	sst_html_place(out, box->top);
	appendStringInfoString(out, "%;width:");
	sst_html_place(out, box->width);
	appendStringInfoString(out, "%;height:");
	sst_html_place(out, box->height);
	appendStringInfoChar(out, '%');
}

static void
put_leaf(StringInfo out, const SstNode *node, const SstBox *box, double all)
{
	double		share = share_of(node);

	appendStringInfo(out, "<div class=\"leaf %s\" style=\"",
					 sst_html_share_class(share));
	put_place(out, box);
	if (share >= 0.5)
	{
		appendStringInfoString(out, ";--p:");
		sst_html_place(out, rint(Min(share, 100)));
		appendStringInfoChar(out, '%');
	}
	appendStringInfo(out, "\" data-bytes=\"%.0f\" title=\"", node->bytes);
	put_title(out, node);
	appendStringInfoString(out, "\">");
	if (node->bytes >= all * MIN_SHARE_FOR_TEXT)
		put_text(out, node);
	appendStringInfoString(out, "</div>\n");
}

/*
 * Add the boxes of a node's children.  The node's box has this shape, in any unit;
 * theirs are in percent of it.  A node in between that has one child is left out.
 */
static void
put_children(StringInfo out, const SstNode *node, double width, double height,
			 double all)
{
	double	   *areas = palloc(sizeof(double) * (node->nchildren + 1));
	SstBox	   *boxes = palloc(sizeof(SstBox) * (node->nchildren + 1));
	int			n = 0;

	for (const SstNode *child = node->children; child != NULL; child = child->next)
	{
		if (child->bytes > 0)
			areas[n++] = child->bytes;
	}
	sst_treemap(areas, n, width, height, boxes);

	n = 0;
	for (const SstNode *child = node->children; child != NULL; child = child->next)
	{
		SstBox		box = boxes[n];
		const SstNode *shown = child;

		if (child->bytes <= 0)
			continue;
		n++;
		while (shown->nchildren == 1)
			shown = shown->children;
		box.left *= 100 / width;
		box.width *= 100 / width;
		box.top *= 100 / height;
		box.height *= 100 / height;
		if (shown->nchildren == 0)
			put_leaf(out, shown, &box, all);
		else
		{
			appendStringInfoString(out, "<div class=\"fam\" style=\"");
			put_place(out, &box);
			appendStringInfoString(out, "\">\n");
			put_children(out, shown, boxes[n - 1].width, boxes[n - 1].height, all);
			appendStringInfoString(out, "</div>\n");
		}
	}
	pfree(areas);
	pfree(boxes);
}

/* Add the treemap, and what its colours mean. */
void
sst_html_map(StringInfo out, const SstPageData *data)
{
	SstNode    *tree = sst_make_tree(data);

	appendStringInfoString(out, "<section>\n<h2>Where the bytes are</h2>\n"
						   "<p class=\"note\">Each box is as large as its relation; a table stands together with"
						   " its indexes and its TOAST table. The colour and the hatched part say how much of it"
						   " a rebuild gives back.</p>\n<figure>\n"
						   "<div class=\"map\" role=\"img\" aria-label=\"Treemap of ");
	sst_html_bytes(out, tree->bytes);
	appendStringInfoString(out, "; the table at the end of the page has the numbers\">\n");
	if (tree->bytes > 0)
		put_children(out, tree, MAP_WIDTH, MAP_HEIGHT, tree->bytes);
	appendStringInfoString(out, "</div>\n<figcaption><ul class=\"key\"><li>Reclaimable:</li>"
						   "<li><span class=\"c0\"></span>under 5" SST_HTML_SPACE "%</li>"
						   "<li><span class=\"c1\"></span>5 to 20</li>"
						   "<li><span class=\"c2\"></span>20 to 40</li>"
						   "<li><span class=\"c3\"></span>40 to 60</li>"
						   "<li><span class=\"c4\"></span>60 and more</li>"
						   "<li><span class=\"h\"></span>this share of the box</li>"
						   "<li><span class=\"cu\"></span>not known</li>"
						   "</ul></figcaption>\n</figure>\n</section>\n");
}
