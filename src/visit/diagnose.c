/*-------------------------------------------------------------------------
 *
 * diagnose.c
 *	  What is wrong with a page that a visitor has refused
 *
 * A visitor is made to be fast, and says no more than that a page contents are inconsistent.
 * This is a second look at such a page, which may take its time.  What the visitor
 * accepts is sound, so that the two never disagree.  To find what it refuses, it is
 * shown copies of the page: one without line pointers, and then one for each line
 * pointer.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/visit/diagnose.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/brin_page.h"
#include "access/gin_private.h"
#include "access/gist.h"
#include "access/hash.h"
#include "access/htup_details.h"
#include "access/nbtree.h"
#include "access/spgist_private.h"

#include "visit/diagnose.h"

/* Flags that exist, see the visitor of each kind */
#define BTREE_FLAGS (BTP_LEAF | BTP_ROOT | BTP_DELETED | BTP_META | \
					 BTP_HALF_DEAD | BTP_SPLIT_END | BTP_HAS_GARBAGE | \
					 BTP_INCOMPLETE_SPLIT | BTP_HAS_FULLXID)
#define HASH_FLAGS (LH_PAGE_TYPE | LH_BUCKET_BEING_POPULATED | \
					LH_BUCKET_BEING_SPLIT | LH_BUCKET_NEEDS_SPLIT_CLEANUP | \
					LH_PAGE_HAS_DEAD_TUPLES)
#define GIN_FLAGS (GIN_DATA | GIN_LEAF | GIN_DELETED | GIN_META | GIN_LIST | \
				   GIN_LIST_FULLROW | GIN_INCOMPLETE_SPLIT | GIN_COMPRESSED)
#define GIST_FLAGS (F_LEAF | F_DELETED | F_TUPLES_DELETED | F_FOLLOW_RIGHT | \
					F_HAS_GARBAGE)
#define SPGIST_FLAGS (SPGIST_META | SPGIST_DELETED | SPGIST_LEAF | SPGIST_NULLS)

/* What a page of each kind has in the same place */
typedef struct PageKind
{
	SstTargetKind kind;
	int			special_size;
	int			page_id;		/* last two bytes of the page, or -1 */
	bool		has_meta;		/* block 0 is a metapage */
} PageKind;

static const PageKind page_kinds[] = {
	{SST_BTREE, sizeof(BTPageOpaqueData), -1, true},
	{SST_HASH, sizeof(HashPageOpaqueData), HASHO_PAGE_ID, true},
	{SST_GIN, sizeof(GinPageOpaqueData), -1, true},
	{SST_GIST, sizeof(GISTPageOpaqueData), GIST_PAGE_ID, false},
	{SST_SPGIST, sizeof(SpGistPageOpaqueData), SPGIST_PAGE_ID, true},
	{SST_BRIN, sizeof(BrinSpecialSpace), -1, true},
	{SST_HEAP, 0, -1, false},
	{SST_SEQUENCE, sizeof(uint32), -1, false}
};

/* A copy of the page to be changed, and what is to be known of it */
typedef struct Patient
{
	SstVisitor	visitor;
	const PageKind *kind;		/* NULL if not known */
	BlockNumber blkno;
	PGAlignedBlock copy;
} Patient;

static const PageKind *
find_page_kind(SstTargetKind kind)
{
	for (int i = 0; i < lengthof(page_kinds); i++)
	{
		if (page_kinds[i].kind == kind)
			return &page_kinds[i];
	}
	return NULL;
}

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

static uint16
last_word(const PageData *page)
{
	uint16		word;

	memcpy(&word, page + BLCKSZ - sizeof(word), sizeof(word));
	return word;
}

/* Diagnose place and identification of the special space; false if they are sound. */
static bool
diagnose_place(const Patient *patient, const PageData *page,
			   SstDiagnosis *diagnosis)
{
	int			special = ((const PageHeaderData *) page)->pd_special;
	int			expected = BLCKSZ - (int) MAXALIGN(patient->kind->special_size);
	int			page_id = patient->kind->page_id;

	if (special != expected)
		sst_set_diagnosis(diagnosis, SST_FAULT_SPECIAL,
						  _("special space begins at %d, expected %d"),
						  special, expected);
	else if (page_id >= 0 && last_word(page) != page_id)
		sst_set_diagnosis(diagnosis, SST_FAULT_SPECIAL,
						  _("page ID 0x%04X, expected 0x%04X"),
						  last_word(page), page_id);

	return diagnosis->fault != SST_FAULT_NONE;
}

