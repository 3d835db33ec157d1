/*-------------------------------------------------------------------------
 *
 * reads.c
 *	  The reads of one cell of a probe: where they are, and their times
 *
 * Reads are by io_uring past the page cache, where that works, and else as the
 * server prefetches: advice for the blocks ahead, so that the kernel has
 * "depth" reads in flight, then pread().  As in the server's scans, each
 * read that arrives, in the order of their start, is followed by another one.
 *
 * The clock runs from the first arrival until a multiple of the depth has
 * arrived after it; then only those are left that are in flight.  So neither
 * the beginning nor the end counts, where fewer are in flight, and a disk that
 * answers "depth" reads at once gives its true rate.
 *
 * A file system in memory, or with its own cache that cannot be bypassed,
 * would answer instead of the disk.  Where data must be decompressed or
 * decrypted, that would dominate the time.  Such files are not measured, and
 * neither are blocks that were never written.
 *
 * Only reads of uncached blocks measure the disk.  Reads past the page cache
 * are that in any case.  Where there are none, the blocks of a cell are chosen
 * before it reads: those that the kernel reports as not cached, and if
 * these are too few, some that it drops on request.  No more are dropped than
 * the cell reads, which brings them back, as does reading ahead what a limit or
 * an error leaves unread.  Blocks that were not cached are dropped again
 * afterwards.  Blocks that stay cached are not read: the kernel keeps those of
 * a large folio together.
 *
 * The reads of a cell lie in one segment, so that one file is open.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/vfs.h>
#endif

#include "common/pg_prng.h"
#include "miscadmin.h"

#include "compat/compat.h"
#include "compat/platform.h"
#include "compat/shared_blocks.h"
#include "probe/figures.h"
#include "run/call.h"
#include "stream/stream.h"

/* ----------
 * What a relation's files have to give
 * ----------
 */

/* Places to look at for each random read, and ranges for sequential ones */
#define MAX_LOOKS 64
#define MAX_STARTS 8

#ifdef SST_HAVE_LINUX_STATFS

/* File systems, as statfs(2) numbers them (include/uapi/linux/magic.h) */
static const struct
{
	uint32		number;
	const char *note;
}			file_systems[] = {
	{0x01021994, gettext_noop("the files are in memory (tmpfs)")},
	{0x858458f6, gettext_noop("the files are in memory (ramfs)")},
	{0x958458f6, gettext_noop("the files are in memory (hugetlbfs)")},
	{0x2fc12fc1, gettext_noop("ZFS answers from its own cache")},
	{0x0000f15f, gettext_noop("the files are encrypted (eCryptfs)")}
};

/* Attributes of statx(2) (include/uapi/linux/stat.h) */
#define ATTRIBUTE_COMPRESSED 0x00000004
#define ATTRIBUTE_ENCRYPTED 0x00000800

#endif							/* SST_HAVE_LINUX_STATFS */

/* Why an open file does not tell about the disk, or NULL */
static const char *
file_note(int fd)
{
#ifdef SST_HAVE_LINUX_STATFS
	struct statfs fs;
#ifdef SST_HAVE_STATX
	struct statx st;
#endif

	if (fstatfs(fd, &fs) == 0)
	{
		for (int i = 0; i < lengthof(file_systems); i++)
		{
			if ((uint32) fs.f_type == file_systems[i].number)
				return _(file_systems[i].note);
		}
	}
#ifdef SST_HAVE_STATX
	if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st) == 0)
	{
		if ((st.stx_attributes & ATTRIBUTE_COMPRESSED) != 0)
			return _("the file system has compressed the file");
		if ((st.stx_attributes & ATTRIBUTE_ENCRYPTED) != 0)
			return _("the file system has encrypted the file");
	}
#endif
#endif
	return NULL;
}

/*
 * Blocks of an open file of so many that come before the first one that was never
 * written.  A read of such a one asks no disk.  The server allocates more at a time
 * than it needs, so that the end of a file can be like that for long.
 */
static BlockNumber
written_blocks(int fd, BlockNumber nblocks)
{
#ifdef SST_HAVE_SEEK_HOLE
	off_t		hole = lseek(fd, 0, SEEK_HOLE);

	if (hole >= 0 && hole < (off_t) nblocks * BLCKSZ)
		return hole / BLCKSZ;
#endif
	return nblocks;
}

