/*-------------------------------------------------------------------------
 *
 * machine.c
 *	  file_created and host_name: what the machine knows, and no catalog
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "compat/platform.h"
#include "relation/relation.h"

PG_FUNCTION_INFO_V1(sst_file_created);
PG_FUNCTION_INFO_V1(sst_host_name);

/* The longest name that POSIX allows, and its end */
#define HOST_NAME_SIZE 256

/* The time, or DT_NOBEGIN if the file system does not know, or there is no such file */
static TimestampTz
creation_time(const char *path)
{
#ifdef SST_HAVE_STATX
	struct statx st;

	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_BTIME, &st) == 0 &&
		(st.stx_mask & STATX_BTIME) != 0)
		return time_t_to_timestamptz(st.stx_btime.tv_sec);
#endif
	return DT_NOBEGIN;
}

/* The relation may be dropped meanwhile, as it is not locked. */
Datum
sst_file_created(PG_FUNCTION_ARGS)
{
	TimestampTz created = DT_NOBEGIN;
	SstFiles	files;
	char		persistence;
	char		path[MAXPGPATH];

	if (sst_present_files(PG_GETARG_OID(0), &files, &persistence))
	{
		sst_files_path(&files, MAIN_FORKNUM, path, sizeof(path));
		created = creation_time(path);
	}
	if (TIMESTAMP_IS_NOBEGIN(created))
		PG_RETURN_NULL();

	PG_RETURN_TIMESTAMPTZ(created);
}

Datum
sst_host_name(PG_FUNCTION_ARGS)
{
	char		name[HOST_NAME_SIZE];

	if (gethostname(name, sizeof(name)) != 0)
		PG_RETURN_NULL();
	name[sizeof(name) - 1] = '\0';
	/* no encoding is known of other characters */
	for (char *p = name; *p != '\0'; p++)
	{
		if (IS_HIGHBIT_SET(*p))
			*p = '?';
	}

	PG_RETURN_TEXT_P(cstring_to_text(name));
}
