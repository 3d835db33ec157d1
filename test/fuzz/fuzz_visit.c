/*-------------------------------------------------------------------------
 *
 * fuzz_visit.c
 *	  Show arbitrary pages to the visitors (libFuzzer)
 *
 * A visitor promises to look at no byte outside the page, to raise no error
 * and to add nothing when it refuses a page, whatever the page contains.  The
 * page is a memory block of its own, so that the address sanitizer sees a
 * look beyond it; the other sanitizer sees what C leaves undefined.  Beyond
 * that, what a visitor counts has to make sense, and does not depend on what it
 * has counted before.  What it refuses, diagnose.c explains.  For kinds that can be rebuilt, what a rebuild makes of the
 * page is looked at as well (rebuild.c).
 *
 * FUZZ_TARGET in the environment names the visitor; "list" prints the names,
 * each with the seeds that tools/fuzz is to begin with.  To fuzz one more, add
 * a line to targets[].
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/brin_page.h"
#include "access/gin_private.h"
#include "access/gist.h"
#include "access/hash.h"
#include "access/multixact.h"
#include "access/nbtree.h"
#include "access/spgist_private.h"
#include "storage/fsm_internals.h"

#include "fuzz.h"

/* The server has its own, which are not here. */
#undef printf
#undef fprintf

extern int	LLVMFuzzerInitialize(int *argc, char ***argv);
extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A set of blocks is given to visitors of maps below this many blocks. */
#define MAX_SET_BLOCKS 80000

/* ----------
 * The visitors, and what their callers choose
 * ----------
 */

/* Keys of b-trees: columns, those of the key among them, length and alignment */
static const struct
{
	int			natts;
	int			nkeyatts;
	bool		primary;
	int16		attlen[2];
	char		attalign[2];
}			key_shapes[] =

{
	{1, 1, true, {4}, {TYPALIGN_INT}},
	{1, 1, false, {4}, {TYPALIGN_INT}},
	{1, 1, false, {8}, {TYPALIGN_DOUBLE}},
	{1, 1, false, {-1}, {TYPALIGN_INT}},
	{1, 1, false, {16}, {TYPALIGN_CHAR}},
	{1, 1, true, {1}, {TYPALIGN_CHAR}},
	{2, 2, false, {2, 8}, {TYPALIGN_SHORT, TYPALIGN_DOUBLE}},
	{2, 1, true, {8, 4}, {TYPALIGN_DOUBLE, TYPALIGN_INT}},
	{2, 2, false, {4, -1}, {TYPALIGN_INT, TYPALIGN_INT}},
};

/* As much of a descriptor as visitors look at, of the columns that were chosen */
static TupleDesc
make_tupdesc(int shape)
{
	static TupleDesc tupdesc = NULL;

	/*
	 * Room for what releases have in front of the attributes, for each of
	 * them
	 */
	if (tupdesc == NULL)
		tupdesc = calloc(1, sizeof(struct TupleDescData) +
						 2 * (sizeof(FormData_pg_attribute) + 64));

	tupdesc->natts = key_shapes[shape].natts;
	for (int k = 0; k < tupdesc->natts; k++)
	{
		TupleDescAttr(tupdesc, k)->attlen = key_shapes[shape].attlen[k];
		TupleDescAttr(tupdesc, k)->attalign = key_shapes[shape].attalign[k];
	}
	return tupdesc;
}

/* As much of a relation as visitors look at */
static RelationData rel;

/* Make the visitor of the target's access method. */
static void
begin(FuzzCase *fuzz, SstRules rules)
{
	static FormData_pg_index index;
	const FuzzChoices *choices = &fuzz->choices;
	int			i = choices->shape % lengthof(key_shapes);

	rel.rd_att = make_tupdesc(i);
	rel.rd_index = &index;
	index.indnkeyatts = key_shapes[i].nkeyatts;
	index.indisprimary = key_shapes[i].primary;

	fuzz->visitor = (SstVisitor)
	{
		.nblocks = (choices->options & 4) != 0 ? MaxBlockNumber : 0,
			.horizon = choices->horizon, .chains = (choices->options & 16) != 0,
			.kept = fuzz_target->am == &sst_btree_am && (choices->options & 32) != 0 ?
			NULL : &fuzz->kept
	};
	sst_visitor_begin(&fuzz->visitor, fuzz_target->am, &rel, rules, false);
	if (fuzz_target->am == &sst_heap_am && (choices->options & 32) != 0)
		fuzz->visitor.dead = &fuzz->dead;
}

