/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_RETRY_H
#define SHOAL_RETRY_H

/*
 * Which commands the library sends again, after which events, and how often.  Any other
 * event ends the command: its deadline, a cancel, a close, any other error reply.
 *
 * AFTER A LOST CONNECTION.  The rule depends on how much of the command was written:
 *
 *   never written whole on          Any command keeps its place and leaves over the
 *   any connection                  next connection.  This counts as no attempt.  In
 *                                   three cases the command fails instead, as not
 *                                   executed: SHOAL_OFFLINE_FAIL is set; a part of the
 *                                   command was written and it has SHOAL_CALL_ONCE; or
 *                                   the server rejected the credentials (SHOAL_EAUTH).
 *   written whole, no whole reply   The library sends a repeatable command again,
 *                                   unless SHOAL_OFFLINE_FAIL is set.  Any other
 *                                   command fails with SHOAL_ECONN (SHOAL_EDESYNC if
 *                                   the server broke the protocol) and the fate unknown
 *                                   or reply lost.
 *
 * A command is repeatable if it only reads: the server's command table flags it
 * readonly and not blocking, or it is PING, ECHO, TIME, INFO, ROLE, OBJECT, PUBSUB,
 * COMMAND or LASTSAVE.  EVAL, EVALSHA, FCALL and commands that the library does not
 * know are not repeatable; EVAL_RO, EVALSHA_RO and FCALL_RO are.  SHOAL_CALL_IDEMPOTENT
 * makes any command repeatable.  The library sends MULTI ... EXEC again only as a
 * whole, and only with SHOAL_CALL_IDEMPOTENT.  No command with SHOAL_CALL_ONCE is
 * repeatable.
 *
 * A COMMAND THAT ENDS ITS CONNECTION must not end the next connections, too.  The
 * library does not send a command again if the server refused its bytes (too large), if
 * its reply exceeds shoal_options_set_reply_max(), or if a second connection ended
 * inside its bytes or inside its reply.  The library sends a command again alone, with
 * no other command in flight, if one connection ended inside its bytes or its reply, if
 * the command was lost twice, or if it was the oldest unanswered command at a loss; at
 * most 64 commands of one loss, the oldest first, and the one that was cut.  All this
 * holds for replies that SHOAL_INTEGRITY_STRICT holds back, too.
 *
 * AFTER AN ERROR REPLY that proves that the server did not execute the command:
 *
 *   LOADING, MASTERDOWN,            The command is held, and all commands behind it
 *   CLUSTERDOWN                     wait, as described below.
 *   READONLY                        The same, but read-only commands do not wait.  The
 *                                   library also replaces the connection, because the
 *                                   name may lead to the new primary.
 *   NOAUTH, if the client has a     All commands wait, and the library replaces the
 *   password                        connection.  This counts as an attempt.
 *   TRYAGAIN, CLUSTERDOWN of one    The command is held, and no other command waits.
 *   hash slot
 *
 * These rules hold for commands that write, too.  They do not hold for scripts and
 * commands that the library does not know (they may have written before they failed),
 * for commands of MULTI ... EXEC, for commands of a lease that change its connection
 * (WATCH, SELECT ...), and with SHOAL_CALL_ONCE: in these cases the error is the result.
 * Errors within an array are data.  On a lease all its commands wait, read-only ones too.
 *
 * HELD COMMANDS keep their order.  The library waits until all that it had written was
 * answered.  After a pause it sends the first held command alone.  If the server takes
 * it, or answers with another error, the others follow in the order of their submission,
 * and then the commands that were submitted meanwhile.  If the server refuses again, the
 * next pause begins.  The pauses double from 10 ms to 250 ms; the second half of each
 * pause is random.
 *
 * A command waits until its deadline, but not longer than 30 s after its submission.  If
 * the next attempt of the first command would come too late, the error is its result: its
 * caller learns shortly before the deadline that the server still refuses.  Commands that
 * wait behind it fail with SHOAL_ETIMEOUT, not executed; the detail has the error.  A
 * program that wants to know at once sets SHOAL_CALL_ONCE.
 *
 * The server itself can break the order: it may refuse a command and execute a later one
 * that was written before the refusal was read.  If both are of one key, the refused one
 * says so (shoal_result_was_reordered()), and the statistic `reordered` counts it.
 *
 * At READONLY and NOAUTH the library replaces the connection at the first such error,
 * then again after 1 s, 2 s, 4 s and so on up to 30 s, as long as the errors last.  This
 * starts anew when a held command that is not read-only has worked, or after 30 s without
 * such an error.
 *
 * HOW OFTEN.  The library hands a command whole to a connection at most
 * shoal_options_set_attempts_max() times, and never after its deadline.  Attempts after
 * which it was held do not count, except for NOAUTH; if the number is 1, no command is
 * held.  Each connection also has a budget of ten tokens: all commands that one loss
 * repeats take one token together, and each answered command gives a tenth of a token
 * back.  With five tokens or fewer the library repeats nothing after a loss.  So a
 * server in trouble gets five retries at once, and then at most a tenth more load.
 * Held commands take no token.  Where a bound forbids another attempt, the loss or the
 * error reply is the result.
 *
 * shoal_result_attempts() returns how many attempts counted.
 */

#include <shoal/options.h>
#include <shoal/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * How often the library hands a command whole to a connection before the command fails.
 *
 * @param attempts_max 1 .. 100; 1 forbids every retry.  Default: 3
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL out of range
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_options_set_attempts_max(shoal_options_t *options,
                                                int attempts_max);

/** What becomes of a command that has lost its place; see shoal_result_was_reordered(). */
typedef enum shoal_order {
    SHOAL_ORDER_MARK,  /**< it is executed late, and its result says so */
    SHOAL_ORDER_STRICT /**< it fails with SHOAL_EREFUSED, not executed */
} shoal_order_t;

/**
 * Choose what becomes of commands that a server refused for a while, or because another node
 * of a cluster has their slot, and that a later command of the same key overtook.
 *
 * With SHOAL_ORDER_STRICT a refused command waits until all is answered that was on its way to
 * that server, and no other command leaves for the server meanwhile, also where without it
 * only commands for the same keys would wait.  A command that followed ASK, or a redirect by a
 * node that does not own the slot, is sent at once all the same: it can be late, and is marked.
 *
 * @param order default: SHOAL_ORDER_MARK
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_options_set_order(shoal_options_t *options, shoal_order_t order);

#ifdef __cplusplus
}
#endif

#endif
