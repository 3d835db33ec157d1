/*-------------------------------------------------------------------------
 *
 * duration.c
 *	  How long the commands of a plan take
 *
 * A command computes, waits for reads, and writes.  What it computes follows from the
 * rows that the report has found, and from constants: CPU time on one machine, which a
 * short sort compares with this one.  How long it waits for a byte, the report's own reads
 * say, with what is cached.  Nothing is known of writes.
 *
 * bench/plan prints what the constants have to be multiplied by.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>
#include <unistd.h>

#include "access/gist.h"
#include "access/htup_details.h"
#include "access/xlog.h"
#include "catalog/pg_am.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "optimizer/paths.h"
#include "portability/instr_time.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "compat/compat.h"
#include "report/plan.h"

/* ----------
 * The constants: nanoseconds
 * ----------
 */

/* Of each row of a table: to find it, to store it again, and what INSERT takes besides */
#define SCAN_ROW 60
#define COPY_ROW 450
#define INSERT_ROW 450

/* ... and for REINDEX CONCURRENTLY to look whether the index has it, by reading that */
#define VALIDATE_ROW 110
#define VALIDATE_BYTE 8

/* ... and for ANALYZE, of those in its sample */
#define SAMPLE_ROW 2500

/*
 * What VACUUM takes for each row and each byte of the pages that it changes, and for each
 * entry of an index
 */
#define VACUUM_ROW 70
#define VACUUM_BYTE 0.2
#define VACUUM_ENTRY 60

/* Pages that a file has are written in so much of the time that new ones take. */
#define OVERWRITTEN 0.35

/* Of each byte of a table that is read, and of each of what is written anew */
#define SCAN_BYTE 0.2
#define WRITE_BYTE 1.2

/* How long a build takes to compare or to split keys */
typedef enum KeyCost
{
	CHEAP_KEYS,
	DEAR_KEYS,					/* strings of a locale, and what GiST neither
								 * sorts nor has as plain values */
	RANGE_KEYS,					/* that are not sorted */
	SET_KEYS					/* of intarray: each is compared with all of a
								 * page */
} KeyCost;

/* Of each entry of a new index, and of each of its bytes */
typedef struct IndexCost
{
	Oid			amoid;
	KeyCost		keys;
	double		entry;
	double		byte;
} IndexCost;

static const IndexCost index_costs[] = {
	{BTREE_AM_OID, CHEAP_KEYS, 180, 2},
	{BTREE_AM_OID, DEAR_KEYS, 1900, 2},
	{HASH_AM_OID, CHEAP_KEYS, 1100, 2},
	{GIST_AM_OID, CHEAP_KEYS, 1800, 2},
	{GIST_AM_OID, DEAR_KEYS, 9000, 2},
	{GIST_AM_OID, RANGE_KEYS, 25000, 2},
	{GIST_AM_OID, SET_KEYS, 150000, 2},
	{GIN_AM_OID, CHEAP_KEYS, 500, 65},
	{SPGIST_AM_OID, CHEAP_KEYS, 3000, 2},
	{SPGIST_AM_OID, RANGE_KEYS, 20000, 2},
	{BRIN_AM_OID, CHEAP_KEYS, 60, 2},
	{InvalidOid, CHEAP_KEYS, 3000, 2}
};

/* For each page of a hash index's chain that an entry passes */
#define PASSED_PAGE 160

/* An entry takes at least so many bytes, whatever the table has. */
#define MIN_ENTRY_BYTES 6

/* Sorting numbers takes so long on the machine of the constants. */
#define SORTED_NUMBERS 8192
#define SORT_SECONDS 0.0008
#define SORTS 20

/* A command waits for a flush or two, whatever it does. */
#define LEAST_SECONDS 0.02

/* Seconds for a byte, where nothing is known: 500 MB a second, at least 100 */
static const SstEstimate unknown_rate = {2e-9, 0, 10e-9};

/* The kernel reads ahead of a scan by so much. */
#define READ_AHEAD (128 * 1024)

/*
 * Others may be at work, the table may be in a cache or not, and keys may be like or unlike
 * those of the constants.
 */
#define MARGIN 2

/* ----------
 * What this server takes
 * ----------
 */

static int
compare_numbers(const void *a, const void *b)
{
	uint32		left = *(const uint32 *) a;
	uint32		right = *(const uint32 *) b;

	return (left > right) - (left < right);
}

/*
 * How long this machine computes, against that of the constants.  It is found once, so that all
 * that is told of a report agrees.
 *
 * What else the processor does can make sorts take half as long again for tenths of a
 * second, which is not to be told from a slower machine.  So the square root is taken: the
 * error is smaller in both cases.
 */
static double
cpu_factor(void)
{
	static double factor;
	uint32	   *numbers;
	double		best = INFINITY;

	if (factor > 0)
		return factor;

	numbers = palloc(sizeof(uint32) * SORTED_NUMBERS);
	for (int i = 0; i < SORTS; i++)
	{
		instr_time	start;
		instr_time	now;

		for (uint32 n = 0; n < SORTED_NUMBERS; n++)
			numbers[n] = n * 2654435761u;
		INSTR_TIME_SET_CURRENT(start);
		qsort(numbers, SORTED_NUMBERS, sizeof(uint32), compare_numbers);
		INSTR_TIME_SET_CURRENT(now);
		INSTR_TIME_SUBTRACT(now, start);
		best = Min(best, INSTR_TIME_GET_DOUBLE(now));
	}
	pfree(numbers);
	factor = sqrt(best / SORT_SECONDS);

	return factor;
}

