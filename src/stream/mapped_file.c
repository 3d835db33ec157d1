/*-------------------------------------------------------------------------
 *
 * mapped_file.c
 *	  Windows of a file's cached data, mapped into memory
 *
 * A visitor that needs a fifth of each page does not need a copy of all of it:
 * data in the page cache can be mapped.  A window is small, and unmapped when
 * the next one is mapped, so that a process's memory does not grow with the
 * relation.
 *
 * Whether that is quicker than to read whole pages is a matter of the machine: of 139 MB in the
 * page cache, mapping took half as long as reading on one (Intel, 2.5 GHz), twice as long on another
 * (AMD EPYC), and both change with the size of the kernel's pages there.  So both are
 * tried now and then, and timed; bench/run has the time of either ("of raw").
 *
 * Data outside the page cache is not touched, because that would read it page
 * by page, and a failed read raises SIGBUS.  So does a page after the end of a
 * truncated file.  A guard is set while mapped memory is read, because data
 * may leave the page cache, and the file may be truncated, after the check.
 *
 * A touched page can start the kernel's read-ahead, whose data counts as cached
 * when its turn comes.  Where the kernel reads ahead far enough, the rest of a
 * file of which only the head was cached is read so.  MADV_RANDOM would prevent
 * that; it took 1.2 to 1.6 times as long with a read-ahead of 8 MB.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>

#include "port/pg_bitutils.h"
#include "utils/memdebug.h"

#include "compat/platform.h"
#include "stream/run.h"
#include "stream/segment_file.h"

/*
 * A window begins at a multiple of this, and has room for each run that begins within it: so one page
 * fault maps 2 MB where the page cache has such pages.  To map and unmap takes as long as to look at 300
 * pages.
 */
#define WINDOW_STEP (4 * 1024 * 1024)
#define WINDOW_SIZE (WINDOW_STEP + SST_MAX_RUN_BLOCKS * BLCKSZ)

/* The guard: where to go on after SIGBUS, and for which addresses */
static sigjmp_buf guard_jump;
static const char *volatile guard_start;
static const char *volatile guard_end;
static struct sigaction guard_previous;

/* Unmap the window, if there is one.  No ERROR. */
void
sst_run_mapper_close(SstRunMapper *mapper)
{
	if (mapper->window != NULL)
		munmap(mapper->window, WINDOW_SIZE);
	mapper->window = NULL;
	mapper->segno = -1;
}

/*
 * Return the address of what is read for a run; NULL if it cannot be mapped.  It must be
 * looked at by copy_run_guarded() only, before the next call.
 */
static const char *
map_run(SstRunMapper *mapper, const SstRun *run)
{
	int64		segno = run->first / RELSEG_SIZE;
	off_t		offset = run->read.offset;
	off_t		begin = offset - offset % WINDOW_STEP;
	off_t		end = offset + run->read.length;

	Assert(run->read.length <= WINDOW_SIZE - WINDOW_STEP);
	if (mapper->segno != segno || begin < mapper->offset ||
		end > mapper->offset + WINDOW_SIZE)
	{
		void	   *start;

		sst_run_mapper_close(mapper);
		start = mmap(NULL, WINDOW_SIZE, PROT_READ, MAP_SHARED, run->read.fd, begin);
		if (start == MAP_FAILED)
			return NULL;
		mapper->window = start;
		mapper->segno = segno;
		mapper->offset = begin;
	}

	return mapper->window + (offset - mapper->offset);
}

/*
 * Jump out of copy_run() when mapped memory cannot be read.  Any other SIGBUS is
 * for the previous handler: the instruction is run again and raises it again.
 */
static void
handle_sigbus(int signo, siginfo_t *info, void *context)
{
	const char *address = info->si_addr;

	if (address >= guard_start && address < guard_end)
		siglongjmp(guard_jump, 1);

	sigaction(SIGBUS, &guard_previous, NULL);
}

/* ----------
 * Copying the needed parts of a run's pages
 *
 * Only this file reads mapped memory, and it copies: a private image does not
 * change or disappear.  Between the copied parts of a page, the image has a
 * hole with arbitrary contents.
 * ----------
 */

/* With fewer bytes, the system calls take longer than copying all of them. */
#define MIN_BYTES (128 * 1024)

/*
 * A file system with a cache of its own can have data of which the kernel says that they are
 * absent.  After a run that seemed to be, so many runs are left to be read.
 */
