/*-------------------------------------------------------------------------
 *
 * fuzz.h
 *	  What the parts of the fuzz test share
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_FUZZ_H
#define SST_FUZZ_H

#include "am/am.h"

/*
 * Behind the page, an input has what the caller of a visitor chooses.  What
 * is missing of page and choices is taken for zeros.
 */
typedef struct FuzzChoices
{
	uint8		block;			/* which block number: see choose_block() */
	uint8		shape;			/* of a b-tree's key; of pgstattuple's index */
	uint8		options;
	uint8		variant;		/* of sst_read_line_pointers() to compare with */
	uint32		number;			/* block number, or what is derived from it */
	uint32		nblocks;
	uint32		horizon;
} FuzzChoices;

#define FUZZ_INPUT_SIZE (BLCKSZ + sizeof(FuzzChoices))

/* One visit: the visitor, and what it has been given */
typedef struct FuzzCase
{
	FuzzChoices choices;
	BlockNumber blkno;
	SstVisitor	visitor;
	SstItemList kept;			/* heap */
	SstItemList dead;			/* heap */
} FuzzCase;

/* What to expect of a visitor, besides that it adds up what it returns */
#define FUZZ_OURS 1				/* puts each sound page into one class */
#define FUZZ_LINE_POINTERS 2	/* uses sst_read_line_pointers() */

typedef struct FuzzTarget
{
	const char *name;
	const char *seeds;			/* tools/fuzz: kinds of pages to begin with */
	int			special_size;	/* of the special space, before MAXALIGN */
	int			rules;			/* FUZZ_... */

	/* Makes the visitor, and may choose another blkno */
	void		(*init) (FuzzCase *fuzz);
	const SstAccessMethod *am;	/* whose pages they are, or NULL */

	/* Instead of all that: what takes the input if it is not a page */
	void		(*take) (const uint8 *data, size_t size);
} FuzzTarget;

extern const FuzzTarget *fuzz_target;

#define FUZZ_CHECK(condition) \
	((condition) ? (void) 0 : fuzz_fail(#condition, __FILE__, __LINE__))

extern void fuzz_fail(const char *condition, const char *file, int line);

extern void fuzz_rebuild(FuzzCase *fuzz, const PageData *page,
						 const PageData *original);

extern void fuzz_saved_cache(const uint8 *data, size_t size);

/* Variants of sst_read_line_pointers(), as many as this CPU can run */
typedef void (*FuzzLinePointers) (const PageData *page, OffsetNumber first,
								  const SstTupleLengths *lengths,
								  SstLinePointers *result);

#define FUZZ_MAX_VARIANTS 4

extern int	fuzz_variants_checked(FuzzLinePointers variants[]);
extern int	fuzz_variants_vectorized(FuzzLinePointers variants[]);
extern int	fuzz_variants(FuzzLinePointers variants[]);
extern void fuzz_line_pointers_init(FuzzCase *fuzz);

#endif							/* SST_FUZZ_H */
