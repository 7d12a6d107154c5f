/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_RESULT_H
#define SHOAL_RESULT_H

#include <shoal/reply.h>
#include <shoal/version.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What became of one command.  Opaque.
 *
 * A NULL result, which a refused call leaves, has the status SHOAL_EINVAL, an unknown
 * fate and no reply. */
typedef struct shoal_result shoal_result_t;

/** What is known about the execution of a command on the server. */
typedef enum shoal_fate {
    /** The server answered; the reply (perhaps an error reply) is here. */
    SHOAL_FATE_REPLIED = 0,
    /** Proved: the command was not executed and never will be.  Safe to retry. */
    SHOAL_FATE_NOT_EXECUTED = 1,
    /** It reached the transport and no reply came.  It may have been executed. */
    SHOAL_FATE_UNKNOWN = 2,
    /** The server had begun to answer: it was processed, the reply is lost. */
    SHOAL_FATE_REPLY_LOST = 3
} shoal_fate_t;

/**
 * 0 if the server answered (with a value or with an error), else why not.
 *
 * An error reply such as -WRONGTYPE is an answer: the status is 0 and the reply
 * has the type SHOAL_REPLY_ERROR.
 *
 * @return 0, SHOAL_ETIMEOUT, SHOAL_ECANCELLED, SHOAL_ECONN, SHOAL_EDESYNC,
 *         SHOAL_EAUTH, SHOAL_ESHUTDOWN or SHOAL_ENOMEM
 *
 * Threads: any
 * Errors:  none; the value is the command's own outcome
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_result_status(const shoal_result_t *result);

/**
 * What is known about the command's execution.
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN shoal_fate_t shoal_result_fate(const shoal_result_t *result);

/**
 * The server's reply, or NULL if the status is not 0 or a sink took the reply.
 *
 * Borrowed: it lives as long as the result.  shoal_reply_retain() keeps it.
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN const shoal_reply_t *shoal_result_reply(const shoal_result_t *result);

/**
 * A line of text that explains a status below 0.  For SHOAL_ETIMEOUT it names the stage
 * that took the time, and why: "no connection to 10.0.0.4:6379 for 5.0 s: Connection
 * refused (12 attempts); the command was never sent".  For programs there are the
 * status, the fate and shoal_result_is_offline().
 *
 * Never NULL; empty for status 0.  Lives as long as the result.  Contains no argument
 * of any command and no credentials.
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN const char *shoal_result_detail(const shoal_result_t *result);

/**
 * Why the command has no value: shoal_result_detail() if the status is below 0, and the
 * server's words if its reply is an error: "WRONGTYPE Operation against a key ...".
 *
 * @return a line of text, or NULL if the command worked.  Lives as long as the result
 *
 * Threads: any
 * Errors:  none
 * Since:   0.2
 */
SHOAL_EXTERN const char *shoal_result_error(const shoal_result_t *result);

/**
 * True if there was no connection when the command's deadline passed.  Tells such a
 * SHOAL_ETIMEOUT from that of a slow server.
 *
 * @return false for every other status
 *
 * Threads: any
 * Errors:  none
 * Since:   0.2
 */
SHOAL_EXTERN bool shoal_result_is_offline(const shoal_result_t *result);

/**
 * How often the command was handed whole to a connection, 0 if never.
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN uint32_t shoal_result_attempts(const shoal_result_t *result);

/**
 * The ticket of the command, as shoal_client_submit_many() gave it out: tells the
 * results of one submission apart.
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN uint64_t shoal_result_ticket(const shoal_result_t *result);

/**
 * True if no command that this client sent over an earlier connection can still execute
 * on the server that answered.
 *
 * After a loss the fate of a write may be SHOAL_FATE_UNKNOWN: it may even run later,
 * when a server that had stalled goes on.  The client therefore ends its former
 * connections on the server before it sends anything over a new one, and says here
 * whether that is proved: what such a reply shows of a key is then final, as far as
 * lost commands go.
 *
 * @return true if it is proved, or nothing was lost with writes unanswered; false if
 *         the status is not 0, or it is not proved: the server does not allow CLIENT
 *         KILL, CLIENT INFO or INFO, it is another server or was restarted since, or
 *         shoal_options_set_settle() is off.  No proof counts behind a proxy that
 *         answers these commands itself
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN bool shoal_result_is_settled(const shoal_result_t *result);

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
 * Not for results that a callback or shoal_completions_take() lent.
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN void shoal_result_release(shoal_result_t *result);

#ifdef __cplusplus
}
#endif

#endif
