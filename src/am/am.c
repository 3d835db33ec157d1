/*-------------------------------------------------------------------------
 *
 * am.c
 *	  The access methods that we know
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/am.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "am/am.h"

static const SstAccessMethod *const access_methods[] = {
#define SST_ACCESS_METHOD(name) &sst_##name##_am,
#include "am/list.h"
#undef SST_ACCESS_METHOD
};

/*
 * Set the names of an access method and its handler in pg_am, which are not looked up if
 * they are known; NULL if there is none.
 */
static void
get_names(Oid amoid, char **name, char **handler)
{
	HeapTuple	tuple;

	if (*name != NULL)
		return;
	tuple = SearchSysCache1(AMOID, ObjectIdGetDatum(amoid));
	if (!HeapTupleIsValid(tuple))
		return;
	*name = pstrdup(NameStr(((Form_pg_am) GETSTRUCT(tuple))->amname));
	*handler = get_func_name(((Form_pg_am) GETSTRUCT(tuple))->amhandler);
	ReleaseSysCache(tuple);
}

/*
 * Find an index access method by OID.  Those of extensions have no fixed OID, and are
 * found by their name and that of their handler: some names are those of several extensions.
 */
const SstAccessMethod *
sst_index_am(Oid amoid)
{
	char	   *name = NULL;
	char	   *handler = NULL;

	for (int i = 0; i < lengthof(access_methods); i++)
	{
		const SstAccessMethod *am = access_methods[i];

		if (am->oid == amoid)
			return am;
		if (OidIsValid(am->oid))
			continue;
		get_names(amoid, &name, &handler);
		if (name != NULL && strcmp(am->name, name) == 0 &&
			handler != NULL && strcmp(am->handler, handler) == 0)
			return am;
	}
	return &sst_other_am;
}

/*
 * Is it a sound metapage of the access method, but of a version of the format that is
 * not known?
 */
bool
sst_is_other_format(const SstAccessMethod *am, const PageData *metapage)
{
	uint32		words[2];

	if (!sst_page_is_sound(metapage, am->special_size) ||
		sst_page_id(metapage) != am->page_id)
		return false;
	memcpy(words, metapage + MAXALIGN(SizeOfPageHeaderData), sizeof(words));
	return words[0] != am->magic || (am->version != 0 && words[1] != am->version);
}

/* That of a relation; NULL if it is of no kind that we read */
const SstAccessMethod *
sst_relation_am(Relation rel)
{
	char		relkind = rel->rd_rel->relkind;

	if (relkind == RELKIND_INDEX)
		return sst_index_am(rel->rd_rel->relam);
	if (RELKIND_HAS_TABLE_AM(relkind) && rel->rd_rel->relam == HEAP_TABLE_AM_OID)
		return &sst_heap_am;
	return relkind == RELKIND_SEQUENCE ? &sst_sequence_am : NULL;
}
