/*-------------------------------------------------------------------------
 *
 * cache_file.c
 *	  The file with the list of cached blocks, for the next start
 *
 * The file has a header, an entry for each database, and ranges of blocks by
 * file numbers, which hold in this cluster and on its physical standbys.  One
 * checksum is over all of it.  A new file is renamed only when it is complete
 * and on disk, so that either the old one or the new one exists at any time.
 *
 * Nothing here raises an error; failures are logged.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/cache_file.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/stat.h>
#include <unistd.h>

#include "access/xlog.h"
#include "port/pg_crc32c.h"
#include "storage/fd.h"

#include "warm/cache_file.h"

#define NEW_FILE SST_CACHE_FILE ".tmp"

/* The version is raised when the rest of the header or what follows changes. */
#define MAGIC "SSTWARM"
#define VERSION 1

/* Most bytes that are read or written by one call */
#define MAX_IO_BYTES (1024 * 1024)

/* Most blocks of a range, so that a load can be done in parts of any size */
#define MAX_RANGE_BLOCKS 128

/* At the start of the file.  Numbers are as this machine has them. */
typedef struct CacheFileHeader
{
	char		magic[8];
	uint32		version;
	uint32		block_size;
	uint64		system_identifier;
	uint64		nranges;
	uint32		ndatabases;
	pg_crc32c	crc;			/* CRC-32C of the header before this, and of
								 * all that follows */
} CacheFileHeader;

StaticAssertDecl(sizeof(SstCachedRange) <= sizeof(SstBufferedBlock),
				 "ranges replace blocks in place");

/* ----------
 * Writing
 * ----------
 */

/* By database, the most used blocks first, then as the files have them */
static int
compare_blocks(const void *a, const void *b)
{
	const SstBufferedBlock *left = a;
	const SstBufferedBlock *right = b;
	int			result;

	if (left->database != right->database)
		return left->database < right->database ? -1 : 1;
	if (left->usage != right->usage)
		return left->usage > right->usage ? -1 : 1;
	result = sst_compare_files(left->tablespace, left->number, left->forknum,
							   right);
	return result != 0 ? result :
		(left->blkno > right->blkno) - (left->blkno < right->blkno);
}

/* Does the block belong to the range, or follow it? */
static bool
continues(const SstCachedRange *range, const SstBufferedBlock *block)
{
	return range->usage == block->usage &&
		sst_compare_files(range->tablespace, range->number, range->forknum,
						  block) == 0 &&
		range->first + range->nblocks >= block->blkno &&
		range->nblocks < MAX_RANGE_BLOCKS;
}

static SstCachedRange
begin_range(const SstBufferedBlock *block)
{
	return (SstCachedRange)
	{
		.tablespace = block->tablespace,
			.number = block->number,
			.forknum = block->forknum,
			.usage = block->usage,
			.first = block->blkno,
			.nblocks = 1
	};
}

/*
 * Make ranges of sorted blocks, and count them by database.  The header's counts are 0
 * before.  Ranges are never more
 * than blocks and take no more memory each, so they replace the blocks, from the
 * start of the array on.
 */
static void
make_ranges(SstBufferedBlocks *blocks, CacheFileHeader *header,
			SstCachedDatabase *databases)
{
	SstCachedRange *ranges = (SstCachedRange *) blocks->blocks;
	SstCachedDatabase *database = NULL;
	SstCachedRange *range = NULL;

	for (uint64 i = 0; i < blocks->n; i++)
	{
		SstBufferedBlock block = blocks->blocks[i];

		if (database == NULL || database->database != block.database)
		{
			database = &databases[header->ndatabases++];
			memset(database, 0, sizeof(SstCachedDatabase));
			database->database = block.database;
			range = NULL;
		}
		if (range != NULL && continues(range, &block))
		{
			/* A block that moved between buffers can be there twice. */
			uint32		nblocks = block.blkno - range->first + 1;

			database->nblocks += nblocks - range->nblocks;
			range->nblocks = nblocks;
			continue;
		}
		range = &ranges[header->nranges++];
		*range = begin_range(&block);
		database->nranges++;
		database->nblocks++;
	}
}

