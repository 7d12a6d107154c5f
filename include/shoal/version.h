/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_VERSION_H
#define SHOAL_VERSION_H

/* Version numbers, and the macros that every public header uses.  This is the one place
 * that names the version: CMake and the Python package read it here. */

#define SHOAL_VERSION_MAJOR 0
#define SHOAL_VERSION_MINOR 2
#define SHOAL_VERSION_PATCH 0
#define SHOAL_VERSION_STRING "0.2.0"

/** The version as one number that can be compared: 0.2.0 is 200, 1.10.3 is 11003. */
#define SHOAL_VERSION_NUMBER                                                           \
    (SHOAL_VERSION_MAJOR * 10000 + SHOAL_VERSION_MINOR * 100 + SHOAL_VERSION_PATCH)

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

/**
 * The version of the library that runs, as SHOAL_VERSION_NUMBER counts.
 *
 * Threads: any
 * Errors:  none
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_version_number(void);

#ifdef __cplusplus
}
#endif

#endif
