/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_INTEGRITY_H
#define SHOAL_INTEGRITY_H

/* How a client makes sure that each reply belongs to its command, and that no command
 * of a lost connection runs late. */

#include <shoal/options.h>
#include <shoal/version.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How much the library does to notice that a server, or a network, loses, repeats or
 * adds replies. */
typedef enum shoal_integrity {
    /** A reply ends the connection if it is malformed, if no command asked for it, or
     * if it has a type that its command never has. */
    SHOAL_INTEGRITY_SHAPES = 0,
    /** The same, and from time to time the library adds an ECHO of a random number,
     * which we call a fence.  Any other answer ends the connection, except an error
     * that proves nothing (BUSY, LOADING, MASTERDOWN, NOAUTH, NOPERM).  A fence goes
     * before a batch that leaves 100 ms or more after the last fence, or after a
     * command was given up; one fence at a time.  The next fence notices a lost or
     * added reply before the library hands out any reply of the fence's batch. */
    SHOAL_INTEGRITY_DETECT = 1,
    /** Every batch ends with a fence.  The library holds the replies of the batch, and
     * hands them out only after the right answer to the fence.  If replies and commands
     * are out of step, callers get errors and never a wrong value.  The library does
     * not notice two replies of one batch that changed places.  If the connection is
     * lost, a held reply proves nothing: the fate of its command is SHOAL_FATE_UNKNOWN.
     *
     * STRICT costs one small command per batch, and memory for the replies of a batch:
     * if these exceed the bytes of shoal_options_set_reply_max() together, the
     * connection ends.  While a server answers every command with BUSY or LOADING, the
     * library holds these replies, and the commands of callers time out.  If
     * inflight_max is small and many commands are queued, putting a fence moves the
     * queued commands in memory. */
    SHOAL_INTEGRITY_STRICT = 2
} shoal_integrity_t;

/**
 * Choose how much the library does to notice lost, repeated or added replies.
 * Default: SHOAL_INTEGRITY_DETECT.
 *
 * If the server does not allow ECHO, a STRICT client does not connect, and a DETECT
 * client works as with SHAPES.
 * In a URL: integrity=shapes, detect or strict.
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL not a shoal_integrity_t
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_options_set_integrity(shoal_options_t *options,
                                             shoal_integrity_t integrity);

/**
 * Choose whether a new connection first ends the earlier connections of its client on
 * the server (CLIENT KILL), if these were lost with commands unanswered.  The commands
 * of a lost connection then run before those of the new one, or never.  We call this
 * settling; see shoal_result_is_settled().  Default: true.
 *
 * The library uses CLIENT INFO, CLIENT KILL and INFO.  A server that does not allow
 * them works all the same, but may write each refusal into its ACL LOG.  Turn settling
 * off behind a proxy that spreads one connection over several servers, or shares one
 * among several clients: the server does not know the connections of the client, only
 * those of the proxy.  In a URL: settle=yes or no.
 *
 * @param is_settling true: end earlier connections first
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL options is NULL
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_options_set_settle(shoal_options_t *options, bool is_settling);

#ifdef __cplusplus
}
#endif

#endif
