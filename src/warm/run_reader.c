/*-------------------------------------------------------------------------
 *
 * run_reader.c
 *	  Reading one run of blocks of the queue
 *
 * A run is read at once.  If that fails, its blocks are read one by one, so
 * that only the unreadable ones are missing.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/run_reader.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "compat/compat.h"
#include "compat/shared_blocks.h"
#include "run/blocking.h"
#include "run/subtransaction.h"
#include "stream/file_reader.h"
#include "stream/read_watch.h"
#include "warm/run_reader.h"

/* Reads of a bad page before it is reported as such: others may be writing it */
#define MAX_TRIES 3

/* Blocks of a run to be read in a subtransaction */
typedef struct Attempt
{
	SstRunReader *reader;
	const SstWarmRun *run;
	ForkNumber	forknum;
	uint64		blocks;
} Attempt;

/* The first of adjacent blocks in a bitmap, and how many they are */
static int
first_blocks(uint64 blocks, int *nblocks)
{
	int			first = pg_rightmost_one_pos64(blocks);
	uint64		from_first = blocks >> first;

	*nblocks = ~from_first == 0 ? 64 : pg_rightmost_one_pos64(~from_first);
	return first;
}

static inline uint64
without_first(uint64 blocks, int end)
{
	return end == 64 ? 0 : blocks & (PG_UINT64_MAX << end);
}

/* Count a read into private memory, which began at start. */
static void
count_private_read(SstRunReader *reader, int nblocks, instr_time start)
{
	sst_io_stats_private_read(reader->io_stats, nblocks, Max(reader->nadvised, 1));
	sst_io_stats_waited_privately(reader->io_stats, start);
	pgBufferUsage.shared_blks_read += nblocks;
}

/*
 * Have the storage manager read adjacent blocks of a run into the reader's memory.  One
 * that cannot be read is an error.
 */
static void
read_stored(SstRunReader *reader, const SstWarmRun *run, ForkNumber forknum,
			int first, int nblocks)
{
	for (int i = 0; i < nblocks; i++)
	{
		instr_time	start;

		INSTR_TIME_SET_CURRENT(start);
		sst_read_stored_block(&run->relation->files, forknum,
							  run->first + first + i,
							  reader->memory + (Size) BLCKSZ * i);
		count_private_read(reader, 1, start);
	}
}

/*
 * End the watch of reads into buffers.  The queue counts blocks itself, and knows what
 * the page cache had and how many runs were advised.
 */
static void
end_watch(SstRunReader *reader, SstReadWatch *watch)
{
	SstIoStats	seen;
	SstIoStats	in_flight;

	memset(&seen, 0, sizeof(seen));
	memset(&in_flight, 0, sizeof(in_flight));
	sst_io_stats_in_flight(&in_flight, Max(reader->nadvised, 1));
	sst_read_watch_replace(watch, &in_flight, 0);
	sst_read_watch_end(watch, &seen);
	seen.blocks_hit = seen.blocks_read = seen.blocks_page_cache = 0;
	sst_io_stats_merge(reader->io_stats, &seen);
}

/*
 * Read blocks of a run: into buffers, or for mode "read" into private memory, if only
 * the storage manager can do that.
 */
static void
read_blocks(SstRunReader *reader, const SstWarmRun *run, ForkNumber forknum,
			uint64 blocks)
{
	SstReadWatch watch;

	if (reader->mode == SST_PREWARM_BUFFER)
		sst_watch_server_reads(&watch, NULL, false);

	while (blocks != 0)
	{
		int			n;
		int			first = first_blocks(blocks, &n);

		CHECK_FOR_INTERRUPTS();
		if (reader->mode == SST_PREWARM_BUFFER)
			sst_read_into_buffers(&run->relation->files,
								  run->relation->persistence, forknum,
								  run->first + first, n);
		else
			read_stored(reader, run, forknum, first, n);
		blocks = without_first(blocks, first + n);
	}

	if (reader->mode == SST_PREWARM_BUFFER)
		end_watch(reader, &watch);
}

