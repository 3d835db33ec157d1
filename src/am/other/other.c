/*-------------------------------------------------------------------------
 *
 * other.c
 *	  Reading the page headers of an access method that we know nothing of
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/other/other.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "am/am.h"

/*
 * A page of an access method that we know nothing of: its header says how much
 * is free, if it keeps to what headers are for.
 */
static bool
any_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
		 SstCounters *counters)
{
	const PageHeaderData *header = (const PageHeaderData *) page;

	if (header->pd_lower < SizeOfPageHeaderData ||
		header->pd_lower > header->pd_upper ||
		header->pd_upper > header->pd_special ||
		header->pd_special > BLCKSZ ||
		header->pd_pagesize_version != (BLCKSZ | PG_PAGE_LAYOUT_VERSION))
		return sst_count_if_new(page, blkno, counters);

	counters->n[SST_OTHER_PAGES]++;
	counters->n[SST_FREE_BYTES] += sst_page_free_space(page);
	counters->n[SST_USABLE_BYTES] += header->pd_special - SizeOfPageHeaderData;
	return true;
}

static const SstColumn any_columns[] = {
	{"free_bytes", INT8OID, SST_FREE_BYTES, .most = BLCKSZ, .plus_pages = true},
	{"free_percent", FLOAT8OID, SST_FREE_BYTES, .percent_of = SST_PAGE_BYTES, .main = true, .plus_pages = true},
	SST_DAMAGE_COLUMNS,
};

const SstAccessMethod sst_other_am = {
	.kind = SST_INDEX,
	.flags = SST_AM_META | SST_AM_UNKNOWN,
	.page = any_page,
	.columns = {any_columns, lengthof(any_columns)},
	.no_model = gettext_noop("size after a rebuild is not known for this access method"),
};
