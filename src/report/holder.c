/*-------------------------------------------------------------------------
 *
 * holder.c
 *	  What keeps VACUUM from removing dead rows
 *
 * Rows that a snapshot may still see are kept: for transactions, prepared ones
 * too, for replication slots, and for standbys with hot_standby_feedback.  The
 * server's views list them, and decide what the caller's role may see.  This
 * code finds the oldest one by the rules of VACUUM (ComputeXidHorizons() in
 * storage/ipc/procarray.c): transactions of other databases count for shared
 * catalogs only, a slot's catalog_xmin for catalogs only, and VACUUM for none.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/holder.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "report/holder.h"

/*
 * Of each: what it is, its process or null, its name or null, its oldest transaction
 * for all tables and for catalogs only, since when, its database or null for
 * all, and whether the role may see it.  No operator is looked up by its name.
 */
static const char *const query =
"SELECT CASE WHEN a.backend_type OPERATOR(pg_catalog.=) 'walsender'::pg_catalog.text"
" THEN 1 ELSE 0 END, a.pid, NULL::pg_catalog.text, a.backend_xid, a.backend_xmin,"
" NULL::pg_catalog.xid, a.xact_start, a.datid,"
" a.backend_type IS NULL AND a.usesysid IS NOT NULL"
" FROM pg_catalog.pg_stat_activity AS a"
" WHERE a.pid OPERATOR(pg_catalog.<>) pg_catalog.pg_backend_pid()"
" AND (a.backend_type IS NULL OR"
" a.backend_type OPERATOR(pg_catalog.<>) 'autovacuum worker'::pg_catalog.text)"
" AND NOT EXISTS (SELECT FROM pg_catalog.pg_stat_progress_vacuum AS v"
" WHERE v.pid OPERATOR(pg_catalog.=) a.pid)"
" UNION ALL"
" SELECT 2, s.active_pid, s.slot_name::pg_catalog.text, NULL::pg_catalog.xid,"
" s.xmin, s.catalog_xmin, NULL::pg_catalog.timestamptz, NULL::pg_catalog.oid, false"
" FROM pg_catalog.pg_replication_slots AS s"
" UNION ALL"
" SELECT 3, NULL::pg_catalog.int4, p.gid, p.transaction, NULL::pg_catalog.xid,"
" NULL::pg_catalog.xid, p.prepared, d.oid, false"
" FROM pg_catalog.pg_prepared_xacts AS p"
" JOIN pg_catalog.pg_database AS d ON d.datname OPERATOR(pg_catalog.=) p.database";

typedef enum HolderKind
{
	HOLDER_SESSION,
	HOLDER_STANDBY,				/* its feedback, by a WAL sender without a
								 * slot */
	HOLDER_SLOT,
	HOLDER_PREPARED
} HolderKind;

typedef struct Holder
{
	HolderKind	kind;
	int			pid;			/* or 0 */
	const char *name;			/* or NULL */
	TransactionId xmin;			/* the older of both, for all tables */
	TransactionId catalog_xmin;
	TimestampTz since;			/* or 0 */
	Oid			database;		/* or InvalidOid: of all */
} Holder;

struct SstHolders
{
	int			n;
	Holder	   *holder;
	bool		hidden;			/* the role may not see all sessions */
};

static TransactionId
older(TransactionId a, TransactionId b)
{
	if (!TransactionIdIsNormal(a))
		return b;
	if (!TransactionIdIsNormal(b))
		return a;
	return TransactionIdPrecedes(a, b) ? a : b;
}

/* A column of the query's current row, or 0 for null */
static Datum
column(HeapTuple tuple, int number)
{
	bool		isnull;
	Datum		value = SPI_getbinval(tuple, SPI_tuptable->tupdesc, number,
									  &isnull);

	return isnull ? (Datum) 0 : value;
}

