/*-------------------------------------------------------------------------
 *
 * am.c
 *	  The access methods that we know, what is read of others, and what visitors and
 *	  columns have in common
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "am/am.h"

static const SstAccessMethod *const access_methods[] = {
#define ADDRESS(name) &sst_##name##_am,
	SST_ACCESS_METHODS(ADDRESS)
};

/*
 * Find an index access method by OID.  Those of extensions have no fixed OID, and are
 * found by their name and that of their handler: some names are those of several extensions.
 */
const SstAccessMethod *
sst_index_am(Oid amoid)
{
	const SstAccessMethod *result = &sst_other_am;
	HeapTuple	tuple;
	Form_pg_am	form;
	char	   *handler;

	for (int i = 0; i < lengthof(access_methods); i++)
	{
		if (access_methods[i]->oid == amoid)
			return access_methods[i];
	}

	tuple = SearchSysCache1(AMOID, ObjectIdGetDatum(amoid));
	if (!HeapTupleIsValid(tuple))
		return result;
	form = (Form_pg_am) GETSTRUCT(tuple);
	handler = get_func_name(form->amhandler);
	for (int i = 0; i < lengthof(access_methods) && handler != NULL; i++)
	{
		const SstAccessMethod *am = access_methods[i];

		if (!OidIsValid(am->oid) && strcmp(am->name, NameStr(form->amname)) == 0 &&
			strcmp(am->handler, handler) == 0)
			result = am;
	}
	ReleaseSysCache(tuple);
	return result;
}

/*
 * Is it a sound metapage of the access method, but of a version of the format that is
 * not known?
 */
bool
sst_is_other_format(const SstAccessMethod *am, const PageData *metapage)
{
	uint32		words[2];

	if (!sst_page_is_sound(metapage, am->special_size) ||
		sst_page_id(metapage) != am->page_id)
		return false;
	memcpy(words, metapage + MAXALIGN(SizeOfPageHeaderData), sizeof(words));
	return words[0] != am->magic || (am->version != 0 && words[1] != am->version);
}

/* That of a relation; NULL if it is of no kind that we read */
const SstAccessMethod *
sst_relation_am(Relation rel)
{
	char		relkind = rel->rd_rel->relkind;

	if (relkind == RELKIND_INDEX)
		return sst_index_am(rel->rd_rel->relam);
	if (RELKIND_HAS_TABLE_AM(relkind) && rel->rd_rel->relam == HEAP_TABLE_AM_OID)
		return &sst_heap_am;
	return relkind == RELKIND_SEQUENCE ? &sst_sequence_am : NULL;
}

/* ----------
 * What visitors have in common
 * ----------
 */

/*
 * Count a page whose header is not sound as new, if it is all zeros; false if
 * it is not.
 */
bool
sst_count_if_new(const PageData *page, BlockNumber blkno,
				 SstCounters *counters)
{
	for (int i = 0; i < BLCKSZ; i += sizeof(Size))
	{
		if (*(const Size *) (page + i) != 0)
			return false;
	}

	sst_count_new(counters, blkno);
	return true;
}

/* The same of an index, which always has its metapage or root in block 0 */
bool
sst_count_if_new_in_index(const PageData *page, BlockNumber blkno,
						  SstCounters *counters)
{
	return blkno != 0 && sst_count_if_new(page, blkno, counters);
}

/*
 * Visit a page of an index: a new one, the metapage in block 0 if there is one, or one of
 * those that differ between access methods.
 */
bool
sst_index_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
			   SstCounters *counters)
{
	const SstAccessMethod *am = visitor->am;

	if (!sst_page_is_sound(page, am->special_size))
		return sst_count_if_new_in_index(page, blkno, counters);
	if (am->page_id != 0 && sst_page_id(page) != am->page_id)
		return false;
	if (blkno > 0 || (am->flags & SST_AM_META) == 0)
		return am->sound_page(visitor, page, blkno, counters);

	if ((am->magic != 0 && sst_is_other_format(am, page)) ||
		!am->read_meta(&visitor->meta, page))
		return false;
	visitor->meta.known = true;
	counters->n[SST_OTHER_PAGES]++;
	return true;
}

/* Count the tuples of a leaf page from an item on; lengths are those of the line pointers. */
static void
count_tuples(const PageData *page, OffsetNumber first, SstCounters *counters)
{
	int			nitems = sst_page_items(page);

	counters->n[SST_FREE_BYTES] += sst_page_free_space(page);

	for (OffsetNumber offnum = first; offnum <= nitems; offnum++)
	{
		ItemId		item = PageGetItemId((Page) page, offnum);

		if (ItemIdIsDead(item))
		{
			counters->n[SST_DEAD_TUPLES]++;
			counters->n[SST_DEAD_TUPLE_BYTES] += ItemIdGetLength(item);
		}
		else
		{
			counters->n[SST_TUPLES]++;
			counters->n[SST_TUPLE_BYTES] += ItemIdGetLength(item);
		}
	}
}

