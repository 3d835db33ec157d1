/*-------------------------------------------------------------------------
 *
 * test_checksum.c
 *	  Are checksums those of the server?
 *
 * The file that is tested is included, to call its variants one by one.  The pages
 * lie at the end of memory that cannot be written: who writes to a page, or reads
 * behind the last one, ends the server.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "../../../src/stream/checksum.c"

#include <sys/mman.h>

#include "catalog/pg_type.h"
#include "common/pg_prng.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(compare_checksums);
PG_FUNCTION_INFO_V1(checksum_variants);

typedef void (*ChecksumVariant) (const char *const *pages, const BlockNumber *blknos,
								 int npages, uint16 *checksums);

#define MAX_VARIANTS 3
#define NO_CHECKSUM 0			/* no page has it */

static int
find_variants(ChecksumVariant *variants, const char **names)
{
	int			n = 0;

	variants[n] = checksum_pages_default;
	names[n++] = "default";
#ifdef SST_HAVE_CPU_VARIANTS
	if (__builtin_cpu_supports("avx2"))
	{
		variants[n] = checksum_pages_avx2;
		names[n++] = "avx2";
	}
	if (__builtin_cpu_supports("avx512f"))
	{
		variants[n] = checksum_pages_avx512;
		names[n++] = "avx512";
	}
#endif

	return n;
}

/* Fill a page with random bytes; some bytes often, as zeros on real pages. */
static void
fill_page(char *page, pg_prng_state *state)
{
	PageHeader	header = (PageHeader) page;
	uint64		mask = pg_prng_bool(state) ? PG_UINT64_MAX : pg_prng_uint64(state);

	for (int i = 0; i < BLCKSZ; i += sizeof(uint64))
	{
		uint64		word = pg_prng_uint64(state) & mask;

		memcpy(page + i, &word, sizeof(word));
	}
	if (pg_prng_bool(state))
		header->pd_checksum = pg_prng_bool(state) ? 0 : 0xffff;
	if (header->pd_upper == 0)
		header->pd_upper = 1;	/* a new page has no checksum */
}

/* Allow to read the pages, or to write them as well. */
static void
protect(char *pages, int access)
{
	if (mprotect(pages, BLCKSZ * SST_CHECKSUM_PAGES, access) != 0)
		elog(ERROR, "could not protect memory: %m");
}

/* Compare the checksums of npages pages at a time. */
static void
compare(const char *name, ChecksumVariant variant, const char *const *pages,
		const BlockNumber *blknos, int npages, const uint16 *expected)
{
	uint16		found[SST_CHECKSUM_PAGES + 1];

	memset(found, NO_CHECKSUM, sizeof(found));
	variant(pages, blknos, npages, found);

	for (int i = 0; i < npages; i++)
	{
		if (found[i] != expected[i])
			elog(ERROR, "variant %s, page %d of %d: checksum %u, expected %u",
				 name, i + 1, npages, found[i], expected[i]);
	}
	for (int i = npages; i < lengthof(found); i++)
	{
		if (found[i] != NO_CHECKSUM)
			elog(ERROR, "variant %s writes a checksum behind those of %d pages",
				 name, npages);
	}
}

Datum
compare_checksums(PG_FUNCTION_ARGS)
{
	int			rounds = PG_GETARG_INT32(0);
	pg_prng_state state;
	ChecksumVariant variants[MAX_VARIANTS];
	const char *names[MAX_VARIANTS];
	int			nvariants = find_variants(variants, names);
	int64		npages_done = 0;
	Size		size = BLCKSZ * (SST_CHECKSUM_PAGES + 1);
	char	   *all = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (all == MAP_FAILED)
		elog(ERROR, "could not map memory: %m");
	pg_prng_seed(&state, PG_GETARG_INT32(1));

	for (int round = 0; round < rounds; round++)
	{
		int			npages = 1 + round % SST_CHECKSUM_PAGES;
		const char *pages[SST_CHECKSUM_PAGES];
		BlockNumber blknos[SST_CHECKSUM_PAGES];
		uint16		expected[SST_CHECKSUM_PAGES];

		CHECK_FOR_INTERRUPTS();
		protect(all, PROT_READ | PROT_WRITE);
		for (int i = 0; i < npages; i++)
		{
			/* in any order, and now and then a page twice */
			char	   *page = all + BLCKSZ *
				pg_prng_uint64_range(&state, 0, SST_CHECKSUM_PAGES - 1);

			pages[i] = page;
			fill_page(page, &state);
			blknos[i] = round % 10 == 0 ? MaxBlockNumber - i : pg_prng_uint32(&state);
		}
		for (int i = 0; i < npages; i++)
			expected[i] = pg_checksum_page(unconstify(char *, pages[i]), blknos[i]);

		protect(all, PROT_READ);
		for (int i = 0; i < nvariants; i++)
			compare(names[i], variants[i], pages, blknos, npages, expected);
		compare("chosen", sst_checksum_pages, pages, blknos, npages, expected);
		npages_done += npages;
	}
	munmap(all, size);

	if (sst_checksum_pages != variants[nvariants - 1])
		elog(ERROR, "the variant that is chosen is not \"%s\"", names[nvariants - 1]);

	PG_RETURN_INT64(npages_done);
}

Datum
checksum_variants(PG_FUNCTION_ARGS)
{
	ChecksumVariant variants[MAX_VARIANTS];
	const char *names[MAX_VARIANTS];
	int			nvariants = find_variants(variants, names);
	Datum		elements[MAX_VARIANTS];

	for (int i = 0; i < nvariants; i++)
		elements[i] = CStringGetTextDatum(names[i]);

	PG_RETURN_ARRAYTYPE_P(construct_array(elements, nvariants, TEXTOID, -1, false,
										  TYPALIGN_INT));
}
