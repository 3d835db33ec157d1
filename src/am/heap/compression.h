/*-------------------------------------------------------------------------
 *
 * compression.h
 *	  The compression ratio of values, from some that are tried
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/heap/compression.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_COMPRESSION_H
#define SST_COMPRESSION_H

/* Results that are kept: the last ones */
#define SST_COMPRESSION_TRIALS 64

/*
 * The assumed range of an untried value's compression: from this fraction to
 * none.
 */
#define SST_BEST_COMPRESSION 0.01

/*
 * Try to compress so many bytes by a method (attcompression): their size then as a
 * fraction, 1 if they are incompressible; NaN if that cannot be tried.
 */
typedef double (*SstTryCompression) (const char *data, int32 nbytes,
									 char method);

typedef struct SstCompression
{
	SstTryCompression try;		/* or NULL */
	uint64		nwanted;		/* values that were to be tried */
	uint64		nguessed;		/* and those whose result was taken from
								 * others */
	uint64		ntrials;
	double		trials[SST_COMPRESSION_TRIALS];

	/* Most of the values that are not tried lie between these. */
	double		low;
	double		high;
} SstCompression;

extern void sst_compression_init(SstCompression *compression,
								 SstTryCompression try);
extern bool sst_compression_try(SstCompression *compression, const char *data,
								int32 nbytes, char method, double *fraction);
extern double sst_compression_guess(SstCompression *compression);
extern double sst_compression_rest(const SstCompression *compression);

#endif							/* SST_COMPRESSION_H */