/*
 * Count a page of an index as pgstattuple does.  That leaves out block 0 (the metapage, or
 * the root of a GiST index), counts unused pages as completely free, and ignores pages
 * whose special space is not that of the access method.
 */
static bool
pgstattuple_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
				 SstCounters *counters)
{
	int			first;

	if (blkno == 0)
		return true;
	if (PageIsNew((Page) page))
		first = SST_PGSTATTUPLE_FREE;
	else if (((const PageHeaderData *) page)->pd_special ==
			 BLCKSZ - MAXALIGN(visitor->am->special_size))
		first = visitor->am->pgstattuple_first(page);
	else
		return true;

	if (first == SST_PGSTATTUPLE_FREE)
		counters->n[SST_FREE_BYTES] += BLCKSZ;
	else if (first > 0)
		count_tuples(page, first, counters);
	return true;
}

/*
 * Begin to count pages by these rules, or the tuples of an index as pgstattuple does, if
 * that can.  What else the visitor is to do is set, the rest zero.
 */
void
sst_visitor_begin(SstVisitor *visitor, const SstAccessMethod *am, Relation rel,
				  SstRules rules, bool tuples)
{
	bool		contrib = rules == SST_RULES_CONTRIB && am->contrib_page != NULL;

	visitor->am = am;
	if (tuples && am->pgstattuple_first != NULL)
	{
		visitor->page = pgstattuple_page;
		visitor->needs = SST_NEEDS(SST_PART_LINE_POINTERS);
		return;
	}
	visitor->page = contrib ? am->contrib_page : am->page;
	visitor->needs = SST_NEEDS(contrib ? am->contrib_part : am->part);
	if (!contrib && am->begin != NULL)
		am->begin(visitor, rel);
	if ((am->kind & SST_TABLE) != 0)
		sst_multixacts_begin();
}

/* ----------
 * Page headers of other access methods
 * ----------
 */

/*
 * A page of an access method that we know nothing of: its header says how much
 * is free, if it keeps to what headers are for.
 */
static bool
any_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
		 SstCounters *counters)
{
	const PageHeaderData *header = (const PageHeaderData *) page;

	if (header->pd_lower < SizeOfPageHeaderData ||
		header->pd_lower > header->pd_upper ||
		header->pd_upper > header->pd_special ||
		header->pd_special > BLCKSZ ||
		header->pd_pagesize_version != (BLCKSZ | PG_PAGE_LAYOUT_VERSION))
		return sst_count_if_new(page, blkno, counters);

	counters->n[SST_OTHER_PAGES]++;
	counters->n[SST_FREE_BYTES] += sst_page_free_space(page);
	counters->n[SST_USABLE_BYTES] += header->pd_special - SizeOfPageHeaderData;
	return true;
}

static const SstColumn any_columns[] = {
	{"free_bytes", INT8OID, SST_FREE_BYTES, .most = BLCKSZ, .plus_pages = true},
	{"free_percent", FLOAT8OID, SST_FREE_BYTES, .percent_of = SST_PAGE_BYTES, .main = true, .plus_pages = true},
	SST_DAMAGE_COLUMNS,
};

const SstAccessMethod sst_other_am = {
	.kind = SST_INDEX,
	.flags = SST_AM_META | SST_AM_UNKNOWN,
	.page = any_page,
	.columns = {any_columns, lengthof(any_columns)},
	.no_model = gettext_noop("size after a rebuild is not known for this access method"),
};

/* ----------
 * Columns that the functions of several access methods have
 * ----------
 */

/* Bytes of the main fork */
Datum
sst_size_column(const SstRelationStats *found, bool *isnull)
{
	*isnull = found->unread;
	return Int64GetDatum((int64) found->nblocks * BLCKSZ);
}

Datum
sst_blocks_column(const SstRelationStats *found, bool *isnull)
{
	*isnull = found->unread;
	return Int64GetDatum((int64) found->nblocks);
}

static Datum
block_or_null(BlockNumber blkno, bool *isnull)
{
	*isnull = blkno == InvalidBlockNumber;
	return Int64GetDatum((int64) blkno);
}

Datum
sst_first_new_block_column(const SstRelationStats *found, bool *isnull)
{
	return block_or_null(found->counters.first_new, isnull);
}

Datum
sst_first_corrupt_block_column(const SstRelationStats *found, bool *isnull)
{
	return block_or_null(found->counters.first_corrupt, isnull);
}

/* Percent of the whole, or null if that is nothing */
Datum
sst_percent(uint64 part, uint64 whole, bool *isnull)
{
	*isnull = whole == 0;
	return *isnull ? (Datum) 0 : Float8GetDatum(100.0 * part / whole);
}

/*
 * pgstattuple's functions mostly give percentages in two decimals.  These are printed only
 * where rounding could go either way: a quotient is the same number as one that is read.
 */
Datum
sst_two_decimals(double percent)
{
	double		hundredths = rint(100 * percent);
	char		str[32];

	if (fabs(100 * percent - hundredths) < 0.499)
		return Float8GetDatum(hundredths / 100);
	snprintf(str, sizeof(str), "%.2f", percent);
	return Float8GetDatum(strtod(str, NULL));
}
