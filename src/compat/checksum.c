/*-------------------------------------------------------------------------
 *
 * checksum.c
 *	  The checksum of a page, as fast as the CPU can
 *
 * The algorithm is the server's, whose header is made for inclusion in other
 * programs.  Servers before 19 have it compiled for the oldest CPU of the
 * architecture only; multiplication of 32-bit integers in vectors came later.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/compat/checksum.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/checksum.h"

#include "compat/compat.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define HAVE_AVX2_VARIANT

extern uint16 sst_checksum_page_avx2(char *page, BlockNumber blkno);

#pragma GCC push_options
#pragma GCC target("avx2")
#define pg_checksum_page sst_checksum_page_avx2
#include "storage/checksum_impl.h"
#undef pg_checksum_page
#pragma GCC pop_options
#endif

static uint16 checksum_page_choose(char *page, BlockNumber blkno);

/*
 * The checksum that the page should have as block blkno; the page's checksum
 * field is written meanwhile.  The page must not be new.
 */
uint16		(*sst_checksum_page) (char *page, BlockNumber blkno) = checksum_page_choose;

/* The first call finds out what the CPU has. */
static uint16
checksum_page_choose(char *page, BlockNumber blkno)
{
	sst_checksum_page = pg_checksum_page;
#ifdef HAVE_AVX2_VARIANT
	if (__builtin_cpu_supports("avx2"))
		sst_checksum_page = sst_checksum_page_avx2;
#endif

	return sst_checksum_page(page, blkno);
}
