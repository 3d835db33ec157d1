/*-------------------------------------------------------------------------
 *
 * streamstat.h
 *	  The settings of the module
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef STREAMSTAT_H
#define STREAMSTAT_H

/* The way that pages take */
typedef enum SstIoPath
{
	SST_IO_PATH_AUTO,			/* as it suits; no stream has this one */
	SST_IO_PATH_BUFFER,			/* all through the buffer manager */
	SST_IO_PATH_FILE			/* what is in no buffer, from the files */
} SstIoPath;

/* What reads files */
typedef enum SstIoMethod
{
	SST_IO_METHOD_AUTO,			/* io_uring where it works; or none was needed */
	SST_IO_METHOD_IO_URING,
	SST_IO_METHOD_SYNC			/* plain reads, with advice ahead */
} SstIoMethod;

/* Is what is in the page cache mapped, to copy only what is needed? */
typedef enum SstMapFiles
{
	SST_MAP_FILES_AUTO,			/* where that is quicker */
	SST_MAP_FILES_ON,
	SST_MAP_FILES_OFF
} SstMapFiles;

extern int	sst_io_path;
extern int	sst_io_method;
extern int	sst_map_files;

/* Parallel workers that one call may have */
extern int	sst_max_workers;

/* Reads or advised runs to have in flight; 0 for a default */
extern int	sst_io_concurrency;

/* Most blocks in one read or run; 0 for a default */
extern int	sst_io_combine_limit;

/* Most kilobytes that a scan looks at in a second; 0 for no limit */
extern int	sst_max_rate;

/* Milliseconds for which others may wait for our locks; -1 for any time */
extern int	sst_max_blocking_time;

/*
 * Seconds from one save of the cache to the next; 0 to save it when the server stops,
 * -1 for never
 */
extern int	sst_cache_save_interval;

#endif							/* STREAMSTAT_H */
