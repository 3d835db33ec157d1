/*-------------------------------------------------------------------------
 *
 * server.c
 *	  What visitors call in the server, for a program without one
 *
 * No header of the server is included, because its releases declare these
 * functions in different ways, that all come to the same for the linker.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void ExceptionalCondition(const char *condition);
extern bool TransactionIdPrecedes(uint32_t id1, uint32_t id2);
extern bool MultiXactIdPrecedes(uint32_t multi1, uint32_t multi2);
extern int32_t ItemPointerCompare(const void *tid1, const void *tid2);
extern size_t PageGetExactFreeSpace(const char *page);
extern bool _bt_allequalimage(void *rel, bool debugmessage);
extern uint32_t RelationGetNumberOfBlocksInFork(void *rel, int fork);
extern uint32_t index_getprocid(void *rel, int16_t attnum, uint16_t procnum);
extern void ProcessInterrupts(void);
extern void *palloc(size_t size);
extern void *palloc0(size_t size);
extern uint32_t hash_bytes_uint32(uint32_t k);
extern void *repalloc(void *pointer, size_t size);
extern void *repalloc_huge(void *pointer, size_t size);
extern void *MemoryContextAllocExtended(void *context, size_t size, int flags);
extern void pfree(void *pointer);
extern char *pstrdup(const char *string);
extern void pg_qsort(void *base, size_t n, size_t size,
					 int (*compare) (const void *, const void *));

/* Is a cancel request pending?  Never. */
extern volatile sig_atomic_t InterruptPending;

volatile sig_atomic_t InterruptPending = 0;

/* The context is any, and memory comes from the C library. */
extern void *CurrentMemoryContext;
void	   *CurrentMemoryContext;

/* What rebuild.c wants them to say */
extern uint32_t fuzz_relation_blocks;
extern uint32_t fuzz_support_function;

extern uint32_t fuzz_allocations;

uint32_t	fuzz_relation_blocks;
uint32_t	fuzz_support_function;
uint32_t	fuzz_allocations;

/* As in common/relpath.h */
extern const char *const forkNames[];

const char *const forkNames[] = {"main", "fsm", "vm", "init", NULL};

/* Settings that decide on how an index is built */
extern int	maintenance_work_mem;
extern int	max_parallel_maintenance_workers;

int			maintenance_work_mem = 65536;
int			max_parallel_maintenance_workers = 2;

/* A failed Assert(); the arguments after the first differ between releases. */
void
ExceptionalCondition(const char *condition)
{
	fprintf(stderr, "assertion failed: %s\n", condition);
	abort();
}

/* Ids below 3 are older than all others, which are compared modulo 2^32. */
bool
TransactionIdPrecedes(uint32_t id1, uint32_t id2)
{
	if (id1 < 3 || id2 < 3)
		return id1 < id2;

	return id1 != id2 && id2 - id1 < UINT32_C(0x80000000);
}

bool
MultiXactIdPrecedes(uint32_t multi1, uint32_t multi2)
{
	return multi1 != multi2 && multi2 - multi1 < UINT32_C(0x80000000);
}

/* TIDs are three numbers of 16 bits, the most significant one first. */
int32_t
ItemPointerCompare(const void *tid1, const void *tid2)
{
	uint16_t	a[3];
	uint16_t	b[3];

	memcpy(a, tid1, sizeof(a));
	memcpy(b, tid2, sizeof(b));
	for (int i = 0; i < 3; i++)
	{
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	}
	return 0;
}

/* The hole between pd_lower and pd_upper (storage/bufpage.h), if there is one */
size_t
PageGetExactFreeSpace(const char *page)
{
	uint16_t	bounds[2];

	memcpy(bounds, page + 12, sizeof(bounds));
	return bounds[1] > bounds[0] ? bounds[1] - bounds[0] : 0;
}

/* For sst_rebuild_btree_init(): every index deduplicates that may. */
bool
_bt_allequalimage(void *rel, bool debugmessage)
{
	return true;
}

