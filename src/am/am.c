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

#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"

#include "am/am.h"

static const SstAccessMethod *const access_methods[] = {
#define SST_ACCESS_METHOD(name) &sst_##name##_am,
#include "am/list.h"
#undef SST_ACCESS_METHOD
};

/*
 * Find an index access method by OID.  Those of extensions have no fixed OID, and are
 * found by name.
 */
const SstAccessMethod *
sst_index_am(Oid amoid)
{
	char	   *name = NULL;

	for (int i = 0; i < lengthof(access_methods); i++)
	{
		const SstAccessMethod *am = access_methods[i];

		if (am->oid == amoid)
			return am;
		if (OidIsValid(am->oid))
			continue;
		if (name == NULL)
			name = get_am_name(amoid);
		if (name != NULL && strcmp(am->name, name) == 0)
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
