/*-------------------------------------------------------------------------
 *
 * read_stream.h
 *	  The read stream: the server's where it has one, else the bundled one
 *
 * Callers use the API of the server's storage/read_stream.h, as it is in the
 * newest server, but without data for each buffer, and sst_read_stream_begin() also
 * takes a limit on the blocks of one advice.  Where the server has no read stream (before 17), or the
 * build asks for the bundled one (make BUNDLED_READ_STREAM=1), the same names
 * stand for the functions of bundled_read_stream.c.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_READ_STREAM_H
#define SST_READ_STREAM_H

#include "compat/compat.h"
#include "stream/io_stats.h"

#ifdef SST_HAVE_IO_COMBINE_LIMIT
#include "storage/read_stream.h"
#else

/* Flags with the values that storage/read_stream.h gives them. */
#define READ_STREAM_MAINTENANCE 0x01
#define READ_STREAM_SEQUENTIAL 0x02
#define READ_STREAM_FULL 0x04
#endif

/* Without asynchronous I/O (before 18) there is nothing to batch. */
#ifndef READ_STREAM_USE_BATCHING
#define READ_STREAM_USE_BATCHING 0
#endif

/* Blocks per read or advice, unless a setting of ours says something else */
#ifdef SST_HAVE_IO_COMBINE_LIMIT
#define SST_DEFAULT_IO_COMBINE_LIMIT io_combine_limit
#else
#define SST_DEFAULT_IO_COMBINE_LIMIT (128 * 1024 / BLCKSZ)
#endif

#ifndef SST_HAVE_READ_STREAM

typedef struct SstReadStream SstReadStream;

typedef BlockNumber (*SstReadStreamBlockNumberCB) (SstReadStream *stream,
												   void *callback_private_data,
												   void *per_buffer_data);

extern SstReadStream *sst_read_stream_begin(int flags,
											BufferAccessStrategy strategy,
											Relation rel,
											ForkNumber forknum,
											SstReadStreamBlockNumberCB callback,
											void *callback_private_data,
											int combine_limit);
extern Buffer sst_read_stream_next_buffer(SstReadStream *stream,
										  void **per_buffer_data);
extern void sst_read_stream_reset(SstReadStream *stream);
extern void sst_read_stream_end(SstReadStream *stream);
extern const SstAdviceStats *sst_read_stream_stats(const SstReadStream *stream);

/* On 17 and later the server has types and functions of these names. */
#define ReadStream SstReadStream
#define ReadStreamBlockNumberCB SstReadStreamBlockNumberCB
#define read_stream_next_buffer sst_read_stream_next_buffer
#define read_stream_reset sst_read_stream_reset
#define read_stream_end sst_read_stream_end

#else

/* The server's read stream takes its limit from io_combine_limit. */
#define sst_read_stream_begin(flags, strategy, rel, forknum, callback, \
							  callback_private_data, combine_limit) \
	read_stream_begin_relation(flags, strategy, rel, forknum, callback, \
							   callback_private_data, 0)

#endif							/* !SST_HAVE_READ_STREAM */

#endif							/* SST_READ_STREAM_H */
