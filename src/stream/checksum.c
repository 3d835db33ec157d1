/*-------------------------------------------------------------------------
 *
 * checksum.c
 *	  Checksums of pages, as fast as the CPU can
 *
 * The algorithm is the server's: its header is made for inclusion in other
 * programs.  Servers before 19 compile it only for the architecture's oldest
 * CPU, which cannot multiply vectors of 32-bit integers.  The latency of that
 * multiplication dominates, so two pages at a time take hardly longer than one.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/checksum.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/bufpage.h"
#include "storage/checksum.h"

#include "stream/checksum.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define HAVE_AVX2_VARIANT
#endif

#ifdef HAVE_AVX2_VARIANT

extern uint16 sst_checksum_page_avx2(char *page, BlockNumber blkno);

#pragma GCC push_options
#pragma GCC target("avx2")
#define pg_checksum_page sst_checksum_page_avx2
#include "storage/checksum_impl.h"
#undef pg_checksum_page

/* Combine the sums of a page into its checksum, as pg_checksum_page() does. */
static uint32
fold(const uint32 *sums, BlockNumber blkno)
{
	uint32		result = 0;

	for (int i = 0; i < N_SUMS; i++)
		result ^= sums[i];

	return (result ^ blkno) % 65535 + 1;
}

static void
checksum_two_avx2(char *const pages[2], const BlockNumber blknos[2],
				  uint16 checksums[2])
{
	PGChecksummablePage *one = (PGChecksummablePage *) pages[0];
	PGChecksummablePage *two = (PGChecksummablePage *) pages[1];
	uint16		saved_one = one->phdr.pd_checksum;
	uint16		saved_two = two->phdr.pd_checksum;
	uint32		sums_one[N_SUMS];
	uint32		sums_two[N_SUMS];

	memcpy(sums_one, checksumBaseOffsets, sizeof(checksumBaseOffsets));
	memcpy(sums_two, checksumBaseOffsets, sizeof(checksumBaseOffsets));

	one->phdr.pd_checksum = 0;
	two->phdr.pd_checksum = 0;
	for (int i = 0; i < lengthof(one->data); i++)
	{
		for (int j = 0; j < N_SUMS; j++)
			CHECKSUM_COMP(sums_one[j], one->data[i][j]);
		for (int j = 0; j < N_SUMS; j++)
			CHECKSUM_COMP(sums_two[j], two->data[i][j]);
	}
	two->phdr.pd_checksum = saved_two;
	one->phdr.pd_checksum = saved_one;

	for (int i = 0; i < 2; i++)
	{
		for (int j = 0; j < N_SUMS; j++)
			CHECKSUM_COMP(sums_one[j], 0);
		for (int j = 0; j < N_SUMS; j++)
			CHECKSUM_COMP(sums_two[j], 0);
	}

	checksums[0] = fold(sums_one, blknos[0]);
	checksums[1] = fold(sums_two, blknos[1]);
}
#pragma GCC pop_options

#endif							/* HAVE_AVX2_VARIANT */

static void
checksum_two_default(char *const pages[2], const BlockNumber blknos[2],
					 uint16 checksums[2])
{
	for (int i = 0; i < 2; i++)
		checksums[i] = PageIsNew((Page) pages[i]) ? 0 :
			pg_checksum_page(pages[i], blknos[i]);
}

static void checksum_two_choose(char *const pages[2],
								const BlockNumber blknos[2],
								uint16 checksums[2]);

/*
 * Compute the checksums of two pages with the given block numbers.  Both may be
 * the same page.  The result for a new page is meaningless.  The pages' checksum
 * fields are overwritten during the call and restored.
 *
 * The first call replaces the pointer by the variant that suits the CPU.
 */
void		(*sst_checksum_two) (char *const pages[2],
								 const BlockNumber blknos[2],
								 uint16 checksums[2]) = checksum_two_choose;

static void
checksum_two_choose(char *const pages[2], const BlockNumber blknos[2],
					uint16 checksums[2])
{
	sst_checksum_two = checksum_two_default;
#ifdef HAVE_AVX2_VARIANT
	if (__builtin_cpu_supports("avx2"))
		sst_checksum_two = checksum_two_avx2;
#endif

	sst_checksum_two(pages, blknos, checksums);
}
