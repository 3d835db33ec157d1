/*-------------------------------------------------------------------------
 *
 * multixact_pages.h
 *	  Pages of pg_multixact, by server version
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_MULTIXACT_PAGES_H
#define SST_MULTIXACT_PAGES_H

#include "access/multixact.h"

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
