/*-------------------------------------------------------------------------
 *
 * warm_note.c
 *	  Why a listed relation is not to be warmed
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/warm_note.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "miscadmin.h"
#include "utils/acl.h"

#include "relation/refuse.h"
#include "warm/warm_note.h"

/* The table whose privileges count: of an index, or of a TOAST table and its index */
static Oid
owning_table(const SstRelations *list, const SstRelation *relation)
{
	while (relation->relkind == RELKIND_INDEX ||
		   relation->relkind == RELKIND_TOASTVALUE)
	{
		const SstRelation *parent = OidIsValid(relation->parent) ?
			sst_find_relation(list, relation->parent) : NULL;

		if (parent == NULL)
			break;
		relation = parent;
	}

	return relation->relid;
}

/*
 * Return the translated note on a listed relation that cannot be warmed by this user
 * or not now, else NULL.  Whoever may read the table may warm it, and so may members of
 * pg_stat_scan_tables.
 */
const char *
sst_warm_note(const SstRelations *list, const SstRelation *relation)
{
	SstTargetState state = sst_listed_state(relation);
	bool		missing = false;

	if (state != SST_TARGET_READABLE && state != SST_TARGET_INVALID)
		return sst_state_note(state);
	if (has_privs_of_role(GetUserId(), ROLE_PG_STAT_SCAN_TABLES))
		return NULL;
	if (pg_class_aclcheck_ext(owning_table(list, relation), GetUserId(),
							  ACL_SELECT, &missing) == ACLCHECK_OK)
		return NULL;
	return missing ? sst_state_note(SST_TARGET_MISSING) : _("permission denied");
}
