/*-------------------------------------------------------------------------
 *
 * catalog.c
 *	  What the servers call differently about files, time and commands
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/compat/catalog.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/stat.h>

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

/* Whose temporary relation it is, as file names have it */
static int
file_owner(Form_pg_class relation)
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
 * Bytes of a relation's main fork, as its row in pg_class and the file system
 * tell it, or -1 if there is no file.  The relation is neither opened nor locked.
 */
int64
sst_relation_file_bytes(Form_pg_class relation)
{
	Oid			spcoid = relation->reltablespace;
	Oid			dboid = MyDatabaseId;
	Oid			filenode = relation->relfilenode;
	int			owner = file_owner(relation);
	char		path[MAXPGPATH];
	int64		bytes = 0;

	if (!OidIsValid(filenode))
#if PG_VERSION_NUM >= 160000
		filenode = RelationMapOidToFilenumber(relation->oid,
											  relation->relisshared);
#else
		filenode = RelationMapOidToFilenode(relation->oid,
											relation->relisshared);
#endif
	if (!OidIsValid(filenode))
		return -1;

	if (!OidIsValid(spcoid))
		spcoid = MyDatabaseTableSpace;
	if (spcoid == GLOBALTABLESPACE_OID)
		dboid = InvalidOid;

	{
#if PG_VERSION_NUM >= 180000
		RelPathStr	first = GetRelationPath(dboid, spcoid, filenode, owner,
											MAIN_FORKNUM);

		strlcpy(path, first.str, MAXPGPATH);
#else
		char	   *first = GetRelationPath(dboid, spcoid, filenode, owner,
											MAIN_FORKNUM);

		strlcpy(path, first, MAXPGPATH);
		pfree(first);
#endif
	}

	/* A segment that is shorter than it could be is the last one. */
	for (int segno = 0;; segno++)
	{
		char		segment[MAXPGPATH + 12];
		struct stat st;

		if (segno == 0)
			strlcpy(segment, path, sizeof(segment));
		else
			snprintf(segment, sizeof(segment), "%s.%d", path, segno);
		if (stat(segment, &st) != 0)
			return segno == 0 ? -1 : bytes;
		bytes += st.st_size;
		if (st.st_size < (int64) RELSEG_SIZE * BLCKSZ)
			return bytes;
	}
}