/*
 * Seconds for a byte, by the reads of a report.  A scan reads more at a time than a sample, which
 * takes as long at least, and at most as long as these bytes would in smaller reads.
 */
static SstEstimate
read_rate(const SstReport *report)
{
	const SstIoStats *io_stats = &report->io_stats;
	SstEstimate rate;

	if (io_stats->blocks_requested <= 0 || io_stats->wait_ns < 0)
		return unknown_rate;

	rate = sst_exactly(io_stats->wait_ns / 1e9 /
					   ((double) io_stats->blocks_requested * BLCKSZ));
	if (io_stats->reads > 0 && io_stats->read_bytes < (double) io_stats->reads * READ_AHEAD)
		rate.low *= (double) io_stats->read_bytes / io_stats->reads / READ_AHEAD;
	rate.value = sqrt(rate.low * rate.high);

	return rate;
}

/* ----------
 * What commands do
 * ----------
 */

/* Rows of a table that are left after a rebuild; NaN if not known */
static double
kept_rows(const SstBloatEstimate *table)
{
	if (table->nblocks == 0 || table->indexed_items.value == 0)
		return 0;
	return table->indexed_items.value * table->kept_percent.value / 100;
}

/* Are keys of the first column compared by the rules of a locale? */
static bool
has_collated_keys(Oid index)
{
	HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(index), Int16GetDatum(1));
	bool		collated = false;

	if (HeapTupleIsValid(tuple))
	{
		Oid			collation = ((Form_pg_attribute) GETSTRUCT(tuple))->attcollation;

		collated = OidIsValid(collation) && !sst_collates_bytes(collation);
		ReleaseSysCache(tuple);
	}

	return collated;
}

/*
 * What keys of a column of a GiST or SP-GiST index cost.  Of a type with a length, and of
 * inet, GiST has bounds that are quickly compared.
 */
static KeyCost
column_cost(Oid amoid, Oid opclass)
{
	Oid			family;
	Oid			type;

	if (!get_opclass_opfamily_and_input_type(opclass, &family, &type))
		return CHEAP_KEYS;
	if (amoid == GIST_AM_OID &&
		OidIsValid(get_opfamily_proc(family, type, type, GIST_SORTSUPPORT_PROC)))
		return CHEAP_KEYS;
	if (type == ANYRANGEOID || type == ANYMULTIRANGEOID)
		return RANGE_KEYS;
	if (amoid == GIST_AM_OID && type == INT4ARRAYOID)
	{
		char	   *split = get_func_name(get_opfamily_proc(family, type, type, GIST_PICKSPLIT_PROC));

		if (split != NULL && strcmp(split, "g_int_picksplit") == 0)
			return SET_KEYS;
	}

	return amoid == GIST_AM_OID && get_typlen(type) < 0 && type != INETOID ? DEAR_KEYS : CHEAP_KEYS;
}

/* What keys of the index cost: as those of its dearest column, where all are compared */
static KeyCost
key_cost(const SstRelation *index)
{
	KeyCost		cost = CHEAP_KEYS;

	if (index->amoid == BTREE_AM_OID)
		return has_collated_keys(index->relid) ? DEAR_KEYS : CHEAP_KEYS;
	if (index->amoid != GIST_AM_OID && index->amoid != SPGIST_AM_OID)
		return CHEAP_KEYS;
	for (int i = 1; SearchSysCacheExists2(ATTNUM, ObjectIdGetDatum(index->relid), Int16GetDatum(i)); i++)
		cost = Max(cost, column_cost(index->amoid, get_index_column_opclass(index->relid, i)));

	return cost;
}

static const IndexCost *
find_cost(const SstRelation *index)
{
	const IndexCost *cost = index_costs;
	KeyCost		keys = key_cost(index);

	while (OidIsValid(cost->amoid) &&
		   (cost->amoid != index->amoid || cost->keys != keys))
		cost++;
	return cost;
}

/* What is written to files and to WAL */
static double
logged(const SstRelation *relation, double bytes)
{
	return XLogIsNeeded() && relation->persistence == RELPERSISTENCE_PERMANENT ?
		2 * bytes : bytes;
}

/*
 * How many times as fast is the build of an index with parallel workers?  A b-tree alone has
 * them on all servers.  The server takes one for each threefold of a size
 * (compute_parallel_worker() in optimizer/path/allpaths.c), and a CPU has to be there.
 */
static double
parallel_gain(const SstRelation *index, double table_blocks)
{
	double		nworkers = 0;

	if (index->amoid != BTREE_AM_OID || min_parallel_table_scan_size <= 0)
		return 1;
	if (table_blocks >= min_parallel_table_scan_size)
		nworkers = 1 + floor(log(table_blocks / min_parallel_table_scan_size) / log(3));
	nworkers = Min(nworkers, Min(max_parallel_maintenance_workers,
								 sysconf(_SC_NPROCESSORS_ONLN) - 1));

	return 1 + 0.5 * Max(nworkers, 0);
}

