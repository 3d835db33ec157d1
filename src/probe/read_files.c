/*-------------------------------------------------------------------------
 *
 * read_files.c
 *	  Probe by reads of this process: plain, after advice, or by io_uring
 *
 * The readers are those of the file stream.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/probe/read_files.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/fd.h"

#include "compat/shared_blocks.h"
#include "probe/run.h"
#include "probe/storage.h"
#include "stream/file_reader.h"

/* A read of the queue */
typedef struct ProbeRead
{
	SstFileRead read;
	BlockNumber blkno;
	double		started_ms;
	bool		used;			/* started, and not seen to have arrived */
} ProbeRead;

/* The reads in flight.  Without a wait for any of them, they are a ring. */
typedef struct ProbeQueue
{
	SstProbeRun *run;
	SstFileReader *reader;
	int			fd;
	char	   *memory;
	ProbeRead  *reads;
	int			depth;
	int			nused;
	int			first;			/* the oldest, of a ring */
} ProbeQueue;

/*
 * ERROR for a read that did not bring all: in the storage manager's words, which are
 * the server's.
 */
static void
report_missing(ProbeQueue *queue, const ProbeRead *read)
{
	int			save_errno = errno;
	const SstFiles *files = &queue->run->places->file.files;
	BlockNumber blkno = read->blkno + read->read.done / BLCKSZ;
	char	   *block = sst_palloc_blocks(1);

	sst_read_stored_block(files, MAIN_FORKNUM, blkno, block);
	sst_pfree_blocks(block);

	/* That could read it. */
	errno = save_errno;
	ereport(ERROR,
			(errcode_for_file_access(),
			 errmsg("could not read block %u of relation \"%s\": %m", blkno,
					RelationGetRelationName(queue->run->rel))));
}

/* A read has arrived, in whole or in part. */
static void
finish(ProbeQueue *queue, ProbeRead *read)
{
	errno = 0;
	queue->reader->finish(queue->reader, &read->read);
	if (read->read.done < read->read.length)
		report_missing(queue, read);

	read->used = false;
	queue->nused--;
	sst_run_arrived(queue->run, read->started_ms);
}

/* Start reads until the depth is reached, or there is no more to be read. */
static void
fill(ProbeQueue *queue)
{
	const SstProbeCell *cell = queue->run->cell;

	for (int i = 0; i < queue->depth && queue->nused < queue->depth; i++)
	{
		/* The one behind the newest; of a ring it is free. */
		int			number = (queue->first + i) % queue->depth;
		ProbeRead  *read = &queue->reads[number];

		if (read->used)
			continue;
		if (!sst_run_next(queue->run, &read->blkno))
			return;

		read->read.fd = queue->fd;
		read->read.offset = (off_t) BLCKSZ * (read->blkno % RELSEG_SIZE);
		read->read.length = (size_t) BLCKSZ * cell->nblocks;
		read->read.buffer = queue->memory + number * read->read.length;
		read->read.done = 0;
		read->read.in_flight = false;
		read->started_ms = sst_run_ms(queue->run);
		read->used = true;
		queue->nused++;
		if (cell->method != SST_PROBE_SYNC)
			queue->reader->start(queue->reader, &read->read);
	}
}

/* Wait until the oldest read has arrived, or any, and see to all that have. */
static void
drain(ProbeQueue *queue)
{
	if (queue->reader->wait == NULL)
	{
		ProbeRead  *oldest = &queue->reads[queue->first];

		queue->first = (queue->first + 1) % queue->depth;
		finish(queue, oldest);
		return;
	}

	for (;;)
	{
		bool		arrived = false;

		for (int i = 0; i < queue->depth; i++)
		{
			ProbeRead  *read = &queue->reads[i];

			if (read->used && !read->read.in_flight)
			{
				finish(queue, read);
				arrived = true;
			}
		}
		if (arrived)
			return;
		queue->reader->wait(queue->reader);
	}
}

static void
read_all(ProbeQueue *queue)
{
	sst_run_begin(queue->run);
	fill(queue);
	while (queue->nused > 0)
	{
		drain(queue);
		fill(queue);
	}
	sst_run_end(queue->run);
}

/*
 * Run a cell that reads files.  On return, or ERROR, no read is in flight.  False if
 * the file cannot be opened, or io_uring does not work here.
 */
bool
sst_probe_read_files(SstProbeRun *run)
{
	SstProbeCell *cell = run->cell;
	ProbeQueue	queue = {.run = run, .depth = cell->depth};
	bool		works;

	queue.fd = cell->direct ?
		sst_open_direct(&run->places->file.files, run->places->block[0]) :
		sst_segment_file_open(&run->places->file, run->places->block[0]);
	if (queue.fd < 0)
		return false;

	queue.reader = cell->method == SST_PROBE_URING ?
		sst_uring_reader_open(cell->depth) : sst_sync_reader_open();
	works = queue.reader != NULL;
	if (works)
	{
		queue.memory = sst_palloc_blocks(cell->depth * cell->nblocks);
		queue.reads = palloc0(sizeof(ProbeRead) * cell->depth);

		/* The kernel writes to this memory while a read is in flight. */
		PG_TRY();
		{
			read_all(&queue);
		}
		PG_FINALLY();
		{
			queue.reader->close(queue.reader);
		}
		PG_END_TRY();

		pfree(queue.reader);
		pfree(queue.reads);
		sst_pfree_blocks(queue.memory);
	}

	if (cell->direct)
		CloseTransientFile(queue.fd);

	return works;
}
