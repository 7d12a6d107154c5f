/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CREDENTIALS_H
#define SHOAL_CREDENTIALS_H

/**
 * @file
 * As whom a client authenticates, and how that changes while it works.
 *
 * Credentials are a user and a password.  They are fixed, or change when the program says so
 * (shoal_client_set_credentials()), or come from a *provider*, a function of the program that
 * the library calls when it needs new ones: for tokens that expire, or secrets that somebody
 * else replaces.
 *
 * - **What changes with them.**  Every connection: the ordinary ones, the bulk lane, those to
 *   replicas.  Leased connections in use keep theirs until they are given back; then, and
 *   at rest, they are closed.  Connections to sentinels have credentials of their own
 *   (shoal_options_set_sentinel_auth()), which do not change.
 * - **How.**  By default the library makes before it breaks, as shoal_client_reconnect()
 *   does: commands use the old connection until the new one has authenticated.  Then the
 *   server has up to a second to answer the commands already written.  No command fails,
 *   unless that second is not enough for it, and their order is kept.  Renewals of one
 *   connection begin at least 1 s apart; if the credentials change more often, the last ones
 *   count.
 * - **If a server refuses them.**  Connections that work go on with what they have, and the
 *   library tries again, after 1 s, then 2 s, up to 30 s; an event tells each attempt
 *   (SHOAL_EVENT_ATTEMPT_FAILED, SHOAL_EAUTH).  If there is a provider, it is asked for others,
 *   and commands wait for them until their deadline; without one, those that have no
 *   connection fail, with SHOAL_EAUTH.  A connection that is lost meanwhile is refused, too.  So let the server know the new
 *   password before the client does: `ACL SETUSER name >new`, then the clients, then
 *   `ACL SETUSER name <old`.
 * - **Secrets.**  The library keeps one copy of the password in memory, and overwrites it
 *   when another one takes its place, and at the end; so it does with what it has written to
 *   a connection in the clear.  No text of the library, event or log line has a password.
 */

#include <shoal/options.h>
#include <shoal/pubsub.h>
#include <shoal/version.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Authenticate with these credentials.  Default: none.  With a provider they are used if its
 * first answer is a failure.
 *
 * @param options  to be changed
 * @param user     NULL for the server's default user (password only)
 * @param password NULL for no authentication
 *
 * Threads:   setup
 * Ownership: copied; the copies are wiped when freed
 * Errors:    SHOAL_EINVAL a user without a password; SHOAL_ENOMEM
 * Since:     0.1
 */
SHOAL_EXTERN int shoal_options_set_auth(shoal_options_t *options, const char *user,
                                        const char *password);

/**
 * From now on authenticate with these credentials, and renew the connections.  The call only
 * leaves the wish for the loop thread; if there are several before it looks, the last one
 * counts.  With a provider they are used until its next answer.
 *
 * @param client   whose connections are renewed
 * @param user     NULL for the server's default user (password only)
 * @param password NULL for no authentication: connections are made anew, without any
 *
 * Threads:   any
 * Blocks:    never; the loop thread does it soon
 * Ownership: copied; the copies are wiped when freed
 * Errors:    SHOAL_EINVAL  client is NULL, or there is a user without a password
 *            SHOAL_ECLOSED the client is closed
 *            SHOAL_EFORK   the client belongs to the parent process
 *            SHOAL_ENOMEM
 * Since:     0.2
 */
SHOAL_EXTERN int shoal_client_set_credentials(shoal_client_t *client, const char *user,
                                              const char *password);

/**
 * From now on authenticate with these credentials, and renew the connections, as
 * shoal_client_set_credentials() does.  With RESP3 the renewal loses no message and makes no
 * gap if the server does not refuse what it needs (docs/PUBSUB.md, "Renewals").
 *
 * @param pubsub   whose connections are renewed
 * @param user     NULL for the server's default user (password only)
 * @param password NULL for no authentication
 *
 * Threads:   any
 * Blocks:    never; the loop thread does it soon
 * Ownership: copied; the copies are wiped when freed
 * Errors:    SHOAL_EINVAL  pubsub is NULL, or there is a user without a password
 *            SHOAL_ECLOSED the pubsub was closed
 *            SHOAL_EFORK   the pubsub belongs to the parent process
 *            SHOAL_ENOMEM
 * Since:     0.2
 */
SHOAL_EXTERN int shoal_pubsub_set_credentials(shoal_pubsub_t *pubsub, const char *user,
                                              const char *password);

/** One question to a provider.  It waits for one answer. */
typedef struct shoal_credentials_request shoal_credentials_request_t;

