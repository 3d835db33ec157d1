/*-------------------------------------------------------------------------
 *
 * targets.h
 *	  The relations that a probe reads, one on each tablespace
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/probe/targets.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PROBE_TARGETS_H
#define SST_PROBE_TARGETS_H

#include "nodes/pg_list.h"
#include "relation/relations.h"

/* A tablespace, and what could be read there */
typedef struct SstProbeTablespace
{
	Oid			tablespace;
	const SstRelation **relations;	/* the largest first */
	int			n;
} SstProbeTablespace;

/* Smaller relations have too few places to read */
#define SST_PROBE_MIN_BYTES (8 * 1024 * 1024)

extern List *sst_list_probe_tablespaces(void);
extern const char *sst_probe_relation_note(Relation rel, int64 bytes);

#endif							/* SST_PROBE_TARGETS_H */