static void
init_ours(FuzzCase *fuzz)
{
	begin(fuzz, SST_RULES_TOLERANT);
}

static void
init_contrib(FuzzCase *fuzz)
{
	/* Of a GIN index, its caller shows it block 0 only. */
	if (fuzz_target->am == &sst_gin_am)
		fuzz->blkno = GIN_METAPAGE_BLKNO;
	begin(fuzz, SST_RULES_CONTRIB);
}

static void
init_pgstattuple(FuzzCase *fuzz)
{
	fuzz->visitor = (SstVisitor)
	{
		0
	};
	sst_visitor_begin(&fuzz->visitor, fuzz_target->am, &rel, SST_RULES_CONTRIB, true);
}

/* In a block of its own, so that the address sanitizer sees its end */
static SstBlockSet *
make_set(BlockNumber nblocks)
{
	SstBlockSet *set = calloc(1, sst_block_set_size(nblocks));

	set->nblocks = nblocks;
	return set;
}

/*
 * The blocks of a table that a map describes.  Sets are made for small tables
 * only, and are of use with a page of the map that describes blocks of these.
 */
static BlockNumber
choose_nblocks(FuzzCase *fuzz, bool with_sets)
{
	if (!with_sets)
		return fuzz->choices.nblocks;
	fuzz->blkno %= 24;
	return fuzz->choices.nblocks % MAX_SET_BLOCKS;
}

static void
init_visibility_map(FuzzCase *fuzz)
{
	bool		visible = (fuzz->choices.options & 1) != 0;
	bool		frozen = (fuzz->choices.options & 2) != 0;
	BlockNumber nblocks = choose_nblocks(fuzz, visible || frozen);

	sst_map_visitor_init(&fuzz->visitor, VISIBILITYMAP_FORKNUM, nblocks,
						 visible ? make_set(nblocks) : NULL,
						 frozen ? make_set(nblocks) : NULL);
}

static void
init_free_space_map(FuzzCase *fuzz)
{
	bool		with_set = (fuzz->choices.options & 1) != 0;
	BlockNumber nblocks = choose_nblocks(fuzz, with_set);
	SstBlockSet *set = with_set ? make_set(nblocks) : NULL;

	for (BlockNumber i = 0; with_set && i < nblocks; i += 1 + i % 5)
		sst_block_set_add(set, i - i % 32, UINT32_C(1) << i % 32);
	sst_map_visitor_init(&fuzz->visitor, FSM_FORKNUM, nblocks, set, NULL);
}

