/*-------------------------------------------------------------------------
 *
 * toaster.h
 *	  What a rewrite makes of a tuple, and which values it puts into the TOAST table
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_TOASTER_H
#define SST_TOASTER_H

#include "access/htup_details.h"
#include "utils/rel.h"

#include "stats/counters.h"

typedef enum SstValueForm
{
	SST_VALUE_NULL,
	SST_VALUE_FIXED,			/* of a type that is no varlena */
	SST_VALUE_SHORT,			/* varlena with a header of one byte */
	SST_VALUE_LONG,				/* with a header of four bytes */
	SST_VALUE_COMPRESSED,		/* the same, and compressed */
	SST_VALUE_POINTER			/* to the TOAST table */
} SstValueForm;

/* A value; sizes are of all its bytes, with the header. */
typedef struct SstValue
{
	uint8		form;
	bool		ignored;		/* the toaster leaves it as it is */
	bool		incompressible;
	bool		tried;			/* to compress it, to this fraction */
	float		fraction;
	int32		size;
	const char *data;			/* in the tuple, with its header */

	/* Of a pointer: the value when fetched, and when decompressed as well */
	bool		fetched_compressed;
	int32		fetched_size;
	int32		raw_size;
} SstValue;

/* A tuple, and what a rewrite makes of it; dropped columns are null there. */
typedef struct SstTuple
{
	int64		len;			/* when it is formed again */
	bool		has_pointers;
	bool		has_dropped;	/* some column that is dropped has a value */
	int			nvalues;		/* of the tuple's columns */
	SstValue	values[MaxHeapAttributeNumber]; /* dropped ones as well */
} SstTuple;

/* The new page of a table that is being filled, and what it took so far */
typedef struct SstHeapFill
{
	int			free;			/* bytes for tuples and line pointers */
	uint64		bytes;
} SstHeapFill;

/* Results that are kept: the last ones */
#define SST_COMPRESSION_TRIALS 64

/* The compression ratio of values, from some that are tried */
typedef struct SstCompression
{
	bool		altered;		/* the column, so that its values may be
								 * compressible */
	uint64		nwanted;		/* values that were to be tried */
	uint64		nguessed;		/* and those whose result was taken from
								 * others */
	uint64		ntrials;
	double		trials[SST_COMPRESSION_TRIALS];

	/* Most of the values that are not tried lie between these. */
	double		low;
	double		high;
} SstCompression;

typedef struct SstToaster
{
	bool		has_toast;		/* the new table has a TOAST table */
	int			target;			/* toast_tuple_target */
	SstHeapFill fill;			/* the new TOAST table */

	/* In bytes, so far: see the counters of these names */
	uint64		chunk_bytes;
	uint64		more_bytes;
	uint64		less_bytes;

	bool		any_altered;	/* of the columns */
	char		method;			/* of the first of these, attcompression */
	SstCompression compression; /* of values in the TOAST table */
	SstCompression *in_tuples;	/* of others, by column number less one */
} SstToaster;

/* Room for tuples and their line pointers on an empty page */
#define SST_HEAP_PAGE_ROOM (BLCKSZ - (int) SizeOfPageHeaderData)

/*
 * Add a tuple that needs so many bytes, with its line pointer, to the page that is
 * being filled; or to the next if it does not fit there and leave the reserve.
 */
static inline void
sst_fill_page(SstHeapFill *fill, int need, int reserve)
{
	if (fill->free < need + reserve)
	{
		/* The rest of this page is wasted; the next has its header. */
		fill->bytes += fill->free + SizeOfPageHeaderData;
		fill->free = SST_HEAP_PAGE_ROOM;
	}
	fill->free -= need;
	fill->bytes += need;
}

extern bool sst_read_tuple(TupleDesc tupdesc, const HeapTupleHeaderData *tuple,
						   int len, SstTuple *result);
extern bool sst_toaster_describe(SstToaster *toaster, Relation rel);
extern bool sst_compression_try(SstCompression *compression, const char *data,
								int32 nbytes, char method, double *fraction);
extern int64 sst_toaster_tuple(SstToaster *toaster, TupleDesc tupdesc,
							   SstValue *values, SstCounters *counters);
extern void sst_toaster_count_pointers(SstToaster *toaster, int natts,
									   const SstValue *values,
									   SstCounters *counters);
extern void sst_toaster_count_chunks(SstToaster *toaster, uint64 need,
									 SstCounters *counters);

#endif							/* SST_TOASTER_H */
