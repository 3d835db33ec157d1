/*-------------------------------------------------------------------------
 *
 * diagnose.c
 *	  What is wrong with a page that a visitor has refused, and with items of others
 *
 * A visitor is fast, and reports only that a page's contents are inconsistent.  Here
 * such a page is examined again, without haste.  What the visitor accepts is sound, so
 * that the two never disagree.  To find what it refuses, it is
 * shown copies of the page: one without line pointers, and then one for each line
 * pointer.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/itup.h"

#include "am/am.h"

/* A copy of the page to be changed, and what is to be known of it */
typedef struct Patient
{
	SstVisitor	visitor;
	SstPageType type;
	BlockNumber blkno;
	PGAlignedBlock copy;
} Patient;

/* Does the visitor accept the copy as it is now? */
static bool
accepts_copy(Patient *patient)
{
	SstCounters counters;

	sst_counters_init(&counters);
	return patient->visitor.page(&patient->visitor, patient->copy.data,
								 patient->blkno, &counters);
}

/*
 * Diagnose a header that visitors or the buffer manager (PageIsVerified()) refuse;
 * false if it is sound.
 */
static bool
diagnose_header(const PageData *page, SstDiagnosis *diagnosis)
{
	const PageHeaderData *header = (const PageHeaderData *) page;

	if (header->pd_upper == 0)
		sst_set_diagnosis(diagnosis, SST_FAULT_HEADER,
						  _("header of a new page, but the page is not all zeros"));
	else if (header->pd_pagesize_version != (BLCKSZ | PG_PAGE_LAYOUT_VERSION))
		sst_set_diagnosis(diagnosis, SST_FAULT_HEADER,
						  _("page size and version 0x%04X, expected 0x%04X"),
						  header->pd_pagesize_version,
						  BLCKSZ | PG_PAGE_LAYOUT_VERSION);
	else if ((header->pd_flags & ~PD_VALID_FLAG_BITS) != 0)
		sst_set_diagnosis(diagnosis, SST_FAULT_HEADER,
						  _("unknown page flags 0x%04X"), header->pd_flags);
	else if (header->pd_lower < SizeOfPageHeaderData ||
			 header->pd_lower > header->pd_upper ||
			 header->pd_upper > header->pd_special ||
			 header->pd_special > BLCKSZ ||
			 header->pd_special != MAXALIGN(header->pd_special))
		sst_set_diagnosis(diagnosis, SST_FAULT_HEADER,
						  _("lower %u, upper %u and special %u are inconsistent"),
						  header->pd_lower, header->pd_upper,
						  header->pd_special);

	return diagnosis->fault != SST_FAULT_NONE;
}

/* Diagnose place and identification of the special space; false if they are sound. */
static bool
diagnose_place(const Patient *patient, const PageData *page,
			   SstDiagnosis *diagnosis)
{
	int			special = ((const PageHeaderData *) page)->pd_special;
	int			expected = BLCKSZ - (int) MAXALIGN(patient->visitor.am->special_size);
	uint16		page_id = patient->visitor.am->page_id;

	if (special != expected)
		sst_set_diagnosis(diagnosis, SST_FAULT_SPECIAL,
						  _("special space begins at %d, expected %d"),
						  special, expected);
	else if (page_id != 0 && sst_page_id(page) != page_id)
		sst_set_diagnosis(diagnosis, SST_FAULT_SPECIAL,
						  _("page ID 0x%04X, expected 0x%04X"),
						  sst_page_id(page), page_id);

	return diagnosis->fault != SST_FAULT_NONE;
}

/* What the first words of a metapage are, for a detail */
static void
diagnose_contents(const Patient *patient, SstDiagnosis *diagnosis)
{
	uint32		words[2];

	if (patient->blkno > 0 || (patient->visitor.am->flags & SST_AM_META) == 0)
	{
		sst_set_diagnosis(diagnosis, SST_FAULT_CONTENTS,
						  _("contents do not agree with page flags 0x%04X"),
						  patient->type.flags);
		return;
	}
	memcpy(words, patient->copy.data + MAXALIGN(SizeOfPageHeaderData),
		   sizeof(words));
	sst_set_diagnosis(diagnosis, SST_FAULT_CONTENTS,
					  _("contents of the metapage are not valid; it begins with 0x%08X 0x%08X"),
					  words[0], words[1]);
}

/* Does the visitor accept a page of the same type without items? */
static bool
accepts_empty_copy(Patient *patient)
{
	PageHeader	header = (PageHeader) patient->copy.data;

	header->pd_lower = patient->type.empty_lower;
	header->pd_upper = header->pd_special;
	return accepts_copy(patient);
}

static void
diagnose_special(const Patient *patient, SstDiagnosis *diagnosis)
{
	if (patient->visitor.am->diagnose_special != NULL)
		patient->visitor.am->diagnose_special(patient->copy.data, diagnosis);
	else
		sst_set_diagnosis(diagnosis, SST_FAULT_SPECIAL,
						  _("special space is inconsistent, page flags 0x%04X"),
						  patient->type.flags);
}

/* Diagnose a tuple of a table that its line pointer does not explain. */
static void
diagnose_tuple(const PageData *page, OffsetNumber offnum, const ItemIdData *item,
			   SstDiagnosis *diagnosis)
{
	HeapTupleHeaderData tuple;

	memcpy(&tuple, page + ItemIdGetOffset(item), SizeofHeapTupleHeader);
	sst_set_diagnosis(diagnosis, SST_FAULT_TUPLES,
					  _("tuple %u: impossible transaction or header, xmin %u, xmax %u, infomask 0x%04X, data begins at %u of %u"),
					  offnum, HeapTupleHeaderGetRawXmin(&tuple),
					  HeapTupleHeaderGetRawXmax(&tuple), tuple.t_infomask,
					  tuple.t_hoff, ItemIdGetLength(item));
}