static void
try_to_read(void *arg)
{
	Attempt    *attempt = arg;

	read_blocks(attempt->reader, attempt->run, attempt->forknum, attempt->blocks);
}

/* Keep the first error of a fork, in words. */
static void
note_error(SstWarmFork *fork, const char *message)
{
	if (fork->note == NULL)
		fork->note = message;
}

/*
 * Read blocks of a run in a subtransaction.  After an error about them, the note says
 * which.  If others wait for our locks, nothing is read, and *yields is set.
 */
static bool
try_blocks(SstRunReader *reader, const SstWarmRun *run, SstWarmFork *fork,
		   uint64 blocks, bool *yields)
{
	Attempt		attempt = {reader, run, fork->forknum, blocks};
	ErrorData  *error;

	*yields = sst_must_yield();
	if (*yields)
		return false;
	error = sst_contain_errors(try_to_read, &attempt);
	if (error == NULL)
		return true;
	if (pg_popcount64(blocks) == 1)
		note_error(fork, pstrdup(error->message));
	FreeErrorData(error);

	return false;
}

/* Have the server read a run, and as much of it as possible if there are errors. */
static bool
read_by_server(SstRunReader *reader, const SstWarmRun *run, SstWarmFork *fork)
{
	bool		yields = false;

	if (try_blocks(reader, run, fork, run->missing, &yields))
	{
		fork->nread += run->nmissing;
		return true;
	}

	for (uint64 blocks = run->missing; blocks != 0 && !yields; blocks &= blocks - 1)
		fork->nread += try_blocks(reader, run, fork, blocks & -blocks, &yields);

	return !yields;
}

/* Have the files of the run's relation at hand. */
static void
open_files(SstRunReader *reader, const SstWarmRun *run, ForkNumber forknum)
{
	if (memcmp(&reader->file.files, &run->relation->files, sizeof(SstFiles)) == 0 &&
		reader->file.forknum == forknum)
		return;
	sst_segment_file_close(&reader->file);
	sst_segment_file_init_files(&reader->file, &run->relation->files, forknum);
}

/*
 * Read adjacent blocks of a run into the reader's memory.  Returns how many could.  If
 * only the storage manager can read them, its errors pass.
 */
static int
read_privately(SstRunReader *reader, const SstWarmRun *run,
			   ForkNumber forknum, int first, int nblocks)
{
	BlockNumber blkno = run->first + first;
	SstFileRead read = {
		.offset = (off_t) BLCKSZ * (blkno % RELSEG_SIZE),
		.buffer = reader->memory,
		.length = (size_t) BLCKSZ * nblocks
	};
	instr_time	start;

	if (!reader->file.plain)
	{
		read_stored(reader, run, forknum, first, nblocks);
		return nblocks;
	}

	errno = 0;
	read.fd = sst_segment_file_open(&reader->file, blkno);
	INSTR_TIME_SET_CURRENT(start);
	if (read.fd >= 0)
		sst_file_read_rest(&read);
	if (read.done >= BLCKSZ)
		count_private_read(reader, read.done / BLCKSZ, start);

	return read.done / BLCKSZ;
}

/*
 * Read one block into private memory.  False, with a note, if that cannot be done or,
 * if the page is to be checked, the buffer manager would refuse it.
 */
static bool
read_one_privately(SstRunReader *reader, const SstWarmRun *run,
				   SstWarmFork *fork, int i)
{
	BlockNumber blkno = run->first + i;

	for (int try = 0; try < MAX_TRIES; try++)
	{
		if (read_privately(reader, run, fork->forknum, i, 1) != 1)
		{
			note_error(fork, errno == 0 ?
					   psprintf(_("could not read block %u"), blkno) :
					   psprintf(_("could not read block %u: %s"), blkno,
								strerror(errno)));
			return false;
		}
		if (!reader->checks_pages || zero_damaged_pages ||
			sst_page_verified(reader->memory, blkno) ||
			sst_is_buffered(&run->relation->files, fork->forknum, blkno))
			return true;
	}
	note_error(fork, psprintf(_("invalid page in block %u"), blkno));

	return false;
}

