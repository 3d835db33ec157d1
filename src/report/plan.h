/*-------------------------------------------------------------------------
 *
 * plan.h
 *	  The plan of commands for a report, and what it is made of
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PLAN_H
#define SST_PLAN_H

#include "nodes/pg_list.h"
#include "report/report.h"

/* For whom a command waits, before it works or at its end: transactions that have */
#define SST_WAITS_LOCK		1	/* a lock on the table */
#define SST_WAITS_STRONG	2	/* one that keeps VACUUM or DDL from it */
#define SST_WAITS_SNAPSHOT	4	/* a snapshot of this database */
#define SST_WAITS_XID		8	/* an ID, in any database */

/* A command, in the memory context in which it was made */
typedef struct SstCommand
{
	const char *text;
	const char *lock_mode;		/* the strongest lock that it holds as it
								 * works */
	bool		blocks;			/* readers and writers */
	int			waits;			/* SST_WAITS_... */

	/* Of a rebuilt table */
	bool		by_inserts;		/* row by row, which may leave empty pages */
	bool		skips_invalid;	/* invalid indexes are not rebuilt with it */
	const char *remark;			/* translated; or NULL */
} SstCommand;

/* Bytes of some relations, now and after a rebuild */
typedef struct SstGain
{
	int			nrelations;
	double		bytes;
	double		predicted;
	SstEstimate reclaimable;	/* less than 0 where a rebuild makes it larger */
} SstGain;

/* What a command does that takes time */
typedef struct SstWork
{
	double		cpu_ns;			/* on the machine that the constants are of */
	double		read_bytes;		/* once each: then they are cached */
	double		written_bytes;	/* to files and to WAL */
} SstWork;

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
	const SstReportEntry *entry;	/* the relation that it is about */
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

typedef struct SstHolders SstHolders;

/* What the plan says of a relation */
typedef struct SstAdvice
{
	const SstReportEntry *entry;
	SstPlannedCommand *command; /* that is about it, or NULL */
	const char *withheld;		/* why there is none for one that would become
								 * smaller, not translated, or NULL */
	struct SstAdvice *next;		/* of the relations of a table, which comes
								 * first */
} SstAdvice;

typedef struct SstCommandPlan
{
	/* What it was made for, of a report that may be gone */
	const SstReport *report;
	TimestampTz started;
	TimestampTz statement;
	Oid			user;
	bool		online;

	List	   *commands;		/* SstPlannedCommand, by rank */

	/* How many have a text, and what all give back together */
	int			ncommands;
	SstEstimate reclaimable;

	SstAdvice  *advice;			/* on each relation of the report */

	/* Those who keep dead rows, or for whom commands wait; NULL: not asked */
	SstHolders *holders;
} SstCommandPlan;

/* A command that can be picked */
typedef struct SstChoice
{
	double		gain;			/* NaN if it repairs: it is worth more than
								 * any */
	double		seconds;		/* NaN if not known: it is not picked */
	bool		picked;
} SstChoice;

/* in command.c */
extern bool sst_identifies_rows(const SstRelation *index);
extern bool sst_is_own_table(const SstRelation *table);
extern bool sst_is_left_over(const SstRelation *index);
extern bool sst_is_to_be_dropped(const SstRelation *index);
extern SstCommand sst_index_command(const SstRelation *index, bool drops);
extern bool sst_has_pg_repack(void);
extern SstCommand sst_rebuild_table_command(const SstRelation *table, bool keyed);
extern SstCommand sst_upkeep_command(const char *verb, const SstRelation *table);
extern double sst_entry_bytes(const SstReportEntry *entry);
extern SstEstimate sst_entry_reclaimable(const SstReportEntry *entry);
extern void sst_add_gain(const SstReportEntry *entry, SstGain *gain);
extern void sst_add_gain_with_table(const SstReportEntry *entry, bool by_inserts,
									SstGain *gain);
extern double sst_inserted_waste(double bytes);

/* in duration.c */
extern void sst_add_index_work(const SstReportEntry *entry, bool concurrent,
							   SstWork *work);
extern void sst_add_table_work(const SstReportEntry *entry, bool by_inserts,
							   SstWork *work);
extern void sst_add_vacuum_work(const SstReportEntry *entry, bool removes,
								SstWork *work);
extern void sst_add_analyze_work(const SstReportEntry *entry, double bytes,
								 double sample, SstWork *work);
extern SstEstimate sst_duration(const SstReport *report, const SstWork *work);

/* in holder.c */
extern SstHolders *sst_find_holders(void);
extern const char *sst_oldest_holder(const SstHolders *holders,
									 const SstRelation *table,
									 TransactionId before);
extern const char *sst_waits_for(const SstHolders *holders, Oid table, int what);

/* in table_activity.c */
extern bool sst_space_is_reused(const SstReportEntry *table, const SstReportEntry *toast);
extern bool sst_index_space_is_reused(const SstReportEntry *index,
									  const SstReportEntry *table);
extern bool sst_has_fillfactor(Oid tableoid);
extern const char *sst_late_vacuum_reason(const SstRelation *table, bool dead);

/* in command_plan.c */
extern void sst_plan_as(Oid role);
extern const SstCommandPlan *sst_report_plan(const SstReport *report, bool online);

/* in pick.c */
extern void sst_pick(SstChoice *choices, int n, double seconds);

#endif							/* SST_PLAN_H */