/*
 * Find the line pointer that the visitor refuses by showing it pages with one of
 * them; false if it accepts each.
 */
static bool
diagnose_items(Patient *patient, const PageData *page, SstDiagnosis *diagnosis)
{
	const PageHeaderData *header = (const PageHeaderData *) page;
	PageHeader	copy = (PageHeader) patient->copy.data;
	bool		table = (patient->visitor.am->kind & SST_TABLE) != 0;
	int			nitems = sst_page_items(page);

	memcpy(patient->copy.data, page, BLCKSZ);
	copy->pd_lower = SizeOfPageHeaderData + sizeof(ItemIdData);
	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		const ItemIdData *item = &header->pd_linp[offnum - 1];

		/* What a redirect refers to is not in the copy. */
		copy->pd_linp[0] = *item;
		if (table && ItemIdIsRedirected(item) ?
			sst_redirect_is_sound(page, offnum) : accepts_copy(patient))
			continue;
		if (table && !sst_item_is_outside(page, offnum) &&
			ItemIdGetOffset(item) == MAXALIGN(ItemIdGetOffset(item)) &&
			ItemIdGetLength(item) >= SizeofHeapTupleHeader)
			diagnose_tuple(page, offnum, item, diagnosis);
		else
			sst_set_diagnosis(diagnosis, SST_FAULT_LINE_POINTERS,
							  _("line pointer %u: flags %u, offset %u, length %u; tuples lie from %u to %u"),
							  offnum, ItemIdGetFlags(item),
							  ItemIdGetOffset(item), ItemIdGetLength(item),
							  header->pd_upper, header->pd_special);
		return true;
	}

	return false;
}

/* What a page is where no flags say it: block 0 is the metapage, all others have tuples. */
void
sst_page_type_by_block(const PageData *page, BlockNumber blkno, SstPageType *type)
{
	type->known = true;
	type->has_tuples = blkno != 0;
	type->has_contents = blkno == 0;
}

/*
 * Find out what is wrong with a page image in private memory, which visitor or
 * buffer manager refuse.  The fault is SST_FAULT_NONE if the visitor accepts it and
 * the buffer manager would accept its header.  The visitor is one by tolerant
 * rules.
 */
void
sst_diagnose_page(const SstVisitor *visitor, const PageData *page,
				  BlockNumber blkno, SstDiagnosis *diagnosis)
{
	const SstAccessMethod *am = visitor->am;
	Patient		patient = {.visitor = *visitor, .blkno = blkno};
	SstPageType *type = &patient.type;
	SstCounters counters;

	patient.visitor.kept = NULL;
	diagnosis->fault = SST_FAULT_NONE;
	diagnosis->detail[0] = '\0';

	sst_counters_init(&counters);
	memcpy(patient.copy.data, page, BLCKSZ);
	if (sst_count_if_new(page, blkno, &counters))
	{
		if (!accepts_copy(&patient))
			sst_set_diagnosis(diagnosis, SST_FAULT_PAGE_TYPE,
							  _("all zeros, where the index begins"));
		return;
	}
	if (diagnose_header(page, diagnosis) || accepts_copy(&patient))
		return;
	if (am->page_type == NULL)
	{
		sst_set_diagnosis(diagnosis, SST_FAULT_CONTENTS, _("page contents are inconsistent"));
		return;
	}
	if (diagnose_place(&patient, page, diagnosis))
		return;

	am->page_type(patient.copy.data, blkno, type);
	if (type->empty_lower == 0 && !type->has_contents)
		type->empty_lower = SizeOfPageHeaderData;
	if (!type->known)
	{
		sst_set_diagnosis(diagnosis, SST_FAULT_PAGE_TYPE,
						  _("page flags 0x%04X"), type->flags);
		return;
	}

	/* Is it the contents, or that the page has them? */
	if (type->empty_lower > 0 && !accepts_empty_copy(&patient))
		diagnose_special(&patient, diagnosis);
	else if (type->has_contents)
		diagnose_contents(&patient, diagnosis);
	else if (!diagnose_items(&patient, page, diagnosis))
		sst_set_diagnosis(diagnosis, SST_FAULT_LINE_POINTERS,
						  ngettext("%d line pointer does not agree with the type of the page",
								   "%d line pointers do not agree with each other or with the type of the page",
								   sst_page_items(page)),
						  sst_page_items(page));
}

/* ----------
 * The items of a page that a visitor has accepted
 *
 * A visitor looks at what it counts.  corrupt_blocks looks at all of a page: items
 * must not overlap, each has the length that its tuple says, and tuples agree
 * with what the catalogs say of the relation.  Whether values are right, or in the
 * right order, is not looked at: that takes functions of their types.
 * ----------
 */

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
sst_check_items(Relation rel, SstVisitor *visitor, const PageData *page,
				BlockNumber blkno, SstDiagnosis *diagnosis)
{
	const SstAccessMethod *am = visitor->am;
	SstPageType type = {0};

	if (am->page_type == NULL || PageIsNew((Page) page))
		return true;
	am->page_type(page, blkno, &type);

	return !type.has_tuples ||
		(check_line_pointers(am, page, diagnosis) &&
		 (am->check == NULL || am->check(rel, visitor, page, blkno, diagnosis)));
}
