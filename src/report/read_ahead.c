/*-------------------------------------------------------------------------
 *
 * read_ahead.c
 *	  Reading ahead of a report's first samples
 *
 * The stream of a small relation ends before it can look ahead, so each of
 * them would cost at least one round trip to the disk.  But the order of first
 * samples is known, and their blocks follow from the seed and the size.  So
 * this code gives read-ahead advice for the next relations, as far ahead as
 * the stream of one large relation looks, and each stream finds its blocks in
 * the page cache.  It locks nothing and opens one file at a time.
 *
 * For a sample that depends on the visibility map, only the map is advised.
 * Such a sample is large enough for its stream to look ahead.
 *
 * Advice goes no further than the limits let the report read.  Advised blocks
 * stay unread only if a relation was locked, dropped or changed in the
 * meantime, if the report is canceled or runs out of time, or if relations in
 * between, which are not advised, took the last blocks of the budget.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/read_ahead.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/visibilitymapdefs.h"
#include "catalog/pg_am.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "storage/bufpage.h"

#include "compat/compat.h"
#include "report/read_ahead.h"
#include "run/sampling.h"
#include "stream/advice.h"

/*
 * Catalogs are advised as a whole if they have at most so many blocks together, at
 * most this part of the budget, and no more than one slice of a limited rate.
 */
#define MAX_CATALOG_BLOCKS (64 * 1024 * 1024 / BLCKSZ)
#define CATALOG_PART 8

/* Blocks of a table that one block of its visibility map is for */
#define BLOCKS_PER_MAP_BLOCK \
	((BLCKSZ - MAXALIGN(SizeOfPageHeaderData)) * BITS_PER_BYTE / BITS_PER_HEAPBLOCK)

/* The first block of an index, its metapage, and then those of another source */
typedef struct MetapageSource
{
	SstSource	base;
	SstSource  *inner;
	bool		begun;
} MetapageSource;

static BlockNumber
metapage_next(SstSource *source)
{
	MetapageSource *with_metapage = (MetapageSource *) source;
	BlockNumber blkno = sst_source_next(with_metapage->inner);

	if (with_metapage->begun || blkno == 0)
	{
		with_metapage->begun = true;
		return blkno;
	}

	with_metapage->begun = true;
	if (blkno != InvalidBlockNumber)
		sst_source_put_back(with_metapage->inner, blkno);
	return 0;
}

/* Advise of the first nblocks blocks of a fork. */
static int
advise_whole(SstReport *report, const SstRelation *relation,
			 ForkNumber forknum, BlockNumber nblocks)
{
	SstRangeSource range;

	return sst_advise_blocks(&relation->files, forknum,
							 sst_range_source_init(&range, NULL, 0, nblocks),
							 &report->io_stats);
}

/*
 * Advise of the blocks that the first sample of an entry reads, nsample of them.
 * Returns the number of runs.
 */
static int
advise_sample(SstReport *report, const SstReportEntry *entry,
			  BlockNumber nsample)
{
	const SstRelation *relation = sst_reported_relation(report, entry);
	BlockNumber nblocks = entry->estimate.nblocks;
	BlockNumber map_blocks = nblocks / BLOCKS_PER_MAP_BLOCK + 1;
	SstSampleSource sample;
	MetapageSource with_metapage = {.base = {.next = metapage_next,
	.put_back = InvalidBlockNumber}};
	int			nruns;

	if (nsample >= nblocks)
	{
		nruns = advise_whole(report, relation, MAIN_FORKNUM, nblocks);
		return Max(nruns, 0);
	}

	if (relation->relkind != RELKIND_INDEX &&
		sst_sample_reads_map(nsample, map_blocks))
	{
		nruns = advise_whole(report, relation, VISIBILITYMAP_FORKNUM, map_blocks);
		if (nruns >= 0)
			return nruns;
	}

	with_metapage.inner =
		sst_sample_source_init(&sample, nblocks, nsample,
							   report->limits.seed + entry->relid, NULL, false);
	nruns = sst_advise_blocks(&relation->files, MAIN_FORKNUM,
							  relation->relkind == RELKIND_INDEX &&
							  relation->amoid != GIST_AM_OID ?
							  &with_metapage.base : with_metapage.inner,
							  &report->io_stats);
	return Max(nruns, 0);
}

/*
 * Advise of the catalogs that are looked up for each relation in no order that is
 * known, if they are small.  The others were read to list the relations.  They are not
 * counted, as reading catalogs is not.
 */