/**
 * A provider: answer the request, now or later, by shoal_credentials_give() or
 * shoal_credentials_fail().  **Each request must be answered once**, by whatever thread, also if
 * it is late or the client is gone by then: that frees it.
 *
 * Threads: runs on a thread of the library that belongs to this call alone, with every signal
 *          blocked.  It may block, for example on a request by HTTP, and must not end the
 *          thread.  A client asks one question at a time; but a call that is late may still
 *          run when the next one begins, and after the client was closed
 */
typedef void (*shoal_credentials_fn)(shoal_credentials_request_t *request, void *data);

/**
 * Ask this function for credentials:
 *
 * - before the first connection is greeted.  Connections wait for the answer;
 * - when the time is over that the last answer named;
 * - when a server refused the credentials: at once, but not within 1 s, then 2 s, 4 s, up to
 *   60 s, of the last question;
 * - after a failure: after 1 s, 2 s, 4 s, up to 60 s.
 *
 * If the provider fails, or is late, the present credentials stay in use.  If there are none,
 * attempts to connect fail, with SHOAL_EAUTH, and commands wait.  SHOAL_EVENT_CREDENTIALS
 * tells each outcome.  An answer that is the same as the present credentials renews nothing.
 *
 * A call that never returns keeps its thread, and a later question begins another one: let the
 * provider give up by itself.
 *
 * @param options to be changed
 * @param fn      NULL: none, the default
 * @param data    handed to fn.  It must stay valid until every call of fn has returned, and
 *                these may outlast the client
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL options is NULL
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_options_set_credentials_provider(shoal_options_t *options,
                                                        shoal_credentials_fn fn,
                                                        void *data);

/**
 * How long to wait for an answer of the provider.  What comes later is not used.
 * @param options    to be changed
 * @param timeout_us 1000 .. SHOAL_TIMEOUT_NEVER.  Default: 5 000 000
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL out of range
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_options_set_credentials_timeout_us(shoal_options_t *options,
                                                          uint64_t timeout_us);

/**
 * Answer a request with credentials.
 *
 * @param request          the question
 * @param user             NULL for the server's default user; copied
 * @param password         copied
 * @param refresh_after_ms ask again after so many milliseconds, but not within 1 s; 0: only
 *                         if a server refuses these
 *
 * Threads:   any, also inside of the provider
 * Ownership: the request is over, unless the call fails with SHOAL_EINVAL, SHOAL_ENOMEM or
 *            SHOAL_EFORK.  While the provider has not returned, further answers fail with
 *            SHOAL_EINVAL; later there is nothing any more that could be answered
 * Errors:    SHOAL_EINVAL     request or password is NULL, or it was answered before
 *            SHOAL_ECANCELLED nobody wants the answer any more: it is late, or the client is
 *                             closed
 *            SHOAL_EFORK      the request belongs to the parent process
 *            SHOAL_ENOMEM     say it again, or fail
 * Since:     0.2
 */
SHOAL_EXTERN int shoal_credentials_give(shoal_credentials_request_t *request,
                                        const char *user, const char *password,
                                        uint64_t refresh_after_ms);

/**
 * Answer a request: there are no credentials to be had.
 *
 * @param request the question
 * @param reason  a line of text without secrets, for events and errors; copied, up to 159
 *                bytes.  NULL: no reason
 *
 * Threads:   any, also inside of the provider
 * Ownership: as shoal_credentials_give()
 * Errors:    SHOAL_EINVAL     request is NULL, or it was answered before
 *            SHOAL_ECANCELLED nobody wants the answer any more
 *            SHOAL_EFORK      the request belongs to the parent process
 * Since:     0.2
 */
SHOAL_EXTERN int shoal_credentials_fail(shoal_credentials_request_t *request,
                                        const char *reason);

/** How connections that work get new credentials. */
typedef enum shoal_rotation {
    SHOAL_ROTATE_SUCCESSOR = 0, /**< a new connection takes the place of the old one */
    SHOAL_ROTATE_IN_PLACE = 1   /**< the connection stays.  It sends nothing more until
                                     everything was answered, then AUTH, and goes on after
                                     the answer.  If the server refuses, it goes on as it was,
                                     and says it again after 1 s, then 2 s, up to 30 s;
                                     SHOAL_EVENT_CREDENTIALS tells each outcome */
} shoal_rotation_t;

/**
 * Choose how connections get new credentials.  Default: SHOAL_ROTATE_SUCCESSOR.
 *
 * In place costs no connection, and commands wait for a round trip more.  The password then
 * is not proved by a new connection before it counts, and commands after AUTH run as the new
 * user at once.
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL options is NULL, or the value is another one
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_options_set_rotation(shoal_options_t *options,
                                            shoal_rotation_t rotation);

#ifdef __cplusplus
}
#endif

#endif
