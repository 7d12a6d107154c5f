/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_RESULT_H
#define SHOAL_RESULT_H

#include <shoal/reply.h>
#include <shoal/version.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The outcome of one command.  Opaque.
 *
 * A refused call leaves a NULL result, which has the status SHOAL_EINVAL, an unknown
 * fate and no reply. */
typedef struct shoal_result shoal_result_t;

/** The fate of a command: what the library knows about its execution on the server. */
typedef enum shoal_fate {
    /** The server answered; the result has the reply, which may be an error reply. */
    SHOAL_FATE_REPLIED = 0,
    /** It is proved that the server did not execute the command and never will.  A
     * program may send the command again. */
    SHOAL_FATE_NOT_EXECUTED = 1,
    /** The library wrote the command or a part of it, and no reply came.  The server
     * may have executed the command. */
    SHOAL_FATE_UNKNOWN = 2,
    /** The server processed the command and began to answer, but the reply is lost. */
    SHOAL_FATE_REPLY_LOST = 3
} shoal_fate_t;

/**
 * 0 if the server answered (with a value or with an error); any other value is the
 * reason why there is no reply.
 *
 * An error reply such as -WRONGTYPE is an answer: the status is 0 and the reply
 * has the type SHOAL_REPLY_ERROR.
 *
 * @return 0, SHOAL_ETIMEOUT, SHOAL_ECANCELLED, SHOAL_ECONN, SHOAL_EDESYNC,
 *         SHOAL_EAUTH, SHOAL_ESHUTDOWN or SHOAL_ENOMEM
 *
 * Threads: any
 * Errors:  none; the value belongs to the command, not to this call
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_result_status(const shoal_result_t *result);

/**
 * The fate of the command.
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN shoal_fate_t shoal_result_fate(const shoal_result_t *result);

/**
 * The server's reply, or NULL if the status is not 0 or a sink took the reply.
 *
 * The reply lives as long as the result.  shoal_reply_retain() keeps it for longer.
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN const shoal_reply_t *shoal_result_reply(const shoal_result_t *result);

/**
 * A line of text that explains a status below 0.  For SHOAL_ETIMEOUT it names the stage
 * that took the time, and why: "no connection to 10.0.0.4:6379 for 5.0 s: Connection
 * refused (12 attempts); the command was never sent".  A program should look at the
 * status, the fate and shoal_result_is_offline() instead of the text.
 *
 * The text is never NULL, and empty for status 0.  It lives as long as the result, and
 * contains no argument of any command and no credentials.
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN const char *shoal_result_detail(const shoal_result_t *result);

/**
 * The reason why the command has no value: shoal_result_detail() if the status is below
 * 0; the server's words if its reply is an error: "WRONGTYPE Operation against a key
 * ...".
 *
 * @return a line of text that lives as long as the result, or NULL if the command
 *         worked
 *
 * Threads: any
 * Errors:  none
 * Since:   0.2
 */
SHOAL_EXTERN const char *shoal_result_error(const shoal_result_t *result);

/**
 * True if there was no connection when the command's deadline passed.  So a program can
 * tell a lost server (SHOAL_ETIMEOUT, true) from a slow one (SHOAL_ETIMEOUT, false).
 *
 * @return false for every other status
 *
 * Threads: any
 * Errors:  none
 * Since:   0.2
 */
SHOAL_EXTERN bool shoal_result_is_offline(const shoal_result_t *result);

/**
 * How often the library handed the command whole to a connection.  Attempts that the server
 * refused for a while (LOADING, READONLY ...; see <shoal/retry.h>) do not count.
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN uint32_t shoal_result_attempts(const shoal_result_t *result);

/**
 * How many redirects of a cluster's nodes the command followed (MOVED, ASK), up to 16.  They
 * are no attempts.
 *
 * Threads: any
 * Errors:  none
 * Since:   0.2
 */
SHOAL_EXTERN uint32_t shoal_result_redirects(const shoal_result_t *result);

