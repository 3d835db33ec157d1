/*-------------------------------------------------------------------------
 *
 * limited_disk.c
 *	  A disk in memory with known limits: a plugin for nbdkit
 *
 * Each read takes a time, and all reads together are no more in a second than a
 * number, or no more bytes than another.  A read that comes too early waits for
 * its turn, as on network storage that a provider has capped; nothing is saved up
 * for later.  With late_us, one read in fifty takes that time instead.  Which ones
 * depends on the number of the read, so that two runs of the same reads have as many.
 *
 *	   nbdkit bench/limited_disk.so size=1G us=1000 iops=200 rate=50000000
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#define NBDKIT_API_VERSION 2
#define THREAD_MODEL NBDKIT_THREAD_MODEL_PARALLEL

#include <nbdkit-plugin.h>

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define NS 1000000000LL
#define READS_PER_LATE_ONE 50

static int64_t disk_size = 0;
static char *disk;

static int64_t read_us = 0;		/* that each read takes */
static int64_t late_us = 0;		/* that one in fifty takes; 0 for none */
static int64_t iops = 0;		/* 0 for no limit */
static int64_t rate = 0;		/* bytes per second; 0 for no limit */

/* When the next read may begin, by the limits */
static pthread_mutex_t turn_lock = PTHREAD_MUTEX_INITIALIZER;
static int64_t next_turn = 0;

static int
limited_config(const char *key, const char *value)
{
	int64_t    *number;

	if (strcmp(key, "size") == 0)
		number = &disk_size;
	else if (strcmp(key, "us") == 0)
		number = &read_us;
	else if (strcmp(key, "late_us") == 0)
		number = &late_us;
	else if (strcmp(key, "iops") == 0)
		number = &iops;
	else if (strcmp(key, "rate") == 0)
		number = &rate;
	else
	{
		nbdkit_error("unknown parameter \"%s\"", key);
		return -1;
	}
	*number = nbdkit_parse_size(value);

	return *number < 0 ? -1 : 0;
}

/* Memory is taken when something is written. */
static int
limited_get_ready(void)
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
limited_open(int readonly)
{
	return NBDKIT_HANDLE_NOT_NEEDED;
}

static int64_t
limited_get_size(void *handle)
{
	return disk_size;
}

static int
limited_can_multi_conn(void *handle)
{
	return 1;
}

static int64_t
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NS + ts.tv_nsec;
}

/* Take a turn; returns when it has come. */
static int64_t
take_turn(uint32_t length)
{
	int64_t		turn;
	int64_t		cost = 0;

	if (iops > 0)
		cost = NS / iops;
	if (rate > 0 && length * NS / rate > cost)
		cost = length * NS / rate;

	pthread_mutex_lock(&turn_lock);
	turn = now();
	if (turn < next_turn)
		turn = next_turn;
	next_turn = turn + cost;
	pthread_mutex_unlock(&turn_lock);

	return turn + cost;
}

/* The time that the next read takes, in microseconds */
static int64_t
read_time(void)
{
	static unsigned nreads = 0;
	unsigned	number = __atomic_fetch_add(&nreads, 1, __ATOMIC_RELAXED);

	/* a multiplicative hash, so that the late ones are not evenly spaced */
	unsigned	hash = number * 2654435761u >> 16;

	return late_us > 0 && hash % READS_PER_LATE_ONE == 0 ? late_us : read_us;
}

static int
limited_pread(void *handle, void *buffer, uint32_t length, uint64_t offset,
			  uint32_t flags)
{
	int64_t		begin = now();
	int64_t		end = begin + read_time() * 1000;
	int64_t		turn = take_turn(length);
	struct timespec ts;

	if (end < turn)
		end = turn;
	ts.tv_sec = end / NS;
	ts.tv_nsec = end % NS;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) != 0)
		;
	memcpy(buffer, disk + offset, length);

	return 0;
}

static int
limited_pwrite(void *handle, const void *buffer, uint32_t length, uint64_t offset,
			   uint32_t flags)
{
	memcpy(disk + offset, buffer, length);
	return 0;
}

static struct nbdkit_plugin plugin = {
	.name = "limited",
	.config = limited_config,
	.get_ready = limited_get_ready,
	.open = limited_open,
	.get_size = limited_get_size,
	.can_multi_conn = limited_can_multi_conn,
	.pread = limited_pread,
	.pwrite = limited_pwrite
};

NBDKIT_REGISTER_PLUGIN(plugin)
