/*-------------------------------------------------------------------------
 *
 * holder.c
 *	  What keeps VACUUM from removing dead rows, and commands from ending
 *
 * Rows that a snapshot may still see are kept: for transactions, prepared ones
 * too, for replication slots, and for standbys with hot_standby_feedback.  The
 * server's views list them, and decide what the caller's role may see.  This
 * code finds the oldest one by the rules of VACUUM (ComputeXidHorizons() in
 * storage/ipc/procarray.c): transactions of other databases count for shared
 * catalogs only, a slot's catalog_xmin for catalogs only, and VACUUM for none.
 *
 * For whom commands wait, plan.h has.  Slots and standbys delay none.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "report/plan.h"

/* What a holder is; a standby by its feedback, through a WAL sender without a slot */
#define SESSION 0
#define STANDBY 1
#define SLOT 2
#define PREPARED 3

/*
 * Of each: its kind, its process or null, its name or null, and since when.  Of what may keep
 * dead rows: its oldest transaction for all tables and for catalogs only, its database or null
 * for all, and whether the role may see it.  Of a transaction that others may have to wait for:
 * a table on which it has a lock, or 0, and SST_WAITS_...  Those that will end in a moment are
 * left out there, and an autovacuum that makes room for others.
 * REINDEX does not wait for the snapshots of VACUUM (GetCurrentVirtualXIDs()).
 */
static const char *const holders_query =
"WITH vacuums AS MATERIALIZED (SELECT pid FROM pg_stat_progress_vacuum),"
" sessions AS ("
"SELECT a.pid, a.backend_type, a.xact_start, a.backend_xid, a.backend_xmin, a.datid,"
" a.backend_type IS NULL AND a.usesysid IS NOT NULL AS is_hidden,"
" a.datid = (SELECT oid FROM pg_database WHERE datname = current_database()) AS is_here,"
" a.pid IN (SELECT pid FROM vacuums) AS is_vacuum,"
" a.backend_type IS NOT DISTINCT FROM 'autovacuum worker' AS is_autovacuum,"
" a.backend_type IS DISTINCT FROM 'parallel worker' AND (a.query LIKE '%(to prevent wraparound)'"
" OR a.backend_type IS DISTINCT FROM 'autovacuum worker')"
" AND (a.xact_start < clock_timestamp() - interval '60 s' OR a.state LIKE 'idle in transaction%'"
" OR a.backend_type IS NULL) AS is_slow"
" FROM pg_stat_activity AS a WHERE a.pid <> pg_backend_pid()),"
" all_locks AS MATERIALIZED (SELECT * FROM pg_locks WHERE granted),"
" locks AS ("
"SELECT l.pid, l.virtualtransaction, l.relation,"
" CASE WHEN bool_or(l.mode IN ('ShareUpdateExclusiveLock', 'ShareLock', 'ShareRowExclusiveLock',"
" 'ExclusiveLock', 'AccessExclusiveLock'))"
" THEN " CppAsString2(SST_WAITS_STRONG) " ELSE 0 END + " CppAsString2(SST_WAITS_LOCK) " AS what"
" FROM all_locks AS l WHERE l.locktype = 'relation'"
" AND l.database IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))"
" GROUP BY l.pid, l.virtualtransaction, l.relation)"

" SELECT CASE WHEN s.backend_type = 'walsender' THEN " CppAsString2(STANDBY)
" ELSE " CppAsString2(SESSION) " END, s.pid, NULL::text, s.xact_start, s.backend_xid,"
" s.backend_xmin, NULL::xid, s.datid, s.is_hidden, 0::oid, 0"
" FROM sessions AS s WHERE NOT s.is_vacuum AND NOT s.is_autovacuum"
" UNION ALL"
" SELECT " CppAsString2(SLOT) ", s.active_pid, s.slot_name, NULL, NULL, s.xmin, s.catalog_xmin,"
" NULL, false, 0, 0 FROM pg_replication_slots AS s"
" UNION ALL"
" SELECT " CppAsString2(PREPARED) ", NULL, p.gid, p.prepared, p.transaction, NULL, NULL,"
" d.oid, false, 0, " CppAsString2(SST_WAITS_XID)
" FROM pg_prepared_xacts AS p JOIN pg_database AS d ON d.datname = p.database"
" UNION ALL"
" SELECT " CppAsString2(SESSION) ", s.pid, NULL, s.xact_start, NULL, NULL, NULL, NULL, false, 0,"
" CASE WHEN s.backend_xmin IS NOT NULL AND s.is_here AND NOT s.is_vacuum"
" THEN " CppAsString2(SST_WAITS_SNAPSHOT) " ELSE 0 END"
" + CASE WHEN s.backend_xid IS NOT NULL THEN " CppAsString2(SST_WAITS_XID) " ELSE 0 END"
" FROM sessions AS s WHERE s.is_slow"
" UNION ALL"
" SELECT " CppAsString2(SESSION) ", s.pid, NULL, s.xact_start, NULL, NULL, NULL, NULL, false,"
" l.relation, l.what FROM locks AS l JOIN sessions AS s ON s.pid = l.pid WHERE s.is_slow"
" UNION ALL"
" SELECT " CppAsString2(PREPARED) ", NULL, p.gid, p.prepared, NULL, NULL, NULL, NULL, false,"
" l.relation, l.what FROM pg_prepared_xacts AS p"
" JOIN all_locks AS x ON x.transactionid = p.transaction AND x.pid IS NULL"
" JOIN locks AS l ON l.virtualtransaction = x.virtualtransaction AND l.pid IS NULL"
" ORDER BY 4, 2, 3";