/**
 * The server that answered, as "host:port", or the path of its socket.
 *
 * @return a text that lives as long as the result, never NULL; "": no server answered
 *
 * Threads: any
 * Errors:  none
 * Since:   0.2
 */
SHOAL_EXTERN const char *shoal_result_node(const shoal_result_t *result);

/**
 * The slot of the command's keys in a cluster.  The library tells it of a command that a node
 * refused at least once, or answered with an error.
 *
 * @return 0 .. 16383; -1: the command has no key, or the slot is not told
 *
 * Threads: any
 * Errors:  none
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_result_slot(const shoal_result_t *result);

/**
 * True if the command has lost its place: a server refused it, for a while or because another
 * node of the cluster has its key, and a later one of the same key was executed before it.
 * (While a server refuses writes alone, reads do not wait behind them.)  The later one may be
 * another thread's; and in rare cases (1 in 4096) of another key.
 *
 * The mark tells what the library knows when the result comes.  There is none if the reply to
 * the later command is still on its way, over another connection; the order "strict" waits for
 * it.  Nor if the refusal was lost: what was sent again after a loss,
 * shoal_result_attempts() > 1, may have been executed behind later commands.
 *
 * @return false if the command has no reply
 *
 * Threads: any
 * Errors:  none
 * Since:   0.2
 */
SHOAL_EXTERN bool shoal_result_was_reordered(const shoal_result_t *result);

/**
 * The ticket of the command, as the submission gave it out.  By its ticket a callback
 * can tell which command of one submission a result belongs to.
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN uint64_t shoal_result_ticket(const shoal_result_t *result);

/**
 * True if no command that this client sent over an earlier connection can still execute
 * on the server that answered.
 *
 * After a loss the fate of a write may be SHOAL_FATE_UNKNOWN.  Such a write may even
 * run later, when a stalled server continues.  The client therefore ends its earlier
 * connections on the server before it sends anything over a new one (it settles them).
 * If there is no new one at once, another connection of the client ends the lost one: that
 * of a lease, or the bulk lane.  This function tells whether the end of those connections
 * is proved.  If so, no lost command can change later what this reply shows.
 *
 * @return true if the end is proved, or no connection was lost with commands
 *         unanswered; false if the status is not 0, or the end is not proved: the
 *         server does not allow CLIENT KILL, CLIENT INFO or INFO, it is another server
 *         or was restarted, or shoal_options_set_settle() is off.  No proof counts
 *         behind a proxy that answers these commands itself.  After a loss without
 *         proof no reply of that server process is settled any more, however long ago
 *         the loss was: a server that was stopped reads what it received whenever it
 *         goes on.  When the server is another process, for example after a restart,
 *         replies are settled again, from its second connection on at the latest;
 *         without INFO, which tells processes apart, never
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN bool shoal_result_is_settled(const shoal_result_t *result);

/**
 * How many parts a command had that concerned several nodes or slots of a cluster; see
 * <shoal/cluster.h>.  Each part is the command, or a piece of it, at one node.
 *
 * @return 0 for any other command
 *
 * Threads: any
 * Errors:  none
 * Since:   0.2
 */
SHOAL_EXTERN size_t shoal_result_parts(const shoal_result_t *result);

/**
 * What became of one part: its status, fate, reply, detail, node and slot.
 *
 * @param index below shoal_result_parts()
 *
 * @return a result that lives as long as `result`, and is not released; NULL: there is no
 *         such part
 *
 * Threads: any
 * Errors:  none
 * Since:   0.2
 */
SHOAL_EXTERN const shoal_result_t *shoal_result_part(const shoal_result_t *result,
                                                     size_t index);

/**
 * The name of a fate: "replied", "not executed", "unknown", "reply lost".
 *
 * @return a static string
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN const char *shoal_fate_name(shoal_fate_t fate);

/**
 * Give back a result that shoal_client_call() returned.  NULL is allowed.
 *
 * Do not call this for results that a callback or shoal_completions_take() lent.
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN void shoal_result_release(shoal_result_t *result);

#ifdef __cplusplus
}
#endif

#endif