/* Read a run into private memory.  Returns the blocks that could be read. */
static uint64
read_run_privately(SstRunReader *reader, const SstWarmRun *run,
				   SstWarmFork *fork)
{
	uint64		blocks = run->missing;
	uint64		good = 0;

	while (blocks != 0)
	{
		int			n;
		int			first = first_blocks(blocks, &n);
		int			nread = read_privately(reader, run, fork->forknum, first, n);

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < nread; i++)
			if (!reader->checks_pages ||
				sst_page_verified(reader->memory + (Size) BLCKSZ * i,
								  run->first + first + i))
				good |= UINT64CONST(1) << (first + i);
		blocks = without_first(blocks, first + n);
	}

	/* What is missing now is looked at once more, block by block. */
	for (blocks = run->missing & ~good; blocks != 0; blocks &= blocks - 1)
	{
		int			i = pg_rightmost_one_pos64(blocks);

		CHECK_FOR_INTERRUPTS();
		if (read_one_privately(reader, run, fork, i))
			good |= UINT64CONST(1) << i;
	}

	return good;
}

/* Begin to read runs, with memory in the current context. */
void
sst_run_reader_begin(SstRunReader *reader, SstPrewarmMode mode,
					 SstIoStats *io_stats)
{
	memset(reader, 0, sizeof(SstRunReader));
	reader->mode = mode;
	reader->checks_pages = mode == SST_PREWARM_BUFFER && RecoveryInProgress();
	reader->io_stats = io_stats;
	reader->file.fd = -1;
	if (mode == SST_PREWARM_READ || reader->checks_pages)
		reader->memory = sst_palloc_blocks(sst_cold_run_blocks());
}

static void
count_run(SstRunReader *reader, const SstWarmRun *run)
{
	SstIoStats *io_stats = reader->io_stats;

	io_stats->blocks_requested += run->nwanted;
	io_stats->blocks_hit += run->nwanted - run->nmissing;
	io_stats->blocks_read += run->nmissing;
	sst_io_stats_page_cache(io_stats, run->nabsent < 0 ? -1 :
							run->nmissing - Min(run->nabsent, run->nmissing));
	sst_io_stats_returned(io_stats, reader->look_ahead, run->nwanted);
}

/*
 * Count a run of which all is where the mode wants it.  Unless that is in buffers, the
 * page cache has it.
 */
void
sst_count_cached_run(SstRunReader *reader, const SstWarmRun *run)
{
	SstIoStats *io_stats = reader->io_stats;

	io_stats->blocks_requested += run->nwanted;
	if (reader->mode == SST_PREWARM_BUFFER)
		io_stats->blocks_hit += run->nwanted;
	else
	{
		io_stats->blocks_read += run->nwanted;
		sst_io_stats_page_cache(io_stats, run->nwanted);
	}
	sst_io_stats_returned(io_stats, reader->look_ahead, run->nwanted);
}

/*
 * Read the missing blocks of a run as the mode wants, and count those read.  Errors
 * about blocks become the fork's note.  False if others wait for a lock of ours: then
 * the queue has to let its relations go.
 *
 * The run's relation is locked, and nothing is pinned before and after.
 */
bool
sst_read_run(SstRunReader *reader, const SstWarmRun *run, SstWarmFork *fork)
{
	uint64		good;

	count_run(reader, run);
	if (reader->mode == SST_PREWARM_PREFETCH)
	{
		fork->nread += run->nmissing;
		return true;
	}
	if (reader->memory == NULL)
		return read_by_server(reader, run, fork);
	open_files(reader, run, fork->forknum);
	if (!reader->file.plain && !RecoveryInProgress())
		return read_by_server(reader, run, fork);

	good = read_run_privately(reader, run, fork);
	if (reader->mode == SST_PREWARM_BUFFER)
		read_blocks(reader, run, fork->forknum, good);
	fork->nread += pg_popcount64(good);

	return true;
}

void
sst_run_reader_end(SstRunReader *reader)
{
	sst_segment_file_close(&reader->file);
	if (reader->memory != NULL)
		sst_pfree_blocks(reader->memory);
}
