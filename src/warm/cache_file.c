/*-------------------------------------------------------------------------
 *
 * cache_file.c
 *	  The cache worker's file
 *
 * saved_cache.h describes it.  It goes by file numbers, which hold in this cluster and
 * on its physical standbys.  A new file is renamed only when it is complete and on
 * disk, so that either the old one or the new one exists at any time.
 *
 * Nothing here raises an error, but for want of memory; failures are logged.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/cache_file.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "access/xlog.h"
#include "storage/fd.h"

#include "warm/array.h"
#include "warm/cache_file.h"
#include "warm/saved_cache.h"

/* From the data directory */
#define CACHE_FILE "streamstat.cache"
#define NEW_FILE CACHE_FILE ".tmp"

/* An index is not larger: it has some 50 bytes for each database. */
#define MAX_INDEX_BYTES (64 * 1024 * 1024)

/* ----------
 * Writing
 * ----------
 */

/*
 * Write the index, which has the same length whatever the numbers in it.  False if
 * that fails.
 */
static bool
write_index(FILE *file, const SstCacheIndex *index)
{
	StringInfoData text;
	bool		done;

	initStringInfo(&text);
	appendStringInfo(&text, SST_CACHE_INDEX_NAME " %d\nblock_size %d\nsystem " UINT64_FORMAT "\n",
					 SST_SAVED_CACHE_VERSION, BLCKSZ, index->system);
	for (int i = 0; i < index->ndatabases; i++)
	{
		const SstCachedDatabase *database = &index->databases[i];

		appendStringInfo(&text, "%010u %010u %010lld %010lld\n",
						 database->database, database->tablespace,
						 (long long) database->nblocks, (long long) database->nbytes);
	}
	appendStringInfo(&text, "crc %08x\n", sst_ascii_crc(text.data, text.len));
	done = fwrite(text.data, text.len, 1, file) == 1;
	pfree(text.data);

	return done;
}

/* Where the blocks of the next database begin */
static const SstBufferedBlock *
next_database(const SstBufferedBlock *block, const SstBufferedBlock *end)
{
	Oid			database = block->database;

	while (block < end && block->database == database)
		block++;

	return block;
}

/* Write the texts behind the index, and count in it what they have. */
static bool
write_texts(FILE *file, const SstBufferedBlocks *blocks, SstCacheIndex *index)
{
	const SstBufferedBlock *end = blocks->blocks + blocks->n;
	const SstBufferedBlock *block = blocks->blocks;

	for (int i = 0; i < index->ndatabases; i++)
	{
		const SstBufferedBlock *next = next_database(block, end);
		StringInfoData text;
		bool		done;

		initStringInfo(&text);
		index->databases[i].nblocks = sst_save_cached_files(block, next, &text);
		index->databases[i].nbytes = text.len;

		done = fwrite(text.data, text.len, 1, file) == 1;
		pfree(text.data);
		if (!done)
			return false;
		block = next;
	}

	return true;
}

/* Write the new file.  False if that fails, with errno set. */
static bool
write_new_file(const SstBufferedBlocks *blocks, SstCacheIndex *index)
{
	FILE	   *file = AllocateFile(NEW_FILE, PG_BINARY_W);
	int			failure = 0;

	if (file == NULL)
		return false;
	errno = 0;
	if (!write_index(file, index) || !write_texts(file, blocks, index) ||
		fseeko(file, 0, SEEK_SET) != 0 || !write_index(file, index) ||
		fflush(file) != 0 || pg_fsync(fileno(file)) != 0)
		failure = errno != 0 ? errno : ENOSPC;
	if (FreeFile(file) != 0 && failure == 0)
		failure = errno;
	errno = failure;

	return failure == 0;
}

/*
 * Save the sorted blocks of all databases.  False, with a line in the log, if that
 * fails; then the old file is what it was.
 */
