/*-------------------------------------------------------------------------
 *
 * row_key.h
 *	  Does a table have an index that identifies its rows?
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/relation/row_key.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_ROW_KEY_H
#define SST_ROW_KEY_H

extern bool sst_table_has_row_key(Oid tableoid);

#endif							/* SST_ROW_KEY_H */
