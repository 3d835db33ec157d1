/*-------------------------------------------------------------------------
 *
 * am.h
 *	  Visitors of pages, and all that differs between access methods
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_AM_H
#define SST_AM_H

#include "access/htup.h"

#include "am/heap/xacts.h"
#include "compat/compat.h"
#include "source/source.h"
#include "stats/counters.h"
#include "stats/estimate.h"
#include "stream/rules.h"

struct SstModel;				/* in rebuild.h */

/* Let the CPU load what will be looked at soon, wherever that is. */
static inline void
sst_load(const char *place)
{
#ifdef __GNUC__
	__builtin_prefetch(place, 0, 1);
#endif
}

/* ----------
 * Line pointers of a page, and one pass over them all
 * ----------
 */

/*
 * How long the leaf tuples of a b-tree can be, as their line pointers give
 * it.  A tuple longer than max_plain is a posting list tuple, one shorter than
 * min_posting is not; in between only the tuple itself can tell.
 */
typedef struct SstTupleLengths
{
	uint16		max_plain;
	uint16		min_posting;
} SstTupleLengths;

/* What the line pointers of an index page say together */
typedef struct SstLinePointers
{
	int			nitems;
	int			ndead;			/* LP_DEAD */
	int			nlong;			/* longer than max_plain */
	int			nunclear;		/* from min_posting to max_plain */
	bool		alike;			/* known to have one length and one state */
	bool		outside;		/* one points outside the tuple space */
} SstLinePointers;

extern void (*sst_read_line_pointers) (const PageData *page, OffsetNumber first,
									   const SstTupleLengths *lengths,
									   SstLinePointers *result);

extern int	sst_sum_tuples(const PageData *page);
extern bool sst_items_are_alike(const PageData *page, int *most);

/* What the items of an index page take, with their line pointers */
typedef struct SstItemSums
{
	uint32		nlive;
	uint32		ndead;			/* LP_DEAD */
	uint64		bytes;			/* of live ones */
	uint64		squares;		/* of the bytes of each of these */
	uint64		all_bytes;
} SstItemSums;

extern void sst_sum_items(const PageData *page, SstItemSums *sums);

/* The most line pointers that a page has room for */
#define SST_MAX_ITEMS ((BLCKSZ - SizeOfPageHeaderData) / sizeof(ItemIdData))

/* Items of a page, or fewer where the array would leave the page */
static inline int
sst_page_items(const PageData *page)
{
	int			lower = Min(((const PageHeaderData *) page)->pd_lower, BLCKSZ);

	return lower <= SizeOfPageHeaderData ? 0 :
		(lower - SizeOfPageHeaderData) / sizeof(ItemIdData);
}

/* Does the line pointer, if the page has it, leave the tuple space? */
static inline bool
sst_item_is_outside(const PageData *page, OffsetNumber offnum)
{
	const PageHeaderData *header = (const PageHeaderData *) page;
	const ItemIdData *item = &header->pd_linp[offnum - 1];

	return offnum <= sst_page_items(page) &&
		(item->lp_off < header->pd_upper ||
		 item->lp_off + item->lp_len > header->pd_special);
}

/* Do all line pointers of a page point to tuples within it? */
static inline bool
sst_items_are_normal(const PageData *page)
{
	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= sst_page_items(page); offnum++)
	{
		if (!ItemIdIsNormal(PageGetItemId((Page) page, offnum)) ||
			sst_item_is_outside(page, offnum))
			return false;
	}
	return true;
}

/* Does a line pointer of a table's page that redirects refer to one with a tuple? */
static inline bool
sst_redirect_is_sound(const PageData *page, OffsetNumber offnum)
{
	const ItemIdData *items = ((const PageHeaderData *) page)->pd_linp;
	OffsetNumber target = ItemIdGetRedirect(&items[offnum - 1]);

	return target >= FirstOffsetNumber && target <= sst_page_items(page) &&
		ItemIdIsNormal(&items[target - 1]);
}

/* ----------
 * Visitors: what a page contains, one for each kind of relation
 *
 * A visitor adds one page image to counters.  It does no I/O, allocates
 * nothing and raises no error, whatever the page contains; it looks at no byte
 * outside the page.  Only the one for tables needs more: the outcome of the
 * transactions that the page names (xacts.h).  For multixacts it may have to
 * read files, but not while xacts.page_locked: then it refuses the page and
 * sets xacts.postponed (xacts.c).  The caller keeps the page from
 * changing during the visit, and counts the pages that the visitor refuses.
 * ----------
 */

/* What of a metapage a column shows; from SST_META_OWN on by access method */
typedef enum SstMetaField
{
	SST_META_NONE,
	SST_META_VERSION,
	SST_META_OWN
} SstMetaField;