uint32_t
RelationGetNumberOfBlocksInFork(void *rel, int fork)
{
	return fuzz_relation_blocks;
}

uint32_t
index_getprocid(void *rel, int16_t attnum, uint16_t procnum)
{
	return fuzz_support_function;
}

void
ProcessInterrupts(void)
{
	abort();
}

uint32_t
hash_bytes_uint32(uint32_t k)
{
	return k * UINT32_C(2654435769);
}

/* Memory that the address sanitizer watches over, and some of what was not freed */
static void *allocated[64];

static void
replace_allocated(void *before, void *after)
{
	for (int i = 0; i < 64; i++)
	{
		if (allocated[i] == before)
		{
			allocated[i] = after;
			return;
		}
	}
}

extern void fuzz_free_all(void);

/* Free what a model has, as the end of its memory context does. */
void
fuzz_free_all(void)
{
	for (int i = 0; i < 64; i++)
	{
		free(allocated[i]);
		allocated[i] = NULL;
	}
}

void *
palloc(size_t size)
{
	return repalloc(NULL, size);
}

void *
palloc0(size_t size)
{
	return memset(palloc(size), 0, size);
}

void *
repalloc(void *pointer, size_t size)
{
	void	   *result;

	if (pointer != NULL)
		replace_allocated(pointer, NULL);
	result = realloc(pointer, size);
	if (result == NULL)
		abort();
	replace_allocated(NULL, result);
	return result;
}

void *
repalloc_huge(void *pointer, size_t size)
{
	return repalloc(pointer, size);
}

/* Flags of utils/palloc.h */
#define MCXT_ALLOC_NO_OOM	0x02
#define MCXT_ALLOC_ZERO		0x04

/* After so many allocations there is no memory, for those who allow for it. */
void *
MemoryContextAllocExtended(void *context, size_t size, int flags)
{
	if ((flags & MCXT_ALLOC_NO_OOM) != 0)
	{
		if (fuzz_allocations == 0)
			return NULL;
		fuzz_allocations--;
	}
	return (flags & MCXT_ALLOC_ZERO) != 0 ? calloc(1, size) : malloc(size);
}

void
pfree(void *pointer)
{
	replace_allocated(pointer, NULL);
	free(pointer);
}

char *
pstrdup(const char *string)
{
	return strcpy(palloc(strlen(string) + 1), string);
}

/* Which is what the server's headers make of qsort() */
void
pg_qsort(void *base, size_t n, size_t size,
		 int (*compare) (const void *, const void *))
{
	qsort(base, n, size, compare);
}

/*
 * CRC-32C, bit by bit, under all names that port/pg_crc32c.h has for it
 */

extern uint32_t pg_comp_crc32c_sb8(uint32_t crc, const void *data, size_t length);
extern uint32_t pg_comp_crc32c_sse42(uint32_t crc, const void *data, size_t length);
extern uint32_t pg_comp_crc32c_armv8(uint32_t crc, const void *data, size_t length);
extern uint32_t (*pg_comp_crc32c) (uint32_t crc, const void *data, size_t length);

uint32_t
pg_comp_crc32c_sb8(uint32_t crc, const void *data, size_t length)
{
	const uint8_t *bytes = data;

	while (length-- > 0)
	{
		crc ^= *bytes++;
		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ ((crc & 1) != 0 ? UINT32_C(0x82f63b78) : 0);
	}
	return crc;
}

uint32_t
pg_comp_crc32c_sse42(uint32_t crc, const void *data, size_t length)
{
	return pg_comp_crc32c_sb8(crc, data, length);
}

uint32_t
pg_comp_crc32c_armv8(uint32_t crc, const void *data, size_t length)
{
	return pg_comp_crc32c_sb8(crc, data, length);
}

uint32_t	(*pg_comp_crc32c) (uint32_t crc, const void *data, size_t length) =
			pg_comp_crc32c_sb8;
