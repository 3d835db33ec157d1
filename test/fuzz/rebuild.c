/*-------------------------------------------------------------------------
 *
 * rebuild.c
 *	  Show pages that a visitor has counted to the kind's rebuild functions
 *
 * They promise what visitors do: to look at no byte outside the page, and to
 * raise no error, whatever is in the items.  What they have made of some pages
 * has to give a number of blocks, whatever share of the relation these are.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  test/fuzz/rebuild.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/gist_private.h"
#include "access/hash.h"
#include "access/nbtree.h"
#include "access/spgist_private.h"
#include "access/tupdesc_details.h"
#include "catalog/pg_am.h"
#include "miscadmin.h"

#include "fuzz.h"
#include "rebuild/rebuild.h"

/* What the stubs of the server (server.c) answer */
extern uint32_t fuzz_relation_blocks;
extern uint32_t fuzz_support_function;
extern uint32_t fuzz_allocations;

/* Options that a relation can have, of which the kind's are set */
typedef union RelationOptions
{
	BTOptions	btree;
	HashOptions hash;
	GiSTOptions gist;
	SpGistOptions spgist;
	StdRdOptions table;
} RelationOptions;

/* Columns of a table: a table has the first ones */
static const struct
{
	int16		length;
	char		align;
	bool		by_value;
}			columns[] =

{
	{4, TYPALIGN_INT, true},
	{-1, TYPALIGN_INT, false},
	{2, TYPALIGN_SHORT, true},
	{-2, TYPALIGN_CHAR, false},
	{16, TYPALIGN_DOUBLE, false},
	{1, TYPALIGN_CHAR, true},
	{-1, TYPALIGN_DOUBLE, false},
	{4, TYPALIGN_INT, true},
	{8, TYPALIGN_DOUBLE, true},
	{-1, TYPALIGN_INT, false},
	{3, TYPALIGN_CHAR, false},
	{-1, TYPALIGN_INT, false},
};

static const char storages[] = {TYPSTORAGE_PLAIN, TYPSTORAGE_MAIN,
TYPSTORAGE_EXTERNAL, TYPSTORAGE_EXTENDED};

/* A value of 16 bytes, aligned, that ends there by each of the columns' rules */
static const union
{
	uint64		align;
	char		bytes[16];
}			missing_value =

{
#ifdef WORDS_BIGENDIAN
	.bytes = {0, 0, 0, 16, 'x', 'y'}
#else
	.bytes = {16 << 2, 0, 0, 0, 'x', 'y'}
#endif
};

/*
 * Which columns a table has, which of these were dropped, and which of them
 * older tuples lack
 */
static TupleDesc
choose_columns(const FuzzChoices *choices)
{
	static TupleConstr constr;
	static AttrMissing missing[lengthof(columns)];
	static TupleDesc tupdesc = NULL;

	/* Room as in init_btree() */
	if (tupdesc == NULL)
		tupdesc = calloc(1, sizeof(struct TupleDescData) +
						 lengthof(columns) * (sizeof(FormData_pg_attribute) + 64));

	tupdesc->natts = choices->shape % (lengthof(columns) + 1);
	constr.missing = missing;
	tupdesc->constr = (choices->options & 1) != 0 ? &constr : NULL;
	for (int i = 0; i < tupdesc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);

		att->attlen = columns[i].length;
		att->attalign = columns[i].align;
		att->attbyval = columns[i].by_value;
		att->attstorage = att->attlen == -1 ?
			storages[(choices->horizon >> i) % lengthof(storages)] :
			TYPSTORAGE_PLAIN;
		att->attisdropped = (choices->variant >> i % 8 & 1) != 0;
		att->atthasmissing = (choices->nblocks >> i & 1) != 0;
		missing[i].am_present = (choices->nblocks >> i & 2) != 0;
		missing[i].am_value = att->attbyval ? (Datum) 1 :
			PointerGetDatum(missing_value.bytes);
	}
	return tupdesc;
}

