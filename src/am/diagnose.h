/*-------------------------------------------------------------------------
 *
 * diagnose.h
 *	  What is wrong with a page that a visitor has refused, and with items of others
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_DIAGNOSE_H
#define SST_DIAGNOSE_H

#include "access/tupdesc.h"

#include "am/am.h"

/* What is wrong, in the order in which it is looked for */
typedef enum SstFault
{
	SST_FAULT_NONE,
	SST_FAULT_READ,				/* the block cannot be read */
	SST_FAULT_CHECKSUM,
	SST_FAULT_HEADER,
	SST_FAULT_SPECIAL,			/* special space */
	SST_FAULT_PAGE_TYPE,
	SST_FAULT_LINE_POINTERS,
	SST_FAULT_TUPLES,
	SST_FAULT_CONTENTS			/* of a page that has no line pointers */
} SstFault;

typedef struct SstDiagnosis
{
	SstFault	fault;
	char		detail[256];	/* translated */
} SstDiagnosis;

extern void sst_diagnose_page(const SstVisitor *visitor,
							  const SstAccessMethod *am,
							  const PageData *page, BlockNumber blkno,
							  SstDiagnosis *diagnosis);

/* Set a fault, and its detail by a translated format and what that needs */
#define sst_set_diagnosis(diagnosis, what, ...) \
	((diagnosis)->fault = (what), \
	 (void) snprintf((diagnosis)->detail, sizeof((diagnosis)->detail), \
					 __VA_ARGS__))

/* The same as an expression, which is false: what is looked at is not sound */
#define sst_refuse(diagnosis, what, ...) \
	(sst_set_diagnosis(diagnosis, what, __VA_ARGS__), false)

/* ----------
 * The items of a page that a visitor has accepted
 * ----------
 */

/* What the catalogs say of the relation, and the metapage of its index */
typedef struct SstItemCheck
{
	const SstAccessMethod *am;
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
extern bool sst_check_items(SstItemCheck *check, SstVisitor *visitor,
							const PageData *page, BlockNumber blkno,
							SstDiagnosis *diagnosis);

#endif							/* SST_DIAGNOSE_H */
