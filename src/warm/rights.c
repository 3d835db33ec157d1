/*-------------------------------------------------------------------------
 *
 * rights.c
 *	  Who may warm a relation
 *
 * A query on a table reads it into the same caches, so the right to read the
 * table is sufficient.  Members of pg_stat_scan_tables may read every page
 * with other functions of this extension.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/rights.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/index.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"

#include "relation/relations.h"
#include "warm/rights.h"

/*
 * The table that an index or a TOAST table belongs to, or the relation itself if it
 * is none of them.  InvalidOid if there is none.  Nothing is locked.
 */
Oid
sst_table_of(Oid relid)
{
	char		relkind = get_rel_relkind(relid);

	if (relkind == RELKIND_INDEX || relkind == RELKIND_PARTITIONED_INDEX)
	{
		relid = IndexGetRelation(relid, true);
		relkind = get_rel_relkind(relid);
	}
	if (relkind == RELKIND_TOASTVALUE)
		relid = sst_toast_owner(relid);

	return relid;
}

/* May the user warm all relations? */
bool
sst_may_warm_all(void)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_STAT_SCAN_TABLES);
}

/* May the user warm a table, if not all?  False if it does not exist. */
bool
sst_may_warm(Oid tableoid)
{
	bool		missing = false;

	return pg_class_aclcheck_ext(tableoid, GetUserId(), ACL_SELECT,
								 &missing) == ACLCHECK_OK && !missing;
}
