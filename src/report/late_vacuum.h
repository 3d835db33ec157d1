/*-------------------------------------------------------------------------
 *
 * late_vacuum.h
 *	  Do the settings of a table let autovacuum come late?
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/late_vacuum.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_LATE_VACUUM_H
#define SST_LATE_VACUUM_H

#include "relation/relations.h"

extern const char *sst_late_vacuum_reason(const SstRelation *table, bool dead);

#endif							/* SST_LATE_VACUUM_H */
