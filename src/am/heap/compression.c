/*-------------------------------------------------------------------------
 *
 * compression.c
 *	  The compression ratio of values, from some that are tried
 *
 * A value that is stored without compression, in a column whose storage or
 * method may have been changed, may be compressed when it is written again.
 * Only trying shows by how much.  That is slow, and impossible if the value is
 * in the TOAST table.  So some values are tried, and represent the others:
 * values that lie in rows, and the first chunks of values in the TOAST table
 * (report/toast_estimate.c).
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/toast_compression.h"
#include "access/toast_internals.h"

#include "am/heap/compression.h"
#include "compat/compat.h"

/* After the first ones, one of so many values is tried. */
#define TRIAL_STRIDE 256

/*
 * The whole of a value can be compressed much better than its first chunk, and
 * somewhat worse.
 */
#define BETTER 0.2
#define WORSE 1.15

/* Of values of which none has been tried */
void
sst_compression_init(SstCompression *compression)
{
	memset(compression, 0, sizeof(SstCompression));
	compression->low = SST_BEST_COMPRESSION;
	compression->high = 1;
}

static int
compare_fractions(const void *a, const void *b)
{
	double		left = *(const double *) a;
	double		right = *(const double *) b;

	return (left > right) - (left < right);
}

/* Find between which fractions 8 of 10 trials lie. */
static void
find_ends(SstCompression *compression)
{
	double		sorted[SST_COMPRESSION_TRIALS];
	int			n = sst_compression_kept(compression);

	memcpy(sorted, compression->trials, n * sizeof(double));
	qsort(sorted, n, sizeof(double), compare_fractions);
	compression->low = sorted[n / 10];
	compression->high = Min(sorted[n - 1 - n / 10] * WORSE, 1);
	if (compression->low < 1)
		compression->low = Max(compression->low * BETTER, SST_BEST_COMPRESSION);
}

/*
 * Try to compress a copy of so many bytes by a method (attcompression): their size then as a
 * fraction, 1 if they are incompressible; NaN if that cannot be tried.
 */
static double
try_compression(const char *data, int32 nbytes, char method)
{
	struct varlena *value;
	struct varlena *compressed;
	double		result = 1;

	if (!CompressionMethodIsValid(method))
		method = default_toast_compression;
#ifndef USE_LZ4
	if (method == TOAST_LZ4_COMPRESSION)
		return NAN;
#endif

	value = palloc(VARHDRSZ + nbytes);
	SET_VARSIZE(value, VARHDRSZ + nbytes);
	memcpy(VARDATA(value), data, nbytes);
	compressed = (struct varlena *)
		DatumGetPointer(toast_compress_datum(PointerGetDatum(value), method));
	if (compressed != NULL)
	{
		result = (double) VARSIZE(compressed) / VARSIZE(value);
		pfree(compressed);
	}
	pfree(value);

	return result;
}

/*
 * Compress a value, if it is its turn; false if it is not, or cannot be tried.
 */
bool
sst_compression_try(SstCompression *compression, const char *data,
					int32 nbytes, char method, double *fraction)
{
	if (compression->nwanted++ % TRIAL_STRIDE != 0 &&
		compression->ntrials >= SST_COMPRESSION_TRIALS)
		return false;

	*fraction = try_compression(data, nbytes, method);
	if (isnan(*fraction))
		return false;
	compression->trials[compression->ntrials++ % SST_COMPRESSION_TRIALS] = *fraction;
	find_ends(compression);
	return true;
}

/* Which part of the values may be outside the ends that the trials give? */
double
sst_compression_rest(const SstCompression *compression)
{
	return Min(3.0 / Max(sst_compression_kept(compression), 3), 1);
}
