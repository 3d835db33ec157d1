/*-------------------------------------------------------------------------
 *
 * line_pointers.c
 *	  One pass over the line pointers of a page
 *
 * A page has up to hundreds of line pointers, and a scan of what is all in shared
 * buffers spends its time here.  So the loops have no branch and take each line
 * pointer as one 32-bit word: they are built with the server's vectorization flags, as
 * the server's checksum code is.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"

#include "am/am.h"
#include "compat/platform.h"

/*
 * The fields of ItemIdData (storage/itemid.h): lp_off has 15 bits, lp_flags
 * 2, lp_len 15.  Compilers lay out bit fields from the least significant bit
 * on little-endian machines and from the most significant one on others.
 */
#ifdef WORDS_BIGENDIAN
#define LP_OFF(lp)		((int32) ((lp) >> 17))
#define LP_LEN(lp)		((int32) ((lp) & 0x7fff))
#else
#define LP_OFF(lp)		((int32) ((lp) & 0x7fff))
#define LP_LEN(lp)		((int32) ((lp) >> 17))
#endif

#define LP_FLAGS(lp)	((int32) (((lp) >> 15) & 3))

/* LP_DEAD is the only state that has both flag bits, in either layout. */
#define LP_IS_DEAD(lp)	((int32) (((lp) >> 15) & ((lp) >> 16) & 1))

/*
 * Count line pointers one by one: for pages whose items differ.
 */
static pg_attribute_always_inline void
count_line_pointers(const uint32 *lps, int nitems, int upper, int special,
					const SstTupleLengths *lengths, SstLinePointers *result)
{
	const int	max_plain = lengths->max_plain;
	const int	min_posting = lengths->min_posting;
	int			ndead = 0;
	int			nlong = 0;
	int			nshort = 0;
	int			outside = 0;

	for (int i = 0; i < nitems; i++)
	{
		uint32		lp = lps[i];
		int			off = LP_OFF(lp);
		int			len = LP_LEN(lp);

		ndead += LP_IS_DEAD(lp);
		nlong += len > max_plain;
		nshort += len < min_posting;

		/* The sign bit gathers what is below upper or beyond special. */
		outside |= (off - upper) | (special - off - len);
	}

	result->ndead = ndead;
	result->nlong = nlong;
	result->nunclear = nitems - nlong - nshort;
	result->outside = outside < 0;
}

/*
 * The same for a page whose line pointers all have the same flags and the
 * same length, and differ in their offsets only, as those of a freshly built
 * page of a fixed-length key do; false for others.
 *
 * Each word is compared with that of the lowest offset.  The offset is in the least significant
 * bits, so that the difference is small if only that differs, and else very large, without a sign.
 */
static pg_attribute_always_inline bool
count_uniform(const uint32 *lps, int nitems, int upper, int special,
			  const SstTupleLengths *lengths, SstLinePointers *result)
{
#ifdef WORDS_BIGENDIAN
	return false;
#else
	const uint32 lowest = lps[0] - LP_OFF(lps[0]) + upper;
	const int	len = LP_LEN(lps[0]);
	uint32		most = 0;

	for (int i = 0; i < nitems; i++)
		most = Max(most, lps[i] - lowest);

	if ((int64) most > special - len - upper)
		return false;

	result->ndead = LP_IS_DEAD(lps[0]) ? nitems : 0;
	result->nlong = len > lengths->max_plain ? nitems : 0;
	result->nunclear = len >= lengths->min_posting && result->nlong == 0 ?
		nitems : 0;
	result->outside = false;
	return true;
#endif
}

/*
 * The body of all variants; see sst_read_line_pointers().
 */
static pg_attribute_always_inline void
read_line_pointers(const PageData *page, OffsetNumber first,
				   const SstTupleLengths *lengths, SstLinePointers *result)
{
	const PageHeaderData *header = (const PageHeaderData *) page;
	const uint32 *lps = (const uint32 *) header->pd_linp + (first - 1);
	const int	nitems = Max(sst_page_items(page) - (first - 1), 0);

	result->nitems = nitems;
	result->alike = nitems > 0 &&
		count_uniform(lps, nitems, header->pd_upper, header->pd_special,
					  lengths, result);
	if (!result->alike)
		count_line_pointers(lps, nitems, header->pd_upper, header->pd_special,
							lengths, result);
}

static void
read_line_pointers_default(const PageData *page, OffsetNumber first,
						   const SstTupleLengths *lengths,
						   SstLinePointers *result)
{
	read_line_pointers(page, first, lengths, result);
}