/* Does io_uring work, and past the page cache?  Some file systems refuse the read only. */
static bool
direct_works(SstPlaces *places)
{
	SstRing    *ring = sst_io_method == SST_IO_METHOD_SYNC ? NULL : sst_ring_open(1);
	char	   *block;
	int			fd;
	bool		works;

	if (ring == NULL)
		return false;
	sst_ring_close(ring);

	places->file.direct = true;
	block = sst_palloc_blocks(1);
	fd = sst_segment_file_open(&places->file, 0);
	works = fd >= 0 && pread(fd, block, BLCKSZ, 0) == BLCKSZ;
	sst_pfree_blocks(block);
	sst_segment_file_close(&places->file);

	return works;
}

/*
 * Prepare to read the files of a relation with so many blocks, which is locked; *places is
 * zeros.  Returns why they do not tell about the disk, or NULL.  No file stays open.
 */
const char *
sst_places_begin(SstPlaces *places, const SstFiles *files, BlockNumber nblocks)
{
	const char *note = NULL;

	sst_segment_file_init_files(&places->file, files, MAIN_FORKNUM);
	if (!places->file.plain)
		return _("blocks are read by another storage manager than the server's");

	while (places->nblocks < nblocks && note == NULL)
	{
		BlockNumber nhere = Min(RELSEG_SIZE, nblocks - places->nblocks);
		int			fd = sst_segment_file_open(&places->file, places->nblocks);
		BlockNumber nwritten;

		CHECK_FOR_INTERRUPTS();
		note = fd < 0 ? _("the file cannot be opened") : file_note(fd);
		if (note != NULL)
			break;
		nwritten = written_blocks(fd, nhere);
		places->nblocks += nwritten;
		if (nwritten < nhere)
			break;
	}
	sst_segment_file_close(&places->file);
	places->file.direct = note == NULL && direct_works(places);

	return note;
}

static BlockNumber
draw(BlockNumber n)
{
	return (BlockNumber) pg_prng_uint64_range(&pg_global_prng_state, 0, n - 1);
}

/* Have the kernel give up blocks of the page cache, or else read them into it. */
static void
set_cached(SstPlaces *places, BlockNumber blkno, BlockNumber nblocks, bool cached)
{
#ifdef SST_HAVE_FADVISE
	int			fd = sst_segment_file_open(&places->file, blkno);

	if (fd >= 0)
		(void) posix_fadvise(fd, (off_t) BLCKSZ * (blkno % RELSEG_SIZE),
							 (off_t) BLCKSZ * nblocks,
							 cached ? POSIX_FADV_WILLNEED : POSIX_FADV_DONTNEED);
#endif
}

/* Would some of the blocks come from the page cache?  Yes where the kernel does not tell. */
static bool
is_cached(SstPlaces *places, BlockNumber blkno, BlockNumber nblocks)
{
	int64		bytes = places->file.direct ? 0 :
		sst_page_cache_range(&places->file, blkno, blkno + nblocks);

	places->not_told |= (bytes < 0);
	return bytes != 0;
}

/* Add a read to those of the cell if it will go to the disk, or can be made to. */
static void
try_place(SstPlaces *places, const SstProbeCell *cell, BlockNumber blkno, bool evict)
{
	bool		was_cached = is_cached(places, blkno, cell->nblocks);

	for (int i = 0; i < places->n; i++)
	{
		if (places->block[i] == blkno)
			return;
	}
	if (was_cached)
	{
		if (!evict || places->not_told || places->nevicted == cell->nreads)
			return;
		places->nevicted++;
		set_cached(places, blkno, cell->nblocks, false);
		if (is_cached(places, blkno, cell->nblocks))
		{
			/* Bring back what has gone. */
			set_cached(places, blkno, cell->nblocks, true);
			return;
		}
	}
	places->block[places->n] = blkno;
	places->was_cached[places->n++] = was_cached;
}

/*
 * Find the reads of a cell; false if there are not enough.  None of their blocks will
 * come from the page cache.  Interrupts are accepted.
 */
