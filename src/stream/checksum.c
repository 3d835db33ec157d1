/*-------------------------------------------------------------------------
 *
 * checksum.c
 *	  Checksums of pages, as fast as the CPU can
 *
 * The algorithm's constants and its round are those of the server's header, which
 * is made for inclusion in other programs.  Servers before 19 compile it only for
 * the architecture's oldest CPU, which cannot multiply vectors of 32-bit integers.
 * Here one loop is compiled for several CPUs.
 *
 * A round waits for the multiplication of the round before.  So the loop takes
 * several pages at a time.  Four pages are then summed as fast as memory can be
 * read, if the loop also prefetches: the hardware does not do so across the ends of
 * 4 kB pages.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/bufpage.h"
#include "storage/checksum.h"

#include "compat/platform.h"
#include "stream/run.h"

/* The header defines this function as an external one. */
pg_attribute_unused() static uint16 server_checksum_page(char *page, BlockNumber blkno);

#define pg_checksum_page server_checksum_page
#include "storage/checksum_impl.h"
#undef pg_checksum_page

/* Bytes from what is summed to what is prefetched */
#define PREFETCH_DISTANCE 512

/* Start to load what will be summed after a row, past the page's end at last. */
static pg_attribute_always_inline void
prefetch_behind(const uint32 *row)
{
#ifdef __GNUC__
	const char *place = (const char *) row + PREFETCH_DISTANCE;

	for (int i = 0; i < sizeof(uint32) * N_SUMS; i += PG_CACHE_LINE_SIZE / 2)
		__builtin_prefetch(place + i);
#endif
}

/*
 * Compute the checksums of pages.  Their number is a constant in each call, so that
 * the compiler unrolls the loops over it.
 */
static pg_attribute_always_inline void
checksum_group(const char *const *pages, const BlockNumber *blknos, int npages,
			   uint16 *checksums)
{
	uint32		sums[SST_CHECKSUM_PAGES][N_SUMS];

	/* The checksum field counts as zero: the first round takes it out again. */
	for (int k = 0; k < npages; k++)
	{
		const PageHeaderData *header = (const PageHeaderData *) pages[k];
		union
		{
			PageHeaderData header;
			uint32		data[N_SUMS];
		}			field = {.data = {0}};

		field.header.pd_checksum = header->pd_checksum;
		for (int j = 0; j < N_SUMS; j++)
			sums[k][j] = checksumBaseOffsets[j] ^ field.data[j];
	}

	for (int i = 0; i < BLCKSZ / sizeof(sums[0]); i++)
	{
		for (int k = 0; k < npages; k++)
		{
			const uint32 *row = (const uint32 *) pages[k] + N_SUMS * i;

			prefetch_behind(row);
			for (int j = 0; j < N_SUMS; j++)
				CHECKSUM_COMP(sums[k][j], row[j]);
		}
	}

	for (int k = 0; k < npages; k++)
	{
		uint32		result = blknos[k];

		for (int i = 0; i < 2; i++)
		{
			for (int j = 0; j < N_SUMS; j++)
				CHECKSUM_COMP(sums[k][j], 0);
		}
		for (int j = 0; j < N_SUMS; j++)
			result ^= sums[k][j];
		checksums[k] = result % 65535 + 1;
	}
}

/*
 * The body of all variants; see sst_checksum_pages().
 */
static pg_attribute_always_inline void
checksum_pages(const char *const *pages, const BlockNumber *blknos, int npages,
			   uint16 *checksums)
{
	int			last = npages - 1;

	if (npages == 4)
		checksum_group(pages, blknos, 4, checksums);
	else if (npages >= 2)
		checksum_group(pages, blknos, 2, checksums);

	if (npages % 2 == 1)
		checksum_group(pages + last, blknos + last, 1, checksums + last);
}

static void
checksum_pages_default(const char *const *pages, const BlockNumber *blknos,
					   int npages, uint16 *checksums)
{
	checksum_pages(pages, blknos, npages, checksums);
}

#ifdef SST_HAVE_CPU_VARIANTS
__attribute__((target("avx2")))
static void
checksum_pages_avx2(const char *const *pages, const BlockNumber *blknos,
					int npages, uint16 *checksums)
{
	checksum_pages(pages, blknos, npages, checksums);
}

__attribute__((target("avx512f")))
static void
checksum_pages_avx512(const char *const *pages, const BlockNumber *blknos,
					  int npages, uint16 *checksums)
{
	checksum_pages(pages, blknos, npages, checksums);
}
#endif

static void checksum_pages_choose(const char *const *pages,
								  const BlockNumber *blknos, int npages,
								  uint16 *checksums);

/*
 * Compute the checksums of 1 to SST_CHECKSUM_PAGES pages with the given block
 * numbers.  The pages are aligned as the server's are, and only read: they may lie
 * in a mapping of their file.  Their checksum fields count as zero.  The result for
 * a new page is meaningless.
 */
void		(*sst_checksum_pages) (const char *const *pages,
								   const BlockNumber *blknos, int npages,
								   uint16 *checksums) = checksum_pages_choose;

/* The first call finds out what the CPU has. */
static void
checksum_pages_choose(const char *const *pages, const BlockNumber *blknos,
					  int npages, uint16 *checksums)
{
	sst_checksum_pages = checksum_pages_default;
#ifdef SST_HAVE_CPU_VARIANTS
	if (SST_CPU_HAS_AVX2)
		sst_checksum_pages = checksum_pages_avx2;
	if (SST_CPU_HAS_AVX512F)
		sst_checksum_pages = checksum_pages_avx512;
#endif

	sst_checksum_pages(pages, blknos, npages, checksums);
}