/* Twice as many line pointers at a time, where compiler and CPU know how */
#ifdef SST_HAVE_CPU_VARIANTS
__attribute__((target("avx2")))
static void
read_line_pointers_avx2(const PageData *page, OffsetNumber first,
						const SstTupleLengths *lengths,
						SstLinePointers *result)
{
	read_line_pointers(page, first, lengths, result);
}
#endif

static void read_line_pointers_choose(const PageData *page, OffsetNumber first,
									  const SstTupleLengths *lengths,
									  SstLinePointers *result);

/*
 * Sum up the line pointers from offset number first on.  The page's header
 * must be sound.
 */
void		(*sst_read_line_pointers) (const PageData *page, OffsetNumber first,
									   const SstTupleLengths *lengths,
									   SstLinePointers *result) = read_line_pointers_choose;

/* The first call finds out what the CPU has. */
static void
read_line_pointers_choose(const PageData *page, OffsetNumber first,
						  const SstTupleLengths *lengths,
						  SstLinePointers *result)
{
	sst_read_line_pointers = read_line_pointers_default;
#ifdef SST_HAVE_CPU_VARIANTS
	if (SST_CPU_HAS_AVX2)
		sst_read_line_pointers = read_line_pointers_avx2;
#endif

	sst_read_line_pointers(page, first, lengths, result);
}

/*
 * Sum up the lengths of the tuples of a table's page, which has a sound header.  Returns -1 if
 * there are items of other kinds, or that no tuple can be at (tuple_is_inside() in
 * am/heap/heap.c).
 */
int
sst_sum_tuples(const PageData *page)
{
	const PageHeaderData *header = (const PageHeaderData *) page;
	const uint32 *lps = (const uint32 *) header->pd_linp;
	const int	nitems = sst_page_items(page);
	const int	upper = header->pd_upper;
	const int	special = header->pd_special;
	int			sum = 0;
	int			outside = 0;
	int			odd = 0;

	for (int i = 0; i < nitems; i++)
	{
		uint32		lp = lps[i];
		int			off = LP_OFF(lp);
		int			len = LP_LEN(lp);

		sum += len;
		outside |= (off - upper) | (special - off - len) |
			(len - (int) SizeofHeapTupleHeader);
		odd |= (LP_FLAGS(lp) ^ LP_NORMAL) | (off & (MAXIMUM_ALIGNOF - 1));
	}

	return outside < 0 || odd != 0 ? -1 : sum;
}

/*
 * Are all items of a page equally long?  Its header is sound.  No item is longer than *most, which is
 * less than twice the longest.
 */
bool
sst_items_are_alike(const PageData *page, int *most)
{
	const uint32 *lps = (const uint32 *) ((const PageHeaderData *) page)->pd_linp;
	const int	nitems = sst_page_items(page);
	uint32		bits = 0;
	uint32		different = 0;

	for (int i = 0; i < nitems; i++)
	{
		bits |= lps[i];
		different |= lps[i] ^ lps[0];
	}

	*most = LP_LEN(bits);
	return LP_LEN(different) == 0;
}

/* Sum up the items of an index page, which has a sound header.  If items overlap, sums can wrap around. */
void
sst_sum_items(const PageData *page, SstItemSums *sums)
{
	const PageHeaderData *header = (const PageHeaderData *) page;
	const uint32 *lps = (const uint32 *) header->pd_linp;
	const int	nitems = sst_page_items(page);
	uint32		all = 0;		/* aligned, in units of the alignment */
	uint32		live = 0;
	uint32		squares = 0;
	uint32		ndead = 0;

	for (int i = 0; i < nitems; i++)
	{
		uint32		is_dead = LP_IS_DEAD(lps[i]);
		uint32		units = ((uint32) LP_LEN(lps[i]) + MAXIMUM_ALIGNOF - 1) / MAXIMUM_ALIGNOF;

		all += units;
		ndead += is_dead;
		units &= is_dead - 1;
		live += units;
		squares += units * units;
	}

	sums->nlive = nitems - ndead;
	sums->ndead = ndead;
	sums->bytes = (uint64) live * MAXIMUM_ALIGNOF + sums->nlive * sizeof(ItemIdData);
	sums->all_bytes = (uint64) all * MAXIMUM_ALIGNOF + nitems * sizeof(ItemIdData);
	sums->squares = (uint64) squares * MAXIMUM_ALIGNOF * MAXIMUM_ALIGNOF +
		(uint64) live * MAXIMUM_ALIGNOF * 2 * sizeof(ItemIdData) +
		sums->nlive * sizeof(ItemIdData) * sizeof(ItemIdData);
}
