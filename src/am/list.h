/*-------------------------------------------------------------------------
 *
 * list.h
 *	  The access methods of indexes that have a folder, but for "other"
 *
 * For each there is sst_NAME_am, sst_NAME_model if it has one, and the SQL function
 * NAME_stats.  Those that core does not have come last.  No include guard: see am.h.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/list.h
 *
 *-------------------------------------------------------------------------
 */
SST_ACCESS_METHOD(btree)
SST_ACCESS_METHOD(hash)
SST_ACCESS_METHOD(gin)
SST_ACCESS_METHOD(gist)
SST_ACCESS_METHOD(spgist)
SST_ACCESS_METHOD(brin)
SST_ACCESS_METHOD(bloom)
SST_ACCESS_METHOD(hnsw)
SST_ACCESS_METHOD(ivfflat)