/* What an index's metapage says; "known" once a sound one was seen */
typedef struct SstMeta
{
	bool		known;
	int64		field[SST_META_OWN + 4];
} SstMeta;

/* Some line pointers of a page, in order */
typedef struct SstItemList
{
	int			nitems;
	OffsetNumber offnums[SST_MAX_ITEMS];
} SstItemList;

typedef struct SstVisitor SstVisitor;

/* Add a page.  False, with nothing added, when the page contents are inconsistent. */
typedef bool (*SstVisitPage) (SstVisitor *visitor, const PageData *page,
							  BlockNumber blkno, SstCounters *counters);

struct SstVisitor
{
	SstVisitPage page;
	const struct SstAccessMethod *am;	/* NULL of a map */
	SstPageNeeds needs;
	BlockNumber nblocks;		/* to be visited, or 0 for a sample; of a map,
								 * those that it describes */
	SstMeta		meta;

	/* b-tree: look for posting list tuples on every so many'th block */
	SstTupleLengths lengths;
	BlockNumber posting_stride;

	/* heap */
	TransactionId horizon;		/* tuples deleted before it can be removed */
	bool		chains;			/* count what indexes point to, too */
	bool		all_tuples;		/* look at those of all-visible pages, too */

	/*
	 * Filled for each sound page, unless NULL: tuples that a rewrite would
	 * keep (of an index, there is a model if this is not NULL), and what
	 * indexes can point to, and behind which an index build finds no row
	 */
	SstItemList *kept;
	SstItemList *dead;
	SstXacts	xacts;

	/* visibility map, free space map */
	SstBlockSet *visible;		/* blocks that are all-visible, or NULL */
	SstBlockSet *frozen;		/* and all-frozen */
};

extern void sst_map_visitor_init(SstVisitor *visitor, ForkNumber map,
								 BlockNumber nblocks, SstBlockSet *visible,
								 SstBlockSet *frozen);

/*
 * Does the header make sense, and is the special space of the given size?
 */
static inline bool
sst_page_is_sound(const PageData *page, Size special_size)
{
	const PageHeaderData *header = (const PageHeaderData *) page;

	return header->pd_lower >= SizeOfPageHeaderData &&
		header->pd_lower <= header->pd_upper &&
		header->pd_upper <= header->pd_special &&
		header->pd_special == BLCKSZ - MAXALIGN(special_size) &&
		header->pd_pagesize_version == (BLCKSZ | PG_PAGE_LAYOUT_VERSION);
}

/* Bytes of a page for line pointers and tuples, with a special space of this size */
#define SST_PAGE_ROOM(special_size) \
	(BLCKSZ - (int) SizeOfPageHeaderData - (int) MAXALIGN(special_size))

/* By which the pages of many access methods can be told: their last two bytes */
static inline uint16
sst_page_id(const PageData *page)
{
	uint16		id;

	memcpy(&id, page + BLCKSZ - sizeof(id), sizeof(id));
	return id;
}

/* Count a leaf page, with what is free of its bytes for tuples. */
static inline void
sst_count_leaf(SstCounters *counters, Size free, Size usable)
{
	counters->n[SST_LEAF_PAGES]++;
	counters->n[SST_FREE_BYTES] += free;
	counters->n[SST_USABLE_BYTES] += usable;
}

/* Count the items of a leaf page. */
static inline void
sst_count_items(SstCounters *counters, const SstLinePointers *items)
{
	counters->n[SST_DEAD_ITEMS] += items->ndead;
	counters->n[SST_LIVE_ITEMS] += items->nitems - items->ndead;
}

/* ----------
 * What is wrong with a page that a visitor has refused, and with items of others
 * ----------
 */

/* What is wrong, in the order in which it is looked for */
typedef enum SstFault
{
	SST_FAULT_NONE,
	SST_FAULT_READ,				/* the block cannot be read */
	SST_FAULT_CHECKSUM,
	SST_FAULT_HEADER,
	SST_FAULT_SPECIAL,			/* special space */
	SST_FAULT_PAGE_TYPE,
	SST_FAULT_LINE_POINTERS,
	SST_FAULT_TUPLES,
	SST_FAULT_CONTENTS			/* of a page that has no line pointers */
} SstFault;

typedef struct SstDiagnosis
{
	SstFault	fault;
	char		detail[256];	/* translated */
} SstDiagnosis;

extern void sst_diagnose_page(const SstVisitor *visitor, const PageData *page,
							  BlockNumber blkno, SstDiagnosis *diagnosis);