/* Options of a relation, of all that there can be (access/common/reloptions.c) */
static void
choose_options(SstTargetKind kind, const FuzzChoices *choices,
			   RelationOptions *options)
{
	int			percent = 10 + choices->number % 91;

	switch (kind)
	{
		case SST_BTREE:
			options->btree.fillfactor = percent;
			options->btree.deduplicate_items = (choices->options & 16) != 0;
			break;
		case SST_HASH:
			options->hash.fillfactor = percent;
			break;
		case SST_GIST:
			options->gist.fillfactor = percent;
			options->gist.buffering_mode = (choices->options & 16) != 0 ?
				GIST_OPTION_BUFFERING_ON : GIST_OPTION_BUFFERING_AUTO;
			break;
		case SST_SPGIST:
			options->spgist.fillfactor = percent;
			break;
		case SST_HEAP:
			options->table.fillfactor = percent;
			options->table.toast_tuple_target = 128 + choices->horizon % 8033;
			break;
		default:
			break;
	}
}

/* Look at all bytes of a value, and have a result by them. */
static double
try_compression(const char *data, int32 nbytes, char method)
{
	unsigned	sum = 0;

	FUZZ_CHECK(nbytes >= 0);
	for (int i = 0; i < nbytes; i++)
		sum += (unsigned char) data[i];

	return sum % 5 == 0 ? NAN : sum % 5 == 1 ? 1 : (1 + sum % 64) / 64.0;
}

/* As much of a relation's descriptor as sst_rebuild_..._init() look at */
static void
init_rebuild(SstRebuild *rebuild, const FuzzCase *fuzz)
{
	static FormData_pg_class class;
	static FormData_pg_index index;
	static RelationOptions options;
	static TupleDesc one_column = NULL;
	static RelationData rel;
	const FuzzChoices *choices = &fuzz->choices;

	memset(rebuild, 0, sizeof(SstRebuild));
	rebuild->kind = fuzz_target->rebuilds;

	/* Room as in choose_columns() */
	if (one_column == NULL)
		one_column = calloc(1, sizeof(struct TupleDescData) +
							sizeof(FormData_pg_attribute) + 64);
	one_column->natts = 1;
	TupleDescAttr(one_column, 0)->attlen =
		columns[choices->number % lengthof(columns)].length;

	memset(&options, 0, sizeof(options));
	choose_options(rebuild->kind, choices, &options);
	class.relkind = RELKIND_INDEX;
	index.indnkeyatts = 1;
	index.indisunique = (choices->options & 32) != 0;
	rel.rd_rel = &class;
	rel.rd_index = &index;
	rel.rd_att = one_column;
	rel.rd_options = (choices->options & 8) != 0 ? (bytea *) &options : NULL;

	fuzz_relation_blocks = choices->nblocks;
	fuzz_support_function = choices->options & 64;
	fuzz_allocations = (choices->options & 32) != 0 ?
		choices->variant % 32 : PG_UINT32_MAX;
	maintenance_work_mem = 1024 << choices->number % 8;
	max_parallel_maintenance_workers = choices->options & 2;
	rebuild->table_blocks = Min(choices->nblocks, MaxBlockNumber);
	rebuild->table_tuples = (double) rebuild->table_blocks *
		(choices->horizon % (MaxHeapTuplesPerPage + 1));

	switch (rebuild->kind)
	{
		case SST_BTREE:
			class.relam = BTREE_AM_OID;
			rel.rd_att = choose_columns(choices);
			rel.rd_att->natts = Max(rel.rd_att->natts, 1);
			index.indnkeyatts = 1 + choices->variant % rel.rd_att->natts;
			sst_rebuild_btree_init(rebuild, &rel);
			break;
		case SST_HASH:
			class.relam = HASH_AM_OID;
			sst_rebuild_hash_init(rebuild, &rel);
			break;
		case SST_GIN:
			class.relam = GIN_AM_OID;
			rel.rd_att = choose_columns(choices);
			rel.rd_att->natts = Max(rel.rd_att->natts, 1);
			sst_rebuild_gin_init(rebuild, &rel);
			break;
		case SST_GIST:
			class.relam = GIST_AM_OID;
			sst_rebuild_tree_init(rebuild, &rel);
			break;
		case SST_SPGIST:
			class.relam = SPGIST_AM_OID;
			sst_rebuild_tree_init(rebuild, &rel);
			break;
		default:
			class.relkind = (choices->options & 4) != 0 ?
				RELKIND_TOASTVALUE : RELKIND_RELATION;
			rel.rd_att = choose_columns(choices);
			sst_rebuild_heap_init(rebuild, &rel);
			rebuild->u.heap.toaster.has_toast = (choices->options & 2) != 0;
			rebuild->u.heap.toaster.any_compressible = true;
			rebuild->u.heap.toaster.compression.try =
				(choices->options & 16) != 0 ? try_compression : NULL;
			memset(rebuild->u.heap.toaster.compressible, choices->number,
				   sizeof(rebuild->u.heap.toaster.compressible));
			break;
	}
}

