/*-------------------------------------------------------------------------
 *
 * shards.c
 *	  Tables whose data Citus keeps in shards
 *
 * On the coordinator of Citus, and on workers that have its metadata, a
 * distributed table is a shell.  Its pages, if any, are from before it was
 * distributed.  The shards are separate tables, mostly on other servers.
 *
 * Citus's catalog pg_dist_partition has a row for each such table; the library
 * need not be loaded.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/relation/shards.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_namespace.h"
#include "commands/extension.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "relation/shards.h"

/*
 * Is it a table that Citus distributes?  Without Citus, this is a look-up in the
 * server's catalog cache.
 */
bool
sst_is_distributed(Oid tableoid)
{
	Oid			catalog;
	Oid			index;
	AttrNumber	attno;
	Relation	rel;
	ScanKeyData key;
	SysScanDesc scan;
	bool		found;

	if (tableoid < FirstNormalObjectId)
		return false;
	catalog = get_relname_relid("pg_dist_partition", PG_CATALOG_NAMESPACE);
	if (!OidIsValid(catalog) || !OidIsValid(get_extension_oid("citus", true)))
		return false;

	attno = get_attnum(catalog, "logicalrelid");
	if (attno == InvalidAttrNumber)
		return false;
	index = get_relname_relid("pg_dist_partition_logical_relid_index",
							  PG_CATALOG_NAMESPACE);

	ScanKeyInit(&key, attno, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(tableoid));
	rel = table_open(catalog, AccessShareLock);
	scan = systable_beginscan(rel, index, OidIsValid(index), NULL, 1, &key);
	found = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);

	return found;
}

/*
 * Return the translated note on a distributed table or one of its indexes, with the
 * query that asks the shards.  It is palloc'd in the current context.
 */
char *
sst_shards_note(Relation rel)
{
	bool		index = rel->rd_rel->relkind == RELKIND_INDEX;
	Oid			tableoid = index ? rel->rd_index->indrelid : RelationGetRelid(rel);
	char	   *name = quote_literal_cstr(quote_qualified_identifier(get_namespace_name(get_rel_namespace(tableoid)),
																	 get_rel_name(tableoid)));
	const char *command = index ?
		"SELECT json_agg(streamstat.index_stats(indexrelid)) FROM pg_index WHERE indrelid = %L::regclass" :
		"SELECT streamstat.table_stats(%L)";

	return psprintf(_("distributed by Citus, the data is in shards: SELECT * FROM run_command_on_shards(%s, $cmd$%s$cmd$)"),
					name, command);
}