static bool
find_places(SstPlaces *places, const SstProbeCell *cell)
{
	bool		random = (cell->pattern == SST_PROBE_RANDOM);
	int			nlooks = cell->nreads * (random ? MAX_LOOKS : 2);
	BlockNumber first = 0;
	BlockNumber nplaces = places->nblocks / cell->nblocks;
	BlockNumber start = 0;

	/* A segment: a full one, if there is any */
	if (places->nblocks > RELSEG_SIZE)
	{
		first = draw(places->nblocks / RELSEG_SIZE) * RELSEG_SIZE;
		nplaces = RELSEG_SIZE / cell->nblocks;
	}
	places->n = places->nevicted = 0;
	if (nplaces < cell->nreads)
		return false;

	/* Successive reads begin where nothing is cached, if that can be found. */
	for (int i = 0; i < MAX_STARTS && !random; i++)
	{
		start = draw(nplaces - cell->nreads + 1);
		if (!is_cached(places, first + start * cell->nblocks,
					   cell->nreads * cell->nblocks))
			break;
	}

	for (int i = 0; i < nlooks && places->n < cell->nreads; i++)
	{
		BlockNumber place = random ? draw(nplaces) : start + i;

		if (i % 64 == 0)
			CHECK_FOR_INTERRUPTS();
		if (place < nplaces)
			try_place(places, cell, first + place * cell->nblocks,
					  !random || i >= nlooks - 2 * cell->nreads);
	}
	return places->n == cell->nreads;
}

/* Leave the page cache as it was, after the first nread reads of a cell. */
static void
leave_places(SstPlaces *places, const SstProbeCell *cell, int nread)
{
	for (int i = 0; i < places->n && !places->file.direct; i++)
	{
		bool		was_cached = places->was_cached[i];

		if ((i < nread) != was_cached)
			set_cached(places, places->block[i], cell->nblocks, was_cached);
	}
}

/* ----------
 * The reads
 * ----------
 */

/* The reads of a cell, under way: a ring of those in flight */
typedef struct Run
{
	SstProbeTarget *target;
	SstProbeCell *cell;
	SstRing    *ring;			/* NULL for reads after advice */
	SstFileRead *reads;
	char	   *memory;
	int			nstarted;
	double		rate;			/* reads per second; 0: none */
} Run;

/*
 * ERROR for a read that did not bring all: in the storage manager's words, which are the
 * server's.
 */
static void
report_missing(const Run *run, BlockNumber blkno)
{
	int			save_errno = errno;

	sst_read_stored_block(&run->target->places.file.files, MAIN_FORKNUM, blkno, run->memory);

	/* That could read it. */
	errno = save_errno;
	ereport(ERROR,
			(errcode_for_file_access(),
			 errmsg("could not read block %u of relation \"%s\": %m", blkno,
					RelationGetRelationName(run->target->rel))));
}

/*
 * Do the reads, whose places have been found.  If the time is over, it ends early, and
 * has no rate.  Accepts interrupts, and ERROR if others have waited too long.
 */
static void
read_all(Run *run)
{
	SstProbeCell *cell = run->cell;
	SstPlaces  *places = &run->target->places;
	size_t		length = (size_t) BLCKSZ * cell->nblocks;
	int			ntimes = cell->ntimes;
	double		started_ms[SST_PROBE_MAX_READS];
	double		first_ms = 0;
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	for (int i = 0; i < cell->nreads; i++)
	{
		SstFileRead *read = &run->reads[i % cell->depth];
		double		ms;

		for (; run->nstarted < Min(i + cell->depth, cell->nreads); run->nstarted++)
		{
			int			slot = run->nstarted % cell->depth;
			BlockNumber blkno = places->block[run->nstarted];

			run->reads[slot] = (SstFileRead)
			{
				.fd = sst_segment_file_open(&places->file, blkno),
					.offset = (off_t) BLCKSZ * (blkno % RELSEG_SIZE),
					.buffer = run->memory + slot * length,
					.length = length
			};
			started_ms[run->nstarted] = sst_seconds_since(start) * 1000;
			sst_file_read_start(&run->reads[slot], run->ring);
		}

		errno = 0;
		sst_file_read_finish(read, run->ring);
		if (read->done < length)
			report_missing(run, places->block[i] + read->done / BLCKSZ);
		ms = sst_seconds_since(start) * 1000;
		if (i == 0)
			first_ms = ms;
		if (i <= cell->ncounted && ntimes < SST_PROBE_TIMES)
			cell->times[ntimes++] = ms - started_ms[i];
		if (i == cell->ncounted && ms > first_ms)
		{
			run->rate = cell->ncounted * 1000.0 / (ms - first_ms);
			cell->reads += cell->ncounted;
			cell->elapsed_ms += ms - first_ms;
			cell->ntimes = ntimes;
		}

		CHECK_FOR_INTERRUPTS();
		sst_check_blocking();
		if (sst_limits_expired(run->target->probe->throttle.limits))
			break;
	}
}