/* Blocks for some counts */
static double
blocks(const SstRebuild *rebuild, const double *counts, const SstMeta *meta)
{
	double		result = rebuild->blocks(rebuild, counts, meta, true);
	double		smooth = rebuild->blocks(rebuild, counts, meta, false);

	FUZZ_CHECK(isfinite(result) && result >= 0 &&
			   isfinite(smooth) && smooth >= 0);
	return result;
}

/* What a sample of pages says of the relation, as src/report asks */
static void
check_blocks(const SstRebuild *rebuild, const FuzzCase *fuzz,
			 const SstCounters *counters)
{
	const FuzzChoices *choices = &fuzz->choices;
	const SstMeta *meta = &fuzz->visitor.meta;
	double		counts[SST_NCOUNTS];
	int			i = choices->block / 8 % SST_NCOUNTS;

	for (int k = 0; k < SST_NCOUNTS; k++)
		counts[k] = counters->n[k];
	(void) blocks(rebuild, counts, meta);
	if (rebuild->ends != NULL)
	{
		double		low;
		double		high;

		rebuild->ends(rebuild, counts, meta, &low, &high);
		FUZZ_CHECK(low >= 0 && low <= high && isfinite(high));
	}

	for (int k = 0; k < SST_NCOUNTS; k++)
		counts[k] *= 1 + pow(choices->horizon, choices->options % 4 / 3.0);
	(void) blocks(rebuild, counts, meta);

	/* one of them by itself: sst_estimate_function() */
	i = SST_REBUILT_BYTES + i % (SST_FIRST_MAP_COUNT - SST_REBUILT_BYTES);
	counts[i] *= (choices->options & 128) != 0 ? 1.001 : 0.999;
	(void) blocks(rebuild, counts, meta);

	if (rebuild->scale_entries != NULL)
	{
		rebuild->scale_entries(rebuild, counts, choices->variant / 255.0);
		(void) blocks(rebuild, counts, meta);
	}
}

/* The list of kept tuples names tuples of the page, each once. */
static void
check_kept(const SstKeptItems *kept, const PageData *page)
{
	for (int i = 0; i < kept->nitems; i++)
	{
		OffsetNumber offnum = kept->offnums[i];

		FUZZ_CHECK(offnum > (i == 0 ? 0 : kept->offnums[i - 1]));
		FUZZ_CHECK(offnum <= sst_page_items(page));
		FUZZ_CHECK(ItemIdIsNormal(PageGetItemId((Page) page, offnum)));
	}
}

/* A page that is being filled is not overfull. */
static void
check_fill(const SstHeapFill *fill)
{
	FUZZ_CHECK(fill->free >= 0 && fill->free < BLCKSZ);
	FUZZ_CHECK((fill->bytes + fill->free) % BLCKSZ == 0);
}

/* Line pointers that lead to no row are listed in order, and none that is unused. */
static void
check_dead(const SstDeadItems *dead, const PageData *page)
{
	for (int i = 0; i < dead->nitems; i++)
	{
		OffsetNumber offnum = dead->offnums[i];

		FUZZ_CHECK(offnum > (i == 0 ? 0 : dead->offnums[i - 1]));
		FUZZ_CHECK(offnum <= sst_page_items(page));
		FUZZ_CHECK(ItemIdIsUsed(PageGetItemId((Page) page, offnum)));
	}
}

/* Entries are listed with the bytes of a page at most, or what their build takes. */
static void
check_entries(const SstRebuild *rebuild, const FuzzCase *fuzz,
			  const PageData *page)
{
	SstEntries *entries = malloc(sizeof(SstEntries));

	sst_list_entries(rebuild->kind, (fuzz->choices.options & 128) != 0, page,
					 fuzz->blkno, entries);
	FUZZ_CHECK(entries->n >= 0 && entries->n <= SST_MAX_ENTRIES);
	for (int i = 0; i < entries->n; i++)
	{
		const SstEntry *entry = &entries->entry[i];

		FUZZ_CHECK(entry->bytes >= 0 && entry->bytes <= 2 * BLCKSZ);
		FUZZ_CHECK(entry->key_bytes >= 0 && entry->key_bytes <= entry->bytes);
	}
	free(entries);
}