/* Add the build of an index from its table, which is read before. */
static void
add_build(const SstReportEntry *entry, bool concurrent, double rows, SstWork *work)
{
	const SstRelation *index = entry->relation;
	const IndexCost *cost = find_cost(index);
	double		bytes = entry->estimate.rebuilt_blocks.value * BLCKSZ;
	double		entries = Min(rows, bytes / MIN_ENTRY_BYTES);

	if ((sst_index_am(index->amoid)->flags & SST_AM_SUMMARIZES) != 0)
		entries = rows;
	if (index->amoid == GIN_AM_OID && !isnan(entry->estimate.indexed_items.value))
		entries = entry->estimate.indexed_items.value;
	work->cpu_ns += (rows * SCAN_ROW + entries * cost->entry + bytes * cost->byte) /
		parallel_gain(index, entry->table->estimate.nblocks);
	work->cpu_ns += entry->estimate.passed_pages * PASSED_PAGE;
	if (concurrent)
		work->cpu_ns += rows * VALIDATE_ROW + bytes * VALIDATE_BYTE;
	work->written_bytes += logged(index, bytes);
}

/* Add what REINDEX does. */
void
sst_add_index_work(const SstReportEntry *entry, bool concurrent, SstWork *work)
{
	const SstBloatEstimate *table = &entry->table->estimate;
	double		bytes = (double) table->nblocks * BLCKSZ;

	work->cpu_ns += (concurrent ? 2 : 1) * bytes * SCAN_BYTE;
	work->read_bytes += bytes;
	add_build(entry, concurrent, kept_rows(table), work);
}

/*
 * Add what a rewrite of a table does for one of its relations.  The indexes are built from
 * what has just been written.
 */
void
sst_add_table_work(const SstReportEntry *entry, bool by_inserts, SstWork *work)
{
	const SstRelation *relation = entry->relation;
	double		bytes = sst_entry_bytes(entry);
	double		rebuilt = entry->estimate.rebuilt_blocks.value * BLCKSZ;
	double		rows = kept_rows(&entry->estimate);

	if (relation->relkind == RELKIND_INDEX)
	{
		add_build(entry, false, kept_rows(&entry->table->estimate), work);
		return;
	}
	work->cpu_ns += bytes * SCAN_BYTE + rebuilt * WRITE_BYTE +
		rows * (by_inserts || relation->relkind == RELKIND_TOASTVALUE ?
				COPY_ROW + INSERT_ROW : COPY_ROW);
	work->read_bytes += bytes;
	work->written_bytes += logged(relation, rebuilt);
}

/*
 * Add what VACUUM does with one of the table's relations.  It changes each page of the table
 * that is not all-visible.  If it removes dead rows, it looks for each entry of the indexes
 * whether its row is one of these, writes most of their pages, and goes to the table's once more.
 */
void
sst_add_vacuum_work(const SstReportEntry *entry, bool removes, SstWork *work)
{
	bool		is_index = entry->relation->relkind == RELKIND_INDEX;
	const SstBloatEstimate *table = is_index ? &entry->table->estimate : &entry->estimate;
	double		part = is_index ? removes : table->changed_part;
	double		bytes = sst_entry_bytes(entry) * part;
	double		items = isnan(table->indexed_items.value) ? 0 : table->indexed_items.value;

	if (is_index)
		work->cpu_ns += Min(items * part, bytes / MIN_ENTRY_BYTES) * VACUUM_ENTRY;
	else
		work->cpu_ns += items * part * VACUUM_ROW + bytes * (removes ? 2 : 1) * VACUUM_BYTE;
	work->read_bytes += bytes;
	work->written_bytes += bytes * OVERWRITTEN;
}

/* Add what ANALYZE does, which reads so many bytes, and takes so many rows. */
void
sst_add_analyze_work(const SstReportEntry *entry, double bytes, double sample,
					 SstWork *work)
{
	double		rows = kept_rows(&entry->estimate);

	work->cpu_ns += bytes * SCAN_BYTE + sample * SAMPLE_ROW;
	if (!isnan(rows))
		work->cpu_ns += rows * SCAN_ROW;
	work->read_bytes += bytes;
}

/* The seconds that this takes on the server that made the report; NaN if not known */
SstEstimate
sst_duration(const SstReport *report, const SstWork *work)
{
	double		cpu = work->cpu_ns / 1e9 * cpu_factor();
	SstEstimate rate = read_rate(report);

	return (SstEstimate)
	{
		.value = LEAST_SECONDS + cpu + work->read_bytes * rate.value +
			work->written_bytes * unknown_rate.value,
			.low = (cpu + work->read_bytes * rate.low +
					work->written_bytes * unknown_rate.low) / MARGIN,
			.high = (LEAST_SECONDS + cpu + work->read_bytes * rate.high +
					 work->written_bytes * unknown_rate.high) * MARGIN
	};
}
