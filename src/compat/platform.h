/*-------------------------------------------------------------------------
 *
 * platform.h
 *	  Differences between operating systems, as features
 *
 * Other code tests a feature (SST_HAVE_...), and has a way without it.  A feature
 * says that the system's headers have something.  Whether the running kernel has it,
 * and permits it, is known only when it is used, so each use can fail.
 *
 * SST_PORTABLE (make PORTABLE=1) turns off what POSIX does not have, so that the other way can be
 * tested on Linux.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PLATFORM_H
#define SST_PLATFORM_H

#if defined(WIN32) || defined(_WIN32)
#error "streamstat does not support Windows: it needs POSIX files, signals and mmap()"
#endif

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef SST_PORTABLE

/* preadv2() that does not wait: Linux 4.14; glibc 2.26, musl 1.2.5 */
#if defined(__linux__) && defined(RWF_NOWAIT)
#define SST_HAVE_NOWAIT_READS 1
#endif

/* cachestat(2), called by its number, because few C libraries have it: Linux 6.5 */
#ifdef __linux__
#define SST_HAVE_CACHESTAT 1
#endif

/*
 * mincore(2): not in POSIX.  The type of its last argument is not the same everywhere.
 * The lowest bit of each of its bytes says that the page is in memory.
 */
#if defined(__linux__) || defined(__FreeBSD__) || defined(__APPLE__)
#define SST_HAVE_MINCORE 1
#endif

/*
 * Mapped files can be read in part.  That pays only where the kernel can tell what is in
 * the page cache, and this was tested on Linux only.
 */
#ifdef __linux__
#define SST_HAVE_MAPPED_READS 1
#endif

/* Reads that pass the page cache: not on macOS, nor in POSIX */
#ifdef O_DIRECT
#define SST_HAVE_DIRECT_READS 1
#endif

/* File systems by number, and attributes of files: statfs(2), statx(2) */
#ifdef __linux__
#define SST_HAVE_LINUX_STATFS 1
#ifdef STATX_BASIC_STATS
#define SST_HAVE_STATX 1
#endif
#endif

/* madvise() gives memory back to the system that stays allocated: MADV_DONTNEED of Linux */
#ifdef __linux__
#define SST_HAVE_MADV_DONTNEED 1
#endif

/* madvise() has the kernel provide memory before it is used: MADV_POPULATE_WRITE of Linux 5.14 */
#ifdef MADV_POPULATE_WRITE
#define SST_HAVE_MADV_POPULATE 1
#endif

/* lseek() finds holes in a file: Linux, FreeBSD, macOS */
#ifdef SEEK_HOLE
#define SST_HAVE_SEEK_HOLE 1
#endif

#endif							/* !SST_PORTABLE */

/* posix_fadvise(): not on macOS.  Some headers declare what the library has not. */
#if defined(USE_POSIX_FADVISE) && defined(POSIX_FADV_WILLNEED) && \
	defined(POSIX_FADV_DONTNEED)
#define SST_HAVE_FADVISE 1
#endif

/*
 * Code for several CPUs, of which one is chosen by what the CPU has.  The C library knows
 * that from the start of the process; the compiler's way asks the CPU whenever our library
 * is loaded, and a virtual machine answers slowly.
 */
#if defined(__x86_64__) && defined(__GNUC__)
#define SST_HAVE_CPU_VARIANTS 1
#ifdef __has_include
#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#endif
#endif
#ifdef CPU_FEATURE_ACTIVE
#define SST_CPU_HAS_AVX2 CPU_FEATURE_ACTIVE(AVX2)
#define SST_CPU_HAS_AVX512F CPU_FEATURE_ACTIVE(AVX512F)
#else
#define SST_CPU_HAS_AVX2 __builtin_cpu_supports("avx2")
#define SST_CPU_HAS_AVX512F __builtin_cpu_supports("avx512f")
#endif
#endif

#endif							/* SST_PLATFORM_H */
