/*-------------------------------------------------------------------------
 *
 * rules.h
 *	  The rules for relations and pages: tolerant, or contrib's
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/rules.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_RULES_H
#define SST_RULES_H

typedef enum SstRules
{
	SST_RULES_TOLERANT,			/* ours: damage is counted, and an error about
								 * a relation hints at the function for it */
	SST_RULES_CONTRIB			/* those of contrib's functions: a scan stops
								 * at the first page that makes no sense, and
								 * errors of the buffer manager pass through;
								 * errors have contrib's words and no more */
} SstRules;

#endif							/* SST_RULES_H */
