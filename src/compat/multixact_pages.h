/*-------------------------------------------------------------------------
 *
 * multixact_pages.h
 *	  Pages of pg_multixact, by server version
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/compat/multixact_pages.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_MULTIXACT_PAGES_H
#define SST_MULTIXACT_PAGES_H

#include "access/multixact.h"

/* Buffers of an SLRU form banks, each with a lock of its own (17). */
#if PG_VERSION_NUM >= 170000
#define SST_HAVE_SLRU_BANKS 1
#endif

/* One attaches to shared memory without knowing its size (19). */
#if PG_VERSION_NUM >= 190000
#define SST_HAVE_SHMEM_ATTACH 1
#endif

/* Names of segments of members have 15 digits (19). */
#if PG_VERSION_NUM >= 190000
#define SST_HAVE_LONG_MEMBER_SEGMENTS 1
#endif

/* What pg_multixact consists of */
typedef enum SstMultixactArea
{
	SST_MULTIXACT_OFFSETS,		/* where the members of each multixact begin */
	SST_MULTIXACT_MEMBERS
} SstMultixactArea;

/* An offset has 4 bytes, and 8 from 19 on. */
#define SST_MULTIXACT_OFFSETS_PER_PAGE (BLCKSZ / sizeof(MultiXactOffset))

/*
 * Members stand in groups: the status of each in one byte of a word, and behind
 * that their transactions (access/transam/multixact.c).
 */
#define SST_MULTIXACT_GROUP_MEMBERS 4

typedef struct SstMultixactGroup
{
	uint32		statuses;		/* of the first member in the lowest byte */
	TransactionId xids[SST_MULTIXACT_GROUP_MEMBERS];
} SstMultixactGroup;

#define SST_MULTIXACT_MEMBERS_PER_PAGE \
	(BLCKSZ / sizeof(SstMultixactGroup) * SST_MULTIXACT_GROUP_MEMBERS)

extern bool sst_copy_multixact_page(SstMultixactArea area, int64 pageno,
									char *copy);

#endif							/* SST_MULTIXACT_PAGES_H */
