/*-------------------------------------------------------------------------
 *
 * stream.h
 *	  Streams: from block numbers to pages
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_STREAM_H
#define SST_STREAM_H

#include "compat/compat.h"
#include "port/pg_bitutils.h"
#include "stream/rules.h"
#include "source/source.h"
#include "storage/bufmgr.h"
#include "stream/io_stats.h"
#include "streamstat.h"

/* A page that a stream returns */
typedef struct SstPage
{
	BlockNumber blkno;
	const PageData *image;		/* NULL if the buffer manager refuses it */
	Buffer		buffer;			/* pinned; InvalidBuffer for a page read
								 * directly from the file */
} SstPage;

/* What is read, of a stream or of single blocks, and where that is counted */
typedef struct SstBlockReader
{
	Relation	rel;
	ForkNumber	forknum;
	BufferAccessStrategy strategy;
	SstIoStats *io_stats;
	SstRules	rules;			/* for a page that the buffer manager refuses */
} SstBlockReader;

typedef struct SstStream SstStream;

struct SstStream
{
	/*
	 * Get the next page, in the order of blocks unless the stream was begun
	 * with any_order; false at the end.  If it is in a buffer, the caller
	 * share-locks the buffer to look at the page, and releases the pin.  Else
	 * the image stays valid until the call after the next one.
	 *
	 * This can wait for a read, and VACUUM for pins: so the caller holds none
	 * when it calls.  A read stream itself keeps the buffers pinned that it
	 * has asked for ahead, as in the server's own scans.
	 */
	bool		(*next) (SstStream *stream, SstPage *page);

	/*
	 * The address of a page that will probably be returned a few calls later,
	 * for a CPU prefetch, or NULL.  It is not pinned and may change.
	 */
	const char *(*peek) (const SstStream *stream);

	/* End the stream and release its resources.  The caller holds no pin. */
	void		(*end) (SstStream *stream);

	const SstBlockReader *reader;	/* the caller's, which stays as long */
};

/* Limit on the neighbouring blocks that are read from the page cache together: 256 kB */
#define SST_MAX_RUN_BLOCKS Min(256 * 1024 / BLCKSZ, 64)

/*
 * The same for data that is not there, in files or ahead of reads into buffers:
 * 512 kB are faster then
 */
#define SST_MAX_COLD_RUN_BLOCKS Min(512 * 1024 / BLCKSZ, 64)

/* Limit on the bytes in flight, the run being returned not included */
#define SST_MAX_BYTES_AHEAD (8 * 1024 * 1024)

/* Unwanted blocks to read rather than to begin another read, where bytes have no limit */
#define SST_MAX_GAP 8

/* Pages to look ahead for the CPU's cache; the best of 1 to 8 in benchmarks */
#define SST_PEEK_DISTANCE 4

/* Of blocks to return, the one that is so far ahead, by its bit; -1 if there is none */
static inline int
sst_peek_block(uint64 left)
{
	for (int n = 1; n < SST_PEEK_DISTANCE && left != 0; n++)
		left &= left - 1;

	return left == 0 ? -1 : pg_rightmost_one_pos64(left);
}

extern SstIoPath sst_choose_io_path(Relation rel);
extern SstIoPath sst_usual_io_path(void);
extern int	sst_run_blocks(void);
extern int	sst_cold_run_blocks(void);
extern int	sst_io_depth(Oid tablespace);

extern SstStream *sst_buffer_stream_begin(const SstBlockReader *reader,
										  SstSource *source, bool read_ahead);
extern void sst_buffer_stream_abandon(SstStream *stream);

extern SstStream *sst_file_stream_begin(const SstBlockReader *reader,
										SstSource *source,
										BlockNumber nblocks, int max_gap,
										const SstPageNeeds *needs,
										bool any_order);
extern int	sst_advise_blocks(const SstFiles *files, ForkNumber forknum,
							  SstSource *source, SstIoStats *io_stats);

extern void sst_read_block(const SstBlockReader *reader, BlockNumber blkno,
						   SstPage *page, char *refused);
extern bool sst_copy_block_noerror(Relation rel, BlockNumber blkno,
								   char *image);

extern void *sst_palloc_blocks(int nblocks);
extern void sst_pfree_blocks(void *blocks);

#endif							/* SST_STREAM_H */
