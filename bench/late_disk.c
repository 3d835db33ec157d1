/*-------------------------------------------------------------------------
 *
 * late_disk.c
 *	  A disk in memory, some of whose answers come late: a plugin for nbdkit
 *
 * Network storage answers most reads at about the same time, and a few much
 * later.  Each read takes 1 ms, and one in fifty takes 20 ms.  Which ones depends
 * on the number of the read, so that two runs of the same reads have as many.
 *
 *	   nbdkit bench/late_disk.so size=1G
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  bench/late_disk.c
 *
 *-------------------------------------------------------------------------
 */
#define NBDKIT_API_VERSION 2
#define THREAD_MODEL NBDKIT_THREAD_MODEL_PARALLEL

#include <nbdkit-plugin.h>

#include <string.h>
#include <sys/mman.h>

#define USUAL_MS 1
#define LATE_MS 20
#define READS_PER_LATE_ONE 50

static int64_t disk_size = 0;
static char *disk;
static unsigned nreads = 0;

static int
late_config(const char *key, const char *value)
{
	if (strcmp(key, "size") != 0)
	{
		nbdkit_error("unknown parameter \"%s\"", key);
		return -1;
	}
	disk_size = nbdkit_parse_size(value);

	return disk_size < 0 ? -1 : 0;
}

/* Memory is taken when something is written. */
static int
late_get_ready(void)
{
	disk = mmap(NULL, disk_size, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (disk == MAP_FAILED)
	{
		nbdkit_error("could not get memory for the disk: %m");
		return -1;
	}

	return 0;
}

static void *
late_open(int readonly)
{
	return NBDKIT_HANDLE_NOT_NEEDED;
}

static int64_t
late_get_size(void *handle)
{
	return disk_size;
}

static int
late_can_multi_conn(void *handle)
{
	return 1;
}

static int
late_pread(void *handle, void *buffer, uint32_t length, uint64_t offset,
		   uint32_t flags)
{
	unsigned	number = __atomic_fetch_add(&nreads, 1, __ATOMIC_RELAXED);

	/* a multiplicative hash, so that the late ones are not evenly spaced */
	unsigned	hash = number * 2654435761u >> 16;
	unsigned	ms = hash % READS_PER_LATE_ONE == 0 ? LATE_MS : USUAL_MS;

	if (nbdkit_nanosleep(0, ms * 1000000) < 0)
		return -1;
	memcpy(buffer, disk + offset, length);

	return 0;
}

static int
late_pwrite(void *handle, const void *buffer, uint32_t length, uint64_t offset,
			uint32_t flags)
{
	memcpy(disk + offset, buffer, length);
	return 0;
}

static struct nbdkit_plugin plugin = {
	.name = "late",
	.config = late_config,
	.get_ready = late_get_ready,
	.open = late_open,
	.get_size = late_get_size,
	.can_multi_conn = late_can_multi_conn,
	.pread = late_pread,
	.pwrite = late_pwrite
};

NBDKIT_REGISTER_PLUGIN(plugin)
