/*-------------------------------------------------------------------------
 *
 * schedule.h
 *	  The next relation of a report to read, and the number of blocks
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/schedule.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_SCHEDULE_H
#define SST_SCHEDULE_H

#include "report/report.h"

typedef struct SstSchedule SstSchedule;

extern SstSchedule *sst_schedule_begin(SstReport *report);
extern bool sst_schedule_next(SstSchedule *schedule);
extern void sst_schedule_end(SstSchedule *schedule);

#endif							/* SST_SCHEDULE_H */
