/*-------------------------------------------------------------------------
 *
 * direct_page_check.c
 *	  When a page that was read from a file can be trusted
 *
 * A relation's files may be out of date: a buffer may hold a newer page, and
 * another backend may write a page while we read it.  Three rules make direct
 * reads correct.  Doubtful pages are re-read through the buffer manager, which
 * is authoritative.
 *
 * (1) Before a run is read, each of its blocks is looked up in the buffer
 * mapping table.  A block that is found is read through the buffer manager.  For
 * one that is not found, the file has the last state and nobody is writing it: a
 * buffer leaves the table only after it was written.
 *
 * (2) A backend may then load such a block, change it and write it while we
 * read.  The WAL of a change is written before the page.  So if the WAL position
 * is the same before (1) and after the read, no such change was made.  Hint bits
 * and some other things are changed without WAL, or before it: src/README.md lists
 * them, and what a visitor may rely on.  Any mixture of old and new ones is valid.
 *
 * If the WAL has advanced, or the relation is not WAL-logged, the blocks are
 * looked up once more, and those found are read through the buffer manager.  A
 * block that is not found may have been loaded and evicted again.  If it was
 * changed, its LSN in the file differs now, and the page is re-read.  With
 * checksums the LSN need not be read: a mixture of two states of the page fails
 * (3).  That is not so where the checksum was computed from a mapping of the file,
 * at another moment than the copy was made: then it is read, and relations without
 * WAL are not mapped.  A relation without WAL and checksums cannot be read
 * directly.
 *
 * (3) Each page must pass the buffer manager's checks of header and checksum,
 * and its LSN must not be after the WAL position before (1).
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "port/pg_bitutils.h"

#include "stream/buffered.h"
#include "stream/run.h"

/*
 * Prepare to check about nblocks blocks of a fork.  Memory is taken from the current
 * context.
 */
void
sst_direct_page_check_init(SstDirectPageCheck *check, Relation rel, ForkNumber forknum,
						   BlockNumber nblocks)
{
	sst_buffered_init(&check->buffered, rel, forknum, nblocks);
	sst_segment_file_init(&check->file, rel, forknum);
	check->wal_logged = RelationIsPermanent(rel);
	check->checksums = DataChecksumsEnabled();

	/* Else nothing tells that a page was written while it was read. */
	Assert(!RelationUsesLocalBuffers(rel));
	Assert(check->wal_logged || check->checksums);
}

/* Rule (1): find out which of the wanted blocks are in buffers. */
void
sst_run_look_up(SstDirectPageCheck *check, SstRun *run)
{
	run->position = sst_wal_done();
	run->buffered = sst_buffered_find(&check->buffered, run->first, run->wanted,
									  run->position, run->buffers);
}

/*
 * Check the page of block i of the run.  The common case is decided here, without
 * the server's slower code.  The checksum is what a page in use should have, if
 * the cluster has checksums.  A failure counts even with ignore_checksum_failure:
 * the page may have been read during a write.
 */
static bool
page_is_good(SstDirectPageCheck *check, const SstRun *run, int i)
{
	char	   *image = run->memory + (Size) BLCKSZ * i;
	const PageHeaderData *header = (const PageHeaderData *) image;

	if (!sst_header_is_good(header))
		return sst_page_verified(image, run->first + i);

	if (check->checksums && run->checksums[i] != header->pd_checksum)
		return false;

	return !check->wal_logged || PageGetLSN(image) <= run->position;
}

/*
 * Has the LSN of block i changed in the file since the run was read?  Yes, to be safe,
 * if it cannot be read.
 */
static bool
lsn_has_changed(SstDirectPageCheck *check, const SstRun *run, int i)
{
	PageXLogRecPtr lsn;
	SstFileRead read = {
		.fd = sst_segment_file_open(&check->file, run->first),
		.offset = (off_t) BLCKSZ * ((run->first + i) % RELSEG_SIZE) +
		offsetof(PageHeaderData, pd_lsn),
		.buffer = (char *) &lsn,
		.length = sizeof(lsn)
	};

	sst_file_read_rest(&read);

	return read.done < read.length ||
		memcmp(&lsn, run->memory + (Size) BLCKSZ * i +
			   offsetof(PageHeaderData, pd_lsn), sizeof(lsn)) != 0;
}

/*
 * Rule (2): return those of the given blocks of the run that cannot have been
 * written while they were read.
 */
static uint64
check_buffers(SstDirectPageCheck *check, SstRun *run, uint64 blocks)
{
	uint64		appeared;

	/* Load what is copied from a mapping before the position. */
	pg_read_barrier();
	if (check->wal_logged && sst_wal_begun() == run->position)
		return blocks;

	appeared = sst_buffered_find(&check->buffered, run->first, blocks,
								 InvalidXLogRecPtr, run->buffers);
	run->buffered |= appeared;
	blocks &= ~appeared;

	if (!check->checksums || run->mapped)
	{
		for (uint64 left = blocks; left != 0; left &= left - 1)
		{
			int			i = pg_rightmost_one_pos64(left);

			if (lsn_has_changed(check, run, i))
				blocks &= ~SST_RUN_BIT(i);
		}
	}

	return blocks;
}

/*
 * Compute the checksums of some blocks of the run, from the images of all of its blocks,
 * which are only read: they can be another copy than the run's.
 */
void
sst_run_sum(SstRun *run, const char *images, uint64 blocks)
{
	while (blocks != 0)
	{
		const char *pages[SST_CHECKSUM_PAGES];
		BlockNumber blknos[SST_CHECKSUM_PAGES];
		uint16		checksums[SST_CHECKSUM_PAGES];
		int			ids[SST_CHECKSUM_PAGES];
		int			n = 0;

		for (; n < SST_CHECKSUM_PAGES && blocks != 0; n++)
		{
			ids[n] = pg_rightmost_one_pos64(blocks);
			pages[n] = images + (Size) BLCKSZ * ids[n];
			blknos[n] = run->first + ids[n];
			blocks &= blocks - 1;
		}

		sst_checksum_pages(pages, blknos, n, checksums);
		for (int k = 0; k < n; k++)
			run->checksums[ids[k]] = checksums[k];
	}
}

/*
 * Rule (3): return those of the given blocks of the run that are good pages.
 */
static uint64
check_pages(SstDirectPageCheck *check, SstRun *run, uint64 blocks)
{
	uint64		good = 0;

	if (check->checksums && !run->mapped)
		sst_run_sum(run, run->memory, blocks);

	for (; blocks != 0; blocks &= blocks - 1)
	{
		int			i = pg_rightmost_one_pos64(blocks);

		if (page_is_good(check, run, i))
			good |= SST_RUN_BIT(i);
	}

	return good;
}

/* The blocks of the run that are wanted and were read from the file */
static uint64
blocks_read(const SstRun *run)
{
	int			end;

	if (run->read.done < BLCKSZ)
		return 0;

	end = run->read_first + run->read.done / BLCKSZ;
	return run->wanted & ~run->buffered &
		(end == 64 ? PG_UINT64_MAX : SST_RUN_BIT(end) - 1);
}

/*
 * Apply rules (2) and (3) after the run was read: find out which of the wanted
 * blocks are good pages, and which have been loaded into buffers.
 */
void
sst_run_check(SstDirectPageCheck *check, SstRun *run)
{
	run->good = blocks_read(run);
	if (run->good != 0)
		run->good = check_buffers(check, run, run->good);
	if (run->good != 0)
		run->good = check_pages(check, run, run->good);
}
