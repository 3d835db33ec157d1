/*-------------------------------------------------------------------------
 *
 * mutate.c
 *	  Change pages where visitors look at them
 *
 * What libFuzzer changes at random is seldom behind a page header that makes
 * sense.  So it is told where to change something (the header, a line
 * pointer, a tuple, the special space, what the caller chooses), and mostly
 * the header is put right afterwards.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fuzz.h"

extern size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
extern size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
									  size_t max_size, unsigned int seed);

/* The generator of George Marsaglia's "Xorshift RNGs" (2003), of 32 bits */
static uint32 random_state;

static uint32
random_below(uint32 n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state % n;
}

static bool
one_in(uint32 n)
{
	return random_below(n) == 0;
}

/* Change some of nbytes bytes, and keep their number. */
static void
mutate_bytes(uint8_t *data, size_t nbytes)
{
	if (one_in(2))
		data[random_below(nbytes)] ^= 1 << random_below(8);
	else
		LLVMFuzzerMutate(data, nbytes, nbytes);
}

/* A place in the page, or not far from it */
static uint16
interesting_offset(const PageHeaderData *header)
{
	const uint16 bases[] = {
		0, SizeOfPageHeaderData, header->pd_lower, header->pd_upper,
		header->pd_special, BLCKSZ - MAXALIGN(fuzz_target->special_size),
		BLCKSZ, PG_INT16_MAX, PG_UINT16_MAX
	};

	if (one_in(4))
		return random_below(BLCKSZ + 1);
	if (one_in(2))
		return bases[random_below(lengthof(bases))];
	return bases[random_below(lengthof(bases))] + random_below(33) - 16;
}

static void
mutate_bounds(PageHeaderData *header)
{
	switch (random_below(5))
	{
		case 0:
			header->pd_lower = interesting_offset(header);
			break;
		case 1:
			header->pd_upper = interesting_offset(header);
			break;
		case 2:
			header->pd_special = interesting_offset(header);
			break;
		case 3:
			/* more line pointers, or fewer */
			header->pd_lower = SizeOfPageHeaderData +
				sizeof(ItemIdData) * random_below(300);
			break;
		case 4:
			/* a page of another size, with a special space to match */
			header->pd_pagesize_version = (random_below(256) << 8) |
				PG_PAGE_LAYOUT_VERSION;
			header->pd_special = PageGetPageSize((Page) header) -
				MAXALIGN(fuzz_target->special_size);
			break;
	}
}

/* Line pointers that are in the page, whatever visitors think of their number */
static int
line_pointers(const PageData *page)
{
	int			lower = ((const PageHeaderData *) page)->pd_lower;

	return Max(Min(lower, BLCKSZ) - (int) SizeOfPageHeaderData, 0) /
		(int) sizeof(ItemIdData);
}

static int
random_line_pointer(const PageData *page)
{
	int			nitems = line_pointers(page);

	return nitems == 0 ? 0 : random_below(one_in(3) ? Min(nitems, 3) : nitems);
}

static void
mutate_line_pointer(const PageHeaderData *header, ItemIdData *item)
{
	switch (random_below(6))
	{
		case 0:
			item->lp_flags = random_below(4);
			break;
		case 1:
			item->lp_off = interesting_offset(header);
			break;
		case 2:
			item->lp_len = interesting_offset(header);
			break;
		case 3:
			/* up to the special space, or a few bytes into it */
			item->lp_len = header->pd_special - item->lp_off +
				random_below(3) * random_below(9);
			break;
		case 4:
			item->lp_off = header->pd_upper + random_below(64);
			item->lp_len = random_below(64);
			break;
		case 5:
			item->lp_off = item->lp_off + random_below(17) - 8;
			break;
	}
}

