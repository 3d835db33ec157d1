/*-------------------------------------------------------------------------
 *
 * streamstat.c
 *	  Module start and settings
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/streamstat.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "storage/bufmgr.h"
#include "utils/guc.h"

#include "streamstat.h"

#ifdef PG_MODULE_MAGIC_EXT
PG_MODULE_MAGIC_EXT(
					.name = "streamstat",
					.version = STREAMSTAT_VERSION
);
#else
PG_MODULE_MAGIC;
#endif

int			sst_io_concurrency = 0;
int			sst_io_combine_limit = 0;

extern PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	DefineCustomIntVariable("streamstat.io_concurrency",
							"Number of simultaneous requests that streamstat keeps in flight.",
							"Zero means the server's maintenance_io_concurrency.  "
							"A tablespace that sets maintenance_io_concurrency itself keeps its own.",
							&sst_io_concurrency,
							0,
							0, MAX_IO_CONCURRENCY,
							PGC_USERSET,
							GUC_EXPLAIN,
							NULL, NULL, NULL);

	DefineCustomIntVariable("streamstat.io_combine_limit",
							"Limit on the size of streamstat's data reads, or read-ahead advice.",
							"Zero means the server's io_combine_limit, or 128kB on servers that have none.",
							&sst_io_combine_limit,
							0,
							0, 1024 * 1024 / BLCKSZ,
							PGC_USERSET,
							GUC_UNIT_BLOCKS,
							NULL, NULL, NULL);

	MarkGUCPrefixReserved("streamstat");
}
