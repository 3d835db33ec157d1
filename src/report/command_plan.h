/*-------------------------------------------------------------------------
 *
 * command_plan.h
 *	  The commands that a report advises, one for all that it rebuilds
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/command_plan.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_COMMAND_PLAN_H
#define SST_COMMAND_PLAN_H

#include "report/command.h"
#include "report/report.h"

/* What comes first, before the order of reclaimable bytes */
typedef enum SstUrgency
{
	SST_CORRUPT,				/* a relation has corrupt pages */
	SST_INVALID,				/* a rebuilt table can fail for its index */
	SST_ORDINARY
} SstUrgency;

typedef struct SstPlannedCommand
{
	int			relation;		/* its place in the report's list */
	SstUrgency	urgency;
	SstCommand	command;		/* its text is NULL where none helps */
	const char *reason;			/* translated */

	/* The relations that the command affects, and their bytes */
	int			nrelations;
	double		bytes;
	SstEstimate reclaimable;

	/* NaN: not known */
	double		scratch_bytes;
	double		bytes_to_read;
	double		bytes_to_write;
} SstPlannedCommand;

/* Why a relation that would become smaller has no command */
typedef enum SstWithheld
{
	SST_NOT_WITHHELD,
	SST_WITHIN_MARGIN,			/* nothing may come back */
	SST_LITTLE,					/* for what it takes */
	SST_SPACE_REUSED,
	SST_SMALL_CATALOG,
	SST_TABLE_CORRUPT,
	SST_ANALYZE_FIRST
} SstWithheld;

typedef struct SstCommandPlan
{
	int			ncommands;
	int			allocated;
	SstPlannedCommand *commands;	/* by rank */

	/* Of each relation: the command that is about it, or -1 */
	int		   *command_of;
	uint8	   *withheld;
} SstCommandPlan;

extern SstEstimate sst_entry_reclaimable(const SstReport *report, int i);
extern double sst_entry_bytes(const SstReport *report, int i);
extern const char *sst_withheld_reason(SstWithheld withheld);

extern SstCommandPlan *sst_make_plan(const SstReport *report);
extern void sst_plan_sum(const SstCommandPlan *plan, SstEstimate *reclaimable);
extern int	sst_plan_ncommands(const SstCommandPlan *plan);

#endif							/* SST_COMMAND_PLAN_H */
