/*-------------------------------------------------------------------------
 *
 * describe.c
 *	  What the catalogs say of how a table's values are stored
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/heap/describe.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tableam.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "am/heap/toaster.h"

/*
 * May a column have been altered, so that its values were stored by other rules
 * than the present ones?  Its row in pg_attribute is then not the one that was
 * inserted.  Setting a default is no such change; when the table is created, that
 * updates the row as well.
 */
static bool
may_be_altered(Relation rel, Form_pg_attribute att)
{
	HeapTuple	row = SearchSysCache2(ATTNUM, ObjectIdGetDatum(RelationGetRelid(rel)),
									  Int16GetDatum(att->attnum));
	HeapTuple	ctid = SearchSysCache2(ATTNUM, ObjectIdGetDatum(RelationGetRelid(rel)),
									   Int16GetDatum(SelfItemPointerAttributeNumber));
	bool		result = true;

	if (HeapTupleIsValid(row) && HeapTupleIsValid(ctid))
		result = (row->t_data->t_infomask & HEAP_UPDATED) != 0 &&
			!(att->atthasdef && HeapTupleHeaderGetRawXmin(row->t_data) ==
			  HeapTupleHeaderGetRawXmin(ctid->t_data));
	if (HeapTupleIsValid(row))
		ReleaseSysCache(row);
	if (HeapTupleIsValid(ctid))
		ReleaseSysCache(ctid);

	return result;
}

/*
 * Find out what the catalogs say of how a table's values are stored.  True if tuples have
 * to be formed again, because short values may have been stored as PLAIN.
 */
bool
sst_toaster_describe(SstToaster *toaster, Relation rel)
{
	TupleDesc	tupdesc = RelationGetDescr(rel);
	bool		reforms = false;

	if (rel->rd_rel->relkind == RELKIND_TOASTVALUE)
		return false;

	/* A TOAST table that is not needed any more vanishes. */
	toaster->has_toast = OidIsValid(rel->rd_rel->reltoastrelid) &&
		table_relation_needs_toast_table(rel);

	sst_compression_init(&toaster->compression, false);
	toaster->in_tuples = palloc(tupdesc->natts * sizeof(SstCompression));
	for (int i = 0; i < tupdesc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);

		sst_compression_init(&toaster->in_tuples[i], true);
		if (att->attlen != -1 || att->attisdropped ||
			att->attstorage == TYPSTORAGE_PLAIN)
			continue;
		if (att->attstorage == TYPSTORAGE_EXTENDED)
			toaster->compression.can_try = true;
		if (!may_be_altered(rel, att))
			continue;

		reforms = true;
		if (att->attstorage != TYPSTORAGE_EXTERNAL)
		{
			if (!toaster->any_compressible)
				toaster->method = att->attcompression;
			toaster->any_compressible = true;
			toaster->compressible[i / 8] |= 1 << i % 8;
		}
	}
	if (toaster->any_compressible)
		toaster->compression.can_try = true;
	return reforms;
}
