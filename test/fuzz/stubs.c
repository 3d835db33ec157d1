/*-------------------------------------------------------------------------
 *
 * stubs.c
 *	  Instead of files of src that need a server
 *
 * What became of a transaction is derived from its id, so that an input says
 * all there is to say.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "port/pg_bitutils.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "fuzz.h"
#include "am/rebuild.h"

#undef vsnprintf

/* In the place of the server's own: the C library's */
int
pg_snprintf(char *str, size_t count, const char *fmt, ...)
{
	va_list		args;
	int			length;

	va_start(args, fmt);
	length = vsnprintf(str, count, fmt, args);
	va_end(args);
	return length;
}

/* Where the server asks the CPU for its instruction; elsewhere a header has it, or libpgport. */
#if defined(TRY_POPCNT_FAST) || defined(TRY_POPCNT_X86_64)
static int
popcount32(uint32 word)
{
	return __builtin_popcount(word);
}

int			(*pg_popcount32) (uint32 word) = popcount32;
#endif

/* All statuses, the impossible one less often: it is the end of a page. */
SstXactStatus
sst_xact_status(SstXacts *xacts, TransactionId xid)
{
	if (!TransactionIdIsNormal(xid))
		return TransactionIdIsValid(xid) ? SST_XACT_COMMITTED :
			SST_XACT_ABORTED;

	if (xid % 64 == 63)
		return SST_XACT_IMPOSSIBLE;
	if (xid % 4 == SST_XACT_IN_PROGRESS)
		xacts->running = xid;
	return (SstXactStatus) (xid % 4);
}

bool
sst_xact_has_begun(SstXacts *xacts, TransactionId xid)
{
	return xid % 64 != 62;
}

bool
sst_multixact_has_begun(MultiXactId multi)
{
	return multi % 64 != 62;
}

void
sst_multixacts_begin(void)
{
}

bool
sst_multixact_updater(SstXacts *xacts, MultiXactId multi, TransactionId *xid)
{
	if (!MultiXactIdIsValid(multi) || multi % 64 == 63)
		return false;

	*xid = multi % 3 == 0 ? InvalidTransactionId : multi / 3;
	return true;
}

/* As before 18, where the two differ more from the whole of the hole. */
Size
sst_page_free_space(const PageData *page)
{
	Size		hole = PageGetExactFreeSpace((Page) page);

	return hole < sizeof(ItemIdData) ? 0 : hole - sizeof(ItemIdData);
}

Size
sst_page_heap_free_space(const PageData *page)
{
	return sst_page_items(page) < MaxHeapTuplesPerPage ?
		sst_page_free_space(page) : 0;
}

/* Every eighth row is dead, of a set whose filter lets all pass. */
bool
sst_dead_tids_look_up(const SstDeadTids *set, BlockNumber blkno,
					  OffsetNumber offnum)
{
	return offnum % 8 == 0;
}

/* Nothing is in a catalog, ... */
HeapTuple
SearchSysCache1(int cacheId, Datum key1)
{
	return NULL;
}

void
ReleaseSysCache(HeapTuple tuple)
{
}

/* ... no TOAST table can be looked at, so that it is taken to have values, ... */
bool
ConditionalLockRelationOid(Oid relid, LOCKMODE lockmode)
{
	return false;
}

Relation
table_open(Oid relid, LOCKMODE lockmode)
{
	return NULL;
}

void
table_close(Relation rel, LOCKMODE lockmode)
{
}

/* ... and of an operator class there is no function here. */
char *
get_func_name(Oid funcid)
{
	return NULL;
}
