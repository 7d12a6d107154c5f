/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_VERSION_H
#define SHOAL_VERSION_H

/* Version numbers, and the macros that every public header uses. */

#define SHOAL_VERSION_MAJOR 0
#define SHOAL_VERSION_MINOR 1
#define SHOAL_VERSION_PATCH 0
#define SHOAL_VERSION_STRING "0.1.0"

#if defined(__GNUC__) || defined(__clang__)
#define SHOAL_EXTERN __attribute__((visibility("default")))
#define SHOAL_DEPRECATED(text) __attribute__((deprecated(text)))
#define SHOAL_CHECKED __attribute__((warn_unused_result))
#else
#define SHOAL_EXTERN
#define SHOAL_DEPRECATED(text)
#define SHOAL_CHECKED
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The version of the library that runs, as "major.minor.patch".
 *
 * Compare with SHOAL_VERSION_STRING to find out whether the program runs with
 * another version than it was compiled for.
 *
 * @return a static string
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN const char *shoal_version(void);

#ifdef __cplusplus
}
#endif

#endif
