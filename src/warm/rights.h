/*-------------------------------------------------------------------------
 *
 * rights.h
 *	  Who may warm a relation
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/rights.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_WARM_RIGHTS_H
#define SST_WARM_RIGHTS_H

#include "relation/relations.h"

extern Oid	sst_table_of(Oid relid);
extern bool sst_may_warm_all(void);
extern bool sst_may_warm(Oid tableoid);

#endif							/* SST_WARM_RIGHTS_H */
