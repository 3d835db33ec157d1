/*-------------------------------------------------------------------------
 *
 * linear_form.c
 *	  Sums of a page's counters, each with a weight
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stats/linear_form.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "stats/linear_form.h"

void
sst_linear_form_add(SstLinearForm *form, SstCount count, double weight)
{
	form->count[form->nterms] = count;
	form->weight[form->nterms] = weight;
	form->nterms++;
}

double
sst_unit_value(const SstLinearForm *form, const SstSampleUnit *unit)
{
	double		value = 0;

	for (int i = 0; i < form->nterms; i++)
		value += form->weight[i] * unit->n[form->count[i]];

	return value;
}

/*
 * Do all pages that are all-visible have the same, known value of the count?
 */
static bool
known_where_visible(SstCount count)
{
	return count == SST_DEAD_TUPLES || count == SST_DEAD_TUPLE_BYTES ||
		count == SST_RECENTLY_DEAD_TUPLES || count == SST_DEAD_ITEMS ||
		count == SST_INSERTING_TUPLES || count == SST_INSERTING_BYTES ||
		count == SST_DELETING_TUPLES || count == SST_ALL_VISIBLE_PAGES ||
		count == SST_HEAP_PAGES || count == SST_PAGE_BYTES;
}

bool
sst_linear_form_is_known(const SstLinearForm *form)
{
	for (int i = 0; i < form->nterms; i++)
	{
		if (!known_where_visible(form->count[i]))
			return false;
	}
	return true;
}