/*
 * Show some tuples of a table's page by themselves, each on a copy of the page
 * that ends behind it: nothing there is looked at either.
 */
static void
check_tuples(SstRebuild *rebuild, const FuzzCase *fuzz, const PageData *page,
			 SstCounters *counters)
{
	int			nitems = Min(sst_page_items(page), MaxHeapTuplesPerPage);

	for (int i = 0; i < Min(nitems, 8); i++)
	{
		OffsetNumber offnum = 1 + (fuzz->choices.number + i) % nitems;
		ItemId		item = PageGetItemId((Page) page, offnum);
		int			offset = ItemIdGetOffset(item);
		int			len = ItemIdGetLength(item);
		SstKeptItems *kept;
		PageData   *copy;

		if (len < SizeofHeapTupleHeader || offset + len > BLCKSZ ||
			offset != MAXALIGN(offset) ||
			offset < ((const PageHeaderData *) page)->pd_lower)
			continue;
		kept = malloc(sizeof(SstKeptItems));
		kept->nitems = 1;
		kept->offnums[0] = offnum;
		copy = malloc(offset + len);
		memcpy(copy, page, offset + len);
		rebuild->page(rebuild, copy, fuzz->blkno, kept, counters);
		check_fill(&rebuild->u.heap.fill);
		check_fill(&rebuild->u.heap.toaster.fill);
		free(copy);
		free(kept);
	}
}

/*
 * Show the page one time or several, as pages that follow each other, and check
 * what comes of them.  The visitor has been initialized.
 */
void
fuzz_rebuild(FuzzCase *fuzz, const PageData *page, const PageData *original)
{
	/* Of its own, so that the address sanitizer sees a look beyond it */
	SstRebuild *rebuild = malloc(sizeof(SstRebuild));
	SstCounters counters;
	int			npages = 1 + fuzz->choices.number % 3;

	init_rebuild(rebuild, fuzz);
	if ((fuzz->choices.options & 64) != 0)
		rebuild->dead_tids = (const SstDeadTids *) rebuild; /* see stubs.c */
	FUZZ_CHECK(rebuild->uncertainty >= 0 && rebuild->uncertainty < 1);
	if (rebuild->unpredictable)
	{
		/* No scan is to show it pages. */
		free(rebuild);
		return;
	}
	sst_counters_init(&counters);

	for (int i = 0; i < npages; i++)
	{
		SstCounters before = counters;

		if (!fuzz->visitor.page(&fuzz->visitor, page, fuzz->blkno, &counters))
		{
			FUZZ_CHECK(memcmp(counters.n, before.n, sizeof(before.n)) == 0);
			break;
		}
		check_kept(&fuzz->kept, page);
		if (fuzz->visitor.dead != NULL)
			check_dead(&fuzz->dead, page);
		check_entries(rebuild, fuzz, page);
		rebuild->page(rebuild, page, fuzz->blkno, &fuzz->kept, &counters);

		/* Each tuple can be the first of a page. */
		if (rebuild->kind == SST_HEAP)
		{
			FUZZ_CHECK(counters.n[SST_REBUILT_BYTES] -
					   before.n[SST_REBUILT_BYTES] <=
					   BLCKSZ * (fuzz->kept.nitems + 1));
			FUZZ_CHECK(counters.n[SST_REBUILT_TOAST_LESS] <=
					   counters.n[SST_REBUILT_TOAST] + 1);
			FUZZ_CHECK(counters.n[SST_REBUILT_TOAST] <= UINT32_MAX);
		}

		for (int k = 0; k < SST_NCOUNTS; k++)
			FUZZ_CHECK(counters.n[k] >= before.n[k]);
	}
	if (rebuild->kind == SST_HEAP)
		check_tuples(rebuild, fuzz, page, &counters);
	FUZZ_CHECK(memcmp(page, original, BLCKSZ) == 0);
	sst_rebuild_finish(rebuild, (fuzz->choices.options & 4) != 0);
	FUZZ_CHECK(rebuild->uncertainty >= 0 && rebuild->uncertainty < 1);

	if (!rebuild->unpredictable)
		check_blocks(rebuild, fuzz, &counters);
	sst_rebuild_free(rebuild);
	free(rebuild);
}
