/*-------------------------------------------------------------------------
 *
 * check_items.c
 *	  What is wrong with the items of a page that a visitor has accepted
 *
 * A visitor looks at what it counts.  corrupt_blocks looks at all of a page: items
 * must not overlap, each has the length that its tuple says, and tuples agree
 * with what the catalogs say of the relation.  Whether values are right, or in the
 * right order, is not looked at: that takes functions of their types.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/check_items.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/itup.h"
#include "utils/rel.h"

#include "am/check_items.h"

/*
 * Does an item share bytes with one before it?  "used" tells of each MAXALIGN'ed
 * part of the page whether an item has it.
 */
static bool
overlaps(const ItemIdData *item, bool *used)
{
	int			end = ItemIdGetOffset(item) + ItemIdGetLength(item);
	bool		found = false;

	for (int i = ItemIdGetOffset(item) / MAXIMUM_ALIGNOF; i * MAXIMUM_ALIGNOF < end; i++)
	{
		found |= used[i];
		used[i] = true;
	}
	return found;
}

/* The length of tuples that do not say it, or where that was looked at by now */
int
sst_item_length(const PageData *page, const ItemIdData *item)
{
	return ItemIdGetLength(item);
}

/* Has an item of an index, which is within the page and aligned, the length that it says? */
static bool
has_own_length(const SstAccessMethod *am, const PageData *page,
			   const ItemIdData *item)
{
	const char *tuple = page + ItemIdGetOffset(item);
	int			length = ItemIdGetLength(item);

	if (length < sizeof(IndexTupleData))
		return false;

	/* Old releases did not align the lengths of all kinds of tuples. */
	return MAXALIGN(length) ==
		MAXALIGN(am->tuple_length != NULL ? am->tuple_length(page, item) :
				 IndexTupleSize((const IndexTupleData *) tuple));
}

/* Check what the line pointers of a page refer to, one by one. */
static bool
check_line_pointers(const SstAccessMethod *am, const PageData *page,
					SstDiagnosis *diagnosis)
{
	bool		table = (am->kind & SST_TABLE) != 0;
	bool		unused = (am->flags & SST_AM_UNUSED_ITEMS) != 0;
	int			nitems = sst_page_items(page);
	bool		used[BLCKSZ / MAXIMUM_ALIGNOF] = {0};

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		const ItemIdData *item = PageGetItemId((Page) page, offnum);

		if (table ? !ItemIdIsNormal(item) : unused && !ItemIdIsUsed(item))
			continue;
		if (!ItemIdIsNormal(item) && !ItemIdIsDead(item))
			return sst_refuse(diagnosis, SST_FAULT_LINE_POINTERS,
							  _("line pointer %u: flags %u, which no tuple of this page has"),
							  offnum, ItemIdGetFlags(item));
		if (ItemIdGetOffset(item) != MAXALIGN(ItemIdGetOffset(item)))
			return sst_refuse(diagnosis, SST_FAULT_LINE_POINTERS,
							  _("line pointer %u: offset %u is not aligned"),
							  offnum, ItemIdGetOffset(item));
		if (overlaps(item, used))
			return sst_refuse(diagnosis, SST_FAULT_LINE_POINTERS,
							  _("line pointer %u: offset %u, length %u overlap with another tuple"),
							  offnum, ItemIdGetOffset(item),
							  ItemIdGetLength(item));
		if (!table && !has_own_length(am, page, item))
			return sst_refuse(diagnosis, SST_FAULT_TUPLES,
							  _("tuple %u: its length is not that of its line pointer, %d"),
							  offnum, ItemIdGetLength(item));
	}

	return true;
}

/*
 * Check the items of a page that the visitor has accepted.  Returns false, with a
 * diagnosis, if one of them is invalid.  Also false, without one, if visitor->xacts.postponed.
 */
bool
sst_check_items(const SstItemCheck *check, SstVisitor *visitor,
				const PageData *page, BlockNumber blkno,
				SstDiagnosis *diagnosis)
{
	const SstAccessMethod *am = check->am;
	SstPageType type = {0};

	if (am->page_type == NULL || PageIsNew((Page) page))
		return true;
	am->page_type(page, blkno, &type);

	return !type.has_tuples ||
		(check_line_pointers(am, page, diagnosis) &&
		 (am->check == NULL || am->check(check, visitor, page, blkno, diagnosis)));
}

/* Visit a page and check its items; installed by sst_item_check_visit() */
static bool
checked_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
			 SstCounters *counters)
{
	SstItemCheck *check = visitor->check;
	SstDiagnosis diagnosis;
	SstCounters own;

	sst_counters_init(&own);
	if (!check->page(visitor, page, blkno, &own) ||
		!sst_check_items(check, visitor, page, blkno, &diagnosis))
		return false;
	if (visitor->meta.known)
		check->version = visitor->meta.field[SST_META_VERSION];
	sst_counters_merge(counters, &own);

	return true;
}

/* Have a visitor look at all of a page, and refuse pages with invalid items. */
void
sst_item_check_visit(SstItemCheck *check, SstVisitor *visitor)
{
	check->page = visitor->page;
	visitor->page = checked_page;
	visitor->check = check;
	visitor->needs = SST_NEEDS(SST_PART_ALL);
	visitor->all_tuples = true;
}

/* Prepare to check pages of an open relation, which has to stay open. */
void
sst_item_check_init(SstItemCheck *check, const SstAccessMethod *am,
					Relation rel)
{
	memset(check, 0, sizeof(SstItemCheck));
	check->am = am;
	check->tupdesc = RelationGetDescr(rel);
	check->has_toast = OidIsValid(rel->rd_rel->reltoastrelid);
	check->frozenxid = rel->rd_rel->relfrozenxid;
	check->minmxid = rel->rd_rel->relminmxid;
	if (rel->rd_index != NULL)
		check->nkeyatts = IndexRelationGetNumberOfKeyAttributes(rel);
}