static const FuzzTarget targets[] =
{
	{"btree", "btree", sizeof(BTPageOpaqueData),
	FUZZ_OURS | FUZZ_LINE_POINTERS, init_ours, &sst_btree_am},
	{"btree_contrib", "btree", sizeof(BTPageOpaqueData),
	0, init_contrib, &sst_btree_am},
	{"hash", "hash", sizeof(HashPageOpaqueData),
	FUZZ_OURS | FUZZ_LINE_POINTERS, init_ours, &sst_hash_am},
	{"hash_contrib", "hash", sizeof(HashPageOpaqueData),
	FUZZ_LINE_POINTERS, init_contrib, &sst_hash_am},
	{"gin", "gin", sizeof(GinPageOpaqueData),
	FUZZ_OURS | FUZZ_LINE_POINTERS, init_ours, &sst_gin_am},
	{"gin_contrib", "gin", sizeof(GinPageOpaqueData),
	0, init_contrib, &sst_gin_am},
	{"gist", "gist", sizeof(GISTPageOpaqueData),
	FUZZ_OURS | FUZZ_LINE_POINTERS, init_ours, &sst_gist_am},
	{"spgist", "spgist", sizeof(SpGistPageOpaqueData),
	FUZZ_OURS, init_ours, &sst_spgist_am},
	{"brin", "brin", sizeof(BrinSpecialSpace),
	FUZZ_OURS, init_ours, &sst_brin_am},
	{"bloom", "bloom brin", sizeof(BrinSpecialSpace),
	FUZZ_OURS, init_ours, &sst_bloom_am},
	{"hnsw", "hnsw spgist", sizeof(SpGistPageOpaqueData),
	FUZZ_OURS, init_ours, &sst_hnsw_am},
	{"ivfflat", "ivfflat spgist", sizeof(SpGistPageOpaqueData),
	FUZZ_OURS, init_ours, &sst_ivfflat_am},
	{"any", "gin gist spgist brin heap", sizeof(GinPageOpaqueData),
	FUZZ_OURS, init_ours, &sst_other_am},
	{"pgstattuple_btree", "btree", sizeof(BTPageOpaqueData),
	0, init_pgstattuple, &sst_btree_am},
	{"pgstattuple_hash", "hash", sizeof(HashPageOpaqueData),
	0, init_pgstattuple, &sst_hash_am},
	{"pgstattuple_gist", "gist", sizeof(GISTPageOpaqueData),
	0, init_pgstattuple, &sst_gist_am},
	{"heap", "heap", 0,
	FUZZ_OURS, init_ours, &sst_heap_am},
	{"sequence", "sequence heap", sizeof(uint32),
	FUZZ_OURS, init_ours, &sst_sequence_am},
	{"visibility_map", "vm", 0,
	0, init_visibility_map},
	{"free_space_map", "fsm", 0,
	0, init_free_space_map},
	{"line_pointers", "btree hash", sizeof(BTPageOpaqueData),
	0, fuzz_line_pointers_init},
	{"saved_cache", "saved_cache", 0,
	0, NULL, NULL, fuzz_saved_cache},
};

const FuzzTarget *fuzz_target = NULL;

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *name = getenv("FUZZ_TARGET");

	for (int i = 0; i < lengthof(targets) && name != NULL; i++)
	{
		if (strcmp(name, "list") == 0)
			printf("%s %s\n", targets[i].name, targets[i].seeds);
		else if (strcmp(name, targets[i].name) == 0)
			fuzz_target = &targets[i];
	}
	if (fuzz_target != NULL)
		return 0;
	if (name != NULL && strcmp(name, "list") == 0)
		exit(0);

	fprintf(stderr, "FUZZ_TARGET names no visitor\n");
	exit(2);
}

/* ----------
 * What must be true
 * ----------
 */

void
fuzz_fail(const char *condition, const char *file, int line)
{
	fprintf(stderr, "%s:%d: not true: %s\n", file, line, condition);
	abort();
}

static bool
same_counters(const SstCounters *a, const SstCounters *b)
{
	return memcmp(a->n, b->n, sizeof(a->n)) == 0 &&
		a->first_new == b->first_new &&
		a->first_corrupt == b->first_corrupt &&
		a->kept_end == b->kept_end &&
		a->largest_free == b->largest_free &&
		a->map_largest_free == b->map_largest_free;
}

