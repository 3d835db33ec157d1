/*-------------------------------------------------------------------------
 *
 * present_files.h
 *	  Where the files of a relation are now
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/relation/present_files.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PRESENT_FILES_H
#define SST_PRESENT_FILES_H

#include "compat/catalog.h"

extern bool sst_present_files(Oid relid, SstFiles *files, char *persistence);

#endif							/* SST_PRESENT_FILES_H */