extern bool sst_check_items(Relation rel, SstVisitor *visitor,
							const PageData *page, BlockNumber blkno,
							SstDiagnosis *diagnosis);

/* Set a fault, and its detail by a translated format and what that needs */
#define sst_set_diagnosis(diagnosis, what, ...) \
	((diagnosis)->fault = (what), \
	 (void) snprintf((diagnosis)->detail, sizeof((diagnosis)->detail), \
					 __VA_ARGS__))

/* The same as an expression, which is false: what is looked at is not sound */
#define sst_refuse(diagnosis, what, ...) \
	(sst_set_diagnosis(diagnosis, what, __VA_ARGS__), false)

/* ----------
 * What is known of a relation at the end of a scan, as columns of rows
 * ----------
 */

/* All that is known of a relation at the end of a scan, or of several */
struct SstRelationStats
{
	Oid			relid;
	Oid			amoid;			/* access method */
	const struct SstAccessMethod *am;	/* or NULL */
	uint64		nblocks;
	SstCounters counters;
	SstMeta		meta;
	BlockNumber table_blocks;	/* of a BRIN index's table */
	bool		unread;			/* counters and meta say nothing */
	bool		is_sum;			/* of several relations */
	const char *note;			/* what else is to be said, or NULL */
};

typedef struct SstColumns
{
	const SstColumn *column;
	int			n;
} SstColumns;

#define SST_COLUMNS(table) (&(SstColumns) {(table), lengthof(table)})

/* The count c of what was found */
#define SST_COUNT(found, c) ((found)->counters.n[c])

/* Columns of more than one function */
extern Datum sst_size_column(const SstRelationStats *found, bool *isnull);
extern Datum sst_blocks_column(const SstRelationStats *found, bool *isnull);
extern Datum sst_first_new_block_column(const SstRelationStats *found, bool *isnull);
extern Datum sst_first_corrupt_block_column(const SstRelationStats *found,
											bool *isnull);

/* Those about the size */
#define SST_SIZE_COLUMNS \
	{"bytes", INT8OID, 0, sst_size_column}, \
	{"pages", INT8OID, 0, sst_blocks_column}

/* Those about new and corrupt pages, which nearly all functions have */
#define SST_DAMAGE_COLUMNS \
	{"new_pages", INT8OID, SST_NEW_PAGES, .most = 1}, \
	{"corrupt_pages", INT8OID, SST_CORRUPT_PAGES, .most = 1}, \
	{"first_new_block", INT8OID, 0, sst_first_new_block_column}, \
	{"first_corrupt_block", INT8OID, 0, sst_first_corrupt_block_column}

extern Datum sst_percent(uint64 part, uint64 whole, bool *isnull);
extern Datum sst_two_decimals(double percent);

/* ----------
 * Access methods
 * ----------
 */

/*
 * What a relation is to us.  The values can be or'ed to say what a function
 * accepts.
 */
typedef enum SstTargetKind
{
	SST_INDEX = 1 << 0,
	SST_HEAP = 1 << 1,
	SST_SEQUENCE = 1 << 2
} SstTargetKind;

#define SST_TABLE (SST_HEAP | SST_SEQUENCE)

/* Block 0 is a metapage. */
#define SST_AM_META (1 << 0)
/* An index without a predicate has one entry for each row, ... */
#define SST_AM_ENTRY_A_ROW (1 << 1)
/* ... except for null keys. */
#define SST_AM_NO_NULLS (1 << 2)
/* Entries are about ranges of the table's blocks.  A rebuild makes them anew. */
#define SST_AM_SUMMARIZES (1 << 3)
/* Pages are allocated in advance, and are included in SST_FREE_BYTES. */
#define SST_AM_RESERVES_PAGES (1 << 4)
/* A page can have line pointers without a tuple. */
#define SST_AM_UNUSED_ITEMS (1 << 5)
/* Of other sessions' temporary relations, contrib's error says "tables". */
#define SST_AM_TEMPORARY_TABLES (1 << 6)
/* Nothing is known but what all pages have. */
#define SST_AM_UNKNOWN (1 << 7)
/* Entries have differences between TIDs. */
#define SST_AM_TID_DIFFERENCES (1 << 8)
/* Workers can build it, and sort entries in files then. */
#define SST_AM_PARALLEL_BUILD (1 << 9)

/* What a page is, by its special space; all zeros before that is looked at */
typedef struct SstPageType
{
	uint16		flags;			/* those that say it */
	bool		known;			/* there is such a type, and the block can be
								 * of it */
	bool		has_tuples;		/* line pointers are those of tuples */
	bool		has_contents;	/* there is something else than items */
	int			empty_lower;	/* pd_lower of such a page without items, if
								 * not that of an empty page; 0 if it has
								 * contents that are always there */
} SstPageType;