/* How the counters of every visitor relate to each other, after one page */
static void
check_relations(const FuzzCase *fuzz, const SstCounters *counters)
{
	const uint64 *n = counters->n;

	FUZZ_CHECK(n[SST_CORRUPT_PAGES] == 0);
	FUZZ_CHECK(n[SST_PAGE_BYTES] == 0);
	FUZZ_CHECK(counters->first_corrupt == InvalidBlockNumber);
	FUZZ_CHECK(counters->first_new ==
			   (n[SST_NEW_PAGES] ? fuzz->blkno : InvalidBlockNumber));
	FUZZ_CHECK(counters->kept_end == 0 ||
			   counters->kept_end == fuzz->blkno + 1);

	/* Kinds of pages, as the comments on SstCount have them */
	FUZZ_CHECK(n[SST_UNUSED_PAGES] <= n[SST_DELETED_PAGES] + n[SST_NEW_PAGES]);
	FUZZ_CHECK(n[SST_BACKWARD_LEAVES] <= n[SST_LEAF_PAGES]);
	FUZZ_CHECK(n[SST_ALL_VISIBLE_PAGES] <= n[SST_HEAP_PAGES]);

	/* Items and tuples */
	FUZZ_CHECK(n[SST_LIVE_ITEMS] + n[SST_DEAD_ITEMS] + n[SST_REDIRECT_ITEMS] +
			   n[SST_UNUSED_ITEMS] + n[SST_TUPLES] + n[SST_DEAD_TUPLES] <=
			   (BLCKSZ - SizeOfPageHeaderData) / sizeof(ItemIdData));
	FUZZ_CHECK(n[SST_PLACEHOLDER_ITEMS] <=
			   (BLCKSZ - SizeOfPageHeaderData) / sizeof(ItemIdData));
	FUZZ_CHECK(n[SST_INSERTING_TUPLES] + n[SST_DELETING_TUPLES] <= n[SST_TUPLES]);
	FUZZ_CHECK(n[SST_RECENTLY_DEAD_TUPLES] + n[SST_OWN_DELETED_TUPLES] <=
			   n[SST_DEAD_TUPLES]);
	FUZZ_CHECK(n[SST_INSERTING_BYTES] <= n[SST_TUPLE_BYTES]);
	FUZZ_CHECK(n[SST_OWN_DELETED_BYTES] <= n[SST_DEAD_TUPLE_BYTES]);
	FUZZ_CHECK(n[SST_TUPLE_BYTES] <= n[SST_TUPLES] * 0x7fff);
	FUZZ_CHECK(n[SST_DEAD_TUPLE_BYTES] <= n[SST_DEAD_TUPLES] * 0x7fff);

	/* Maps */
	FUZZ_CHECK(n[SST_MAP_VISIBLE_BLOCKS] <= fuzz->visitor.nblocks);
	FUZZ_CHECK(n[SST_MAP_FROZEN_BLOCKS] <= fuzz->visitor.nblocks);
	FUZZ_CHECK(n[SST_MAP_FREE_BLOCKS] <= fuzz->visitor.nblocks);
	FUZZ_CHECK(n[SST_MAP_SKIPPED_FREE_BYTES] <= n[SST_MAP_FREE_BYTES]);
	FUZZ_CHECK(n[SST_MAP_FREE_BYTES] <=
			   n[SST_MAP_FREE_BLOCKS] * counters->map_largest_free);
	FUZZ_CHECK(counters->map_largest_free <= BLCKSZ);
	FUZZ_CHECK(n[SST_MAP_CORRUPT_PAGES] == 0);
}

/* How the counters of a statistic relate to each other, after one page */
static void
check_statistics(const SstColumns *columns, const uint64 *n)
{
	for (int i = 0; i < columns->n; i++)
	{
		const SstColumn *column = &columns->column[i];

		if (!sst_is_estimated(column))
			continue;
		if (column->most == 1)
			FUZZ_CHECK(n[column->count] <= 1);
		else if (column->percent_of != 0 && column->percent_of != SST_PAGE_BYTES)
			FUZZ_CHECK(n[column->count] <= n[column->percent_of] &&
					   (n[column->percent_of] <= BLCKSZ));
	}
}

