/*-------------------------------------------------------------------------
 *
 * catalog.h
 *	  Paths of relation files, collations, and features of commands, by server version
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/compat/catalog.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_CATALOG_H
#define SST_CATALOG_H

#include "catalog/pg_class.h"
#include "common/relpath.h"
#include "utils/rel.h"

/* The server has REPACK (19). */
#if PG_VERSION_NUM >= 190000
#define SST_HAVE_REPACK 1
#endif

/* Bulk inserts extend a table by ever more blocks at a time (16). */
#if PG_VERSION_NUM >= 160000
#define SST_HAVE_BULK_EXTENSION 1
#endif

/* Where the files of a relation are; as numbers, whatever the server calls them */
typedef struct SstFiles
{
	Oid			tablespace;
	Oid			database;		/* InvalidOid for a shared relation */
	Oid			number;
	int			owner;			/* of a temporary relation, its session */
} SstFiles;

extern bool sst_catalog_files(const FormData_pg_class *relation,
							  SstFiles *files);
extern void sst_files_path(const SstFiles *files, ForkNumber forknum,
						   char *path, size_t size);
extern bool sst_collates_bytes(Oid collation);
extern double sst_limited_vacuum_threshold(const StdRdOptions *options, double threshold);

#endif							/* SST_CATALOG_H */
