/*-------------------------------------------------------------------------
 *
 * toast_owner.h
 *	  Which table a TOAST table belongs to
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/relation/toast_owner.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_TOAST_OWNER_H
#define SST_TOAST_OWNER_H

extern Oid	sst_toast_owner(Oid toastoid);

#endif							/* SST_TOAST_OWNER_H */
