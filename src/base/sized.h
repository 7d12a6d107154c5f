/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BASE_SIZED_H
#define SHOAL_BASE_SIZED_H

/*
 * Public structures that grow: each begins with a size_t that holds the size which its
 * caller was compiled with.  The caller may be older than the library and know fewer
 * fields, or newer and know more.
 *
 * Guarantee: no byte beyond the caller's size is read or written.
 */

#include <shoal/command.h>
#include <shoal/connection.h>
#include <shoal/errors.h>
#include <shoal/pubsub.h>
#include <shoal/scan.h>
#include <shoal/stats.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The bytes of a structure whose last field is `field`. */
#define SHOAL__SIZED_TO(type, field)                                                   \
    (offsetof(type, field) + sizeof(((type *)0)->field))

/* The least sizes that the library accepts.  They never grow: with a larger one, the
 * library would refuse programs that were compiled before the newer fields existed.
 * shoal_call_t, shoal_error_t, shoal_scan_options_t and shoal_receiver_t count as they were in 0.2.  The other two
 * structures count to the first field that the library fills in. */
#define SHOAL__CALL_BYTES_MIN SHOAL__SIZED_TO(shoal_call_t, error)
#define SHOAL__ERROR_BYTES_MIN SHOAL__SIZED_TO(shoal_error_t, text)
#define SHOAL__STATS_BYTES_MIN SHOAL__SIZED_TO(shoal_stats_t, commands)
#define SHOAL__INFO_BYTES_MIN SHOAL__SIZED_TO(shoal_connection_info_t, connection)
#define SHOAL__SCAN_BYTES_MIN SHOAL__SIZED_TO(shoal_scan_options_t, count)
#define SHOAL__RECEIVER_BYTES_MIN SHOAL__SIZED_TO(shoal_receiver_t, mailbox)
#define SHOAL__PUBSUB_STATS_BYTES_MIN SHOAL__SIZED_TO(shoal_pubsub_stats_t, messages)

/* On other machines the sizes differ, not the fields. */
_Static_assert(sizeof(void *) != 8 || SHOAL__CALL_BYTES_MIN == 48, "frozen in 0.2");
_Static_assert(sizeof(void *) != 8 || SHOAL__ERROR_BYTES_MIN == 256, "frozen in 0.2");
_Static_assert(sizeof(void *) != 8 || SHOAL__STATS_BYTES_MIN == 16, "frozen in 0.2");
_Static_assert(sizeof(void *) != 8 || SHOAL__INFO_BYTES_MIN == 16, "frozen in 0.2");
_Static_assert(sizeof(void *) != 8 || SHOAL__SCAN_BYTES_MIN == 64, "frozen in 0.2");
_Static_assert(sizeof(void *) != 8 || SHOAL__RECEIVER_BYTES_MIN == 32, "frozen in 0.2");
_Static_assert(sizeof(void *) != 8 || SHOAL__PUBSUB_STATS_BYTES_MIN == 16,
               "frozen in 0.2");

/* No version will be larger than this many times today's: the size was never set. */
#define SHOAL__SIZED_GROWTH_MAX 8

/* Did the caller set its size?  `bytes_min` is one of the constants above; `known_bytes`
 * is the size of the structure in this version. */
static inline bool shoal__sized_is_set(size_t bytes, size_t bytes_min,
                                       size_t known_bytes)
{
    return bytes >= bytes_min && bytes / SHOAL__SIZED_GROWTH_MAX <= known_bytes;
}

/* Copies the caller's structure, whose size is set, to one of this version.  Fields that
 * the caller does not know are 0.  False if the caller uses a field that this version
 * does not know. */
static inline bool shoal__sized_read(const void *theirs, void *ret_known,
                                     size_t known_bytes)
{
    const unsigned char *bytes = theirs;
    size_t size = *(const size_t *)theirs;

    if (size >= known_bytes) {
        memcpy(ret_known, theirs, known_bytes);
    } else {
        memset(ret_known, 0, known_bytes);
        memcpy(ret_known, theirs, size);
    }
    memcpy(ret_known, &known_bytes, sizeof known_bytes);
    for (size_t i = known_bytes; i < size; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

/* Sets all fields of the caller's structure to 0, but its size, which is set and stays. */
static inline void shoal__sized_clear(void *theirs)
{
    size_t size = *(const size_t *)theirs;

    memset(theirs, 0, size);
    memcpy(theirs, &size, sizeof size);
}

/* Fills in the caller's structure, whose size is set and stays.  Fields that this version
 * does not know become 0. */
static inline void shoal__sized_write(void *ret_theirs, const void *known,
                                      size_t known_bytes)
{
    size_t size = *(const size_t *)ret_theirs;

    memset(ret_theirs, 0, size);
    memcpy(ret_theirs, known, size < known_bytes ? size : known_bytes);
    memcpy(ret_theirs, &size, sizeof size);
}

#endif
