/*-------------------------------------------------------------------------
 *
 * heap.h
 *	  The values of a table's tuples
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_HEAP_H
#define SST_HEAP_H

#include "access/htup_details.h"

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
	SstValue   *values;			/* of all columns; the caller's memory, as a
								 * stack frame would have 66 kB for them */
} SstTuple;

extern bool sst_read_tuple(TupleDesc tupdesc, const HeapTupleHeaderData *tuple,
						   int len, SstTuple *result);
extern int64 sst_tuple_data_size(TupleDesc tupdesc, const SstValue *values);

#endif							/* SST_HEAP_H */