/* The flags that say what a page is; of a BRIN index, the type that does so */
static uint16
type_flags(SstTargetKind kind, PageData *page)
{
	switch (kind)
	{
		case SST_BTREE:
			return BTPageGetOpaque((Page) page)->btpo_flags;
		case SST_HASH:
			return HashPageGetOpaque((Page) page)->hasho_flag;
		case SST_GIN:
			return GinPageGetOpaque((Page) page)->flags;
		case SST_GIST:
			return GistPageGetOpaque((Page) page)->flags;
		case SST_SPGIST:
			return SpGistPageGetOpaque((Page) page)->flags;
		case SST_BRIN:
			return BrinPageType((Page) page);
		default:
			return 0;
	}
}

/* Is there such a type of page, and can the block be of it? */
static bool
type_is_known(const Patient *patient, uint16 flags)
{
	bool		first = patient->blkno == 0;
	uint16		type = flags & LH_PAGE_TYPE;

	switch (patient->kind->kind)
	{
		case SST_BTREE:
			return (flags & ~BTREE_FLAGS) == 0 &&
				((flags & BTP_META) != 0) == first;
		case SST_HASH:
			return (flags & ~HASH_FLAGS) == 0 && (type & (type - 1)) == 0 &&
				(type == LH_META_PAGE) == first;
		case SST_GIN:
			return (flags & ~GIN_FLAGS) == 0 &&
				((flags & GIN_META) != 0) == first;
		case SST_GIST:
			return (flags & ~GIST_FLAGS) == 0;
		case SST_SPGIST:
			return (flags & ~SPGIST_FLAGS) == 0 &&
				((flags & SPGIST_META) != 0) == first;
		case SST_BRIN:
			return first ? flags == BRIN_PAGETYPE_META :
				flags == BRIN_PAGETYPE_REVMAP || flags == BRIN_PAGETYPE_REGULAR;
		default:
			return true;
	}
}

/* Has a page of that type something else than line pointers and tuples? */
static bool
has_contents(const Patient *patient, uint16 flags)
{
	if (patient->blkno == 0 && patient->kind->has_meta)
		return true;

	switch (patient->kind->kind)
	{
		case SST_BTREE:
			return (flags & BTP_DELETED) != 0;
		case SST_GIN:
			return (flags & (GIN_DATA | GIN_DELETED)) != 0;
		case SST_GIST:
			return (flags & F_DELETED) != 0;
		case SST_BRIN:
			return flags == BRIN_PAGETYPE_REVMAP;
		default:
			return false;
	}
}

/* What the first words of a metapage are, for a detail */
static void
diagnose_contents(const Patient *patient, uint16 flags, SstDiagnosis *diagnosis)
{
	uint32		words[2];

	if (patient->blkno > 0 || !patient->kind->has_meta)
	{
		sst_set_diagnosis(diagnosis, SST_FAULT_CONTENTS,
						  _("contents do not agree with page flags 0x%04X"),
						  flags);
		return;
	}
	memcpy(words, patient->copy.data + MAXALIGN(SizeOfPageHeaderData),
		   sizeof(words));
	sst_set_diagnosis(diagnosis, SST_FAULT_CONTENTS,
					  _("contents of the metapage are not valid; it begins with 0x%08X 0x%08X"),
					  words[0], words[1]);
}

/*
 * Make the copy a page of the same type without items.  A deleted b-tree page keeps
 * room for what BTPageSetDeleted() writes.
 */
static void
empty_copy(Patient *patient, uint16 flags)
{
	PageHeader	header = (PageHeader) patient->copy.data;

	header->pd_lower = SizeOfPageHeaderData;
	header->pd_upper = header->pd_special;
	if (patient->kind->kind == SST_BTREE && (flags & BTP_HAS_FULLXID))
		header->pd_lower = MAXALIGN(SizeOfPageHeaderData) +
			sizeof(BTDeletedPageData);
}

