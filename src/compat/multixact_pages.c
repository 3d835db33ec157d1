/*-------------------------------------------------------------------------
 *
 * multixact_pages.c
 *	  Pages of pg_multixact, by server version
 *
 * GetMultiXactIdMembers() trusts what it finds.  Where a crash has left a
 * hole, it waits forever for it to be filled (before 15.16, 16.12, 17.8 and
 * 18.2) or raises an error; so it does where a file is missing.  So this file
 * reads the pages as they are, from the server's SLRU buffers or else from the
 * files.  It evicts, writes and counts nothing.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "access/slru.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/wait_event.h"

#include "compat/multixact_pages.h"

/* Buffers of a bank, and pages of a segment (access/transam/slru.c) */
#define BANK_SLOTS 16
#define SEGMENT_PAGES 32

/* What the server calls the areas' shared memory, and how many buffers they have */
#if PG_VERSION_NUM >= 170000
#define OFFSETS_NAME "multixact_offset"
#define MEMBERS_NAME "multixact_member"
#define OFFSETS_SLOTS multixact_offset_buffers
#define MEMBERS_SLOTS multixact_member_buffers
#else
#define OFFSETS_NAME "MultiXactOffset"
#define MEMBERS_NAME "MultiXactMember"
#define OFFSETS_SLOTS NUM_MULTIXACTOFFSET_BUFFERS
#define MEMBERS_SLOTS NUM_MULTIXACTMEMBER_BUFFERS
#endif

/* Paths of segments, of which names have more digits from 19 on for members */
#define OFFSETS_PATH "pg_multixact/offsets/%04llX"
#if PG_VERSION_NUM >= 190000
#define MEMBERS_PATH "pg_multixact/members/%015llX"
#else
#define MEMBERS_PATH "pg_multixact/members/%04llX"
#endif

/* The state of each area in shared memory, once this process has attached to it */
static void *offsets;
static void *members;

/* From 19 on one attaches to shared memory without knowing its size. */
#if PG_VERSION_NUM >= 190000
static void
request_areas(void *arg)
{
	ShmemRequestStruct(.name = OFFSETS_NAME, .size = SHMEM_ATTACH_UNKNOWN_SIZE,
					   .ptr = &offsets);
	ShmemRequestStruct(.name = MEMBERS_NAME, .size = SHMEM_ATTACH_UNKNOWN_SIZE,
					   .ptr = &members);
}

static const ShmemCallbacks callbacks = {
	.flags = SHMEM_CALLBACKS_ALLOW_AFTER_STARTUP,
	.request_fn = request_areas
};

static void
attach(void)
{
	RegisterShmemCallbacks(&callbacks);
}
#else
static void *
attach_to(const char *name, int nslots)
{
	bool		found;
	void	   *area = ShmemInitStruct(name, SimpleLruShmemSize(nslots, 0), &found);

	if (!found)
		elog(ERROR, "shared memory \"%s\" does not exist", name);
	return area;
}

static void
attach(void)
{
	offsets = attach_to(OFFSETS_NAME, OFFSETS_SLOTS);
	members = attach_to(MEMBERS_NAME, MEMBERS_SLOTS);
}
#endif

/* Copy the page from a buffer of the server's; false if none has it. */
static bool
copy_from_buffer(SlruShared area, int64 pageno, char *copy)
{
	int			slot = 0;
	int			end = area->num_slots;
	LWLock	   *lock;
	bool		found = false;

	/* From 17 on, buffers form banks, each with a lock of its own. */
#if PG_VERSION_NUM >= 170000
	int			bank = pageno % (area->num_slots / BANK_SLOTS);

	slot = bank * BANK_SLOTS;
	end = slot + BANK_SLOTS;
	lock = &area->bank_locks[bank].lock;
#else
	lock = area->ControlLock;
#endif

	LWLockAcquire(lock, LW_SHARED);
	for (; slot < end && !found; slot++)
	{
		found = area->page_number[slot] == pageno &&
			(area->page_status[slot] == SLRU_PAGE_VALID ||
			 area->page_status[slot] == SLRU_PAGE_WRITE_IN_PROGRESS);
		if (found)
			memcpy(copy, area->page_buffer[slot], BLCKSZ);
	}
	LWLockRelease(lock);

	return found;
}

/* Copy the page from its file; false if it is not there, or cannot be read. */
static bool
copy_from_file(const char *path_format, int64 pageno, char *copy)
{
	char		path[MAXPGPATH];
	ssize_t		nread;
	int			fd;

	snprintf(path, sizeof(path), path_format,
			 (unsigned long long) (pageno / SEGMENT_PAGES));
	fd = OpenTransientFile(path, O_RDONLY | PG_BINARY);
	if (fd < 0)
	{
		/* A lack of descriptors or memory is no damage. */
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
			ereport(ERROR,
					errcode_for_file_access(),
					errmsg("could not open file \"%s\": %m", path));
		return false;
	}

	pgstat_report_wait_start(WAIT_EVENT_SLRU_READ);
	nread = pg_pread(fd, copy, BLCKSZ, (off_t) BLCKSZ * (pageno % SEGMENT_PAGES));
	pgstat_report_wait_end();
	CloseTransientFile(fd);

	return nread == BLCKSZ;
}

/*
 * Copy a page as it is now.  False if it does not exist, or cannot be read; then the
 * copy's contents are undefined.
 *
 * Takes a lock on the area's buffers for a moment, and may read from a file, so that
 * the caller should hold no lock on a page.  What a caller knows to have been written
 * before is in the copy: the server has a page that was changed in a buffer until it
 * is written.
 */
bool
sst_copy_multixact_page(SstMultixactArea area, int64 pageno, char *copy)
{
	bool		is_offsets = area == SST_MULTIXACT_OFFSETS;

	if (members == NULL)
		attach();

	return copy_from_buffer(is_offsets ? offsets : members, pageno, copy) ||
		copy_from_file(is_offsets ? OFFSETS_PATH : MEMBERS_PATH, pageno, copy);
}
