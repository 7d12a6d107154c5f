/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_GREETING_H
#define SHOAL_CORE_GREETING_H

/*
 * The first words on a new connection, and the judgement of each answer.
 *
 *   1. HELLO 3 [AUTH user password]   alone, awaited (some servers drop an AUTH
 *      error when other replies are due)
 *      if HELLO is unknown or protocol 3 is not supported: AUTH [user] password, alone,
 *      awaited, and RESP2
 *   2. in one write, every answer is awaited:
 *      SELECT db                                   if not 0
 *      CLIENT SETNAME name                         if named
 *      CLIENT SETINFO LIB-NAME shoal, CLIENT SETINFO LIB-VER x.y.z
 *      CLIENT CAPA redirect                        if HELLO says that it is Valkey
 *      CLIENT MAINT_NOTIFICATIONS ON ...           if HELLO says that it is Redis
 *      CLIENT INFO, INFO server                    so that this connection can be ended
 *                                                  by its successor; INFO also if HELLO did
 *                                                  not say what the server is
 *      ECHO number                                 unless INTEGRITY_SHAPES: may we send
 *                                                  fences, and are we in step?
 *      ROLE                                        if the target has several addresses:
 *                                                  core/role_rule.h judges; or if sentinels
 *                                                  named it: then it must be a primary
 *      SUBSCRIBE +switch-master                    on a sentinel that speaks RESP3; the
 *                                                  answer is a push
 *   3. CLIENT KILL ID id ADDR address SKIPME yes   for each former connection whose
 *                                                  commands this server process may
 *                                                  still run (former.h)
 *
 * A bare greeting leaves out HELLO, CLIENT, INFO and, unless INTEGRITY_STRICT, ECHO.
 * It is for proxies and small servers that hang up on commands that they do not know.
 * A greeting that would say nothing says PING.  A test says the same as a bare greeting,
 * and fails once every answer was good: its connection must carry no command.
 *
 * Guarantee: DONE only after every answer came and each one that matters was good:
 * no user command meets an unfinished greeting.  (I12)
 * Answers to SETNAME and SETINFO may be errors; they may not be missing.
 */

#include "base/buffer.h"
#include "base/bytes.h"
#include "core/fence/nonce.h"
#include "core/greeting/former.h"
#include "core/mode_rule.h"
#include "core/target.h"
#include <shoal/command.h>
#include <shoal/integrity.h>
#include <shoal/reply.h>
#include <stdbool.h>
#include <stdint.h>

/* What to ask for.  The credentials are the target's. */
typedef struct shoal__greeting_config {
    int protocol; /* newest to ask for: 2 or 3 */
    int database;
    const char *client_name; /* NULL: none */
    shoal_integrity_t integrity;
    bool is_settling;   /* end former connections, and let ours be ended */
    bool needs_primary; /* a server that is none is refused */
    bool finds_mode;    /* what the server is must be known; a sentinel is refused */
    bool is_sentinel;   /* it carries the library's own questions to a sentinel alone */
    bool hears_notices; /* of maintenance: maintenance.h */
} shoal__greeting_config_t;

/* Each batch of commands must prove itself; so must the greeting. */
static inline bool shoal__greeting_is_strict(const shoal__greeting_config_t *config)
{
    return config->integrity == SHOAL_INTEGRITY_STRICT;
}

typedef enum shoal__greeting_style {
    SHOAL__GREETING_FULL,
    SHOAL__GREETING_BARE, /* RESP2, no HELLO, no CLIENT */
    SHOAL__GREETING_TEST  /* as BARE: does the server answer it? */
} shoal__greeting_style_t;

typedef enum shoal__greeting_verdict {
    SHOAL__GREETING_MORE, /* write what is in `outgoing`, go on reading */
    SHOAL__GREETING_DONE,
    SHOAL__GREETING_FAILED /* see status and detail */
} shoal__greeting_verdict_t;

typedef enum shoal__greeting_step {
    SHOAL__GREETING_AT_SILENT,
    SHOAL__GREETING_AT_HELLO,
    SHOAL__GREETING_AT_AUTH,
    SHOAL__GREETING_AT_AUTH_AGAIN, /* on a connection that was greeted before */
    SHOAL__GREETING_AT_SETUP,
    SHOAL__GREETING_AT_ENDS, /* of former connections */
    SHOAL__GREETING_AT_OVER
} shoal__greeting_step_t;

/* Room for the reason of a failure. */
#define SHOAL__GREETING_DETAIL_BYTES 256

/* What is asked in one write. */
#define SHOAL__GREETING_QUESTIONS_MAX 10
_Static_assert(SHOAL__FORMER_MAX <= SHOAL__GREETING_QUESTIONS_MAX, "they fit");

