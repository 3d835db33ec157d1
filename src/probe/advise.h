/*-------------------------------------------------------------------------
 *
 * advise.h
 *	  Settings advised by the figures of a probe
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/probe/advise.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_ADVISE_H
#define SST_ADVISE_H

#include "probe/figures.h"

/* Advice about one setting */
typedef struct SstIoAdvice
{
	Oid			tablespace;
	SstProbePattern pattern;	/* of the reads that speak for it */
	const char *setting;
	const char *present;
	const char *advised;
	double		loss_percent;	/* of the present one; NaN if not measured */
	const char *takes_effect;
	const char *command;		/* NULL if the present one is good enough */
	const char *reason;
} SstIoAdvice;

extern List *sst_advise(const SstProbe *probe);

#endif							/* SST_ADVISE_H */
