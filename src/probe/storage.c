/*-------------------------------------------------------------------------
 *
 * storage.c
 *	  Whether the files of a relation can be used to measure a disk
 *
 * A file system in memory, or with its own cache that cannot be bypassed,
 * would answer instead of the disk.  Where data must be decompressed or
 * decrypted, that would dominate the time.  Such files are not measured.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/probe/storage.c
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

#include "miscadmin.h"
#include "storage/fd.h"

#include "compat/platform.h"
#include "probe/storage.h"
#include "stream/segment_file.h"
#include "stream/stream.h"

#ifdef SST_HAVE_LINUX_STATFS

/* File systems, as statfs(2) numbers them (include/uapi/linux/magic.h) */
typedef struct FileSystem
{
	uint32		number;
	const char *note;
} FileSystem;

static const FileSystem file_systems[] = {
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

	if (fstatfs(fd, &fs) == 0)
	{
		for (int i = 0; i < lengthof(file_systems); i++)
		{
			if ((uint32) fs.f_type == file_systems[i].number)
				return _(file_systems[i].note);
		}
	}
#ifdef SST_HAVE_STATX
	{
		struct statx st;

		if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st) == 0)
		{
			if ((st.stx_attributes & ATTRIBUTE_COMPRESSED) != 0)
				return _("the file system has compressed the file");
			if ((st.stx_attributes & ATTRIBUTE_ENCRYPTED) != 0)
				return _("the file system has encrypted the file");
		}
	}
#endif
#endif
	return NULL;
}

/*
 * Open the segment of a block for reads past the page cache.  -1 if that cannot be.
 * The descriptor is for CloseTransientFile(); the end of the (sub)transaction closes
 * it as well.
 */
int
sst_open_direct(const SstFiles *files, BlockNumber blkno)
{
#ifdef SST_HAVE_DIRECT_READS
	char		path[MAXPGPATH];

	sst_files_path(files, MAIN_FORKNUM, path, sizeof(path));
	if (blkno >= RELSEG_SIZE)
		snprintf(path + strlen(path), sizeof(path) - strlen(path), ".%u",
				 blkno / RELSEG_SIZE);

	return OpenTransientFile(path, O_RDONLY | PG_BINARY | O_DIRECT);
#else
	errno = EINVAL;
	return -1;
#endif
}

/* Does a block come past the page cache?  Some file systems refuse the read only. */
static bool
direct_works(const SstFiles *files)
{
	int			fd = sst_open_direct(files, 0);
	char	   *block;
	ssize_t		n;

	if (fd < 0)
		return false;

	block = sst_palloc_blocks(1);
	n = pread(fd, block, BLCKSZ, 0);
	sst_pfree_blocks(block);
	CloseTransientFile(fd);

	return n >= 0 || errno != EINVAL;
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

/*
 * Find out what the file system does with reads of a relation's files, which has so many
 * blocks and is locked.  A file that cannot be opened has a note.
 */
void
sst_examine_storage(SstStorage *storage, const SstFiles *files, BlockNumber nblocks)
{
	SstSegmentFile file;

	memset(storage, 0, sizeof(SstStorage));
	sst_segment_file_init_files(&file, files, MAIN_FORKNUM);
	if (!file.plain)
	{
		storage->note = _("blocks are read by another storage manager than the server's");
		return;
	}

	while (storage->nblocks < nblocks && storage->note == NULL)
	{
		BlockNumber nhere = Min(RELSEG_SIZE, nblocks - storage->nblocks);
		BlockNumber nwritten;
		int			fd = sst_segment_file_open(&file, storage->nblocks);

		CHECK_FOR_INTERRUPTS();
		storage->note = fd < 0 ? _("the file cannot be opened") : file_note(fd);
		if (storage->note != NULL)
			break;
		nwritten = written_blocks(fd, nhere);
		storage->nblocks += nwritten;
		if (nwritten < nhere)
			break;
	}
	sst_segment_file_close(&file);

	if (storage->note == NULL)
		storage->direct = direct_works(files);
}
