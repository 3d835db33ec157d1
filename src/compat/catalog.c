/*-------------------------------------------------------------------------
 *
 * catalog.c
 *	  Paths of relation files, and features of commands, by server version
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/compat/catalog.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_tablespace.h"
#include "common/relpath.h"
#include "miscadmin.h"
#if PG_VERSION_NUM >= 170000
#include "storage/procnumber.h"
#else
#include "storage/backendid.h"
#endif
#include "utils/relmapper.h"

#include "compat/catalog.h"

/* The number that file names of a temporary relation have for its session */
static int
file_owner(const FormData_pg_class *relation)
{
#if PG_VERSION_NUM >= 170000
	if (relation->relpersistence != RELPERSISTENCE_TEMP)
		return INVALID_PROC_NUMBER;
	if (isTempOrTempToastNamespace(relation->relnamespace))
		return ProcNumberForTempRelations();
	return GetTempNamespaceProcNumber(relation->relnamespace);
#else
	if (relation->relpersistence != RELPERSISTENCE_TEMP)
		return InvalidBackendId;
	if (isTempOrTempToastNamespace(relation->relnamespace))
		return BackendIdForTempRelations();
	return GetTempNamespaceBackendId(relation->relnamespace);
#endif
}

/*
 * Find where a relation's files are, from its row in pg_class.  The relation is
 * neither opened nor locked.  False if it has no file.
 */
bool
sst_catalog_files(const FormData_pg_class *relation, SstFiles *files)
{
	Oid			filenode = relation->relfilenode;

	if (!OidIsValid(filenode))
#if PG_VERSION_NUM >= 160000
		filenode = RelationMapOidToFilenumber(relation->oid,
											  relation->relisshared);
#else
		filenode = RelationMapOidToFilenode(relation->oid,
											relation->relisshared);
#endif
	files->tablespace = OidIsValid(relation->reltablespace) ?
		relation->reltablespace : MyDatabaseTableSpace;
	files->database = files->tablespace == GLOBALTABLESPACE_OID ?
		InvalidOid : MyDatabaseId;
	files->number = filenode;
	files->owner = file_owner(relation);

	return OidIsValid(filenode);
}

/* The path of the first segment file of a fork */
void
sst_files_path(const SstFiles *files, ForkNumber forknum, char *path,
			   size_t size)
{
#if PG_VERSION_NUM >= 180000
	RelPathStr	first = GetRelationPath(files->database, files->tablespace,
										files->number, files->owner, forknum);

	strlcpy(path, first.str, size);
#else
	char	   *first = GetRelationPath(files->database, files->tablespace,
										files->number, files->owner, forknum);

	strlcpy(path, first, size);
	pfree(first);
#endif
}
