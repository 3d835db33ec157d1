/*-------------------------------------------------------------------------
 *
 * catalog.h
 *	  What the servers call differently about files, time and commands
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
#include "portability/instr_time.h"

/* The server has REPACK (19). */
#if PG_VERSION_NUM >= 190000
#define SST_HAVE_REPACK 1
#endif

extern int64 sst_relation_file_bytes(Form_pg_class relation);

#endif							/* SST_CATALOG_H */
