/*-------------------------------------------------------------------------
 *
 * catalog.h
 *	  Paths of relation files, and features of commands, by server version
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

/* The server has REPACK (19). */
#if PG_VERSION_NUM >= 190000
#define SST_HAVE_REPACK 1
#endif

/* Bulk inserts extend a table by ever more blocks at a time (16). */
#if PG_VERSION_NUM >= 160000
#define SST_HAVE_BULK_EXTENSION 1
#endif

extern bool sst_catalog_path(const FormData_pg_class *relation, char *path,
							 size_t size);

#endif							/* SST_CATALOG_H */
