/*-------------------------------------------------------------------------
 *
 * page_data.h
 *	  The data of a page, from the session's last report or a stored one
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/html/page_data.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_HTML_PAGE_DATA_H
#define SST_HTML_PAGE_DATA_H

/* A number and the ends of its interval; NaN: not known */
typedef struct SstRange
{
	double		value;
	double		low;
	double		high;
} SstRange;

typedef struct SstPageRelation
{
	Oid			relid;			/* InvalidOid in a stored run */
	const char *schema;
	const char *name;
	const char *parent;			/* qualified and quoted; NULL if there is none */
	const char *kind;
	const char *access_method;
	const char *last_vacuum;
	double		bytes;			/* 0 if not known */
	double		free_percent;
	double		dead_percent;
	SstRange	reclaimable;
	double		corrupt_pages;
	bool		invalid;
	bool		exact;
	bool		skipped;

	/* Only of those that a table shows; else NULL */
	const char *note;
	const char *command;
	const char *rebuilt_by;
	const char *reason;
} SstPageRelation;

typedef struct SstPageCommand
{
	int64		rank;
	const char *schema;
	const char *name;
	const char *kind;
	double		bytes;
	double		relations;
	SstRange	reclaimable;
	double		scratch_bytes;
	double		bytes_to_write;
	const char *command;		/* NULL if none helps */
	const char *lock_mode;
	bool		blocks_reads;
	bool		blocks_writes;
	const char *reason;
} SstPageCommand;

/* What is cached of a relation with all that belongs to it */
typedef struct SstPageCached
{
	const char *name;			/* qualified and quoted */
	double		bytes;
	double		buffered_bytes;
	double		page_cache_bytes;
} SstPageCached;

typedef struct SstPageData
{
	bool		stored;
	int64		run;

	/* The run, in words */
	const char *database;
	const char *server;
	const char *started;
	const char *ended_by;
	const char *note;

	/* The run, in numbers */
	double		nexact;
	double		nsampled;
	double		nskipped;
	double		ncommands;
	SstRange	reclaimable;
	SstRange	planned;
	double		bytes_total;
	double		bytes_read;
	double		bytes_skipped;
	double		bytes_left;
	double		elapsed_ms;

	/* Those that would give back most come first. */
	int			nrelations;
	SstPageRelation *relations;

	/* The first ones of the plan; all in all there are ncommands. */
	int			nplanned;
	SstPageCommand *commands;

	/* The caller may call layout_map. */
	bool		may_read_layouts;

	/* Only of the session's report: what is cached now, if that may be shown */
	bool		caches_known;
	SstPageCached cached;		/* all together */
	int			ncached;
	SstPageCached *most_cached;
} SstPageData;

/* The most rows that the page has of each */
#define SST_PAGE_MAX_COMMANDS 120
#define SST_PAGE_MAX_CACHED 12

extern void sst_read_page_data(const char *extension, bool stored, int64 run,
							   SstPageData *data);

#endif							/* SST_HTML_PAGE_DATA_H */
