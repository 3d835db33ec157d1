/*-------------------------------------------------------------------------
 *
 * next.c
 *	  A function that a version to come has added, for the tests of upgrades
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(sst_library_version);

/* The version that the library was built as */
Datum
sst_library_version(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cstring_to_text(STREAMSTAT_VERSION));
}
