/*-------------------------------------------------------------------------
 *
 * advise.c
 *	  Settings advised by the figures of a probe
 *
 * The advised value is the smallest one within 5 percent of the best cell.
 * The loss of the present setting is the difference between two measured
 * cells.  A session cannot change the number of I/O workers or the method.
 * For these, the server's stream is compared with reads by this process
 * through the page cache, at the same size and depth, which is what that
 * number of workers would do.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/probe/advise.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "commands/tablespace.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "compat/compat.h"
#include "probe/advise.h"
#include "probe/curve.h"

/* The most workers that a server can have (MAX_IO_WORKERS in storage/proc.h) */
#define MAX_WORKERS 32

/* Advice in the making: about one tablespace */
typedef struct Adviser
{
	const SstProbeResult *result;
	List	   *advice;
} Adviser;

/* Does the server's stream start reads of its own accord, and not the kernel? */
static bool
has_io_method(const Adviser *adviser)
{
	return adviser->result->settings.io_method[0] != '\0';
}

/* The cells of the server's own way to read */
static SstProbeCurve
server_curve(const Adviser *adviser, SstProbePattern pattern)
{
	SstProbeCurve curve = {pattern, SST_PROBE_ADVICE, 0, SST_PROBE_SEQUENTIAL_BLOCKS};

#ifdef SST_HAVE_IO_COMBINE_LIMIT
	curve.method = SST_PROBE_STREAM;
	curve.nblocks = adviser->result->settings.io_combine_limit;
#endif
	if (pattern == SST_PROBE_RANDOM)
		curve.nblocks = 1;
	if (sst_curve_best(adviser->result, &curve) == NULL)
		curve.method = SST_PROBE_ADVICE;

	return curve;
}

/*
 * The cells that tell which depth is enough.  A session cannot try others in the
 * server's stream than that which the tablespace sets; these are tried by advice.
 */
static SstProbeCurve
depth_curve(const Adviser *adviser, SstProbePattern pattern)
{
	SstProbeCurve curve = server_curve(adviser, pattern);

	if (curve.method == SST_PROBE_STREAM &&
		!sst_curve_has_depths(adviser->result, &curve))
	{
		SstProbeCurve advice = curve;

		advice.method = SST_PROBE_ADVICE;
		if (pattern == SST_PROBE_SEQUENTIAL)
			advice.nblocks = SST_PROBE_SEQUENTIAL_BLOCKS;
		if (sst_curve_best(adviser->result, &advice) != NULL)
			return advice;
	}
	return curve;
}

/* Percent of the one cell's rate that the other one does not have; at least 0 */
static double
loss(const SstProbeCell *good, const SstProbeCell *present)
{
	if (good == NULL || present == NULL || sst_probe_rate(good) <= 0)
		return NAN;
	return Max(100.0 * (1.0 - sst_probe_rate(present) / sst_probe_rate(good)), 0);
}

static bool
is_good_enough(double loss_percent)
{
	return isnan(loss_percent) ||
		loss_percent <= 100.0 * (1.0 - 1.0 / SST_PROBE_GAIN);
}

static SstIoAdvice *
add_advice(Adviser *adviser, const char *setting, SstProbePattern pattern)
{
	SstIoAdvice *advice = palloc0(sizeof(SstIoAdvice));

	advice->tablespace = adviser->result->tablespace;
	advice->setting = setting;
	advice->pattern = pattern;
	adviser->advice = lappend(adviser->advice, advice);

	return advice;
}

static char *
number(int value)
{
	return psprintf("%d", value);
}

/* A number of blocks as the setting is shown: kB or MB */
static char *
size(int nblocks)
{
	int			kb = nblocks * (BLCKSZ / 1024);

	return kb % 1024 == 0 ? psprintf("%dMB", kb / 1024) : psprintf("%dkB", kb);
}

/* The depth that is enough for a curve, by the server's stream or, with more workers */
static int
enough_depth(const Adviser *adviser, const SstProbeCurve *curve)
{
	SstProbeCurve own = *curve;
	const SstProbeCell *enough = sst_curve_enough(adviser->result, curve);
	const SstProbeCell *best = sst_curve_best(adviser->result, curve);
	int			depth = enough->depth;

	own.method = SST_PROBE_ADVICE;
	enough = sst_curve_enough(adviser->result, &own);
	if (strcmp(adviser->result->settings.io_method, "worker") == 0 &&
		enough != NULL &&
		sst_probe_rate(enough) > sst_probe_rate(best) * SST_PROBE_GAIN)
		depth = Max(depth, Min(enough->depth, MAX_WORKERS));

	return depth;
}

