/*-------------------------------------------------------------------------
 *
 * compression.h
 *	  The compression ratio of values, from some that are tried
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_COMPRESSION_H
#define SST_COMPRESSION_H

/* The assumed range of an untried value's compression: from this fraction to none */
#define SST_BEST_COMPRESSION 0.01

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

/* How many results are there? */
static inline int
sst_compression_kept(const SstCompression *compression)
{
	return (int) Min(compression->ntrials, SST_COMPRESSION_TRIALS);
}

extern void sst_compression_init(SstCompression *compression);
extern bool sst_compression_try(SstCompression *compression, const char *data,
								int32 nbytes, char method, double *fraction);
extern double sst_compression_rest(const SstCompression *compression);

#endif							/* SST_COMPRESSION_H */