bool
sst_cache_file_write(const SstBufferedBlocks *blocks)
{
	const SstBufferedBlock *end = blocks->blocks + blocks->n;
	SstCacheIndex index = {.system = GetSystemIdentifier()};

	for (const SstBufferedBlock *block = blocks->blocks; block < end;
		 block = next_database(block, end))
		*sst_append(index.databases, index.ndatabases) = (SstCachedDatabase)
	{
		.database = block->database, .tablespace = block->tablespace
	};

	if (!write_new_file(blocks, &index))
	{
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not write file \"%s\": %m", NEW_FILE)));
		unlink(NEW_FILE);
		return false;
	}
	if (durable_rename(NEW_FILE, CACHE_FILE, LOG) != 0)
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

/* Say why the file, or a part of it, is of no use. */
static bool
refuse(const char *reason)
{
	ereport(LOG,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("ignoring file \"%s\"", CACHE_FILE),
			 errdetail_internal("%s", reason)));
	return false;
}

/* Has the file what the index says, from the present place on? */
static bool
has_all_texts(FILE *file, const SstCacheIndex *index)
{
	off_t		start = ftello(file);
	off_t		expected = start;

	for (int i = 0; i < index->ndatabases; i++)
		expected += index->databases[i].nbytes;

	return fseeko(file, 0, SEEK_END) == 0 && ftello(file) == expected &&
		fseeko(file, start, SEEK_SET) == 0;
}

/* Read the index at the start of the open file, and step over it. */
static bool
read_index(FILE *file, SstCacheIndex *index)
{
	SstSavedCacheError error;
	StringInfoData text;
	char		line[128];

	initStringInfo(&text);
	while (text.len < MAX_INDEX_BYTES && fgets(line, sizeof(line), file) != NULL)
	{
		appendStringInfoString(&text, line);
		if (strncmp(line, "crc ", 4) == 0)
			break;
	}
	if (!sst_check_saved_cache(text.data, text.len, &error) ||
		!sst_parse_cache_index(text.data, text.len, index, &error))
		return refuse(_(error.what));
	if (index->system != GetSystemIdentifier())
		return refuse(_("The file belongs to another database system."));

	return has_all_texts(file, index) || refuse(_("The file is truncated."));
}

/* Open the file and read its index.  NULL if there is none or it is refused. */
static FILE *
open_file(SstCacheIndex *index)
{
	FILE	   *file = AllocateFile(CACHE_FILE, PG_BINARY_R);

	if (file == NULL)
	{
		if (errno != ENOENT)
			ereport(LOG,
					(errcode_for_file_access(),
					 errmsg("could not open file \"%s\": %m", CACHE_FILE)));
		return NULL;
	}
	if (read_index(file, index))
		return file;
	FreeFile(file);

	return NULL;
}

/*
 * Read what the file has, into the current memory context.  False if there is none, or
 * it is refused, with a line in the log.
 */
bool
sst_cache_file_index(SstCacheIndex *index)
{
	FILE	   *file = open_file(index);

	return file != NULL && FreeFile(file) == 0;
}

/* Read the next text of the open file. */
static bool
read_text(FILE *file, const SstCachedDatabase *database, SstSavedCache *saved)
{
	SstSavedCacheError error;
	char	   *text = palloc_extended(database->nbytes, MCXT_ALLOC_NO_OOM);
	bool		good;

	if (text == NULL)
		return refuse(_("Out of memory."));
	if (fread(text, database->nbytes, 1, file) != 1)
		return refuse(_("The file is truncated."));
	good = sst_check_saved_cache(text, database->nbytes, &error) &&
		sst_parse_saved_cache(text, database->nbytes, saved, &error);
	pfree(text);

	return good || refuse(_(error.what));
}

/*
 * Read the text of a database, into the current memory context.  False if there is
 * none, or it is refused, with a line in the log.
 */
bool
sst_cache_file_read(Oid database, SstSavedCache *saved)
{
	SstCacheIndex index;
	FILE	   *file = open_file(&index);
	bool		found = false;
	int			i = 0;

	if (file == NULL)
		return false;
	while (i < index.ndatabases && index.databases[i].database != database &&
		   fseeko(file, index.databases[i].nbytes, SEEK_CUR) == 0)
		i++;
	if (i < index.ndatabases)
		found = read_text(file, &index.databases[i], saved);
	FreeFile(file);

	return found;
}
