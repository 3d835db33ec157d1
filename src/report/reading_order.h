/*-------------------------------------------------------------------------
 *
 * reading_order.h
 *	  The order in which a report first reads its relations
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/reading_order.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_READING_ORDER_H
#define SST_READING_ORDER_H

#include "report/report.h"

extern SstReportEntry **sst_reading_order(const SstReport *report,
										  MemoryContext context);

#endif							/* SST_READING_ORDER_H */
