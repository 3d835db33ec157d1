/*-------------------------------------------------------------------------
 *
 * saved_cache.h
 *	  What shared buffers hold, as a text that another server can load
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
 * Relations come by name, for numbers of files or OIDs mean nothing elsewhere: r a
 * table or partition, m a materialized view, i an index, t the TOAST table of the
 * named table, x the index of that.  The hottest blocks come first: "usage" begins
 * those with this usage count.  Each line behind it has blocks of one fork (main, fsm
 * or vm): how many blocks to skip, from the end of the range before or from the first
 * block of the fork, and how many there are if they are more than one.  No line is
 * long.
 *
 * Names are quoted as in SQL.  In quoted names, \\ is a backslash and \xHH a control
 * character.  White space around lines and empty lines mean nothing.  The last line
 * is the CRC-32C of all others in UTF-8, each with one line feed behind it.  First
 * and last line keep their form in later versions.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/saved_cache.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_SAVED_CACHE_H
#define SST_SAVED_CACHE_H

#include "common/relpath.h"
#include "lib/stringinfo.h"
#include "port/pg_crc32c.h"
#include "storage/block.h"

#include "relation/relations.h"

#define SST_SAVED_CACHE_NAME "streamstat cache"
#define SST_SAVED_CACHE_VERSION 1

/* Letters for relations */
#define SST_SAVED_TABLE 'r'
#define SST_SAVED_MATVIEW 'm'
#define SST_SAVED_INDEX 'i'
#define SST_SAVED_TOAST 't'		/* by the name of its table */
#define SST_SAVED_TOAST_INDEX 'x'	/* by the name of the table */
#define SST_SAVED_KINDS "rmitx"

typedef struct SstSavedRelation
{
	char		kind;
	const char *schema;
	const char *name;
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
	int			nrelations;
	SstSavedRelation *relations;
	int64		nranges;
	SstSavedRange *ranges;		/* the hottest first */
	int64		nblocks;		/* of all ranges */
} SstSavedCache;

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

extern void sst_saved_lines_init(SstSavedLines *lines, const char *bytes,
								 Size length);
extern bool sst_saved_lines_next(SstSavedLines *lines);

extern bool sst_check_saved_cache(const char *bytes, Size length,
								  SstSavedCacheError *error);
extern bool sst_parse_saved_cache(const char *bytes, Size length,
								  SstSavedCache *saved,
								  SstSavedCacheError *error);

#endif							/* SST_SAVED_CACHE_H */
