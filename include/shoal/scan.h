/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_SCAN_H
#define SHOAL_SCAN_H

/**
 * @file
 * Scans: all keys of a server or a cluster, or all elements of a hash, a set or a sorted set,
 * page by page (SCAN, HSCAN, SSCAN, ZSCAN).
 *
 *     shoal_scan_options_t options = SHOAL_SCAN_OPTIONS_INIT;
 *     options.match = "user:*";
 *     options.match_bytes = 6;
 *     rc = shoal_scan_new(client, &options, &scan);
 *     while (rc == 0 && (rc = shoal_scan_next(scan, 0, &page)) == 0) {
 *         const shoal_reply_t *keys = shoal_result_reply(page);
 *         ...
 *         shoal_result_release(page);
 *     }
 *     shoal_scan_free(scan);
 *
 * - What is there from the first page to the end comes at least once. It may come several
 *   times. What is added or removed meanwhile comes or does not.
 * - A page may be empty. It is not the end.
 * - A cursor means something to one server process only. When another process answers, because
 *   the server was started again or a replica took its place, the library begins anew with this
 *   server. It knows processes by their run id (INFO server); where a server tells none, or
 *   shoal_options_set_settle() is off, each new connection counts as another process.
 * - In a cluster SHOAL_SCAN_KEYS asks one primary after the other. At the beginning and at the
 *   end each primary says which slots it has (CLUSTER NODES, which its user must be allowed to
 *   send). Nodes that have got slots since they were scanned are scanned again. So the scan ends
 *   when slots and processes stay where they are. A key may be missed while its slot is being
 *   moved key by key (CLUSTER SETSLOT, MIGRATE), if the move does not end before the scan, and
 *   goes to a node that owned no slot.
 * - The other kinds follow their key, as any command for it does.
 * - Primaries answer, whatever shoal_options_set_read_from() says.
 */

#include <shoal/command.h>
#include <shoal/options.h>
#include <shoal/result.h>
#include <shoal/version.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A scan. Opaque. */
typedef struct shoal_scan shoal_scan_t;

/** What is scanned, and what a page has. Later versions may add values. */
typedef enum shoal_scan_kind {
    SHOAL_SCAN_KEYS = 0,      /**< SCAN: keys of the client's database */
    SHOAL_SCAN_HASH = 1,      /**< HSCAN: a field, its value, a field, its value ... */
    SHOAL_SCAN_SET = 2,       /**< SSCAN: members */
    SHOAL_SCAN_SORTED_SET = 3 /**< ZSCAN: a member, its score, and so on */
} shoal_scan_kind_t;

/** What to scan. Begin with SHOAL_SCAN_OPTIONS_INIT. Newer versions append fields, as in
 *  shoal_call_t. */
typedef struct shoal_scan_options {
    size_t size; /**< sizeof(shoal_scan_options_t) */
    shoal_scan_kind_t kind;
    const char *key;    /**< of the hash or set; NULL with SHOAL_SCAN_KEYS */
    size_t key_bytes;   /**< may be 0: that is a key, too */
    const char *match;  /**< the pattern of MATCH; NULL: everything */
    size_t match_bytes; /**< of the pattern */
    const char *type;   /**< with SHOAL_SCAN_KEYS: keys of this type alone, as "hash"
                             (TYPE, since Redis 6.0); NULL: all */
    uint64_t count; /**< about so many elements the server looks at for a page (COUNT);
                             0: its own default, 10 */
} shoal_scan_options_t;

/** All keys. */
#define SHOAL_SCAN_OPTIONS_INIT                                                        \
    {                                                                                  \
        sizeof(shoal_scan_options_t), SHOAL_SCAN_KEYS, NULL, 0, NULL, 0, NULL, 0       \
    }

/**
 * Make a scan. It does not touch the network. It holds a reference to its client.
 *
 * @param client   who is asked
 * @param options  what to scan; copied, with its texts. NULL: all keys
 * @param ret_scan receives the scan; give it back with shoal_scan_free()
 *
 * Threads:   any
 * Blocks:    never
 * Ownership: nothing passed in is kept
 * Errors:    SHOAL_EINVAL client or ret_scan is NULL; the options have no size, an unknown
 *                         kind, or a field that this version does not know; a key with
 *                         SHOAL_SCAN_KEYS or none with another kind; a type with another kind;
 *                         a count above INT64_MAX
 *            SHOAL_EFORK  the client belongs to the parent process
 *            SHOAL_ENOMEM
 * Since:     0.2
 */
SHOAL_EXTERN int shoal_scan_new(shoal_client_t *client,
                                const shoal_scan_options_t *options,
                                shoal_scan_t **ret_scan);

/**
 * Ask for the next page, and wait for it.
 *
 * The page is a result. Its reply is the array of what was found. If its status is below 0, or
 * its reply is an error (shoal_result_error()), there was no page; the scan is where it was, and
 * the next call tries again.
 *
 * @param scan       of which no page is asked for now
 * @param timeout_us time until the page, in microseconds; 0: the client's timeout for each
 *                   command that the page needs; SHOAL_TIMEOUT_NEVER: no deadline
 * @param ret_page   receives the page; give it back with shoal_result_release()
 *
 * @return 0: there is a page; 1: the scan is over, and there is none; below 0: nothing was asked
 *         for
 *
 * Threads: any, but not the loop thread; one at a time for each scan
 * Blocks:  until the page, at most to the deadline
 * Errors:  those of shoal_client_call(); SHOAL_EINVAL also while a page is asked for
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_scan_next(shoal_scan_t *scan, uint64_t timeout_us,
                                 shoal_result_t **ret_page);

/**
 * Ask for the next page, and return at once.
 *
 * @param scan       of which no page is asked for now
 * @param timeout_us as for shoal_scan_next()
 * @param on_page    called exactly once if this call returns 0, and never otherwise; never from
 *                   inside this call. Its result is a page as shoal_scan_next() has it, which
 *                   the callback borrows; NULL: the scan is over. The callback may ask for the
 *                   next page, or free the scan
 * @param data       handed to on_page untouched
 *
 * @return 0: on_page will be called; 1: the scan is over; below 0: nothing was asked for
 *
 * Threads: any; one at a time for each scan
 * Blocks:  never
 * Errors:  those of shoal_client_submit(); SHOAL_EINVAL also if on_page is NULL, or while a page
 *          is asked for
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_scan_submit(shoal_scan_t *scan, uint64_t timeout_us,
                                   shoal_result_cb on_page, void *data);

/**
 * Give a scan back. NULL is allowed. If a page was asked for, on_page is still called, with the
 * page, or with the status SHOAL_ECANCELLED if the page needs a further command.
 *
 * Threads: any, but not while another thread uses the scan
 * Blocks:  never, unless the scan holds the last reference to its client; then as
 *          shoal_client_release()
 * Since:   0.2
 */
SHOAL_EXTERN void shoal_scan_free(shoal_scan_t *scan);

#ifdef __cplusplus
}
#endif

#endif