static void
advise_catalogs(SstReport *report)
{
	static const Oid oids[] = {
		AttributeRelationId, AttributeRelidNumIndexId, ClassOidIndexId,
		IndexRelidIndexId
	};
	SstRelation *catalogs[lengthof(oids)];
	int64		nblocks = 0;

	for (int i = 0; i < lengthof(oids); i++)
	{
		catalogs[i] = sst_find_relation(&report->relations, oids[i]);
		if (catalogs[i] == NULL)
			return;
		nblocks += Max(catalogs[i]->bytes, 0) / BLCKSZ;
	}
	if (nblocks > MAX_CATALOG_BLOCKS ||
		nblocks > report->limits.budget / BLCKSZ / CATALOG_PART ||
		nblocks > sst_rate_blocks(report->limits.max_rate))
		return;

	for (int i = 0; i < lengthof(oids); i++)
		(void) advise_whole(report, catalogs[i], MAIN_FORKNUM,
							Max(catalogs[i]->bytes, 0) / BLCKSZ);
}

/*
 * Begin to read ahead of first samples in the given order.  With direct I/O the page
 * cache is not used, and nothing is advised; nor where the settings turn look-ahead
 * off.  Memory is taken from the context.
 */
void
sst_read_ahead_begin(SstReadAhead *ahead, const SstReportReader *reader,
					 SstReportEntry **order, MemoryContext context)
{
	int			depth = sst_io_depth(InvalidOid);

	memset(ahead, 0, sizeof(SstReadAhead));
	ahead->reader = reader;
	ahead->order = order;
	if (sst_direct_io() || depth <= 1)
		return;

	ahead->max_advised = depth;
	ahead->advised = MemoryContextAlloc(context, sizeof(SstAdvised) * depth);
	advise_catalogs(reader->report);
}

/* Forget the relations before a place in the order: they have been read. */
static void
forget_read(SstReadAhead *ahead, int place)
{
	while (ahead->nadvised > 0 && ahead->advised[ahead->first].place < place)
	{
		ahead->nruns -= ahead->advised[ahead->first].nruns;
		ahead->nblocks -= ahead->advised[ahead->first].nblocks;
		ahead->first = (ahead->first + 1) % ahead->max_advised;
		ahead->nadvised--;
	}
	ahead->next = Max(ahead->next, place);
}

/* Will the entry be read, from files that can be advised? */
static bool
can_advise(const SstReport *report, const SstReportEntry *entry)
{
	const SstRelation *relation = sst_reported_relation(report, entry);

	return entry->skipped == SST_SKIP_NONE && !entry->fileless &&
		entry->estimate.nblocks > 0 &&
		relation->persistence != RELPERSISTENCE_TEMP &&
		sst_io_depth(relation->files.tablespace) > 1;
}

/*
 * Before the first sample of the entry at a place in the order is read, advise the
 * kernel of what comes next, when samples are to have first_blocks blocks.
 */
void
sst_read_ahead(SstReadAhead *ahead, int place, uint64 first_blocks)
{
	const SstReportReader *reader = ahead->reader;
	SstReport  *report = reader->report;
	uint64		most = Min(ahead->max_advised * sst_run_blocks(),
						   sst_rate_blocks(report->limits.max_rate));

	if (ahead->max_advised == 0)
		return;

	forget_read(ahead, place);
	while (ahead->next < report->relations.n &&
		   ahead->nadvised < ahead->max_advised &&
		   ahead->nruns < ahead->max_advised)
	{
		SstReportEntry *entry = ahead->order[ahead->next];
		BlockNumber nsample = sst_first_sample_blocks(entry, first_blocks);
		SstAdvised *advised;

		/* A stream reads by slices what is more than one. */
		if (can_advise(report, entry) && nsample <= most)
		{
			if (ahead->nblocks + nsample > most ||
				!sst_reader_leaves(reader, ahead->nadvised + 1,
								   ahead->nblocks + nsample))
				break;

			advised = &ahead->advised[(ahead->first + ahead->nadvised) %
									  ahead->max_advised];
			advised->place = ahead->next;
			advised->nruns = advise_sample(report, entry, nsample);
			advised->nblocks = nsample;
			ahead->nadvised++;
			ahead->nruns += advised->nruns;
			ahead->nblocks += nsample;
		}
		ahead->next++;
	}
}
