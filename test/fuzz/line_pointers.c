/*-------------------------------------------------------------------------
 *
 * line_pointers.c
 *	  Do all variants of sst_read_line_pointers() say the same?
 *
 * They are compared with a plain loop, on pages whose header is sound.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fuzz.h"

int
fuzz_variants(FuzzLinePointers variants[])
{
	int			n = fuzz_variants_checked(variants);

	return n + fuzz_variants_vectorized(variants + n);
}

/* What sst_read_line_pointers() promises, one line pointer after the other */
static void
expected_line_pointers(const PageData *page, OffsetNumber first,
					   const SstTupleLengths *lengths, SstLinePointers *result)
{
	const PageHeaderData *header = (const PageHeaderData *) page;

	memset(result, 0, sizeof(SstLinePointers));
	for (int i = first - 1; i < sst_page_items(page); i++)
	{
		const ItemIdData *item = &header->pd_linp[i];

		result->nitems++;
		result->ndead += item->lp_flags == LP_DEAD;
		result->nlong += item->lp_len > lengths->max_plain;
		result->nunclear += item->lp_len <= lengths->max_plain &&
			item->lp_len >= lengths->min_posting;
		if (item->lp_off < header->pd_upper ||
			item->lp_off + item->lp_len > header->pd_special)
			result->outside = true;
	}
}

static bool
compare_variants(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
				 SstCounters *counters)
{
	FuzzLinePointers variants[FUZZ_MAX_VARIANTS];
	int			nvariants = fuzz_variants(variants);
	OffsetNumber first = 1 + blkno % 3;
	SstLinePointers expected;

	if (!sst_page_is_sound(page, visitor->am->special_size))
		return false;

	expected_line_pointers(page, first, &visitor->lengths, &expected);
	for (int i = 0; i < nvariants; i++)
	{
		SstLinePointers items;

		variants[i] (page, first, &visitor->lengths, &items);
		FUZZ_CHECK(items.nitems == expected.nitems);
		FUZZ_CHECK(items.ndead == expected.ndead);
		FUZZ_CHECK(items.nlong == expected.nlong);
		FUZZ_CHECK(items.nunclear == expected.nunclear);
		FUZZ_CHECK(items.outside == expected.outside);
	}

	return true;
}

/* A visitor that counts nothing; all lengths and special spaces are possible. */
void
fuzz_line_pointers_init(FuzzCase *fuzz)
{
	static SstAccessMethod am;
	SstVisitor *visitor = &fuzz->visitor;

	memset(visitor, 0, sizeof(SstVisitor));
	visitor->page = compare_variants;
	am.special_size = fuzz->choices.shape % 4 * MAXIMUM_ALIGNOF;
	visitor->am = &am;
	visitor->lengths.max_plain = fuzz->choices.number % BLCKSZ;
	visitor->lengths.min_posting = fuzz->choices.nblocks %
		(visitor->lengths.max_plain + 2);
}
