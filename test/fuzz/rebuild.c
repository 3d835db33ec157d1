/*-------------------------------------------------------------------------
 *
 * rebuild.c
 *	  Show pages that a visitor has counted to the kind's model of a rebuild
 *
 * Models promise what visitors do: to look at no byte outside the page, and to
 * raise no error, whatever is in the items.  What they have made of some pages
 * has to give a number of blocks, whatever share of the relation these are.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/gist_private.h"
#include "access/hash.h"
#include "access/nbtree.h"
#include "access/spgist_private.h"
#include "access/tableam.h"
#include "access/toast_compression.h"
#include "access/toast_internals.h"
#include "access/tupdesc_details.h"
#include "miscadmin.h"
#include "utils/syscache.h"

#include "fuzz.h"
#include "am/gin/state.h"
#include "am/rebuild.h"
#include "source/source.h"

int			default_toast_compression = TOAST_PGLZ_COMPRESSION;

/* What the stubs of the server (server.c) answer */
extern uint32_t fuzz_relation_blocks;
extern uint32_t fuzz_support_function;
extern uint32_t fuzz_allocations;
extern void fuzz_free_all(void);

/* Options that a relation can have, of which the kind's are set */
typedef union RelationOptions
{
	BTOptions	btree;
	HashOptions hash;
	GiSTOptions gist;
	SpGistOptions spgist;
	struct						/* of an extension's access method */
	{
		int32		varlena_header;
		int32		first;
	}			extension;
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

		att->attnum = i + 1;
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
choose_options(const SstAccessMethod *am, const FuzzChoices *choices,
			   RelationOptions *options)
{
	int			percent = 10 + choices->number % 91;

	if (am == &sst_btree_am)
	{
		options->btree.fillfactor = percent;
		options->btree.deduplicate_items = (choices->options & 16) != 0;
	}
	else if (am == &sst_hash_am)
		options->hash.fillfactor = percent;
	else if (am == &sst_gist_am)
	{
		options->gist.fillfactor = percent;
		options->gist.buffering_mode = (choices->options & 16) != 0 ?
			GIST_OPTION_BUFFERING_ON : GIST_OPTION_BUFFERING_AUTO;
	}
	else if (am == &sst_spgist_am)
		options->spgist.fillfactor = percent;
	else if (am->handler != NULL)
		options->extension.first = (choices->options & 16) != 0 ? choices->number % 128 :
			(int) choices->number;
	else if (am == &sst_heap_am)
	{
		options->table.fillfactor = percent;
		options->table.toast_tuple_target = 128 + choices->horizon % 8033;
	}
}

/* What is chosen for the case that is under way */
static const FuzzChoices *chosen;

/* Look at all bytes of a value, and have a result by them. */
Datum
toast_compress_datum(Datum value, char cmethod)
{
	const struct varlena *data = (const struct varlena *) DatumGetPointer(value);
	struct varlena *result;
	unsigned	sum = 0;

	for (int i = 0; i < VARSIZE(data); i++)
		sum += ((const unsigned char *) data)[i];
	if (sum % 5 < 2)
		return PointerGetDatum(NULL);

	result = palloc(VARHDRSZ);
	SET_VARSIZE(result, Max(VARSIZE(data) / 64 * (1 + sum % 64), VARHDRSZ));
	return PointerGetDatum(result);
}

/* What the catalogs would say: some columns were altered. */
HeapTuple
SearchSysCache2(int cacheId, Datum key1, Datum key2)
{
	static HeapTupleHeaderData header;
	static HeapTupleData tuple = {.t_data = &header};

	header.t_infomask = (chosen->number >> (DatumGetInt16(key2) & 7) & 1) != 0 ? HEAP_UPDATED : 0;
	return &tuple;
}

static bool
needs_toast_table(Relation rel)
{
	return true;
}

double
sst_entry_fraction(Relation index, double without)
{
	return (chosen->options & 4) != 0 ? NAN : chosen->variant / 255.0;
}

bool
sst_get_table_facts(Relation index, SstTableFacts *facts)
{
	*facts = (SstTableFacts)
	{
		.ntuples = (double) Min(chosen->nblocks, MaxBlockNumber) *
			(chosen->horizon % (MaxHeapTuplesPerPage + 1)),
			.parallel = (chosen->options & 2) != 0 ? SST_PARALLEL_YES : SST_PARALLEL_NO
	};
	return true;
}

/* Begin with as much of a relation's descriptor as the models look at. */
static SstRebuild *
begin_rebuild(const FuzzCase *fuzz)
{
	static FormData_pg_class class;
	static FormData_pg_index index;
	static RelationOptions options;
	static TupleDesc one_column = NULL;
	static TableAmRoutine routine = {.relation_needs_toast_table = needs_toast_table};
	static RelationData rel = {.rd_tableam = &routine};
	const FuzzChoices *choices = &fuzz->choices;
	const SstAccessMethod *am = fuzz_target->am;
	SstRebuild *rebuild;

	/* Room as in choose_columns() */
	if (one_column == NULL)
		one_column = calloc(1, sizeof(struct TupleDescData) +
							sizeof(FormData_pg_attribute) + 64);
	one_column->natts = 1;
	TupleDescAttr(one_column, 0)->attlen =
		columns[choices->number % lengthof(columns)].length;

	memset(&options, 0, sizeof(options));
	SET_VARSIZE(&options, sizeof(options));
	choose_options(am, choices, &options);
	class.relkind = RELKIND_INDEX;
	index.indnkeyatts = 1;
	index.indisunique = (choices->options & 32) != 0;
	rel.rd_rel = &class;
	rel.rd_index = &index;
	rel.rd_att = one_column;
	rel.rd_options = (choices->options & 8) != 0 ? (bytea *) &options : NULL;

	chosen = choices;
	fuzz_relation_blocks = choices->nblocks;
	fuzz_support_function = choices->options & 64;
	fuzz_allocations = (choices->options & 32) != 0 ?
		choices->variant % 32 : PG_UINT32_MAX;
	maintenance_work_mem = 1024 << choices->number % 8;

	class.relam = am->oid;
	if (am == &sst_heap_am)
	{
		class.relkind = (choices->options & 4) != 0 ?
			RELKIND_TOASTVALUE : RELKIND_RELATION;
		class.reltoastrelid = choices->options & 2;
		rel.rd_att = choose_columns(choices);
	}
	else if (am == &sst_btree_am || am == &sst_gin_am)
	{
		rel.rd_att = choose_columns(choices);
		rel.rd_att->natts = Max(rel.rd_att->natts, 1);
		index.indnkeyatts = 1 + choices->variant % rel.rd_att->natts;
	}
	rebuild = am->model->begin(&rel);
	rebuild->model = am->model;
	return rebuild;
}

/* What a sample of pages, all of them or not, says of the relation */
static void
check_prediction(SstRebuild *rebuild, const FuzzCase *fuzz,
				 const SstCounters *counters, int npages)
{
	const FuzzChoices *choices = &fuzz->choices;
	double		fraction = choices->variant / 255.0;
	SstEstimate kept = {fraction, fraction * fraction, sqrt(fraction)};
	SstEstimate blocks;
	uint64		nblocks = (choices->options & 4) != 0 ? npages :
		npages + choices->horizon;
	SstPageSample sample = {.nblocks = nblocks, .nsampled = npages,
	.sums = *counters, .nparts = 1};
	SstSamplePart *part = &sample.parts[0];

	if ((choices->options & 128) == 0)
		kept = (SstEstimate)
	{
		1, 1, 1
	};
	sst_sample_part_init(part, nblocks, npages, npages);
	for (int i = 0; i < npages; i++)
	{
		SstCounters of_page = {0};

		for (int k = 0; k < SST_FIRST_MAP_COUNT; k++)
			of_page.n[k] = counters->n[k] * (i + 1) / npages - counters->n[k] * i / npages;
		sst_sample_part_add(part, &of_page, i,
							sst_range_start(nblocks, npages, i + 1) -
							sst_range_start(nblocks, npages, i));
	}
	sst_page_sample_end(&sample, counters, npages);
	rebuild->model->predict(rebuild, &sample, &kept, &blocks);
	FUZZ_CHECK(isfinite(blocks.value) && blocks.value >= 0);
	FUZZ_CHECK(blocks.low >= 0 && blocks.low <= blocks.value);
	FUZZ_CHECK(blocks.high >= blocks.value);
	FUZZ_CHECK(isnan(rebuild->analyzed_blocks) || rebuild->analyzed_blocks >= 0);
	sst_page_sample_free(&sample);
}

/* The list of kept tuples names tuples of the page, each once. */
static void
check_kept(const SstItemList *kept, const PageData *page)
{
	for (int i = 0; i < kept->nitems; i++)
	{
		OffsetNumber offnum = kept->offnums[i];

		FUZZ_CHECK(offnum > (i == 0 ? 0 : kept->offnums[i - 1]));
		FUZZ_CHECK(offnum <= sst_page_items(page));
		FUZZ_CHECK(ItemIdIsNormal(PageGetItemId((Page) page, offnum)));
	}
}

/* Line pointers that lead to no row are listed in order, and none that is unused. */
static void
check_dead(const SstItemList *dead, const PageData *page)
{
	for (int i = 0; i < dead->nitems; i++)
	{
		OffsetNumber offnum = dead->offnums[i];

		FUZZ_CHECK(offnum > (i == 0 ? 0 : dead->offnums[i - 1]));
		FUZZ_CHECK(offnum <= sst_page_items(page));
		FUZZ_CHECK(ItemIdIsUsed(PageGetItemId((Page) page, offnum)));
	}
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
		SstItemList *kept;
		PageData   *copy;

		if (len < SizeofHeapTupleHeader || offset + len > BLCKSZ ||
			offset != MAXALIGN(offset) ||
			offset < ((const PageHeaderData *) page)->pd_lower)
			continue;
		kept = malloc(sizeof(SstItemList));
		kept->nitems = 1;
		kept->offnums[0] = offnum;
		copy = malloc(offset + len);
		memcpy(copy, page, offset + len);
		rebuild->model->page(rebuild, copy, fuzz->blkno, kept, counters);
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
	SstRebuild *rebuild = begin_rebuild(fuzz);
	SstCounters counters;
	int			npages = 1 + fuzz->choices.number % 3;
	SstDeadTids few_dead = {.ntids = 1};	/* the filter lets all pass */

	memset(few_dead.filter, 0xFF, sizeof(few_dead.filter));
	if ((fuzz->choices.options & 64) != 0)
		rebuild->dead_tids = &few_dead; /* see stubs.c */
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
		rebuild->model->page(rebuild, page, fuzz->blkno, &fuzz->kept, &counters);

		/* Each tuple can be the first of a page. */
		if (fuzz_target->am == &sst_heap_am)
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
	if (fuzz_target->am == &sst_heap_am)
		check_tuples(rebuild, fuzz, page, &counters);
	FUZZ_CHECK(memcmp(page, original, BLCKSZ) == 0);
	check_prediction(rebuild, fuzz, &counters, npages);
	fuzz_free_all();
}
