/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_INTEGRITY_H
#define SHOAL_INTEGRITY_H

/* How a client makes sure that each reply belongs to its command, and that nothing of a
 * lost connection runs late. */

#include <shoal/options.h>
#include <shoal/version.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How much is done to notice a server, or a network, that loses, repeats or adds
 * replies. */
typedef enum shoal_integrity {
    /** A reply ends the connection if it is malformed, if no command asked for it, or if it
     * has a type that its command never has. */
    SHOAL_INTEGRITY_SHAPES = 0,
    /** The same, and from time to time the library adds an ECHO of a random number, which
     * we call a fence; any other answer ends the connection.  A fence goes before a batch
     * that leaves 100 ms or more after the last fence, or after a command was given up; one
     * at a time.  The next fence notices a lost or added reply before the library hands out
     * anything of the fence's batch. */
    SHOAL_INTEGRITY_DETECT = 1,
    /** Every batch ends with such an ECHO, and its replies are handed out only once that
     * was answered right: a shift costs errors, never a wrong value; two replies of one
     * batch that change places are not noticed.  Costs one small command per batch, and
     * the bytes of a batch's replies in memory, at most those of shoal_options_set_reply_max()
     * together.  While a server answers everything with BUSY or LOADING, callers see
     * their deadlines instead.  With few commands in flight allowed and many queued,
     * each batch moves the queue. */
    SHOAL_INTEGRITY_STRICT = 2
} shoal_integrity_t;

/**
 * How much is done to notice lost, repeated or added replies.
 * Default: SHOAL_INTEGRITY_DETECT.
 *
 * A server that does not allow ECHO: STRICT does not connect, DETECT goes on as SHAPES.
 * In a URL: integrity=shapes, detect or strict.
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL not a shoal_integrity_t
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_options_set_integrity(shoal_options_t *options,
                                             shoal_integrity_t integrity);

/**
 * Whether a new connection first ends its predecessors on the server (CLIENT KILL), if
 * they were lost with writes unanswered: what they still hold then runs before, or never.
 * See shoal_result_is_settled().  Default: true.
 *
 * Asks for CLIENT INFO, CLIENT KILL and INFO; a server that does not allow them (each
 * refusal may stand in its ACL LOG) is served all the same.  Turn it off behind a proxy
 * that spreads one connection over several servers or shares one among several clients:
 * who it is for them is not who it is for the server.  In a URL: settle=yes or no.
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
