/*-------------------------------------------------------------------------
 *
 * relation_columns.h
 *	  The columns that say which relation a row is about
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/relation_columns.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_RELATION_COLUMNS_H
#define SST_RELATION_COLUMNS_H

#include "api/row.h"
#include "relation/relations.h"

extern const char *sst_kind_name(const SstRelation *relation);
extern void sst_put_relation(SstRow *row, const SstRelation *relation);

#endif							/* SST_RELATION_COLUMNS_H */
