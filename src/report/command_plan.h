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

#include "nodes/pg_list.h"
#include "report/command.h"
#include "report/duration.h"
#include "report/report.h"

/* What comes first, before the order of reclaimable bytes */
typedef enum SstUrgency
{
	SST_CORRUPT,				/* a relation has corrupt pages */
	SST_INVALID,				/* a rebuilt table can fail for its index */
	SST_ORDINARY
} SstUrgency;

/* The parts of a plan, in their order */
typedef enum SstPlanPart
{
	SST_PART_NOW,
	SST_PART_WAITS,				/* for transactions of others */
	SST_PART_DOWNTIME			/* of an online plan */
} SstPlanPart;

typedef struct SstPlannedCommand
{
	int			relation;		/* its place in the report's list */
	SstPlanPart part;
	SstUrgency	urgency;
	SstCommand	command;		/* its text is NULL where none helps */
	const char *reason;			/* translated */
	const char *waits_for;		/* translated, or NULL */

	/* The relations that the command affects, and their bytes */
	int			nrelations;
	double		bytes;

	/* Besides what commands before it give back of these relations */
	SstEstimate reclaimable;

	/* NaN: not known */
	double		scratch_bytes;
	double		bytes_to_read;
	double		bytes_to_write;
	SstWork		work;
	SstEstimate duration;		/* in seconds */
} SstPlannedCommand;

typedef struct SstCommandPlan
{
	/* What it was made for */
	TimestampTz report;
	TimestampTz statement;
	Oid			user;
	bool		online;

	List	   *commands;		/* SstPlannedCommand, by rank */

	/* How many have a text, and what all give back together */
	int			ncommands;
	SstEstimate reclaimable;

	/* Of each relation: the command that is about it, or NULL */
	SstPlannedCommand **command_of;
	uint8	   *withheld;
} SstCommandPlan;

extern void sst_plan_as(Oid role);
extern const SstCommandPlan *sst_report_plan(const SstReport *report, bool online);

#endif							/* SST_COMMAND_PLAN_H */