/* pgstattuple takes all bytes of the page for free. */
#define SST_PGSTATTUPLE_FREE (-1)

typedef struct SstAccessMethod
{
	const char *name;			/* in pg_am */
	Oid			oid;			/* InvalidOid if it is an extension's */
	const char *handler;		/* then, its function in pg_am; else NULL */
	SstTargetKind kind;
	int			flags;			/* SST_AM_... */

	/* What the SQL function says of another relation, as contrib's */
	const char *refusal;

	/*
	 * Visit a page: page by our rules, contrib_page by those of contrib's
	 * function for the access method, if they differ.  They look at this part
	 * of the page.
	 */
	SstVisitPage page;
	SstPagePart part;
	SstVisitPage contrib_page;
	SstPagePart contrib_part;

	/*
	 * The item from which on pgstattuple() counts the tuples of an index's
	 * page; 0 if it has none of these, or SST_PGSTATTUPLE_FREE
	 */
	int			(*pgstattuple_first) (const PageData *page);

	/*
	 * Where page is sst_index_page(): take over what a metapage says, or
	 * return false if that makes no sense; and visit any other page, which
	 * has a sound header and the page ID
	 */
	bool		(*read_meta) (SstMeta *meta, const PageData *page);
	SstVisitPage sound_page;

	/* What a visitor needs besides, for page; or NULL */
	void		(*begin) (SstVisitor *visitor, Relation rel);

	/*
	 * Diagnosis of pages.  page_type is NULL if their layout is not known,
	 * diagnose_special if the flags describe the special space completely.
	 */
	int			special_size;
	uint16		page_id;		/* last two bytes of a page, or 0 */

	/*
	 * How a metapage begins; another magic or version number is that of
	 * another format.  0 where there is none.
	 */
	uint32		magic;
	uint32		version;
	void		(*page_type) (const PageData *page, BlockNumber blkno,
							  SstPageType *type);
	void		(*diagnose_special) (const PageData *page,
									 SstDiagnosis *diagnosis);

	/* The length that a tuple says it has; NULL: it is an IndexTuple */
	int			(*tuple_length) (const PageData *page, const ItemIdData *item);

	/*
	 * Check tuples that are within the page and aligned, also by what the
	 * catalogs say of the relation; or NULL
	 */
	bool		(*check) (Relation rel, SstVisitor *visitor,
						  const PageData *page, BlockNumber blkno,
						  SstDiagnosis *diagnosis);

	/*
	 * Of the SQL function, if it has one, and of contrib's.  The rows of
	 * sample_stats are about the former, in this order.
	 */
	SstColumns	columns;
	SstColumns	contrib_columns;

	/* The size after a rebuild, or why it is not known */
	const struct SstModel *model;
	const char *no_model;
} SstAccessMethod;

/*
 * The access methods of indexes that have a folder.  For each there is sst_NAME_am,
 * sst_NAME_model if it has one, and the SQL function NAME_stats.  Those that core does not
 * have come last.
 */
#define SST_ACCESS_METHODS(each) \
	each(btree) \
	each(hash) \
	each(gin) \
	each(gist) \
	each(spgist) \
	each(brin) \
	each(bloom) \
	each(hnsw) \
	each(ivfflat)

#define DECLARE(name) \
	extern const SstAccessMethod sst_##name##_am; \
	extern const struct SstModel sst_##name##_model;
SST_ACCESS_METHODS(DECLARE)
#undef DECLARE

extern const SstAccessMethod sst_heap_am;
extern const struct SstModel sst_heap_model;
extern const SstAccessMethod sst_sequence_am;
extern const SstAccessMethod sst_other_am;

extern const SstAccessMethod *sst_index_am(Oid amoid);
extern const SstAccessMethod *sst_relation_am(Relation rel);
extern void sst_page_type_by_block(const PageData *page, BlockNumber blkno,
								   SstPageType *type);
extern int	sst_item_length(const PageData *page, const ItemIdData *item);
extern bool sst_count_if_new(const PageData *page, BlockNumber blkno,
							 SstCounters *counters);
extern bool sst_count_if_new_in_index(const PageData *page, BlockNumber blkno,
									  SstCounters *counters);
extern bool sst_index_page(SstVisitor *visitor, const PageData *page,
						   BlockNumber blkno, SstCounters *counters);
extern void sst_visitor_begin(SstVisitor *visitor, const SstAccessMethod *am,
							  Relation rel, SstRules rules, bool tuples);
extern bool sst_is_other_format(const SstAccessMethod *am,
								const PageData *metapage);

#endif							/* SST_AM_H */
