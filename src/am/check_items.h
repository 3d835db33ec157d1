/*-------------------------------------------------------------------------
 *
 * check_items.h
 *	  What is wrong with the items of a page that a visitor has accepted
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/check_items.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_CHECK_ITEMS_H
#define SST_CHECK_ITEMS_H

#include "access/tupdesc.h"

#include "am/diagnose.h"

/* What the catalogs say of the relation, and the metapage of its index */
typedef struct SstItemCheck
{
	const SstAccessMethod *am;
	SstVisitPage page;			/* the visitor's own function */
	TupleDesc	tupdesc;

	/* heap */
	bool		has_toast;
	TransactionId frozenxid;	/* older ones are frozen, if it is valid */
	MultiXactId minmxid;

	/* b-tree */
	int			nkeyatts;
	uint32		version;		/* 0 while it is not known */
} SstItemCheck;

extern void sst_item_check_init(SstItemCheck *check,
								const SstAccessMethod *am, Relation rel);
extern void sst_item_check_visit(SstItemCheck *check, SstVisitor *visitor);
extern bool sst_check_items(const SstItemCheck *check, SstVisitor *visitor,
							const PageData *page, BlockNumber blkno,
							SstDiagnosis *diagnosis);

#endif							/* SST_CHECK_ITEMS_H */
