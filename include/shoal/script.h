/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_SCRIPT_H
#define SHOAL_SCRIPT_H

/**
 * @file
 * Scripts: Lua that the server executes (EVALSHA), loaded by the library on each connection.
 *
 *     rc = shoal_script_new(client, text, strlen(text), &script);
 *     const char *argv[] = {"EVALSHA", shoal_script_sha1(script), "1", "key", "3"};
 *     rc = shoal_client_call(client, 5, argv, NULL, &result);
 *
 * A script that is registered is loaded (SCRIPT LOAD) on every connection of its client, before
 * the next command that the connection carries, and again on each connection that takes its
 * place: after a loss, a failover, or when slots of a cluster get another owner. So a call of it
 * is one short command like any other, by any function that submits commands, and keeps its place
 * among them.
 *
 * - If the server lost the script since (SCRIPT FLUSH), it refuses the call with NOSCRIPT, and has
 *   executed nothing. The library loads all scripts again, and sends the call again, behind what
 *   was submitted meanwhile; the result says so (shoal_result_was_reordered()) if commands
 *   for its keys have passed it. SHOAL_CALL_ONCE forbids that.
 * - The next command of a group has run when NOSCRIPT comes for one of them. So NOSCRIPT is the
 *   result in a call whose commands stay together (SHOAL_CALL_CONTIGUOUS, or a sink of their own), in a
 *   unit, where EXEC has it, and on a lease. In MULTI ... EXEC a missing script would
 *   leave half of a transaction: send EVAL with the text there.
 * - Leases do not load scripts: the server has them from the other connections.
 * - The client's user must be allowed SCRIPT LOAD.
 * - A script that only reads can be called by EVALSHA_RO, which may be repeated, and may go to a
 *   replica (<shoal/replicas.h>), as other reads.
 */

#include <shoal/options.h>
#include <shoal/version.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A script that is registered with a client. Opaque. */
typedef struct shoal_script shoal_script_t;

/** Scripts that the library has ready; shoal_script_text() has their texts.  Later versions may
 *  add values. */
typedef enum shoal_script_kind {
    /** KEYS: a key.  ARGV: its value, another one.  The key gets the other one and keeps its
     *  time to live, if it has the first.  Reply: 1, or 0: it has not. */
    SHOAL_SCRIPT_COMPARE_AND_SET = 0,
    /** KEYS: a key.  ARGV: its value.  Deletes the key if it has the value.  Reply: 1 or 0. */
    SHOAL_SCRIPT_COMPARE_AND_DELETE = 1,
    /** KEYS: a key.  ARGV: its value, milliseconds.  The key lives so long from now on, if it has
     *  the value.  Reply: 1 or 0. */
    SHOAL_SCRIPT_COMPARE_AND_EXPIRE = 2,
    /** KEYS: a counter.  ARGV: what to add, the least and the greatest value.  Reply: 1 and the new
     *  value; or 0 and the value, which would have left the bounds and stays. */
    SHOAL_SCRIPT_ADD_WITHIN = 3,
    /** KEYS: a lock, a counter of the same slot.  ARGV: a text of the holder's own, milliseconds.
     *  Takes the lock for that time if nobody has it.  Reply: a number that is greater for each
     *  holder than for those before, by which what the lock protects can refuse a holder
     *  whose time is over (a fencing token); or nil: somebody has the lock.  COMPARE_AND_EXPIRE
     *  holds it longer, COMPARE_AND_DELETE gives it back.  Its promise ends with the server's:
     *  a replica that takes the place of a primary may not know of the lock. */
    SHOAL_SCRIPT_LOCK = 4,
    /** KEYS: a name.  ARGV: how many, in so many milliseconds.  Admits so many at once, and in the
     *  long run not more.  Reply: 1, how many more are admitted now, 0; or 0, 0, and the
     *  milliseconds after which one is. */
    SHOAL_SCRIPT_RATE_LIMIT = 5
} shoal_script_kind_t;

/**
 * The text of a script that the library has ready.
 *
 * @return lives as long as the library; NULL: there is no such kind
 *
 * Threads: any
 * Since:   0.2
 */
SHOAL_EXTERN const char *shoal_script_text(shoal_script_kind_t kind);

/** Most scripts of a client. */
#define SHOAL_SCRIPTS_MAX 256
/** Most bytes of all texts of a client. */
#define SHOAL_SCRIPT_BYTES_MAX 1048576

/**
 * Register a script. It does not touch the network. The script holds a reference to its client.
 * The same text may be registered several times; each time counts until it is given back.
 *
 * @param client     whose connections load it
 * @param text       the Lua text; copied
 * @param bytes      of the text, 1 or more
 * @param ret_script receives the script; give it back with shoal_script_free()
 *
 * Threads:   any
 * Blocks:    never
 * Ownership: nothing passed in is kept
 * Errors:    SHOAL_EINVAL client, text or ret_script is NULL, or the text is empty
 *            SHOAL_EFULL  SHOAL_SCRIPTS_MAX or SHOAL_SCRIPT_BYTES_MAX is reached
 *            SHOAL_EFORK  the client belongs to the parent process
 *            SHOAL_ENOMEM
 * Since:     0.2
 */
SHOAL_EXTERN int shoal_script_new(shoal_client_t *client, const char *text,
                                  size_t bytes, shoal_script_t **ret_script);

/**
 * The name by which EVALSHA calls the script: its SHA-1, 40 hexadecimal digits and a NUL.
 *
 * @return valid until shoal_script_free(); "" if script is NULL
 *
 * Threads: any
 * Since:   0.2
 */
SHOAL_EXTERN const char *shoal_script_sha1(const shoal_script_t *script);

/**
 * Give a script back. NULL is allowed. Connections that are made later do not load it. Calls of it
 * that are outstanding go on.
 *
 * Threads: any
 * Blocks:  never
 * Since:   0.2
 */
SHOAL_EXTERN void shoal_script_free(shoal_script_t *script);

#ifdef __cplusplus
}
#endif

#endif