/* What our own visitors say beyond that, which judge headers first */
static void
check_our_page(const SstCounters *counters)
{
	const uint64 *n = counters->n;
	uint64		nclasses = 0;

	for (int i = SST_NEW_PAGES; i <= SST_OTHER_PAGES; i++)
		nclasses += n[i];
	FUZZ_CHECK(nclasses == 1);

	check_statistics(&fuzz_target->am->columns, n);
	FUZZ_CHECK(n[SST_USABLE_BYTES] <= BLCKSZ);
	FUZZ_CHECK(n[SST_FREE_BYTES] <= n[SST_USABLE_BYTES]);
	FUZZ_CHECK(counters->largest_free <= n[SST_FREE_BYTES]);

	/* Tuples of a table do not overlap. */
	FUZZ_CHECK(n[SST_TUPLE_BYTES] + n[SST_DEAD_TUPLE_BYTES] +
			   n[SST_FREE_BYTES] <= BLCKSZ);
}

/* A set has as many blocks as were counted, all of them of the table. */
static void
check_set(const SstBlockSet *set, uint64 nblocks)
{
	uint64		nmembers = 0;

	if (set == NULL)
		return;
	for (BlockNumber i = 0; i < set->nblocks; i += 64)
	{
		uint64		word = set->words[i / 64];

		if (set->nblocks - i < 64)
			FUZZ_CHECK(word >> (set->nblocks - i) == 0);
		for (; word != 0; word &= word - 1)
			nmembers++;
	}
	FUZZ_CHECK(nmembers == nblocks);
	FUZZ_CHECK(set->nmembers == nblocks);
}

/* ----------
 * Visiting
 * ----------
 */

static BlockNumber
choose_block(const FuzzChoices *choices)
{
	switch (choices->block % 8)
	{
		case 0:
			return 0;
		case 1:
			return 1;
		case 2:
			return choices->number % 32;
		case 3:
			return choices->number % 32 * 16;
		case 4:
			return MaxBlockNumber;
		case 5:
			return MaxBlockNumber - choices->number % 32;
		case 6:
			return (BlockNumber) PG_INT32_MAX - 16 + choices->number % 32;
		default:
			return Min(choices->number, MaxBlockNumber);
	}
}

/* One visit; true if the page was counted. */
static bool
visit(FuzzCase *fuzz, const PageData *page, const PageData *original,
	  SstCounters *counters)
{
	SstCounters before = *counters;
	SstMeta		meta = fuzz->visitor.meta;
	bool		counted;

	counted = fuzz->visitor.page(&fuzz->visitor, page, fuzz->blkno, counters);

	FUZZ_CHECK(memcmp(page, original, BLCKSZ) == 0);
	if (!counted)
	{
		FUZZ_CHECK(same_counters(counters, &before));
		FUZZ_CHECK(memcmp(&fuzz->visitor.meta, &meta, sizeof(SstMeta)) == 0);
	}
	return counted;
}

static void
init_visitor(FuzzCase *fuzz)
{
	fuzz->blkno = choose_block(&fuzz->choices);
	fuzz_target->init(fuzz);
}

/* Show a page to a visitor twice, and check what it says. */
static bool
visit_twice(FuzzCase *fuzz, const PageData *page, const PageData *original,
			SstCounters *counters)
{
	SstCounters again;
	SstCounters twice;
	bool		counted;

	init_visitor(fuzz);
	sst_counters_init(counters);
	counted = visit(fuzz, page, original, counters);

	again = *counters;
	twice = *counters;
	FUZZ_CHECK(visit(fuzz, page, original, &again) == counted);
	sst_counters_merge(&twice, counters);
	FUZZ_CHECK(same_counters(&again, &twice));

	check_relations(fuzz, counters);
	if (counted && (fuzz_target->rules & FUZZ_OURS))
		check_our_page(counters);
	if (fuzz_target->init == init_visibility_map)
	{
		check_set(fuzz->visitor.visible, counters->n[SST_MAP_VISIBLE_BLOCKS]);
		check_set(fuzz->visitor.frozen, counters->n[SST_MAP_FROZEN_BLOCKS]);
	}

	free(fuzz->visitor.visible);
	free(fuzz->visitor.frozen);
	return counted;
}

/*
 * What the visitor refuses has a diagnosis, in words that end; what it accepts has
 * none, but for a header that the buffer manager would refuse.
 */