static uint32
count_databases(const SstBufferedBlocks *blocks)
{
	uint32		n = 0;

	for (uint64 i = 0; i < blocks->n; i++)
		n += i == 0 ||
			blocks->blocks[i].database != blocks->blocks[i - 1].database;

	return n;
}

static bool
write_all(int fd, const void *data, size_t bytes)
{
	const char *next = data;

	while (bytes > 0)
	{
		ssize_t		done = write(fd, next, Min(bytes, MAX_IO_BYTES));

		if (done < 0 && errno == EINTR)
			continue;
		if (done == 0)
			errno = ENOSPC;
		if (done <= 0)
			return false;
		next += done;
		bytes -= done;
	}

	return true;
}

/* Write the new file.  False if that fails, with errno set. */
static bool
write_new_file(const CacheFileHeader *header, const SstCachedDatabase *databases,
			   const SstCachedRange *ranges)
{
	int			fd = OpenTransientFile(NEW_FILE,
									   O_CREAT | O_TRUNC | O_WRONLY | PG_BINARY);
	int			failure = 0;

	if (fd < 0)
		return false;
	if (!write_all(fd, header, sizeof(CacheFileHeader)) ||
		!write_all(fd, databases, sizeof(SstCachedDatabase) * header->ndatabases) ||
		!write_all(fd, ranges, sizeof(SstCachedRange) * header->nranges) ||
		pg_fsync(fd) != 0)
		failure = errno;
	if (CloseTransientFile(fd) != 0 && failure == 0)
		failure = errno;
	errno = failure;

	return failure == 0;
}

/*
 * Save the blocks of all databases.  Their list is sorted and then overwritten.  False,
 * with a line in the log, if that fails; then the old file is what it was.
 */
bool
sst_cache_file_write(SstBufferedBlocks *blocks)
{
	CacheFileHeader header;
	SstCachedDatabase *databases;

	qsort(blocks->blocks, blocks->n, sizeof(SstBufferedBlock), compare_blocks);
	databases = palloc(sizeof(SstCachedDatabase) * Max(count_databases(blocks), 1));
	memset(&header, 0, sizeof(header));
	strlcpy(header.magic, MAGIC, sizeof(header.magic));
	header.version = VERSION;
	header.block_size = BLCKSZ;
	header.system_identifier = GetSystemIdentifier();
	make_ranges(blocks, &header, databases);

	INIT_CRC32C(header.crc);
	COMP_CRC32C(header.crc, &header, offsetof(CacheFileHeader, crc));
	COMP_CRC32C(header.crc, databases,
				sizeof(SstCachedDatabase) * header.ndatabases);
	COMP_CRC32C(header.crc, blocks->blocks, sizeof(SstCachedRange) * header.nranges);
	FIN_CRC32C(header.crc);

	if (!write_new_file(&header, databases, (SstCachedRange *) blocks->blocks))
	{
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not write file \"%s\": %m", NEW_FILE)));
		unlink(NEW_FILE);
		return false;
	}
	if (durable_rename(NEW_FILE, SST_CACHE_FILE, LOG) != 0)
	{
		unlink(NEW_FILE);
		return false;
	}

	return true;
}

/* ----------
 * Reading
 * ----------
 */

/* Say why the file is of no use. */
static void
refuse(const char *reason)
{
	ereport(LOG,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("ignoring file \"%s\": %s", SST_CACHE_FILE, reason)));
}

/* Read so much.  False if that fails or the file ends, with a line in the log. */
static bool
read_all(int fd, void *data, size_t bytes)
{
	char	   *next = data;

	while (bytes > 0)
	{
		ssize_t		done = read(fd, next, Min(bytes, MAX_IO_BYTES));

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			ereport(LOG,
					(errcode_for_file_access(),
					 errmsg("could not read file \"%s\": %m", SST_CACHE_FILE)));
		if (done == 0)
			refuse(_("it is truncated"));
		if (done <= 0)
			return false;
		next += done;
		bytes -= done;
	}

	return true;
}