static void
diagnose_special(const Patient *patient, uint16 flags, SstDiagnosis *diagnosis)
{
	const BTPageOpaqueData *opaque;

	if (patient->kind->kind != SST_BTREE)
	{
		sst_set_diagnosis(diagnosis, SST_FAULT_SPECIAL,
						  _("special space is inconsistent, page flags 0x%04X"),
						  flags);
		return;
	}
	opaque = BTPageGetOpaque((Page) patient->copy.data);
	sst_set_diagnosis(diagnosis, SST_FAULT_SPECIAL,
					  _("special space is inconsistent, page flags 0x%04X, level %u, siblings %u and %u"),
					  flags, opaque->btpo_level, opaque->btpo_prev,
					  opaque->btpo_next);
}

/* Diagnose a tuple of a table that its line pointer does not explain. */
static void
diagnose_tuple(const PageData *page, OffsetNumber offnum, const ItemIdData *item,
			   SstDiagnosis *diagnosis)
{
	HeapTupleHeaderData tuple;

	memcpy(&tuple, page + ItemIdGetOffset(item), SizeofHeapTupleHeader);
	sst_set_diagnosis(diagnosis, SST_FAULT_TUPLES,
					  _("tuple %u: impossible transaction, xmin %u, xmax %u, infomask 0x%04X"),
					  offnum, HeapTupleHeaderGetRawXmin(&tuple),
					  HeapTupleHeaderGetRawXmax(&tuple), tuple.t_infomask);
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
	bool		table = (patient->kind->kind & SST_TABLE) != 0;
	int			nitems = sst_page_items(page);

	memcpy(patient->copy.data, page, BLCKSZ);
	copy->pd_lower = SizeOfPageHeaderData + sizeof(ItemIdData);
	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		const ItemIdData *item = &header->pd_linp[offnum - 1];

		copy->pd_linp[0] = *item;
		if (accepts_copy(patient))
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

/*
 * Find out what is wrong with a page image in private memory, which visitor or
 * buffer manager refuse.  The fault is SST_FAULT_NONE if the visitor accepts it and
 * the buffer manager would accept its header.  The visitor is one by tolerant
 * rules.
 */
void
sst_diagnose_page(const SstVisitor *visitor, SstTargetKind kind,
				  const PageData *page, BlockNumber blkno,
				  SstDiagnosis *diagnosis)
{
	Patient		patient = {.visitor = *visitor, .blkno = blkno,
	.kind = find_page_kind(kind)};
	SstCounters counters;
	uint16		flags;

	patient.visitor.kept = NULL;
	diagnosis->fault = SST_FAULT_NONE;
	diagnosis->detail[0] = '\0';

	sst_counters_init(&counters);
	if (sst_count_if_new(page, blkno, &counters) ||
		diagnose_header(page, diagnosis))
		return;

	memcpy(patient.copy.data, page, BLCKSZ);
	if (accepts_copy(&patient))
		return;
	if (patient.kind == NULL)
	{
		sst_set_diagnosis(diagnosis, SST_FAULT_CONTENTS, _("page contents are inconsistent"));
		return;
	}
	if (diagnose_place(&patient, page, diagnosis))
		return;

	flags = type_flags(kind, patient.copy.data);
	if (!type_is_known(&patient, flags))
	{
		sst_set_diagnosis(diagnosis, SST_FAULT_PAGE_TYPE,
						  _("page flags 0x%04X"), flags);
		return;
	}

	if (!has_contents(&patient, flags))
	{
		empty_copy(&patient, flags);
		if (!accepts_copy(&patient))
			diagnose_special(&patient, flags, diagnosis);
		else if (!diagnose_items(&patient, page, diagnosis))
			sst_set_diagnosis(diagnosis, SST_FAULT_LINE_POINTERS,
							  ngettext("%d line pointer does not agree with the type of the page",
									   "%d line pointers do not agree with each other or with the type of the page",
									   sst_page_items(page)),
							  sst_page_items(page));
		return;
	}

	/* Is it the contents, or that the page has them? */
	if (kind == SST_BTREE && blkno > 0)
	{
		empty_copy(&patient, flags);
		if (!accepts_copy(&patient))
		{
			diagnose_special(&patient, flags, diagnosis);
			return;
		}
	}
	diagnose_contents(&patient, flags, diagnosis);
}
