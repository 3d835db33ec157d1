/*-------------------------------------------------------------------------
 *
 * catalog.c
 *	  Paths of relation files, collations, and features of commands, by server version
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/compat/catalog.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_database.h"
#include "catalog/pg_tablespace.h"
#include "common/relpath.h"
#include "miscadmin.h"
#include "postmaster/autovacuum.h"
#if PG_VERSION_NUM >= 170000
#include "storage/procnumber.h"
#else
#include "storage/backendid.h"
#endif
#include "utils/builtins.h"
#include "utils/relmapper.h"
#include "utils/syscache.h"

#include "compat/catalog.h"
#include "compat/compat.h"

#if PG_VERSION_NUM < 170000
#define INVALID_PROC_NUMBER InvalidBackendId
#define ProcNumberForTempRelations BackendIdForTempRelations
#define GetTempNamespaceProcNumber GetTempNamespaceBackendId
#endif

/* The number that file names of a temporary relation have for its session */
static int
file_owner(const FormData_pg_class *relation)
{
	if (relation->relpersistence != RELPERSISTENCE_TEMP)
		return INVALID_PROC_NUMBER;
	if (isTempOrTempToastNamespace(relation->relnamespace))
		return ProcNumberForTempRelations();
	return GetTempNamespaceProcNumber(relation->relnamespace);
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
		filenode = RelationMapOidToFilenumber(relation->oid, relation->relisshared);
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

/* Does the database's collation compare strings by their bytes? */
static bool
database_collates_bytes(void)
{
	HeapTuple	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
	char		provider;
	bool		isnull;			/* it never is */
	char	   *locale;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for database %u", MyDatabaseId);
	provider = ((Form_pg_database) GETSTRUCT(tuple))->datlocprovider;
	locale = TextDatumGetCString(SysCacheGetAttr(DATABASEOID, tuple,
												 Anum_pg_database_datcollate, &isnull));
	ReleaseSysCache(tuple);

	/* "b" is the provider that is built in (17 and later). */
	return provider == 'b' ||
		(provider == COLLPROVIDER_LIBC &&
		 (strcmp(locale, "C") == 0 || strcmp(locale, "POSIX") == 0));
}

/*
 * Does a collation compare strings by their bytes?  Only what is known without loading it
 * counts: that may warn of its version.
 */
bool
sst_collates_bytes(Oid collation)
{
	return collation == DEFAULT_COLLATION_OID ? database_collates_bytes() :
		collation == C_COLLATION_OID;
}

/* The dead rows for which autovacuum waits, of which a setting limits the number (18) */
double
sst_limited_vacuum_threshold(const StdRdOptions *options, double threshold)
{
#if PG_VERSION_NUM >= 180000
	int			limit = options != NULL && options->autovacuum.vacuum_max_threshold >= -1 ?
		options->autovacuum.vacuum_max_threshold : autovacuum_vac_max_thresh;

	if (limit >= 0 && threshold > limit)
		return limit;
#endif
	return threshold;
}
