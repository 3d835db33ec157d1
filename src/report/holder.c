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

/* See HolderKind */
#define SESSION "0"
#define PREPARED "3"

/*
 * Of each: what it is, its process or null, its name or null, its oldest transaction
 * for all tables and for catalogs only, since when, its database or null for
 * all, and whether the role may see it
 */
static const char *const holders_query =
"SELECT CASE WHEN a.backend_type = 'walsender' THEN 1 ELSE " SESSION " END, a.pid, NULL::text,"
" a.xact_start, a.backend_xid, a.backend_xmin, NULL::xid, a.datid,"
" a.backend_type IS NULL AND a.usesysid IS NOT NULL"
" FROM pg_stat_activity AS a"
" WHERE a.pid <> pg_backend_pid()"
" AND (a.backend_type IS NULL OR a.backend_type <> 'autovacuum worker')"
" AND NOT EXISTS (SELECT FROM pg_stat_progress_vacuum AS v WHERE v.pid = a.pid)"
" UNION ALL"
" SELECT 2, s.active_pid, s.slot_name, NULL, NULL, s.xmin, s.catalog_xmin, NULL, false"
" FROM pg_replication_slots AS s"
" UNION ALL"
" SELECT " PREPARED ", NULL, p.gid, p.prepared, p.transaction, NULL, NULL, d.oid, false"
" FROM pg_prepared_xacts AS p JOIN pg_database AS d ON d.datname = p.database";

/*
 * Of each transaction that others may have to wait for, the first four columns as above.
 * Then a table on which it has a lock, or 0, and what others wait for: whether the lock
 * is a strong one, and whether it has a snapshot of this database or an ID.  Those that
 * will end in a moment are left out, and an autovacuum that makes room for others.
 * REINDEX does not wait for the snapshots of VACUUM (GetCurrentVirtualXIDs()).
 */
static const char *const waits_query =
"WITH slow AS ("
"SELECT a.*, EXISTS (SELECT FROM pg_stat_progress_vacuum AS v WHERE v.pid = a.pid) AS is_vacuum"
" FROM pg_stat_activity AS a"
" WHERE a.pid <> pg_backend_pid() AND a.backend_type IS DISTINCT FROM 'parallel worker'"
" AND (a.backend_type IS DISTINCT FROM 'autovacuum worker' OR a.query LIKE '%(to prevent wraparound)')"
" AND (a.xact_start < clock_timestamp() - interval '60 s' OR a.state LIKE 'idle in transaction%'"
" OR a.backend_type IS NULL)),"
" all_locks AS MATERIALIZED (SELECT * FROM pg_locks WHERE granted),"
" locks AS ("
"SELECT l.pid, l.virtualtransaction, l.relation,"
" bool_or(l.mode IN ('ShareUpdateExclusiveLock', 'ShareLock', 'ShareRowExclusiveLock',"
" 'ExclusiveLock', 'AccessExclusiveLock')) AS is_strong"
" FROM all_locks AS l WHERE l.locktype = 'relation'"
" AND l.database IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))"
" GROUP BY l.pid, l.virtualtransaction, l.relation)"
" SELECT " SESSION ", s.pid, NULL::text, s.xact_start, l.relation, l.is_strong, false, false"
" FROM locks AS l JOIN slow AS s ON s.pid = l.pid"
" UNION ALL"
" SELECT " PREPARED ", NULL, p.gid, p.prepared, l.relation, l.is_strong, false, false"
" FROM pg_prepared_xacts AS p JOIN all_locks AS x ON x.transactionid = p.transaction AND x.pid IS NULL"
" JOIN locks AS l ON l.virtualtransaction = x.virtualtransaction AND l.pid IS NULL"
" UNION ALL"
" SELECT " SESSION ", s.pid, NULL, s.xact_start, 0, false,"
" s.datname = current_database() AND s.backend_xmin IS NOT NULL AND NOT s.is_vacuum,"
" s.backend_xid IS NOT NULL FROM slow AS s"
" WHERE s.backend_xmin IS NOT NULL OR s.backend_xid IS NOT NULL"
" UNION ALL"
" SELECT " PREPARED ", NULL, p.gid, p.prepared, 0, false, false, true FROM pg_prepared_xacts AS p"
" ORDER BY 4, 2, 3";

/* The numbers are in the queries. */
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
	Holder	   *holder;			/* for waits, the oldest first */
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
 * Ask the server's views, in the current transaction.  "set" sets what one of the queries has
 * besides.
 */
static SstHolders *
find_holders(const char *query, void (*set) (Holder *holder, HeapTuple tuple))
{
	MemoryContext context = CurrentMemoryContext;
	SstHolders *holders = palloc0(sizeof(SstHolders));
	int			nestlevel = NewGUCNestLevel();

	/* No name is looked up elsewhere. */
	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (SPI_execute(query, true, 0) != SPI_OK_SELECT)
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
		set(holder, tuple);
	}
	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "SPI_finish failed");
	AtEOXact_GUC(true, nestlevel);

	return holders;
}

static void
set_kept(Holder *holder, HeapTuple tuple)
{
	holder->xmin = older(DatumGetTransactionId(column(tuple, 5)),
						 DatumGetTransactionId(column(tuple, 6)));
	holder->catalog_xmin = DatumGetTransactionId(column(tuple, 7));
	holder->database = DatumGetObjectId(column(tuple, 8));
	holder->hidden = DatumGetBool(column(tuple, 9));
}

/* Find what may keep dead rows. */
SstHolders *
sst_find_holders(void)
{
	return find_holders(holders_query, set_kept);
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

static void
set_wait(Holder *holder, HeapTuple tuple)
{
	holder->table = DatumGetObjectId(column(tuple, 5));
	if (OidIsValid(holder->table))
		holder->what |= SST_WAITS_LOCK;
	if (DatumGetBool(column(tuple, 6)))
		holder->what |= SST_WAITS_STRONG;
	if (DatumGetBool(column(tuple, 7)))
		holder->what |= SST_WAITS_SNAPSHOT;
	if (DatumGetBool(column(tuple, 8)))
		holder->what |= SST_WAITS_XID;
}

/* Find the transactions for which commands may wait. */
SstHolders *
sst_find_waits(void)
{
	return find_holders(waits_query, set_wait);
}

/* More are counted. */
#define MAX_NAMED 3

/*
 * Describe for whom a command on the table waits, which waits for such transactions.  The
 * words are translated, in the current memory context.  NULL if there is none.
 */
const char *
sst_waits_for(const SstHolders *waits, Oid table, int what)
{
	const Holder *last = NULL;
	StringInfoData buf;
	int			n = 0;

	for (int i = 0; i < waits->n; i++)
	{
		const Holder *holder = &waits->holder[i];

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
