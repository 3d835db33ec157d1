/*-------------------------------------------------------------------------
 *
 * gin.c
 *	  What the metapage of a GIN index says
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/visit/gin.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/gin_private.h"

#include "visit/visit.h"

static bool
gin_meta_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
			  SstCounters *counters)
{
	const GinMetaPageData *metad = GinPageGetMeta((Page) page);

	Assert(blkno == GIN_METAPAGE_BLKNO);

	visitor->meta.known = true;
	visitor->meta.version = metad->ginVersion;
	visitor->meta.pending_pages = metad->nPendingPages;
	visitor->meta.pending_tuples = metad->nPendingHeapTuples;
	return true;
}

/* The visitor that judges as pgstatginindex does: for block 0 only. */
void
sst_gin_meta_visitor_init(SstVisitor *visitor)
{
	memset(visitor, 0, sizeof(SstVisitor));
	visitor->page = gin_meta_page;
}
