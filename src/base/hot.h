/*
 * hot.h: HOT, for functions of plain loops: compiled for several instruction sets, with the loops vectorised.
 *
 * The machine's version is chosen when the program is loaded. Sanitizers cannot run the resolvers that choose, so they
 * get the plain one; so does clang, the fuzz targets' compiler, which clones no functions that other files call.
 */
#ifndef BASE_HOT_H
#define BASE_HOT_H

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
#define HOT __attribute__((optimize("O3"), target_clones("default", "avx2", "arch=x86-64-v4")))
#else
#define HOT
#endif

#endif
