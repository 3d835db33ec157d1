/*-------------------------------------------------------------------------
 *
 * server_check.c
 *	  Is the server built as its header files say?
 *
 * The server refuses a library of another major version, but not one that was built
 * with header files of a fork, of an incompatible minor release, or of a build with other
 * sizes of blocks.  Such a library would find other things than it looks for in shared
 * memory.  So a few facts that are known in two ways are compared, once for each
 * process: by a function of the server, and by what the header files say of its memory.
 *
 * src/README.md has a list of what cannot be compared.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/guc.h"
#include "utils/relmapper.h"
#include "utils/wait_event.h"

#include "compat/shared_blocks.h"
#include "compat/compat.h"

/* Blocks of each of some catalogs to look for in shared buffers */
#define LOOKED_UP 2

typedef enum Answer
{
	NOT_KNOWN,
	AS_BUILT,
	DIFFERENT
} Answer;

static const char *const names[SST_NINTERNALS] = {
	[SST_BUFFER_HEADERS] = "headers of shared buffers",
	[SST_PROCESSES] = "processes",
	[SST_TRANSACTIONS] = "transactions"
};

/* Raise an error if the server has blocks or segments of other sizes. */
void
sst_check_block_sizes(void)
{
	const struct
	{
		const char *setting;
		int			built;
	}			sizes[] =

	{
		{"block_size", BLCKSZ},
		{"segment_size", RELSEG_SIZE}
	};

	for (int i = 0; i < lengthof(sizes); i++)
	{
		const char *value = GetConfigOption(sizes[i].setting, false, false);

		if (atoi(value) != sizes[i].built)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("incompatible library \"%s\": %s mismatch",
							"streamstat", sizes[i].setting),
					 errdetail("Server has %s %s, library has %d.",
							   sizes[i].setting, value, sizes[i].built)));
	}
}

/* Is this the lock that the server calls by that name? */
static bool
is_lock(const LWLock *lock, const char *name)
{
	return strcmp(GetLWLockIdentifier(PG_WAIT_LWLOCK, lock->tranche), name) == 0;
}

/*
 * Do the headers of buffers say what the buffer table says?  A process has read blocks of
 * catalogs by the time it asks, and most of them are in buffers still.
 */
static Answer
check_buffer_headers(void)
{
	static const Oid catalogs[] = {RelationRelationId, AttributeRelationId,
	ProcedureRelationId, TypeRelationId};
	Answer		result = NOT_KNOWN;

	if (!OidIsValid(MyDatabaseId))
		return NOT_KNOWN;

	for (int i = 0; i < lengthof(catalogs) * LOOKED_UP; i++)
	{
		SstFiles	files = {.tablespace = MyDatabaseTableSpace,
			.database = MyDatabaseId,
		.number = RelationMapOidToFilenumber(catalogs[i / LOOKED_UP], false)};
		BufferTag	tag = sst_files_tag(&files, MAIN_FORKNUM, i % LOOKED_UP);
		uint32		hash = BufTableHashCode(&tag);
		LWLock	   *lock = BufMappingPartitionLock(hash);
		int			id;
		bool		same = true;

		if (!is_lock(lock, "BufferMapping"))
			return DIFFERENT;
		LWLockAcquire(lock, LW_SHARED);
		id = BufTableLookup(&tag, hash);
		if (id >= 0)
		{
			BufferDesc *desc = GetBufferDescriptor(id);

			same = BufferTagsEqual(&desc->tag, &tag) &&
				(sst_read_buffer_state(desc) & BM_TAG_VALID) != 0;
		}
		LWLockRelease(lock);

		if (!same)
			return DIFFERENT;
		if (id > 0)
			result = AS_BUILT;
	}
	return result;
}

/* Is this process where the array of processes has it, and not waiting for a lock? */
static Answer
check_processes(void)
{
	Size		distance = (char *) MyProc - (char *) ProcGlobal->allProcs;

	return distance % sizeof(PGPROC) == 0 &&
		distance / sizeof(PGPROC) < ProcGlobal->allProcCount &&
		ProcGlobal->allProcCount >= (uint32) MaxBackends &&
		MyProc->pid == MyProcPid && MyProc->databaseId == MyDatabaseId &&
		MyProc->waitLock == NULL &&
		pg_atomic_read_u64(&MyProc->waitStart) == 0 ?
		AS_BUILT : DIFFERENT;
}

/* Is the next transaction where it should be, and the oldest one before it? */
static Answer
check_transactions(void)
{
	FullTransactionId before = ReadNextFullTransactionId();
	FullTransactionId seen = TransamVariables->nextXid;
	FullTransactionId after = ReadNextFullTransactionId();

	return is_lock(XactTruncationLock, "XactTruncation") &&
		U64FromFullTransactionId(before) <= U64FromFullTransactionId(seen) &&
		U64FromFullTransactionId(seen) <= U64FromFullTransactionId(after) &&
		TransactionIdIsNormal(TransamVariables->oldestClogXid) &&
		TransactionIdPrecedesOrEquals(TransamVariables->oldestClogXid,
									  XidFromFullTransactionId(after)) ?
		AS_BUILT : DIFFERENT;
}

static void
report_difference(int elevel, SstInternals internals)
{
	ereport(elevel,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("streamstat was built for another server: the %s of this one are different",
					names[internals]),
			 errhint("Build streamstat with the header files of this server.")));
}

/*
 * Are these internals where the header files say?  The first call that finds out that
 * they are not logs it.  What cannot be compared yet is taken to be so.  Takes share
 * locks on partitions of the buffer table, one at a time.
 */
bool
sst_server_has(SstInternals internals)
{
	static Answer (*const checks[SST_NINTERNALS]) (void) =
	{
		[SST_BUFFER_HEADERS] = check_buffer_headers,
		[SST_PROCESSES] = check_processes,
		[SST_TRANSACTIONS] = check_transactions
	};
	static Answer answers[SST_NINTERNALS];
	Answer	   *answer = &answers[internals];

	if (*answer == NOT_KNOWN)
	{
		*answer = checks[internals] ();
		if (*answer == DIFFERENT)
			report_difference(LOG, internals);
	}
	return *answer != DIFFERENT;
}

/* Raise an error if they are not: nothing else can be done without them. */
void
sst_require_internals(SstInternals internals)
{
	if (!sst_server_has(internals))
		report_difference(ERROR, internals);
}