#define RUNS_TO_SKIP 15

/*
 * In a trial, some runs are mapped, as many are read, and both again; the way that took less time is
 * taken until the next trial.  The first runs are in none, because they touch their memory for the first
 * time.  If one way takes twice as long as the other, trials cost 2 percent.
 */
#define FIRST_RUNS		2
#define RUNS_IN_PART	4
#define RUNS_IN_TRIAL	(4 * RUNS_IN_PART)
#define RUNS_TO_TRIAL	512		/* from the begin of one to that of the next */

/* By the session's last trial, with which the next stream begins */
static bool mapping_is_faster = true;

/* Pages to look ahead for the CPU's cache, and bytes of the first part of each */
#define PREFETCH_DISTANCE 3
#define PREFETCH_BYTES 1024

/*
 * Prepare to copy runs, of pages of which this much is needed, and whose LSN
 * tells of changes.
 */
void
sst_run_mapper_init(SstRunMapper *mapper, const SstPageNeeds *needs,
					const SstDirectPageCheck *check)
{
	bool		in_part = needs->part != SST_PART_ALL && needs->stride > 1;
	bool		may_map = sst_map_files != SST_MAP_FILES_OFF;

	memset(mapper, 0, sizeof(SstRunMapper));
	mapper->segno = -1;
	mapper->needs = *needs;
	mapper->checksums = check->checksums;
	mapper->nruns = -FIRST_RUNS;
	mapper->off = !may_map || !in_part || !check->wal_logged;
#ifndef SST_HAVE_MAPPED_READS
	mapper->off = true;
#endif
}

/* Start to load what will be copied of a page. */
static inline void
prefetch_page(const char *mapped, SstPagePart part)
{
#ifdef __GNUC__
	int			nbytes = part == SST_PART_NONE ? 1 : PREFETCH_BYTES;

	for (int i = 0; i < nbytes; i += PG_CACHE_LINE_SIZE / 2)
		__builtin_prefetch(mapped + i);
	__builtin_prefetch(mapped + BLCKSZ - 1);
#endif
}

/* The part to copy of a page, by the image's header, which is copied already */
static inline SstPagePart
needed_part(const SstPageNeeds *needs, BlockNumber blkno,
			const PageHeaderData *header)
{
	if (blkno % needs->stride == 0 || !sst_header_is_good(header) ||
		header->pd_special < SizeOfPageHeaderData)
		return SST_PART_ALL;
	if (needs->part != SST_PART_TUPLES_IF_CHANGED)
		return needs->part;

	return (header->pd_flags & PD_ALL_VISIBLE) != 0 ? SST_PART_LINE_POINTERS :
		SST_PART_ALL;
}

/*
 * Copy what is needed of a page.  Everything is decided by the copy of the header: the page
 * itself can change meanwhile.
 */
static inline void
copy_page(char *image, const char *mapped, const SstPageNeeds *needs,
		  BlockNumber blkno)
{
	const PageHeaderData *header = (const PageHeaderData *) image;
	int			end = SizeOfPageHeaderData;
	SstPagePart part;

	memcpy(image, mapped, end);
	part = needed_part(needs, blkno, header);
	if (part == SST_PART_ALL)
	{
		memcpy(image + end, mapped + end, BLCKSZ - end);
		return;
	}

	if (part == SST_PART_LINE_POINTERS && header->pd_lower > end)
	{
		memcpy(image + end, mapped + end, header->pd_lower - end);
		end = header->pd_lower;
	}
	memcpy(image + header->pd_special, mapped + header->pd_special,
		   BLCKSZ - header->pd_special);

#ifdef USE_ASSERT_CHECKING
	memset(image + end, 0x7f, header->pd_special - end);
#endif
	VALGRIND_MAKE_MEM_NOACCESS(image + end, header->pd_special - end);
}

/* Copy from mapped memory: no ERROR, and nothing to be undone. */
static void
copy_run(const SstRunMapper *mapper, const char *mapped, SstRun *run)
{
	const char *end = mapped + run->read.length;
	uint64		left = run->wanted & ~run->buffered;

	/* To sum up the pages loads them into the CPU's cache. */
	mapped -= (Size) BLCKSZ * run->read_first;
	if (mapper->checksums)
		sst_run_sum(run, mapped, left);

	for (; left != 0; left &= left - 1)
	{
		int			i = pg_rightmost_one_pos64(left);
		const char *page = mapped + (Size) BLCKSZ * i;
		const char *ahead = page + PREFETCH_DISTANCE * BLCKSZ;

		if (!mapper->checksums && ahead < end)
			prefetch_page(ahead, mapper->needs.part);
		copy_page(run->memory + (Size) BLCKSZ * i, page, &mapper->needs, run->first + i);
	}
}

