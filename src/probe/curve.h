/*-------------------------------------------------------------------------
 *
 * curve.h
 *	  Cells that differ in their depth, or in the size of their reads
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/probe/curve.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PROBE_CURVE_H
#define SST_PROBE_CURVE_H

#include "probe/figures.h"

/* Which cells of a result: a depth or a size of 0 stands for any */
typedef struct SstProbeCurve
{
	SstProbePattern pattern;
	SstProbeMethod method;
	int			depth;
	int			nblocks;
} SstProbeCurve;

extern bool sst_curve_has_depths(const SstProbeResult *result,
								 const SstProbeCurve *curve);
extern const SstProbeCell *sst_curve_best(const SstProbeResult *result,
										  const SstProbeCurve *curve);
extern const SstProbeCell *sst_curve_enough(const SstProbeResult *result,
											const SstProbeCurve *curve);

#endif							/* SST_PROBE_CURVE_H */
