/*-------------------------------------------------------------------------
 *
 * curve.c
 *	  Cells that differ in their depth, or in the size of their reads
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/probe/curve.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "probe/curve.h"

static bool
is_on(const SstProbeCell *cell, const SstProbeCurve *curve)
{
	return cell->pattern == curve->pattern && cell->method == curve->method &&
		(curve->depth == 0 || cell->depth == curve->depth) &&
		(curve->nblocks == 0 || cell->nblocks == curve->nblocks);
}

/* The cell that reads most bytes per second, or NULL if there is none */
const SstProbeCell *
sst_curve_best(const SstProbeResult *result, const SstProbeCurve *curve)
{
	const SstProbeCell *best = NULL;

	for (int i = 0; i < result->ncells; i++)
	{
		const SstProbeCell *cell = &result->cells[i];

		if (is_on(cell, curve) &&
			(best == NULL || sst_probe_rate(cell) > sst_probe_rate(best)))
			best = cell;
	}
	return best;
}

/* Was more than one depth measured? */
bool
sst_curve_has_depths(const SstProbeResult *result, const SstProbeCurve *curve)
{
	int			depth = 0;

	for (int i = 0; i < result->ncells; i++)
	{
		const SstProbeCell *cell = &result->cells[i];

		if (!is_on(cell, curve))
			continue;
		if (depth != 0 && cell->depth != depth)
			return true;
		depth = cell->depth;
	}
	return false;
}

/*
 * The cell with the smallest depth, and then the smallest reads, that is within 5
 * percent of the best one; NULL if there is none.
 */
const SstProbeCell *
sst_curve_enough(const SstProbeResult *result, const SstProbeCurve *curve)
{
	const SstProbeCell *best = sst_curve_best(result, curve);
	const SstProbeCell *enough = best;

	for (int i = 0; i < result->ncells; i++)
	{
		const SstProbeCell *cell = &result->cells[i];

		if (is_on(cell, curve) &&
			sst_probe_rate(cell) * SST_PROBE_GAIN >= sst_probe_rate(best) &&
			(cell->depth < enough->depth ||
			 (cell->depth == enough->depth && cell->nblocks < enough->nblocks)))
			enough = cell;
	}
	return enough;
}
