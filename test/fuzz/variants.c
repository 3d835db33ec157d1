/*-------------------------------------------------------------------------
 *
 * variants.c
 *	  The variants of sst_read_line_pointers(), to be called one by one
 *
 * Compiled twice.  VARIANTS is "checked" under all sanitizers, and
 * "vectorized" without those whose checks in the loop would keep the compiler
 * from vectorizing it.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fuzz.h"

#define NAMED(part) NAMED_AFTER(part, VARIANTS)
#define NAMED_AFTER(part, variants) CppConcat(part, variants)

#define sst_read_line_pointers NAMED(sst_read_line_pointers_)
#define sst_sum_tuples NAMED(sst_sum_tuples_)
#define sst_items_are_alike NAMED(sst_items_are_alike_)
#define sst_sum_items NAMED(sst_sum_items_)
#define fuzz_variants_here NAMED(fuzz_variants_)

#include "../../src/am/line_pointers.c"

int
fuzz_variants_here(FuzzLinePointers variants[])
{
	int			n = 0;

	variants[n++] = read_line_pointers_default;
#ifdef SST_HAVE_CPU_VARIANTS
	if (__builtin_cpu_supports("avx2"))
		variants[n++] = read_line_pointers_avx2;
#endif
	return n;
}