/* A setting of the tablespace that says how many reads are in flight */
static void
advise_depth(Adviser *adviser, const char *setting, SstProbePattern pattern,
			 int present, const char *reason)
{
	SstProbeCurve curve = depth_curve(adviser, pattern);
	SstProbeCurve here = curve;
	const SstProbeCell *best = sst_curve_best(adviser->result, &curve);
	char	   *tablespace = get_tablespace_name(adviser->result->tablespace);
	SstIoAdvice *advice;
	int			depth;

	if (best == NULL || tablespace == NULL)
		return;

	here.depth = Max(present, 1);
	depth = enough_depth(adviser, &curve);
	advice = add_advice(adviser, setting, pattern);
	advice->present = number(present);
	advice->advised = number(depth);
	advice->loss_percent = loss(best, sst_curve_best(adviser->result, &here));
	advice->takes_effect = _("immediately, in new scans");
	advice->reason = reason;

	/* More workers can need more depth than these have use for. */
	if (!is_good_enough(advice->loss_percent) || depth > Max(present, 1))
		advice->command = psprintf("ALTER TABLESPACE %s SET (%s = %d)",
								   quote_identifier(tablespace), setting, depth);
}

/* How much of it a server-wide setting of the size of reads should be */
static void
advise_size(Adviser *adviser, const char *setting, SstProbeMethod method,
			int base, int present, const char *takes_effect, const char *reason)
{
	SstProbeCurve depths = {SST_PROBE_SEQUENTIAL, method, 0, base};
	const SstProbeCell *enough = sst_curve_enough(adviser->result, &depths);
	SstProbeCurve sizes = {SST_PROBE_SEQUENTIAL, method, 0, 0};
	SstProbeCurve here = sizes;
	SstIoAdvice *advice;

	if (enough == NULL)
		return;

	sizes.depth = here.depth = enough->depth;
	here.nblocks = present;
	enough = sst_curve_enough(adviser->result, &sizes);
	advice = add_advice(adviser, setting, SST_PROBE_SEQUENTIAL);
	advice->present = size(present);
	advice->advised = size(enough->nblocks);
	advice->loss_percent = loss(sst_curve_best(adviser->result, &sizes),
								sst_curve_best(adviser->result, &here));
	advice->takes_effect = takes_effect;
	advice->reason = reason;

	/* A limit that is higher than it pays does no harm. */
	if (!is_good_enough(advice->loss_percent) && enough->nblocks > present)
		advice->command = psprintf("ALTER SYSTEM SET %s = '%s'", setting,
								   advice->advised);
}

/* What own reads give beyond the server's stream, and the depth that takes, or 0 */
static double
own_gain(const Adviser *adviser, SstProbePattern pattern, int *depth)
{
	SstProbeCurve curve = server_curve(adviser, pattern);
	SstProbeCurve own = curve;
	const SstProbeCell *best = sst_curve_best(adviser->result, &curve);
	const SstProbeCell *enough;

	own.method = SST_PROBE_ADVICE;
	enough = sst_curve_enough(adviser->result, &own);
	*depth = enough == NULL ? 0 : enough->depth;

	return loss(sst_curve_best(adviser->result, &own), best);
}

/*
 * The workers that read for all sessions, where they are the method.  Returns how many
 * there are to be; 0 if that is not known.
 */
static int
advise_workers(Adviser *adviser)
{
	const SstProbeSettings *settings = &adviser->result->settings;
	SstProbePattern pattern = SST_PROBE_RANDOM;
	SstIoAdvice *advice;
	double		gain;
	double		sequential_gain;
	int			depth;
	int			sequential_depth;

	if (strcmp(settings->io_method, "worker") != 0 || settings->io_workers < 0)
		return 0;

	gain = own_gain(adviser, SST_PROBE_RANDOM, &depth);
	sequential_gain = own_gain(adviser, SST_PROBE_SEQUENTIAL, &sequential_depth);
	if (depth == 0)
		return 0;
	if (is_good_enough(gain) && !is_good_enough(sequential_gain))
	{
		pattern = SST_PROBE_SEQUENTIAL;
		gain = sequential_gain;
		depth = sequential_depth;
	}

	advice = add_advice(adviser, settings->io_workers_name, pattern);
	advice->present = number(settings->io_workers);
	advice->advised = is_good_enough(gain) ? advice->present :
		number(Min(depth, MAX_WORKERS));
	advice->loss_percent = gain;
	advice->takes_effect = _("after a reload");
	advice->reason = _("each worker does one read at a time; measured with read-ahead advice, which keeps as many reads in flight");
	depth = Min(depth, MAX_WORKERS);
	if (is_good_enough(gain) || depth <= settings->io_workers)
		return settings->io_workers;

	advice->command = psprintf("ALTER SYSTEM SET %s = %s", advice->setting,
							   advice->advised);
	return depth;
}

/*
 * The workers that are kept where the server starts others as it needs them (19), of so
 * many at most
 */