/* All line pointers get the flags or the length of one of them. */
static void
equalize_line_pointers(PageData *page)
{
	PageHeaderData *header = (PageHeaderData *) page;
	const ItemIdData model = header->pd_linp[random_line_pointer(page)];
	int			what = random_below(4);

	for (int i = 0; i < line_pointers(page); i++)
	{
		ItemIdData *item = &header->pd_linp[i];

		item->lp_flags = model.lp_flags;
		if (what > 0)
			item->lp_len = model.lp_len;
		if (what > 1 && (item->lp_off < header->pd_upper ||
						 item->lp_off + item->lp_len > header->pd_special))
			item->lp_off = header->pd_upper;
	}
}

/* The first bytes of what a line pointer leads to, and of its data */
static void
mutate_item(PageData *page)
{
	const PageHeaderData *header = (const PageHeaderData *) page;
	int			off = header->pd_linp[random_line_pointer(page)].lp_off;

	if (off < SizeOfPageHeaderData || off >= BLCKSZ)
		off = header->pd_upper;
	if (off < BLCKSZ)
		mutate_bytes((uint8_t *) page + off, Min(BLCKSZ - off, 32));
}

static void
mutate_once(PageData *page, FuzzChoices *choices)
{
	PageHeaderData *header = (PageHeaderData *) page;
	uint8_t    *bytes = (uint8_t *) page;

	switch (random_below(12))
	{
		case 0:
			LLVMFuzzerMutate(bytes, BLCKSZ, BLCKSZ);
			break;
		case 1:
			mutate_bytes(bytes, SizeOfPageHeaderData);
			break;
		case 2:
			mutate_bounds(header);
			break;
		case 3:
		case 4:
			mutate_line_pointer(header,
								&header->pd_linp[random_line_pointer(page)]);
			break;
		case 5:
			equalize_line_pointers(page);
			break;
		case 6:
			mutate_item(page);
			break;
		case 7:
			/* a metapage, or where maps begin */
			mutate_bytes(bytes + SizeOfPageHeaderData, 64);
			break;
		case 8:
			mutate_bytes(bytes + BLCKSZ - 16, 16);
			break;
		case 9:
			/* flags are at the end of most special spaces, or near it */
			bytes[BLCKSZ - 1 - random_below(8)] ^= 1 << random_below(8);
			break;
		case 10:
			mutate_bytes((uint8_t *) choices, sizeof(FuzzChoices));
			break;
		case 11:
			if (one_in(50))
				memset(page, 0, BLCKSZ);
			else
				mutate_bytes((uint8_t *) choices, offsetof(FuzzChoices, number));
			break;
	}
}

/* Make a header that the visitor takes for sound. */
static void
put_right(PageHeaderData *header)
{
	header->pd_pagesize_version = BLCKSZ | PG_PAGE_LAYOUT_VERSION;
	header->pd_special = BLCKSZ - MAXALIGN(fuzz_target->special_size);
	header->pd_upper = Min(header->pd_upper, header->pd_special);
	header->pd_upper = Max(header->pd_upper, SizeOfPageHeaderData);
	header->pd_lower = Min(header->pd_lower, header->pd_upper);
	header->pd_lower = Max(header->pd_lower, SizeOfPageHeaderData);
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
						unsigned int seed)
{
	union
	{
		PageData	page[BLCKSZ];
		PageHeaderData header;
	}			image;
	FuzzChoices choices;

	if (max_size < FUZZ_INPUT_SIZE)
		return LLVMFuzzerMutate(data, size, max_size);

	memset(data + size, 0, FUZZ_INPUT_SIZE - Min(size, FUZZ_INPUT_SIZE));
	memcpy(image.page, data, BLCKSZ);
	memcpy(&choices, data + BLCKSZ, sizeof(FuzzChoices));

	random_state = seed | 1;
	do
	{
		mutate_once(image.page, &choices);
	} while (one_in(2));
	if (!one_in(8))
		put_right(&image.header);

	memcpy(data, image.page, BLCKSZ);
	memcpy(data + BLCKSZ, &choices, sizeof(FuzzChoices));
	return FUZZ_INPUT_SIZE;
}
