/*-------------------------------------------------------------------------
 *
 * relation_columns.c
 *	  The columns that say which relation a row is about
 *
 * Rows about all relations have names instead of regclass, so that stored rows
 * survive dump and restore.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/relation_columns.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "utils/builtins.h"

#include "api/relation_columns.h"

/* What the relation is, for the column kind; NULL if that is not known */
const char *
sst_kind_name(const SstRelation *relation)
{
	switch (relation->relkind)
	{
		case RELKIND_INDEX:
			return "index";
		case RELKIND_TOASTVALUE:
			return "toast table";
		case RELKIND_MATVIEW:
			return "materialized view";
		case RELKIND_RELATION:
			return relation->partition ? "partition" : "table";
		case RELKIND_SEQUENCE:
			return "sequence";
		case RELKIND_VIEW:
			return "view";
		case RELKIND_FOREIGN_TABLE:
			return "foreign table";
		case RELKIND_COMPOSITE_TYPE:
			return "composite type";
		case RELKIND_PARTITIONED_TABLE:
			return "partitioned table";
		case RELKIND_PARTITIONED_INDEX:
			return "partitioned index";
		default:
			return NULL;
	}
}

void
sst_put_relation(SstRow *row, const SstRelation *relation)
{
	sst_put_oid(row, "relid", relation->relid);
	sst_put_text(row, "schema_name", relation->schema);
	sst_put_text(row, "relation_name", relation->name);
	sst_put_text(row, "parent_name", relation->parent_name == NULL ? NULL :
				 quote_qualified_identifier(relation->parent_schema,
											relation->parent_name));
	sst_put_text(row, "kind", sst_kind_name(relation));
}
