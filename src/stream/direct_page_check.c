/*-------------------------------------------------------------------------
 *
 * direct_page_check.c
 *	  When a page that was read from a file is to be believed
 *
 * A relation's files are not the truth: what is in buffers may be newer, and
 * somebody may write a page while we read it.  What keeps private copies true:
 *
 * (1) Before a run is read, each of its blocks is looked up in the buffer
 * mapping table.  A block that is found is read through the buffer manager.
 * One that is not found has in the file its last state, and nobody is writing
 * it: a buffer leaves the table only after it was written.
 *
 * (2) Somebody may then load such a block, change it, and write it while we
 * read.  Before it is written, the WAL of the change is: so if the WAL's
 * position is the same before (1) and after the read, nothing like that has
 * happened; changes without WAL are hint bits, of which any mixture is valid.
 * If the position has moved, or the relation has no WAL, the blocks are looked
 * up once more, and those found are read through the buffer manager.  One that
 * is not found may have come and gone.  If it was changed, the LSN in the file
 * is another one by now, and the page is read through the buffer manager.  With
 * checksums there is no need to ask the file: if we have read parts of two
 * states of the page, (3) finds out.  A relation that has neither WAL nor
 * checksums is not for this stream.
 *
 * (3) Each private page must pass the checks that the buffer manager would
 * make, and must not be newer than the WAL's position before (1).  A page that
 * does not pass is read through the buffer manager, which has the last word.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/direct_page_check.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "port/pg_bitutils.h"

#include "stream/checksum.h"
#include "stream/direct_page_check.h"
#include "stream/wal_position.h"

/*
 * Can pages of the relation be private copies?  Those of temporary relations are
 * in local buffers.  Without WAL and checksums nothing tells whether a page was
 * written while it was read.
 */
bool
sst_can_read_directly(Relation rel)
{
	return !RelationUsesLocalBuffers(rel) &&
		(RelationIsPermanent(rel) || DataChecksumsEnabled());
}

/*
 * Get ready to judge about nblocks blocks of a fork, which will be read from
 * the given file.  Memory is the current context's.
 */
void
sst_direct_page_check_init(SstDirectPageCheck *pages, Relation rel, ForkNumber forknum,
					   BlockNumber nblocks, SstSegmentFile *file)
{
	sst_buffered_init(&pages->buffered, rel, forknum, nblocks);
	pages->file = file;
	pages->wal_logged = RelationIsPermanent(rel);
	pages->checksums = DataChecksumsEnabled();
	pages->nappeared = 0;
}

/* Step (1): find out which of the wanted blocks are in buffers. */
void
sst_run_look_up(SstDirectPageCheck *pages, SstRun *run)
{
	run->position = sst_wal_done();
	run->buffered = sst_buffered_find(&pages->buffered, run->first, run->wanted,
									  run->position, run->buffers);
}

/* Would the buffer manager take the header for that of a page in use? */
static bool
header_is_good(const PageHeaderData *header)
{
	return header->pd_upper != 0 &&
		(header->pd_flags & ~PD_VALID_FLAG_BITS) == 0 &&
		header->pd_lower <= header->pd_upper &&
		header->pd_upper <= header->pd_special &&
		header->pd_special <= BLCKSZ &&
		header->pd_special == MAXALIGN(header->pd_special);
}

/*
 * Check the private page of block i of the run.  The common case is decided
 * here, without the server's slower code.  The checksum is what the page should
 * have, if it is in use and the cluster has checksums.  A failure counts even
 * if the server is to ignore it: it may be ours, from a read during a write.
 */
static bool
page_is_good(SstDirectPageCheck *pages, const SstRun *run, int i, uint16 checksum)
{
	char	   *image = run->memory + (Size) BLCKSZ * i;
	const PageHeaderData *header = (const PageHeaderData *) image;

	if (!header_is_good(header))
		return sst_page_verified(image, run->first + i);

	if (pages->checksums && checksum != header->pd_checksum)
		return false;

	return !pages->wal_logged || PageGetLSN(image) <= run->position;
}

/*
 * Has the block of a private page another LSN in the file now?
 *
 * If the next runs are in another segment, this one's is closed: then we do
 * not know, and say yes.
 */
static bool
lsn_has_changed(SstDirectPageCheck *pages, const SstRun *run, int i)
{
	PageXLogRecPtr lsn;
	SstFileRead read = {
		.fd = pages->file->fd,
		.offset = (off_t) BLCKSZ * ((run->first + i) % RELSEG_SIZE) +
		offsetof(PageHeaderData, pd_lsn),
		.buffer = (char *) &lsn,
		.length = sizeof(lsn)
	};

	if (pages->file->segno != run->first / RELSEG_SIZE)
		return true;

	sst_file_read_rest(&read);

	return read.done < read.length ||
		memcmp(&lsn, run->memory + (Size) BLCKSZ * i +
			   offsetof(PageHeaderData, pd_lsn), sizeof(lsn)) != 0;
}

/*
 * Step (2): return those of the given blocks of the
 * run that cannot have been written while they were read.
 */
static uint64
check_buffers(SstDirectPageCheck *pages, SstRun *run, uint64 blocks)
{
	uint64		appeared;

	if (pages->wal_logged && sst_wal_begun() == run->position)
		return blocks;

	appeared = sst_buffered_find(&pages->buffered, run->first, blocks,
								 InvalidXLogRecPtr, run->buffers);
	pages->nappeared += pg_popcount64(appeared);
	run->buffered |= appeared;
	blocks &= ~appeared;

	if (!pages->checksums)
	{
		for (uint64 left = blocks; left != 0; left &= left - 1)
		{
			int			i = pg_rightmost_one_pos64(left);

			if (lsn_has_changed(pages, run, i))
				blocks &= ~SST_RUN_BIT(i);
		}
	}

	return blocks;
}

/*
 * Step (3): return those of the given blocks of the run that are good pages.
 */
static uint64
check_pages(SstDirectPageCheck *pages, const SstRun *run, uint64 blocks)
{
	uint64		good = 0;

	while (blocks != 0)
	{
		int			ids[2];
		char	   *images[2];
		BlockNumber blknos[2];
		uint16		checksums[2] = {0};
		int			n = 0;

		/* By pairs: see sst_checksum_two(). */
		while (n < 2 && blocks != 0)
		{
			int			i = pg_rightmost_one_pos64(blocks);

			ids[n] = i;
			images[n] = run->memory + (Size) BLCKSZ * i;
			blknos[n] = run->first + i;
			n++;
			blocks &= blocks - 1;
		}
		if (pages->checksums)
		{
			if (n == 1)
			{
				images[1] = images[0];
				blknos[1] = blknos[0];
			}
			sst_checksum_two(images, blknos, checksums);
		}

		for (int k = 0; k < n; k++)
		{
			if (page_is_good(pages, run, ids[k], checksums[k]))
				good |= SST_RUN_BIT(ids[k]);
		}
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
 * Steps (2) and (3), after the run was read: find out which of the wanted blocks
 * are good private pages, and which have come into buffers.
 */
void
sst_run_check(SstDirectPageCheck *pages, SstRun *run)
{
	run->good = blocks_read(run);
	if (run->good != 0)
		run->good = check_buffers(pages, run, run->good);
	if (run->good != 0)
		run->good = check_pages(pages, run, run->good);
}
