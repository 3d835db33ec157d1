/*-------------------------------------------------------------------------
 *
 * storage.h
 *	  Whether the files of a relation can be used to measure a disk
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/probe/storage.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_STORAGE_H
#define SST_STORAGE_H

#include "compat/catalog.h"
#include "storage/block.h"

/* What the file system does with reads */
typedef struct SstStorage
{
	const char *note;			/* why reads tell nothing of the disk, or NULL */
	bool		direct;			/* O_DIRECT works */
	BlockNumber nblocks;		/* that were written, from the first one on */
} SstStorage;

extern void sst_examine_storage(SstStorage *storage, const SstFiles *files,
								BlockNumber nblocks);
extern int	sst_open_direct(const SstFiles *files, BlockNumber blkno);

#endif							/* SST_STORAGE_H */