/*
 * The same; false if some could not be read: what has been copied until then is
 * meaningless.
 *
 * The signal is not blocked while it is handled, so that the jump need not
 * restore the signal mask.
 */
static bool
copy_run_guarded(const SstRunMapper *mapper, const char *mapped, SstRun *run)
{
	struct sigaction action;
	volatile bool copied = false;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = handle_sigbus;
	action.sa_flags = SA_SIGINFO | SA_NODEFER;
	sigemptyset(&action.sa_mask);
	if (sigaction(SIGBUS, &action, &guard_previous) < 0)
		return false;

	guard_start = mapper->window;
	guard_end = mapper->window + WINDOW_SIZE;
	if (sigsetjmp(guard_jump, 0) == 0)
	{
		copy_run(mapper, mapped, run);
		copied = true;
	}
	guard_start = guard_end = NULL;
	sigaction(SIGBUS, &guard_previous, NULL);

	return copied;
}

/* Is the next run to be mapped, if it is in the page cache?  In a trial, its clock starts. */
static bool
wants_mapping(SstRunMapper *mapper)
{
	int			n = mapper->nruns++;

	if (n == RUNS_IN_TRIAL)
		mapping_is_faster = mapper->least[true] <= mapper->least[false];
	if (mapper->nruns == RUNS_TO_TRIAL)
		mapper->nruns = 0;
	if (n < 0 || n >= RUNS_IN_TRIAL)
		return mapping_is_faster;

	if (n == 0)
	{
		sst_run_mapper_close(mapper);
		mapper->least[true] = mapper->least[false] = INFINITY;
	}
	if (n % RUNS_IN_PART == 0)
		mapper->spent = 0;
	mapper->timed = true;
	INSTR_TIME_SET_CURRENT(mapper->start_time);
	return n / RUNS_IN_PART % 2 == 0;
}

/*
 * A run has been copied from the page cache, either way, and checked: its clock stops.  To unmap pages takes
 * as long as to map them, and so is counted.
 */
void
sst_run_mapper_done(SstRunMapper *mapper, const SstRun *run)
{
	bool		ends = mapper->nruns % RUNS_IN_PART == 0;
	instr_time	time;

	if (!mapper->timed)
		return;

	if (ends)
		sst_run_mapper_close(mapper);
	INSTR_TIME_SET_CURRENT(time);
	INSTR_TIME_SUBTRACT(time, mapper->start_time);
	mapper->spent += INSTR_TIME_GET_DOUBLE(time) / run->read.length;
	if (ends)
		mapper->least[run->mapped] = Min(mapper->least[run->mapped], mapper->spent);
	mapper->timed = false;
}

/* A run was not in the page cache.  The next trial begins anew, as the first one did. */
void
sst_run_mapper_missed(SstRunMapper *mapper)
{
	mapper->nruns = -FIRST_RUNS;
	mapper->timed = false;
}

/*
 * Copy what is needed of the run's blocks that are in no buffer.  False if they have to be read,
 * which can be quicker, if "can_read" says that this can be done without waiting.
 */
bool
sst_run_copy_mapped(SstRunMapper *mapper, SstRun *run, bool can_read)
{
	SstFileRead *read = &run->read;
	const char *mapped;

	if (mapper->off || read->length < MIN_BYTES || mapper->nskip-- > 0)
		return false;
	if (can_read && sst_map_files == SST_MAP_FILES_AUTO && !wants_mapping(mapper))
		return false;

	mapped = map_run(mapper, run);
	if (mapped == NULL)
	{
		mapper->off = true;
		return false;
	}

	if (!sst_page_cache_has_mapped(read->fd, read->offset, mapped, read->length))
	{
		mapper->nskip = RUNS_TO_SKIP;
		return false;
	}

	if (!copy_run_guarded(mapper, mapped, run))
		return false;
	read->done = read->length;
	run->mapped = true;

	return true;
}