typedef struct shoal__greeting {
    const shoal__greeting_config_t *config; /* borrowed */
    const shoal__target_t *target;          /* borrowed: the credentials */
    shoal__greeting_style_t style;
    shoal__greeting_step_t step;
    unsigned answers_due;
    uint8_t questions[SHOAL__GREETING_QUESTIONS_MAX]; /* of this step */
    uint8_t
        asked[SHOAL__FORMER_MAX]; /* the entries of `former` whose end is asked for */
    unsigned questions_count,
        killed;                     /* of this step; of CLIENT KILL: answered so far */
    char nonce[SHOAL__NONCE_BYTES]; /* to be echoed */
    shoal__former_t former;         /* kept from one connection to the next */
    shoal__identity_t identity;     /* of this connection */
    bool may_echo;                  /* after DONE: the server echoes */
    bool is_settled;                /* after DONE: see former.h */
    shoal__role_t role;             /* as the server said */
    bool is_valkey, is_redis;       /* as HELLO said */
    shoal__mode_t mode;             /* as HELLO said, or INFO */
    const char *endpoint_type;      /* that notices name; NULL: no notices */
    bool may_redirect;              /* after DONE: errors may be redirects */
    shoal__buffer_t outgoing;       /* bytes to write now; the owner consumes them */
    int protocol;                   /* agreed on: 2 or 3 */
    bool heard_anything;            /* an answer came on this connection */
    bool is_refused;         /* after _say_again() and DONE: the server refused */
    bool is_test_passed;     /* after FAILED: it was a test, and was answered */
    int status;              /* after FAILED: SHOAL_EAUTH, SHOAL_ECONN, SHOAL_EDESYNC,
                                 SHOAL_ENOMEM */
    char *detail;            /* borrowed: after FAILED one line, no credentials */
    char server_version[32]; /* as HELLO said; "" if unknown */
} shoal__greeting_t;

void shoal__greeting_init(shoal__greeting_t *greeting,
                          const shoal__greeting_config_t *config,
                          const shoal__target_t *target,
                          char detail[SHOAL__GREETING_DETAIL_BYTES]);
void shoal__greeting_release(shoal__greeting_t *greeting); /* wipes `outgoing` */

/* A new connection is up.  MORE; or FAILED, without memory. */
shoal__greeting_verdict_t shoal__greeting_start(shoal__greeting_t *greeting,
                                                shoal__greeting_style_t style,
                                                shoal__nonce_t *nonce);

/* The connection is gone, with writes unanswered. */
void shoal__greeting_left_writes(shoal__greeting_t *greeting);

/* `next` has greeted a connection that takes the place of the present one, and knows of no
 * former connections: take over what it has learned, and end the former ones over that
 * connection.  MORE, DONE; or FAILED, without memory. */
shoal__greeting_verdict_t shoal__greeting_succeed(shoal__greeting_t *greeting,
                                                  const shoal__greeting_t *next);

/* The credentials changed: say AUTH, alone, on a connection that was greeted before, on which
 * nothing is unanswered.  DONE, after the answer, also if the server refused; or FAILED.  What
 * the greeting has learned stays. */
shoal__greeting_verdict_t shoal__greeting_say_again(shoal__greeting_t *greeting);

/* The next answer. */
shoal__greeting_verdict_t shoal__greeting_reply(shoal__greeting_t *greeting,
                                                const shoal_reply_t *reply);

/* Is this push, which came during the greeting, the answer that is due next? */
bool shoal__greeting_awaits_push(const shoal__greeting_t *greeting,
                                 const shoal_reply_t *push);

/* Could these words of the server repeat the password? */
bool shoal__greeting_may_hold_password(const shoal__greeting_t *greeting,
                                       shoal__bytes_t text);

/* The bytes were handed over: overwrites them (they may hold a password). */
void shoal__greeting_written(shoal__greeting_t *greeting, size_t bytes);

/* ---- between greeting.c and greeting_setup.c ---- */

/* Everything behind HELLO and AUTH. */
shoal__greeting_verdict_t shoal__greeting_say_setup(shoal__greeting_t *greeting);
shoal__greeting_verdict_t shoal__greeting_hear_setup(shoal__greeting_t *greeting,
                                                     const shoal_reply_t *reply);
/* What is said last: the ends of former connections. */
shoal__greeting_verdict_t shoal__greeting_say_ends(shoal__greeting_t *greeting);

void shoal__greeting_say(shoal__greeting_t *greeting, const shoal_command_t *command);

/* FAILED, for the reason in the text. */
shoal__greeting_verdict_t shoal__greeting_fail(shoal__greeting_t *greeting, int status,
                                               const char *text);
/* FAILED, because of an error, a reply of the wrong shape, or of what may be missing
 * credentials. */
shoal__greeting_verdict_t shoal__greeting_fail_with_answer(shoal__greeting_t *greeting,
                                                           int status,
                                                           const char *command,
                                                           const shoal_reply_t *reply);
shoal__greeting_verdict_t shoal__greeting_fail_with_shape(shoal__greeting_t *greeting,
                                                          const char *command);
shoal__greeting_verdict_t
shoal__greeting_fail_unauthenticated(shoal__greeting_t *greeting, const char *command,
                                     const shoal_reply_t *reply);

#endif