/* Is the file of this server, and does it have the size that its header says? */
static bool
header_is_good(const CacheFileHeader *header, uint64 file_bytes)
{
	uint64		bytes = file_bytes - sizeof(CacheFileHeader);
	const char *reason = NULL;

	if (memcmp(header->magic, MAGIC, sizeof(header->magic)) != 0)
		reason = _("it is not a saved cache");
	else if (header->version != VERSION)
		reason = _("it was written by another version of streamstat");
	else if (header->block_size != BLCKSZ)
		reason = _("it was written by a server with another block size");
	else if (header->system_identifier != GetSystemIdentifier())
		reason = _("it belongs to another database system");
	else if (header->ndatabases > bytes / sizeof(SstCachedDatabase) ||
			 header->nranges > bytes / sizeof(SstCachedRange) ||
			 header->ndatabases * sizeof(SstCachedDatabase) +
			 header->nranges * sizeof(SstCachedRange) != bytes)
		reason = _("it is truncated or damaged");
	if (reason != NULL)
		refuse(reason);

	return reason == NULL;
}

/* Do the numbers of a file with a good checksum make sense? */
static bool
contents_are_good(SstCacheFile *cache, uint64 nranges)
{
	uint64		n = 0;

	cache->nblocks = 0;
	for (uint32 i = 0; i < cache->ndatabases; i++)
	{
		cache->nblocks += cache->databases[i].nblocks;
		if (cache->databases[i].nranges > nranges - n)
			return false;
		n += cache->databases[i].nranges;
	}
	for (uint64 i = 0; i < nranges; i++)
	{
		const SstCachedRange *range = &cache->ranges[i];

		if (range->forknum > MAX_FORKNUM || range->nblocks == 0 ||
			range->nblocks > InvalidBlockNumber - range->first)
			return false;
	}

	return n == nranges;
}

/* Read the open file.  NULL if it is refused, with a line in the log. */
static SstCacheFile *
read_open_file(int fd, uint64 file_bytes)
{
	CacheFileHeader header;
	size_t		bytes = file_bytes - sizeof(CacheFileHeader);
	SstCacheFile *cache;
	char	   *data;
	pg_crc32c	crc;

	if (file_bytes < sizeof(CacheFileHeader))
	{
		refuse(_("it is truncated"));
		return NULL;
	}
	if (!read_all(fd, &header, sizeof(CacheFileHeader)) ||
		!header_is_good(&header, file_bytes))
		return NULL;

	data = palloc_extended(Max(bytes, 1), MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
	if (data == NULL)
	{
		refuse(_("out of memory"));
		return NULL;
	}
	if (!read_all(fd, data, bytes))
		return NULL;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, &header, offsetof(CacheFileHeader, crc));
	COMP_CRC32C(crc, data, bytes);
	FIN_CRC32C(crc);

	cache = palloc(sizeof(SstCacheFile));
	cache->ndatabases = header.ndatabases;
	cache->databases = (SstCachedDatabase *) data;
	cache->ranges = (SstCachedRange *)
		(data + sizeof(SstCachedDatabase) * header.ndatabases);
	if (!EQ_CRC32C(crc, header.crc) ||
		!contents_are_good(cache, header.nranges))
	{
		refuse(_("its checksum is wrong"));
		return NULL;
	}

	return cache;
}

/*
 * Read the file, into the current memory context.  NULL if there is none, or if it is
 * refused, with a line in the log.
 */
SstCacheFile *
sst_cache_file_read(void)
{
	int			fd = OpenTransientFile(SST_CACHE_FILE, O_RDONLY | PG_BINARY);
	SstCacheFile *cache = NULL;
	struct stat st;

	if (fd < 0)
	{
		if (errno != ENOENT)
			ereport(LOG,
					(errcode_for_file_access(),
					 errmsg("could not open file \"%s\": %m", SST_CACHE_FILE)));
		return NULL;
	}
	if (fstat(fd, &st) != 0)
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", SST_CACHE_FILE)));
	else
		cache = read_open_file(fd, st.st_size);
	CloseTransientFile(fd);

	return cache;
}