static void
diagnose(FuzzCase *fuzz, const PageData *page, const PageData *original,
		 bool counted)
{
	SstDiagnosis diagnosis;

	init_visitor(fuzz);
	memset(diagnosis.detail, 'x', sizeof(diagnosis.detail));
	sst_diagnose_page(&fuzz->visitor, page, fuzz->blkno, &diagnosis);
	FUZZ_CHECK(memcmp(page, original, BLCKSZ) == 0);
	FUZZ_CHECK(memchr(diagnosis.detail, '\0', sizeof(diagnosis.detail)) != NULL);
	FUZZ_CHECK((diagnosis.fault == SST_FAULT_NONE) ==
			   (diagnosis.detail[0] == '\0'));
	if (counted)
		FUZZ_CHECK(diagnosis.fault == SST_FAULT_NONE ||
				   diagnosis.fault == SST_FAULT_HEADER);
	else
		FUZZ_CHECK(diagnosis.fault != SST_FAULT_NONE);
}

/* Of a page that the visitor accepts, what is wrong with its items has words that end. */
static void
check_items(FuzzCase *fuzz, const PageData *page, const PageData *original)
{
	static FormData_pg_class class;
	SstDiagnosis diagnosis;
	SstCounters counters;

	init_visitor(fuzz);
	class.reltoastrelid = fuzz->choices.options & 1;
	class.relfrozenxid = (fuzz->choices.options & 2) != 0 ? fuzz->choices.horizon : 0;
	class.relminmxid = FirstMultiXactId;
	rel.rd_rel = &class;
	fuzz->visitor.meta.known = true;
	fuzz->visitor.meta.field[SST_META_VERSION] = fuzz->choices.options % 5;
	fuzz->visitor.all_tuples = true;
	sst_counters_init(&counters);
	if (!fuzz->visitor.page(&fuzz->visitor, page, fuzz->blkno, &counters))
		return;

	memset(diagnosis.detail, 'x', sizeof(diagnosis.detail));
	if (!sst_check_items(&rel, &fuzz->visitor, page, fuzz->blkno, &diagnosis))
		FUZZ_CHECK(diagnosis.fault != SST_FAULT_NONE &&
				   memchr(diagnosis.detail, '\0', sizeof(diagnosis.detail)) != NULL);
	FUZZ_CHECK(memcmp(page, original, BLCKSZ) == 0);
}

/* Show a page to the visitor of the target. */
static void
fuzz_page(const uint8 *data, size_t size)
{
	PageData   *page = calloc(1, BLCKSZ);
	PageData   *original = calloc(1, BLCKSZ);
	FuzzCase	fuzz = {{0}};
	FuzzLinePointers variants[FUZZ_MAX_VARIANTS];
	int			nvariants = fuzz_variants(variants);
	SstCounters first;
	bool		counted;

	memcpy(page, data, Min(size, BLCKSZ));
	memcpy(original, page, BLCKSZ);
	if (size > BLCKSZ)
		memcpy(&fuzz.choices, data + BLCKSZ,
			   Min(size - BLCKSZ, sizeof(FuzzChoices)));

	sst_read_line_pointers = variants[0];
	counted = visit_twice(&fuzz, page, original, &first);
	if (fuzz_target->rules & FUZZ_LINE_POINTERS)
	{
		SstCounters other;

		sst_read_line_pointers = variants[fuzz.choices.variant % nvariants];
		FUZZ_CHECK(visit_twice(&fuzz, page, original, &other) == counted);
		FUZZ_CHECK(same_counters(&other, &first));
	}
	if (fuzz_target->am != NULL && (fuzz_target->rules & FUZZ_OURS))
	{
		diagnose(&fuzz, page, original, counted);
		check_items(&fuzz, page, original);
		init_visitor(&fuzz);
		if (fuzz_target->am->model != NULL)
			fuzz_rebuild(&fuzz, page, original);
	}

	free(page);
	free(original);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (fuzz_target->take != NULL)
		fuzz_target->take(data, size);
	else
		fuzz_page(data, size);

	return 0;
}