typedef struct Holder
{
	int			kind;
	int			pid;			/* or 0 */
	const char *name;			/* or NULL */
	TimestampTz since;			/* or 0 */

	/* Of what may keep dead rows */
	TransactionId xmin;			/* the older of both, for all tables */
	TransactionId catalog_xmin;
	Oid			database;		/* or InvalidOid: of all */
	bool		hidden;			/* the role may not see it */

	/* Of a transaction for which commands may wait */
	Oid			table;			/* or InvalidOid */
	int			what;			/* SST_WAITS_... */
} Holder;

struct SstHolders
{
	int			n;
	Holder	   *holder;			/* transactions by age */
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

/*
 * Find what may keep dead rows, and transactions for which commands may wait, in the server's
 * views.
 */
SstHolders *
sst_find_holders(void)
{
	MemoryContext context = CurrentMemoryContext;
	SstHolders *holders = palloc0(sizeof(SstHolders));
	int			nestlevel = NewGUCNestLevel();

	/* No name is looked up elsewhere. */
	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (SPI_execute(holders_query, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not query transactions");

	holders->n = SPI_processed;
	holders->holder = MemoryContextAllocZero(context, sizeof(Holder) * (holders->n + 1));
	for (int i = 0; i < holders->n; i++)
	{
		HeapTuple	tuple = SPI_tuptable->vals[i];
		Holder	   *holder = &holders->holder[i];
		Datum		name = column(tuple, 3);

		holder->kind = DatumGetInt32(column(tuple, 1));
		holder->pid = DatumGetInt32(column(tuple, 2));
		holder->name = name == (Datum) 0 ? NULL :
			MemoryContextStrdup(context, TextDatumGetCString(name));
		holder->since = DatumGetTimestampTz(column(tuple, 4));
		holder->xmin = older(DatumGetTransactionId(column(tuple, 5)),
							 DatumGetTransactionId(column(tuple, 6)));
		holder->catalog_xmin = DatumGetTransactionId(column(tuple, 7));
		holder->database = DatumGetObjectId(column(tuple, 8));
		holder->hidden = DatumGetBool(column(tuple, 9));
		holder->table = DatumGetObjectId(column(tuple, 10));
		holder->what = DatumGetInt32(column(tuple, 11));
	}
	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "SPI_finish failed");
	AtEOXact_GUC(true, nestlevel);

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
		case SESSION:
			return psprintf(_("the transaction of process %d%s"), holder->pid,
							age(holder));
		case STANDBY:
			return psprintf(_("a query on the standby of WAL sender %d (hot_standby_feedback)"),
							holder->pid);
		case SLOT:
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
	bool		hidden = false;

	for (int i = 0; i < holders->n; i++)
	{
		TransactionId since = kept_since(&holders->holder[i], table);

		if (holders->holder[i].hidden)
			hidden = true;
		else if (TransactionIdIsNormal(since) && TransactionIdPrecedes(since, xmin))
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

	return hidden ?
		_("a session that only members of pg_read_all_stats can see") :
		NULL;
}

/* More are counted. */
#define MAX_NAMED 3

/*
 * Describe for whom a command on the table waits, which waits for such transactions.  The
 * words are translated, in the current memory context.  NULL if there is none.
 */
const char *
sst_waits_for(const SstHolders *holders, Oid table, int what)
{
	const Holder *last = NULL;
	StringInfoData buf;
	int			n = 0;

	for (int i = 0; i < holders->n; i++)
	{
		const Holder *holder = &holders->holder[i];

		if ((holder->what & what) == 0 ||
			(OidIsValid(holder->table) && holder->table != table))
			continue;

		/* One transaction has several rows, one after the other. */
		if (last != NULL && last->pid == holder->pid &&
			(holder->pid != 0 || strcmp(last->name, holder->name) == 0))
			continue;
		last = holder;
		if (n == 0)
			initStringInfo(&buf);
		if (n < MAX_NAMED)
			appendStringInfo(&buf, "%s%s", n > 0 ? "; " : "", describe(holder));
		n++;
	}
	if (n > MAX_NAMED)
		appendStringInfo(&buf, ngettext("; and %d other", "; and %d others",
										n - MAX_NAMED), n - MAX_NAMED);

	return n > 0 ? buf.data : NULL;
}
