/*-------------------------------------------------------------------------
 *
 * saved_text.h
 *	  What shared buffers hold, as a text that can be loaded again
 *
 * Lines, for example:
 *
 *		streamstat cache 1
 *		database postgres
 *		saved 2026-11-22 12:55:50 UTC
 *		block_size 8192
 *		blocks 1034
 *		1 r public.orders
 *		2 i public.orders_pkey
 *		3 t public.orders
 *		usage 5
 *		1 main 0+1024 1100 3+2
 *		2 main 0+2
 *		usage 1
 *		3 fsm 0+5
 *		crc 90fe1dd5
 *
 * cache_save() names relations, for numbers of files or OIDs mean nothing elsewhere: r a
 * table or partition, m a materialized view, i an index, t the TOAST table of the
 * named table, x the index of that.  The cache worker is not connected to a database,
 * and knows no names: it gives the database's OID, a line "system" with the system
 * identifier behind it, and f TABLESPACE/FILE for each relation.
 *
 * The hottest blocks come first: "usage" begins those with this usage count.  Each line
 * behind it has blocks of one fork (main, fsm or vm): how many blocks to skip, from the
 * end of the range before or from the first block of the fork, and how many there are
 * if they are more than one.  No line is long.
 *
 * Names are quoted as in SQL.  In quoted names, \\ is a backslash and \xHH a control
 * character.  White space around lines and empty lines mean nothing.  The last line
 * is the CRC-32C of all others in UTF-8, each with one line feed behind it.  First
 * and last line keep their form in later versions.
 *
 * The worker's file has such a text for each database, and in front of them an index:
 *
 *		streamstat cache file 1
 *		block_size 8192
 *		system 7563421098765432101
 *		16384 1663 1034 21345
 *		crc 4ba54e12
 *
 * with a line for each text: database, tablespace of its first relation, blocks,
 * bytes.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/saved_text.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_SAVED_TEXT_H
#define SST_SAVED_TEXT_H

#include "lib/stringinfo.h"
#include "port/pg_crc32c.h"

#include "stream/buffer_pool.h"
#include "warm/warm.h"

#define SST_SAVED_CACHE_NAME "streamstat cache"
#define SST_SAVED_CACHE_VERSION 1
#define SST_CACHE_INDEX_NAME SST_SAVED_CACHE_NAME " file"

/* Letters for relations */
#define SST_SAVED_TABLE 'r'
#define SST_SAVED_MATVIEW 'm'
#define SST_SAVED_INDEX 'i'
#define SST_SAVED_TOAST 't'		/* by the name of its table */
#define SST_SAVED_TOAST_INDEX 'x'	/* by the name of the table */
#define SST_SAVED_FILES 'f'		/* by numbers */

typedef struct SstSavedRelation
{
	char		kind;
	const char *schema;			/* NULL if it goes by numbers */
	const char *name;
	Oid			tablespace;		/* see SstFiles */
	Oid			number;
} SstSavedRelation;

typedef struct SstSavedRange
{
	int			relation;		/* index into the relations */
	uint8		forknum;
	uint8		usage;
	BlockNumber first;
	BlockNumber end;			/* one past the last block */
} SstSavedRange;

typedef struct SstSavedCache
{
	uint64		system;			/* identifier; 0 if relations go by name */
	int			nrelations;
	SstSavedRelation *relations;
	int64		nranges;
	SstSavedRange *ranges;		/* the hottest first */
	uint64		nblocks;		/* of all ranges */
} SstSavedCache;

/* A text of the worker's file */
typedef struct SstCachedDatabase
{
	Oid			database;		/* InvalidOid for shared relations */
	Oid			tablespace;
	uint64		nblocks;
	uint64		nbytes;
} SstCachedDatabase;

typedef struct SstCacheIndex
{
	uint64		system;
	int			ndatabases;
	SstCachedDatabase *databases;
} SstCacheIndex;

/* Listed relations, sorted by what they are saved under */
typedef struct SstSavedEntry
{
	SstSavedRelation saved;
	const SstRelation *relation;
} SstSavedEntry;

typedef struct SstSavedIndex
{
	int			n;
	SstSavedEntry *entries;
} SstSavedIndex;

/* Why a text cannot be loaded */
typedef struct SstSavedCacheError
{
	int			code;			/* SQLSTATE */
	int64		line;			/* 0 if it is not about one */
	const char *what;			/* not translated yet */
} SstSavedCacheError;

/* The lines of a text, one after the other */
typedef struct SstSavedLines
{
	const char *next;			/* behind the line */
	const char *end;			/* of the text */
	int64		number;
	const char *line;			/* without white space around it */
	const char *line_end;
} SstSavedLines;

/* in saved_cache_parse.c */
extern void sst_saved_lines_init(SstSavedLines *lines, const char *bytes,
								 Size length);
extern bool sst_saved_lines_next(SstSavedLines *lines);
extern bool sst_check_saved_cache(const char *bytes, Size length,
								  SstSavedCacheError *error);
extern bool sst_parse_saved_cache(const char *bytes, Size length,
								  SstSavedCache *saved,
								  SstSavedCacheError *error);
extern bool sst_parse_cache_index(const char *bytes, Size length,
								  SstCacheIndex *index,
								  SstSavedCacheError *error);

/* in saved_cache.c */
extern void sst_save_cache(int64 max_bytes, StringInfo out);
extern uint64 sst_save_cached_files(const SstBufferedBlock *first,
									const SstBufferedBlock *end, StringInfo out);
extern void sst_index_relations(const SstRelations *list, bool by_files,
								SstSavedIndex *index);
extern const SstRelation *sst_find_saved_relation(const SstSavedIndex *index,
												  const SstSavedRelation *saved);
extern pg_crc32c sst_ascii_crc(const char *text, int length);
extern void sst_read_saved_cache(const char *text, int length,
								 SstSavedCache *saved);
extern void sst_saved_cache_set(const SstSavedCache *saved, int min_usage,
								SstWarmSet *set);
extern void sst_note_cut_ranges(SstWarmSet *set);

#endif							/* SST_SAVED_TEXT_H */