static void
advise_kept_workers(Adviser *adviser, int nworkers)
{
	const char *present = GetConfigOption("io_min_workers", true, false);
	SstIoAdvice *advice;
	int			depth;

	if (present == NULL ||
		strcmp(adviser->result->settings.io_method, "worker") != 0)
		return;
	(void) own_gain(adviser, SST_PROBE_RANDOM, &depth);
	if (depth == 0 || nworkers == 0)
		return;

	depth = Min(depth, nworkers);
	advice = add_advice(adviser, "io_min_workers", SST_PROBE_RANDOM);
	advice->present = pstrdup(present);
	advice->advised = number(Max(depth, atoi(present)));
	advice->loss_percent = NAN;
	advice->takes_effect = _("after a reload");
	advice->reason = _("more workers start one by one, too late for a short scan; not measured, because a probe has already started them");
	if (depth > atoi(present))
		advice->command = psprintf("ALTER SYSTEM SET io_min_workers = %d", depth);
}

/* The server's method, which "sync" is not to be where reads could overlap */
static void
advise_method(Adviser *adviser)
{
	const SstProbeSettings *settings = &adviser->result->settings;
	SstProbePattern pattern = SST_PROBE_SEQUENTIAL;
	SstProbeCurve ring = {SST_PROBE_RANDOM, SST_PROBE_URING, 0, 1};
	const char *advised = settings->io_method;
	SstIoAdvice *advice;
	int			depth;
	double		gain;

	if (strcmp(settings->io_method, "sync") == 0)
	{
		gain = own_gain(adviser, pattern, &depth);
		advised = "worker";
	}
	else if (strcmp(settings->io_method, "worker") == 0)
	{
		pattern = SST_PROBE_RANDOM;
		gain = own_gain(adviser, pattern, &depth);
		if (depth <= MAX_WORKERS)
			gain = 0;
	}
	else
		return;
	if (depth == 0)
		return;

#ifdef USE_LIBURING
	/* It works for the server if it works here. */
	if (!is_good_enough(gain) && sst_curve_best(adviser->result, &ring) != NULL)
		advised = "io_uring";
#else
	(void) ring;
#endif

	advice = add_advice(adviser, "io_method", pattern);
	advice->present = settings->io_method;
	advice->advised = is_good_enough(gain) ? settings->io_method : advised;
	advice->loss_percent = gain;
	advice->takes_effect = _("after a restart");
	advice->reason = is_good_enough(gain) ?
		_("no other method was measured to be faster") :
		_("several reads in flight were faster than the server's read stream");
	if (strcmp(advice->advised, advice->present) != 0)
		advice->command = psprintf("ALTER SYSTEM SET io_method = '%s'", advised);
}

/* All advice from one result */
static void
advise(Adviser *adviser)
{
	const SstProbeSettings *settings = &adviser->result->settings;

	advise_depth(adviser, "effective_io_concurrency", SST_PROBE_RANDOM,
				 settings->effective_io_concurrency,
				 has_io_method(adviser) ?
				 _("reads in flight in bitmap heap scans and all other scans") :
				 _("blocks that a bitmap heap scan prefetches"));

	/* VACUUM reads by a stream where the server has a method. */
	advise_depth(adviser, "maintenance_io_concurrency",
				 has_io_method(adviser) ? SST_PROBE_SEQUENTIAL : SST_PROBE_RANDOM,
				 settings->maintenance_io_concurrency,
				 has_io_method(adviser) ?
				 _("reads in flight in ANALYZE, and in VACUUM as far as its buffers allow") :
				 _("blocks that ANALYZE and recovery prefetch; VACUUM does not prefetch"));

	if (settings->io_combine_limit > 0)
		advise_size(adviser, "io_combine_limit", SST_PROBE_STREAM,
					settings->io_combine_limit, settings->io_combine_limit,
					_("after a reload"),
					_("largest read of the server's read stream"));
	if (settings->io_max_combine_limit > 0)
		advise_size(adviser, "io_max_combine_limit", SST_PROBE_ADVICE,
					SST_PROBE_SEQUENTIAL_BLOCKS, settings->io_max_combine_limit,
					_("after a restart"),
					_("upper limit of io_combine_limit; measured with read-ahead advice"));
	advise_kept_workers(adviser, advise_workers(adviser));
	advise_method(adviser);
}

/*
 * List the advice, as SstIoAdvice, that the figures of a probe give, in memory of the
 * current context.  Tablespaces that are gone have none.
 */
List *
sst_advise(const SstProbe *probe)
{
	Adviser		adviser = {NULL, NIL};
	ListCell   *lc;

	foreach(lc, probe->results)
	{
		char	   *tablespace;

		adviser.result = lfirst(lc);
		tablespace = get_tablespace_name(adviser.result->tablespace);
		if (tablespace != NULL)
			advise(&adviser);
	}
	return adviser.advice;
}
