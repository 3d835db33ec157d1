/*-------------------------------------------------------------------------
 *
 * rebuild.c
 *	  What the contents of a page would take in a relation built anew
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/visit/rebuild.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "visit/rebuild.h"

/* Set up for a target that is open. */
void
sst_rebuild_init(SstRebuild *rebuild, const SstTarget *target)
{
	memset(rebuild, 0, sizeof(SstRebuild));
	rebuild->kind = target->kind;
	rebuild->obstacle = gettext_noop("not known for this access method");
}
