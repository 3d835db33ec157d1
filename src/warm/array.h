/*-------------------------------------------------------------------------
 *
 * array.h
 *	  Arrays that grow
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/array.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_ARRAY_H
#define SST_ARRAY_H

/* Elements that an array has room for at first: a power of two */
#define SST_FIRST_ELEMENTS 16

/*
 * Make room behind the n elements of an array, which is doubled when n is a power of
 * two, so that there is no count of what is allocated.
 */
static inline void *
sst_room_for_one(void *array, int64 n, Size size)
{
	if (array == NULL)
		return palloc(size * SST_FIRST_ELEMENTS);
	if (n < SST_FIRST_ELEMENTS || (n & (n - 1)) != 0)
		return array;

	return repalloc_huge(array, size * n * 2);
}

/*
 * Count one more element, and point to it.  The array is NULL and n 0 at first; only
 * this adds to it.
 */
#define sst_append(array, n) \
	((array) = sst_room_for_one(array, n, sizeof(*(array))), &(array)[(n)++])

#endif							/* SST_ARRAY_H */
