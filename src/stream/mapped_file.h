/*-------------------------------------------------------------------------
 *
 * mapped_file.h
 *	  Windows of a file's cached data, mapped into memory
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/mapped_file.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_MAPPED_FILE_H
#define SST_MAPPED_FILE_H

#include <sys/types.h>

/* One window of the segment files of a fork */
typedef struct SstMappedFile
{
	char	   *start;			/* NULL if nothing is mapped */
	int64		segno;			/* segment, and where in it the window begins */
	off_t		offset;
} SstMappedFile;

/* Reads from mapped memory.  No ERROR, and nothing to be undone. */
typedef void (*SstMappedReader) (const char *mapped, void *arg);

extern void sst_mapped_file_init(SstMappedFile *file);
extern void sst_mapped_file_close(SstMappedFile *file);
extern const char *sst_mapped_file_map(SstMappedFile *file, int fd, int64 segno,
									   off_t offset, size_t length);
extern bool sst_mapped_file_read(SstMappedFile *file, const char *mapped,
								 SstMappedReader reader, void *arg);

#endif							/* SST_MAPPED_FILE_H */
