/*-------------------------------------------------------------------------
 *
 * second_smgr.c
 *	  A second storage manager for a PostgreSQL 15 to test on
 *
 * Forks whose storage is encrypted or remote register a storage manager of their
 * own.  This one does both, by md.c.  Pages of the relations it has are scrambled in
 * their files.  Those of relations outside the default tablespaces have files with
 * another number, so that there are none where the catalogs say.
 *
 * It has the relations with an even file number, but for those of initdb.  So each
 * database has relations of both.
 *
 * tools/build_server.sh puts this file beside smgr.c, which includes it.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "access/transam.h"
#include "catalog/pg_tablespace.h"

/* Added to the file numbers of relations whose files are elsewhere */
#define ELSEWHERE ((Oid) 0x80000000)

/* What the bytes of pages are scrambled with */
#define PATTERN UINT64CONST(0x5A3C96E1F00F9B27)

#define PAGE_WORDS (BLCKSZ / sizeof(uint64))

/* Has this storage manager the relation?  The value for smgr_which */
static int
choose_smgr(RelFileNode rnode)
{
	return rnode.relNode >= FirstNormalObjectId && rnode.relNode < ELSEWHERE &&
		rnode.relNode % 2 == 0;
}

/* Where the files of one of its relations are */
static RelFileNode
place_of(RelFileNode rnode)
{
	if (rnode.spcNode != DEFAULTTABLESPACE_OID &&
		rnode.spcNode != GLOBALTABLESPACE_OID)
		rnode.relNode += ELSEWHERE;
	return rnode;
}

/* What md.c knows the relation by.  It need not be open. */
static SMgrRelation
inner(SMgrRelation reln)
{
	RelFileNode place = place_of(reln->smgr_rnode.node);

	return place.relNode == reln->smgr_rnode.node.relNode ? reln :
		smgropen(place, reln->smgr_rnode.backend);
}

/* Scramble a page, or restore it.  Pages of zeros stay as they are. */
static void
scramble(uint64 *to, const char *from)
{
	bool		zeros = true;

	memcpy(to, from, BLCKSZ);
	for (int i = 0; i < PAGE_WORDS && zeros; i++)
		zeros = to[i] == 0;
	for (int i = 0; i < PAGE_WORDS && !zeros; i++)
		to[i] ^= PATTERN;
}

static void
second_close(SMgrRelation reln, ForkNumber forknum)
{
	mdclose(inner(reln), forknum);
}

static void
second_create(SMgrRelation reln, ForkNumber forknum, bool isRedo)
{
	mdcreate(inner(reln), forknum, isRedo);
}

static bool
second_exists(SMgrRelation reln, ForkNumber forknum)
{
	return mdexists(inner(reln), forknum);
}

static void
second_unlink(RelFileNodeBackend rnode, ForkNumber forknum, bool isRedo)
{
	rnode.node = place_of(rnode.node);
	mdunlink(rnode, forknum, isRedo);
}

static void
second_extend(SMgrRelation reln, ForkNumber forknum, BlockNumber blkno,
			  char *buffer, bool skipFsync)
{
	uint64		page[PAGE_WORDS];

	scramble(page, buffer);
	mdextend(inner(reln), forknum, blkno, (char *) page, skipFsync);
}

static bool
second_prefetch(SMgrRelation reln, ForkNumber forknum, BlockNumber blkno)
{
	return mdprefetch(inner(reln), forknum, blkno);
}

static void
second_read(SMgrRelation reln, ForkNumber forknum, BlockNumber blkno, char *buffer)
{
	uint64		page[PAGE_WORDS];

	mdread(inner(reln), forknum, blkno, buffer);
	scramble(page, buffer);
	memcpy(buffer, page, BLCKSZ);
}

static void
second_write(SMgrRelation reln, ForkNumber forknum, BlockNumber blkno,
			 char *buffer, bool skipFsync)
{
	uint64		page[PAGE_WORDS];

	scramble(page, buffer);
	mdwrite(inner(reln), forknum, blkno, (char *) page, skipFsync);
}

static void
second_writeback(SMgrRelation reln, ForkNumber forknum, BlockNumber blkno,
				 BlockNumber nblocks)
{
	mdwriteback(inner(reln), forknum, blkno, nblocks);
}

static BlockNumber
second_nblocks(SMgrRelation reln, ForkNumber forknum)
{
	return mdnblocks(inner(reln), forknum);
}

static void
second_truncate(SMgrRelation reln, ForkNumber forknum, BlockNumber old_blocks,
				BlockNumber nblocks)
{
	mdtruncate(inner(reln), forknum, old_blocks, nblocks);
}

static void
second_immedsync(SMgrRelation reln, ForkNumber forknum)
{
	mdimmedsync(inner(reln), forknum);
}

#define SECOND_SMGR \
	{ \
		.smgr_open = mdopen, \
		.smgr_close = second_close, \
		.smgr_create = second_create, \
		.smgr_exists = second_exists, \
		.smgr_unlink = second_unlink, \
		.smgr_extend = second_extend, \
		.smgr_prefetch = second_prefetch, \
		.smgr_read = second_read, \
		.smgr_write = second_write, \
		.smgr_writeback = second_writeback, \
		.smgr_nblocks = second_nblocks, \
		.smgr_truncate = second_truncate, \
		.smgr_immedsync = second_immedsync \
	}
