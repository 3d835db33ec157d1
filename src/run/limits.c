/*-------------------------------------------------------------------------
 *
 * limits.c
 *	  Limits of a scan: bytes, time, and bytes per second
 *
 * A scan with limits runs in slices.  Before each slice it asks this code how
 * many blocks it may read.  It holds no pin and no page lock then, because
 * this code sleeps to keep the rate.
 *
 * A slice is charged before it is read, to a token bucket that fills at the
 * rate.  The bucket is the session's, so that many small scans keep the rate
 * as well as a large one does.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/wait_event.h"

#include "compat/compat.h"
#include "run/call.h"
#include "run/limits.h"
#include "streamstat.h"

/* A slice is what the rate allows in this time, within bounds. */
#define SLICE_SECONDS (1.0 / 32)
#define MIN_SLICE_BLOCKS (128 * 1024 / BLCKSZ)
#define MAX_SLICE_BLOCKS (4 * 1024 * 1024 / BLCKSZ)

/* Most sleeps end late by less than this.  Later sleeps are shorter by as much. */
#define LATENESS_SECONDS 0.01

/* Longest sleep between two checks for blocked sessions */
#define MAX_SLEEP_SECONDS 0.1

/* Bytes that may be read at once, as of a time; zero before the first scan */
static struct
{
	double		as_of;
	double		tokens;
}			bucket;

/* Let the account grow up to now, but not above the most. */
static void
fill_bucket(double rate, double most)
{
	double		now = sst_now();

	if (bucket.as_of > 0)
		bucket.tokens += (now - bucket.as_of) * rate;
	bucket.tokens = Min(bucket.tokens, most);
	bucket.as_of = now;
}

static BlockNumber
slice_blocks(double rate)
{
	double		nblocks = rate * SLICE_SECONDS / BLCKSZ;

	return (BlockNumber) Max(Min(nblocks, MAX_SLICE_BLOCKS), MIN_SLICE_BLOCKS);
}

/* The rate in bytes per second: a call's own, or else the setting's; 0 for no limit */
static double
effective_rate(int64 max_rate)
{
	return max_rate > 0 ? (double) max_rate : sst_max_rate * 1024.0;
}

/*
 * Blocks of one slice of a call with this max_rate, 0 if it has none: how far reads
 * may be ahead.  MaxBlockNumber if nothing limits the rate.
 */
BlockNumber
sst_rate_blocks(int64 max_rate)
{
	double		rate = effective_rate(max_rate);

	return rate > 0 ? slice_blocks(rate) : MaxBlockNumber;
}

/* Seconds until the deadline, which is less than 0 when it has passed */
double
sst_seconds_left(const SstLimits *limits)
{
	return limits == NULL || limits->deadline == 0 ? INFINITY :
		limits->deadline - sst_now();
}

/* Has the deadline passed?  If so, the limit is noted as reached. */
bool
sst_limits_expired(SstLimits *limits)
{
	if (sst_seconds_left(limits) > 0)
		return false;

	limits->reached = true;
	return true;
}

/* For SstPause: code may take its time until the deadline. */
bool
sst_limits_go_on(void *limits)
{
	CHECK_FOR_INTERRUPTS();
	sst_check_blocking();
	return !sst_limits_expired(limits);
}

/*
 * Sleep for so many seconds, or for a part of them; false if they end after the
 * deadline, or the scan has to yield.
 */
static bool
nap(SstThrottle *throttle, double seconds)
{
	if (seconds > sst_seconds_left(throttle->limits))
	{
		throttle->limits->reached = true;
		return false;
	}

	(void) WaitLatch(MyLatch,
					 WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 (long) ceil(Min(seconds, MAX_SLEEP_SECONDS) * 1000.0),
					 PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	if (!throttle->yields)
		sst_check_blocking();
	else if (sst_must_yield())
	{
		throttle->must_yield = true;
		return false;
	}
	return true;
}

/*
 * Sleep until the account has so many bytes, and take them; false if that would
 * be after the deadline, or the scan has to yield.
 */
static bool
take_tokens(SstThrottle *throttle, double bytes)
{
	double		lateness = throttle->rate * LATENESS_SECONDS;

	/* The time that the last slice took has already added tokens. */
	fill_bucket(throttle->rate,
				slice_blocks(throttle->rate) * (double) BLCKSZ + lateness);

	while (bucket.tokens < bytes)
	{
		if (!nap(throttle, (bytes - bucket.tokens) / throttle->rate))
			return false;

		fill_bucket(throttle->rate, bytes + lateness);
	}
	bucket.tokens -= bytes;

	return true;
}

/*
 * Begin a scan with the limits of its call, which can be NULL, and the setting;
 * false if nothing bounds it: then nothing else here may be called.
 */
bool
sst_throttle_begin(SstThrottle *throttle, SstLimits *limits)
{
	throttle->limits = limits;
	throttle->yields = throttle->must_yield = false;
	throttle->rate = effective_rate(limits != NULL ? limits->max_rate : 0);

	/* There is no burst after a pause. */
	if (throttle->rate > 0)
		fill_bucket(throttle->rate, throttle->rate * LATENESS_SECONDS);

	return limits != NULL || throttle->rate > 0;
}

/*
 * Ask for up to nblocks blocks, at least one.  Returns how many of them may be
 * looked at now, having slept as long as it takes; none if a limit is reached,
 * which is noted there, or the scan has to yield.
 *
 * No pin and no page lock may be held.  Interrupts are accepted.
 */
BlockNumber
sst_throttle_take(SstThrottle *throttle, BlockNumber nblocks)
{
	SstLimits  *limits = throttle->limits;

	throttle->must_yield = false;
	if (limits != NULL)
	{
		if (sst_limits_expired(limits))
			return 0;
		if (limits->bytes_left < BLCKSZ)
		{
			limits->reached = true;
			return 0;
		}
		nblocks = Min(nblocks, limits->bytes_left / BLCKSZ);
	}

	if (throttle->rate > 0)
	{
		nblocks = Min(nblocks, slice_blocks(throttle->rate));
		if (!take_tokens(throttle, nblocks * (double) BLCKSZ))
			return 0;
	}

	if (limits != NULL)
		limits->bytes_left -= (int64) nblocks * BLCKSZ;

	return nblocks;
}

/* Return what was taken and then not looked at. */
void
sst_throttle_give_back(SstThrottle *throttle, BlockNumber nblocks)
{
	if (throttle->rate > 0)
		bucket.tokens += nblocks * (double) BLCKSZ;
	if (throttle->limits != NULL)
		throttle->limits->bytes_left += (int64) nblocks * BLCKSZ;
}

/*
 * Sleep for so many seconds; false, and at once, if they end after the deadline.
 * Conditions as for sst_throttle_take().
 */
bool
sst_throttle_rest(SstThrottle *throttle, double seconds)
{
	double		end = sst_now() + seconds;

	while ((seconds = end - sst_now()) > 0)
	{
		if (!nap(throttle, seconds))
			return false;
	}
	return true;
}
