/*-------------------------------------------------------------------------
 *
 * api.h
 *	  What SQL functions have in common: arguments, calls and result rows
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_API_H
#define SST_API_H

#include "access/tupdesc.h"
#include "datatype/timestamp.h"
#include "fmgr.h"
#include "nodes/pg_list.h"

#include "relation/relation.h"
#include "run/call.h"
#include "run/limits.h"
#include "run/scan.h"

/* What to do with a table's TOAST table */
typedef enum SstWithToast
{
	SST_TOAST_LEFT_OUT,
	SST_TOAST_ROW,				/* a row of its own */
	SST_TOAST_SUMMED			/* added to the table's row */
} SstWithToast;

/* A row of the result of a function that is being called */
typedef struct SstRow
{
	FunctionCallInfo fcinfo;
	TupleDesc	tupdesc;		/* the columns that the SQL script declares */
	int			next_attno;		/* of the column to look at first */
	Datum	   *values;
	bool	   *nulls;
	bool	   *filled;			/* has a value, or null */
	MemoryContext context;		/* of a set: emptied after each row */
} SstRow;

/* The relations of a partition tree, or only its root, one at a time */
typedef struct SstTree
{
	SstTarget	root;			/* not open if it does not exist */
	int			kinds;			/* of relations that are read */
	bool		alone;			/* only the root, which may not be accepted */
	List	   *members;		/* OIDs, the root among them */
	bool		has_sum;		/* more than the root itself may be in it */
	int			next;			/* index of the next one */
	SstCall		call;
} SstTree;

/* in arguments.c */
extern void sst_require_argument(FunctionCallInfo fcinfo, int argno,
								 const char *what);
extern void sst_check_not_negative(double value, const char *what);
extern void sst_check_positive(double value, const char *what, const char *hint);
extern void sst_check_range(int64 value, int64 low, int64 high, const char *what);
extern Oid	sst_relation_argument(FunctionCallInfo fcinfo);
extern bool sst_bool_argument(FunctionCallInfo fcinfo, int argno, bool defaultval);
extern const Oid *sst_oids_argument(FunctionCallInfo fcinfo, int argno,
									const char *what, int *n);
extern BlockNumber sst_sample_size_argument(FunctionCallInfo fcinfo, int argno);
extern uint32 sst_seed_argument(FunctionCallInfo fcinfo, int argno);
extern SstWithToast sst_with_toast_argument(FunctionCallInfo fcinfo, int argno);
extern double sst_seconds_argument(FunctionCallInfo fcinfo, int argno, const char *what);
extern SstLimits *sst_max_time_argument(FunctionCallInfo fcinfo, int argno,
										SstLimits *limits);
extern int64 sst_bytes_argument(FunctionCallInfo fcinfo, int argno);
extern int64 sst_max_bytes_argument(FunctionCallInfo fcinfo, int argno);
extern int64 sst_max_rate_argument(FunctionCallInfo fcinfo, int argno);
extern char *sst_text_argument(FunctionCallInfo fcinfo, int argno,
							   const char *what);
extern SstLimits *sst_limits_arguments(FunctionCallInfo fcinfo, int argno,
									   SstLimits *limits);
extern char *sst_called_schema(FunctionCallInfo fcinfo);
extern Oid	sst_beside_called(FunctionCallInfo fcinfo, char *name, int nargs,
							  const Oid *argtypes);

/* in row.c */
extern void sst_row_init(SstRow *row, FunctionCallInfo fcinfo);
extern void sst_rows_begin(SstRow *row, FunctionCallInfo fcinfo);
extern int	sst_row_find(SstRow *row, const char *column, Oid type);
extern void sst_row_set(SstRow *row, int attno, Datum value, bool isnull);
extern void sst_put_datum(SstRow *row, const char *column, Oid type,
						  Datum value, bool isnull);
extern void sst_put_bool(SstRow *row, const char *column, bool value);
extern void sst_put_int32(SstRow *row, const char *column, int32 value);
extern void sst_put_int64(SstRow *row, const char *column, int64 value);
extern void sst_put_count(SstRow *row, const char *column, int64 value);
extern void sst_put_float8(SstRow *row, const char *column, double value);
extern void sst_put_bytes(SstRow *row, const char *column, double value);
extern void sst_put_oid(SstRow *row, const char *column, Oid oid);
extern void sst_put_regclass(SstRow *row, const char *column, Oid relid);
extern void sst_put_text(SstRow *row, const char *column, const char *value);
extern void sst_put_timestamptz(SstRow *row, const char *column,
								TimestampTz value);
extern void sst_put_seconds(SstRow *row, const char *column, double seconds);
extern void sst_put_estimate(SstRow *row, const char *column, SstEstimate estimate,
							 void (*put) (SstRow *row, const char *column, double value));
extern Datum sst_row_datum(SstRow *row);
extern void sst_row_store(SstRow *row);
extern Datum sst_form_row(FunctionCallInfo fcinfo, const SstColumns *columns,
						  const SstRelationStats *found);
extern void sst_put_row(SstRow *row, const SstColumns *columns,
						const SstRelationStats *found);
extern void sst_relation_stats_init(SstRelationStats *found, const SstTarget *target);
extern const char *sst_kind_name(const SstRelation *relation);
extern void sst_put_relation(SstRow *row, const SstRelation *relation);

/* in one_relation.c */
extern bool sst_has_toast(const SstTarget *target);
extern Relation sst_open_name_or_oid(FunctionCallInfo fcinfo);
extern void sst_call_open(SstCall *call, FunctionCallInfo fcinfo,
						  SstTarget *target, int kinds);
extern void sst_call_try_open(SstCall *call, FunctionCallInfo fcinfo,
							  SstTarget *target, int kinds);
extern void sst_call_close(SstCall *call, SstTarget *target);
extern void sst_tree_begin(SstTree *tree, FunctionCallInfo fcinfo, int kinds, bool alone);
extern bool sst_tree_next(SstTree *tree, SstTarget *target);
extern void sst_tree_end(SstTree *tree);

#endif							/* SST_API_H */
