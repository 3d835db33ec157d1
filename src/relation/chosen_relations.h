/*-------------------------------------------------------------------------
 *
 * chosen_relations.h
 *	  Some relations of the database, with what belongs to them
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/relation/chosen_relations.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_CHOSEN_RELATIONS_H
#define SST_CHOSEN_RELATIONS_H

#include "relation/relations.h"

extern void sst_list_chosen_relations(SstRelations *list, const Oid *relids,
									  int n);

#endif							/* SST_CHOSEN_RELATIONS_H */