/*
 * Find the reads of a cell and do them; *took_ms is as below.  On return, or ERROR, none is
 * in flight.
 */
static void
find_and_read(Run *run, double *took_ms)
{
	SstPlaces  *places = &run->target->places;
	SstProbeCell *cell = run->cell;
	instr_time	start;

	PG_TRY();
	{
		if (find_places(places, cell))
		{
			INSTR_TIME_SET_CURRENT(start);

			/* A ring has room for what delays a read in tests, besides. */
			if (places->file.direct)
				run->ring = sst_ring_open(cell->depth + 1);
			if (run->ring != NULL || !places->file.direct)
			{
				run->memory = sst_palloc_blocks(cell->depth * cell->nblocks);
				run->reads = palloc0(sizeof(SstFileRead) * cell->depth);
				read_all(run);
			}
			*took_ms = sst_seconds_since(start) * 1000;
		}
	}
	PG_FINALLY();
	{
		/* The kernel writes to memory while a read is in flight. */
		if (run->ring != NULL)
			sst_ring_close(run->ring);
		leave_places(places, cell, run->nstarted);
	}
	PG_END_TRY();
	if (run->reads == NULL)
		return;
	pfree(run->reads);
	sst_pfree_blocks(run->memory);
}

/* Take so many blocks of the limits, sleeping as the rate asks; false at a limit. */
static bool
pay(SstThrottle *throttle, BlockNumber nblocks)
{
	BlockNumber n;

	for (BlockNumber npaid = 0; npaid < nblocks; npaid += n)
	{
		n = sst_throttle_take(throttle, nblocks - npaid);
		if (n == 0)
		{
			sst_throttle_give_back(throttle, npaid);
			return false;
		}
	}
	return true;
}

/*
 * Read a cell once, and set *rate to the reads per second, 0 if there is no figure, and
 * *took_ms to the time that the disk was busy with it.  Returns false at a limit.
 *
 * The reads are not throttled, which would distort the figure, but paid for before, with
 * a sleep if the rate requires it.  No pin and no page lock may be held.  Interrupts are
 * accepted.
 */
bool
sst_probe_read(SstProbeTarget *target, SstProbeCell *cell, double *rate, double *took_ms)
{
	Run			run = {.target = target, .cell = cell};
	SstProbe   *probe = target->probe;
	SstIoStats *io_stats = probe->io_stats;
	BlockNumber nblocks = cell->nreads * cell->nblocks;
	int			nspared;

	*rate = *took_ms = 0;
	if (!pay(&probe->throttle, nblocks))
		return false;
	find_and_read(&run, took_ms);
	*rate = run.rate;

	/* What was evicted is paid for, read or not. */
	nspared = cell->nreads - Max(run.nstarted, target->places.nevicted);
	sst_throttle_give_back(&probe->throttle, nspared * cell->nblocks);

	nblocks = run.nstarted * cell->nblocks;
	io_stats->blocks_requested += nblocks;
	io_stats->blocks_read += nblocks;
	io_stats->blocks_private += nblocks;
	io_stats->reads += run.nstarted;
	io_stats->read_bytes += (int64) nblocks * BLCKSZ;
	io_stats->look_ahead_max = Max(io_stats->look_ahead_max, cell->depth * cell->nblocks);
	target->nblocks_read += nblocks;
	sst_progress_blocks(target->nblocks_read, NULL);

	return !probe->limits.reached;
}