static void
set_holder(Holder *holder, HeapTuple tuple, MemoryContext context)
{
	Datum		name = column(tuple, 3);
	MemoryContext oldcontext = MemoryContextSwitchTo(context);

	holder->kind = DatumGetInt32(column(tuple, 1));
	holder->pid = DatumGetInt32(column(tuple, 2));
	holder->name = name != (Datum) 0 ? TextDatumGetCString(name) : NULL;
	holder->xmin = older(DatumGetTransactionId(column(tuple, 4)),
						 DatumGetTransactionId(column(tuple, 5)));
	holder->catalog_xmin = DatumGetTransactionId(column(tuple, 6));
	holder->since = DatumGetTimestampTz(column(tuple, 7));
	holder->database = DatumGetObjectId(column(tuple, 8));
	MemoryContextSwitchTo(oldcontext);
}

/* Ask the server's views, in the current transaction. */
SstHolders *
sst_find_holders(void)
{
	MemoryContext context = CurrentMemoryContext;
	SstHolders *holders = palloc0(sizeof(SstHolders));

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (SPI_execute(query, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not query what holds back VACUUM");

	holders->holder = MemoryContextAllocZero(context, sizeof(Holder) *
											 (SPI_processed + 1));
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		HeapTuple	tuple = SPI_tuptable->vals[i];

		if (DatumGetBool(column(tuple, 9)))
			holders->hidden = true;
		else
			set_holder(&holders->holder[holders->n++], tuple, context);
	}
	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "SPI_finish failed");

	return holders;
}

/* The oldest transaction whose rows the holder keeps in a table; or 0 */
static TransactionId
kept_since(const Holder *holder, const SstRelation *table)
{
	if (OidIsValid(holder->database) && holder->database != MyDatabaseId &&
		!table->shared)
		return InvalidTransactionId;

	return table->catalog ? older(holder->xmin, holder->catalog_xmin) :
		holder->xmin;
}

/* Its age, translated; "" if it is not known */
static const char *
age(const Holder *holder)
{
	int64		seconds;

	if (holder->since == 0)
		return "";

	seconds = Max((GetCurrentTimestamp() - holder->since) / USECS_PER_SEC, 0);
	if (seconds < 120)
		return psprintf(_(", started %d s ago"), (int) seconds);
	if (seconds < 7200)
		return psprintf(_(", started %d min ago"), (int) (seconds / 60));
	if (seconds < 172800)
		return psprintf(_(", started %d h ago"), (int) (seconds / 3600));
	return psprintf(_(", started %d days ago"), (int) (seconds / 86400));
}

static const char *
describe(const Holder *holder)
{
	switch (holder->kind)
	{
		case HOLDER_SESSION:
			return psprintf(_("the transaction of process %d%s"), holder->pid,
							age(holder));
		case HOLDER_STANDBY:
			return psprintf(_("a query on the standby of WAL sender %d (hot_standby_feedback)"),
							holder->pid);
		case HOLDER_SLOT:
			return holder->pid != 0 ?
				psprintf(_("replication slot \"%s\" of process %d"),
						 holder->name, holder->pid) :
				psprintf(_("inactive replication slot \"%s\""),
						 holder->name);
		default:
			return psprintf(_("prepared transaction \"%s\"%s"), holder->name,
							age(holder));
	}
}

/*
 * Describe what keeps the table's dead rows: the oldest holder, if it is older than
 * the given transaction.  The words are translated, in the current memory context.
 * NULL if there is none.
 */
const char *
sst_oldest_holder(const SstHolders *holders, const SstRelation *table,
				  TransactionId before)
{
	const Holder *oldest = NULL;
	TransactionId xmin = before;

	for (int i = 0; i < holders->n; i++)
	{
		TransactionId since = kept_since(&holders->holder[i], table);

		if (TransactionIdIsNormal(since) && TransactionIdPrecedes(since, xmin))
		{
			oldest = &holders->holder[i];
			xmin = since;
		}
	}
	if (oldest != NULL)
	{
		int			behind = (int) (before - xmin);

		return psprintf(ngettext("%s, %d transaction old",
								 "%s, %d transactions old", behind),
						describe(oldest), behind);
	}

	return holders->hidden ?
		_("a session that only members of pg_read_all_stats can see") :
		NULL;
}
