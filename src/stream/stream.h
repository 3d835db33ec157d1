/*-------------------------------------------------------------------------
 *
 * stream.h
 *	  From block numbers to pages
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/stream.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_STREAM_H
#define SST_STREAM_H

#include "source/source.h"
#include "storage/bufmgr.h"
#include "target/target.h"

typedef struct SstStream SstStream;

/*
 * What a stream did.  -1 stands for what the server does not let one know.
 */
typedef struct SstStreamReport
{
	const char *stream;			/* name of the kind of stream */
	int64		blocks_requested;
	int64		blocks_hit;		/* found in buffers */
	int64		blocks_read;
	int64		reads;
	int64		read_bytes;
	int64		advice_calls;
	int64		advice_blocks;
	int64		look_ahead_max; /* in blocks */
} SstStreamReport;

extern SstStream *sst_stream_begin(Relation rel, ForkNumber forknum,
								   SstSource *source,
								   BufferAccessStrategy strategy,
								   SstStreamReport *report);
extern Buffer sst_stream_next(SstStream *stream);
extern const char *sst_stream_peek(const SstStream *stream);
extern BlockNumber sst_stream_unread_end(SstStream *stream);
extern void sst_stream_end(SstStream *stream);
extern void sst_stream_abandon(SstStream *stream);

extern void sst_stream_report_init(SstStreamReport *report);

#endif							/* SST_STREAM_H */
