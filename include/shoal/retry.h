/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_RETRY_H
#define SHOAL_RETRY_H

/*
 * Which commands the library sends again, after what, and how often.  Whatever else happens
 * to a command ends it: its deadline, a cancel, a close, any other error reply.
 *
 * AFTER A LOST CONNECTION.  How far the command got decides:
 *
 *   never whole on any connection   Any command: it keeps its place and leaves over the
 *                                   next connection.  This counts as no attempt.  It fails
 *                                   instead, as not executed: with SHOAL_OFFLINE_FAIL; if
 *                                   a part of it was written and it is SHOAL_CALL_ONCE;
 *                                   with SHOAL_EAUTH if the credentials were rejected.
 *   written whole, no whole reply   A repeatable command is sent again; with
 *                                   SHOAL_OFFLINE_FAIL it is not.  Any other command fails
 *                                   with SHOAL_ECONN (SHOAL_EDESYNC if the server broke
 *                                   the protocol) and the fate unknown or reply lost.
 *
 * A command is repeatable if it only reads: the server's command table flags it readonly
 * and not blocking, or it is PING, ECHO, TIME, INFO, ROLE, OBJECT, PUBSUB, COMMAND or
 * LASTSAVE.  EVAL, EVALSHA, FCALL and commands that the library does not know are not
 * repeatable; EVAL_RO, EVALSHA_RO and FCALL_RO are.  SHOAL_CALL_IDEMPOTENT makes any
 * command repeatable.  MULTI ... EXEC is sent again as a whole, and only if
 * SHOAL_CALL_IDEMPOTENT says so.  Nothing with SHOAL_CALL_ONCE is repeatable.
 *
 * A COMMAND THAT ENDS ITS CONNECTION must not end the next ones, too.  It is not sent
 * again if the server refused its bytes (too large), if its reply is over
 * shoal_options_set_reply_max(), or if a second connection ended inside its bytes or inside
 * its reply.  A command whose bytes or reply were cut once, that was lost twice, or that
 * was the oldest one unanswered at a loss, is sent again alone: nothing else is under way
 * meanwhile.
 *
 * AFTER AN ERROR REPLY that proves that the server did not execute the command:
 *
 *   LOADING, TRYAGAIN, CLUSTERDOWN  The command is sent again after a pause.
 *   NOAUTH, if the client has a     The same; the connection is replaced as well, at most
 *   password                        once a second.
 *   MASTERDOWN                      The server's role changes: the command waits for the
 *                                   end of the switch, as said below.
 *   READONLY                        The same; the connection is replaced as well, at most
 *                                   once a second: the name may lead to the new primary.
 *
 * This holds for commands that write, too.  It does not hold for scripts and commands that
 * the library does not know (they may have written before they failed), for commands of
 * MULTI ... EXEC, and with SHOAL_CALL_ONCE: there the error is the result.  Errors within
 * an array are data.  The pause is at random between 0 and 8 ms before the second attempt;
 * the upper bound doubles with each attempt, up to 1 s.
 *
 * WAITING FOR A SWITCH OF ROLES.  All commands that were turned away with READONLY or
 * MASTERDOWN are sent again at the same times, until the server takes them.  The pauses
 * double from 8 ms to 256 ms; the second half of each is random.  A command waits until its
 * deadline, and for 30 s if it has none or a later one.  The error is the result if the next
 * attempt would come too late: a server that stays a replica is reported shortly before the
 * deadline.  A program that wants to hear of it at once says SHOAL_CALL_ONCE.
 *
 * HOW OFTEN.  A command is handed whole to a connection at most
 * shoal_options_set_attempts_max() times, and never after its deadline.  Attempts that ended
 * with READONLY or MASTERDOWN may be more, if that option is not 1.  Besides, each
 * connection has a budget: a retry takes one token of ten, all commands that one loss
 * repeats take one together, and each answered command gives a tenth of a token back.
 * Below half nothing is repeated.  So a server in trouble gets five retries at once, and
 * then at most a tenth more load.  Waiting for a switch of roles takes no token.  Where the bounds forbid another attempt, the loss or
 * the error reply is the result.
 *
 * shoal_result_attempts() tells how often a command was handed over.
 */

#include <shoal/options.h>
#include <shoal/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * How often a command is handed whole to a connection before it fails.
 *
 * @param attempts_max 1 .. 100; 1 forbids every retry.  Default: 3
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL out of range
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_options_set_attempts_max(shoal_options_t *options,
                                                int attempts_max);

#ifdef __cplusplus
}
#endif

#endif
