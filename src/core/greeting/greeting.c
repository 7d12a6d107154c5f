/* SPDX-License-Identifier: MIT */
#include "core/greeting/greeting.h"

#include "base/alloc.h"
#include "base/escape.h"
#include "core/fence/fence_rule.h"
#include "resp/encoder.h"

#include <assert.h>
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

/* Room for every word of a greeting but the texts of configuration and target. */
#define FIXED_BYTES 4096

/* Of the server's own words in `detail`. */
#define SERVER_TEXT_BYTES_MAX 200

void shoal__greeting_init(shoal__greeting_t *greeting,
                          const shoal__greeting_config_t *config,
                          const shoal__target_t *target,
                          char detail[SHOAL__GREETING_DETAIL_BYTES])
{
    *greeting = (shoal__greeting_t){.config = config, .target = target, .protocol = 2};
    greeting->detail = detail;
    shoal__former_init(&greeting->former);
    shoal__buffer_init(&greeting->outgoing);
}

static void wipe_outgoing(shoal__greeting_t *greeting)
{
    if (greeting->outgoing.memory)
        shoal__wipe(greeting->outgoing.memory, greeting->outgoing.capacity);
    shoal__buffer_clear(&greeting->outgoing);
}

void shoal__greeting_release(shoal__greeting_t *greeting)
{
    wipe_outgoing(greeting);
    shoal__buffer_release(&greeting->outgoing);
    shoal__former_release(&greeting->former);
}

void shoal__greeting_written(shoal__greeting_t *greeting, size_t bytes)
{
    shoal__wipe(shoal__buffer_data(&greeting->outgoing), bytes);
    shoal__buffer_consume(&greeting->outgoing, bytes);
}

/* --- failing --- */

shoal__greeting_verdict_t shoal__greeting_fail(shoal__greeting_t *greeting, int status,
                                               const char *text)
{
    greeting->step = SHOAL__GREETING_AT_OVER;
    greeting->status = status;
    snprintf(greeting->detail, SHOAL__GREETING_DETAIL_BYTES, "%s", text);
    return SHOAL__GREETING_FAILED;
}

static shoal__bytes_t text_of(const shoal_reply_t *reply)
{
    size_t bytes = 0;
    const char *data = shoal_reply_string(reply, &bytes);
    return (shoal__bytes_t){data, data ? bytes : 0};
}

/* Some servers repeat the arguments of a command that they reject, perhaps cut: look
 * for the beginning of the password.  They may also have rewritten control characters,
 * so a password with any is taken as repeated. */
bool shoal__greeting_may_hold_password(const shoal__greeting_t *greeting,
                                       shoal__bytes_t text)
{
    const char *password = shoal__target_password(greeting->target);
    size_t bytes = password ? strlen(password) : 0;

    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)password[i] < 0x20 || password[i] == 0x7f)
            return true;
    if (bytes == 0)
        return false;
    if (bytes > 4)
        bytes = 4;
    for (size_t i = 0; i + bytes <= text.bytes; i++)
        if (memcmp(text.data + i, password, bytes) == 0)
            return true;
    return false;
}

shoal__greeting_verdict_t shoal__greeting_fail_with_answer(shoal__greeting_t *greeting,
                                                           int status,
                                                           const char *command,
                                                           const shoal_reply_t *reply)
{
    shoal__bytes_t text = text_of(reply);
    char words[SERVER_TEXT_BYTES_MAX + 1];

    if (shoal__greeting_may_hold_password(greeting, text))
        snprintf(words, sizeof words, "refused, in words that may repeat the password");
    else
        shoal__escape(words, sizeof words, text);

    char line[SHOAL__GREETING_DETAIL_BYTES];
    snprintf(line, sizeof line, "%s: %s", command, words);
    return shoal__greeting_fail(greeting, status, line);
}

shoal__greeting_verdict_t shoal__greeting_fail_with_shape(shoal__greeting_t *greeting,
                                                          const char *command)
{
    char line[SHOAL__GREETING_DETAIL_BYTES];
    snprintf(line, sizeof line, "%s: the answer has an unexpected shape", command);
    return shoal__greeting_fail(greeting, SHOAL_EDESYNC, line);
}

static bool starts_with_any(shoal__bytes_t text, const char *const *prefixes)
{
    for (; *prefixes; prefixes++)
        if (shoal__bytes_start(text, *prefixes))
            return true;
    return false;
}

shoal__greeting_verdict_t
shoal__greeting_fail_unauthenticated(shoal__greeting_t *greeting, const char *command,
                                     const shoal_reply_t *reply)
{
    if (!shoal__target_password(greeting->target))
        return shoal__greeting_fail(greeting, SHOAL_EAUTH,
                                    "the server asks for credentials");
    return shoal__greeting_fail_with_answer(greeting, SHOAL_EAUTH, command, reply);
}

/* --- speaking --- */

/* The most that one greeting can need, so that the buffer never grows, which would
 * leave a copy of the password in freed memory. */
static size_t bytes_max(const shoal__greeting_t *greeting)
{
    const char *user = shoal__target_user(greeting->target);
    const char *password = shoal__target_password(greeting->target);
    size_t bytes = FIXED_BYTES;

    if (user)
        bytes += 2 * strlen(user);
    if (password)
        bytes += 2 * strlen(password);
    if (greeting->config->client_name)
        bytes += strlen(greeting->config->client_name);
    return bytes;
}

void shoal__greeting_say(shoal__greeting_t *greeting, const shoal_command_t *command)
{
    size_t bytes = shoal__encoder_bytes(command);
    char *at = shoal__buffer_reserve(&greeting->outgoing, bytes);

    assert(bytes > 0 && at); /* bytes_max() was reserved */
    shoal__encoder_write(command, at);
    shoal__buffer_commit(&greeting->outgoing, bytes);
    greeting->answers_due += 1;
}

static void say_words(shoal__greeting_t *greeting, size_t argc, const char *const *argv)
{
    shoal__greeting_say(greeting, &(shoal_command_t){.argc = argc, .argv = argv});
}

static shoal__greeting_verdict_t say_hello(shoal__greeting_t *greeting)
{
    const char *user = shoal__target_user(greeting->target);
    const char *password = shoal__target_password(greeting->target);
    const char *const argv[] = {"HELLO", "3", "AUTH", user ? user : "default",
                                password};

    greeting->step = SHOAL__GREETING_AT_HELLO;
    say_words(greeting, password ? 5 : 2, argv);
    return SHOAL__GREETING_MORE;
}

static shoal__greeting_verdict_t say_auth_alone(shoal__greeting_t *greeting)
{
    const char *user = shoal__target_user(greeting->target);
    const char *password = shoal__target_password(greeting->target);

    if (user)
        say_words(greeting, 3, (const char *const[]){"AUTH", user, password});
    else
        say_words(greeting, 2, (const char *const[]){"AUTH", password});
    return SHOAL__GREETING_MORE;
}

/* RESP2: AUTH alone, then the rest. */
static shoal__greeting_verdict_t say_auth(shoal__greeting_t *greeting)
{
    if (!shoal__target_password(greeting->target))
        return shoal__greeting_say_setup(greeting);
    greeting->step = SHOAL__GREETING_AT_AUTH;
    return say_auth_alone(greeting);
}

/* Nothing was said and heard on this connection yet. */
static void begin(shoal__greeting_t *greeting, shoal__greeting_style_t style)
{
    wipe_outgoing(greeting);
    shoal__former_begin(&greeting->former);
    greeting->identity = (shoal__identity_t){0};
    greeting->may_echo = greeting->is_settled = false;
    greeting->role = SHOAL__ROLE_UNKNOWN;
    greeting->is_valkey = greeting->is_redis = greeting->may_redirect = false;
    greeting->mode = SHOAL__MODE_STANDALONE;
    greeting->style = style;
    greeting->answers_due = greeting->questions_count = greeting->killed = 0;
    greeting->protocol = 2;
    greeting->heard_anything = greeting->is_test_passed = false;
    greeting->status = 0;
    greeting->server_version[0] = '\0';
}

shoal__greeting_verdict_t shoal__greeting_start(shoal__greeting_t *greeting,
                                                shoal__greeting_style_t style,
                                                shoal__nonce_t *nonce)
{
    begin(greeting, style);
    if (greeting->config->integrity != SHOAL_INTEGRITY_SHAPES)
        shoal__nonce_write(nonce, greeting->nonce);
    if (!shoal__buffer_reserve(&greeting->outgoing, bytes_max(greeting)))
        return shoal__greeting_fail(greeting, SHOAL_ENOMEM, "out of memory");
    if (style == SHOAL__GREETING_FULL && greeting->config->protocol >= 3)
        return say_hello(greeting);
    return say_auth(greeting);
}

shoal__greeting_verdict_t shoal__greeting_succeed(shoal__greeting_t *greeting,
                                                  const shoal__greeting_t *next)
{
    begin(greeting, next->style);
    greeting->identity = next->identity;
    greeting->may_echo = next->may_echo;
    greeting->protocol = next->protocol;
    greeting->role = next->role;
    greeting->is_valkey = next->is_valkey;
    greeting->is_redis = next->is_redis;
    greeting->mode = next->mode;
    greeting->may_redirect = next->may_redirect;
    greeting->heard_anything = true;
    memcpy(greeting->server_version, next->server_version,
           sizeof greeting->server_version);
    if (!shoal__buffer_reserve(&greeting->outgoing, bytes_max(greeting)))
        return shoal__greeting_fail(greeting, SHOAL_ENOMEM, "out of memory");
    return shoal__greeting_say_ends(greeting);
}

shoal__greeting_verdict_t shoal__greeting_say_again(shoal__greeting_t *greeting)
{
    wipe_outgoing(greeting);
    greeting->is_refused = false;
    greeting->step = SHOAL__GREETING_AT_AUTH_AGAIN;
    if (!shoal__target_password(greeting->target))
        return SHOAL__GREETING_DONE;
    if (!shoal__buffer_reserve(&greeting->outgoing, bytes_max(greeting)))
        return shoal__greeting_fail(greeting, SHOAL_ENOMEM, "out of memory");
    return say_auth_alone(greeting);
}

void shoal__greeting_left_writes(shoal__greeting_t *greeting)
{
    if (!greeting->config->is_sentinel) /* its questions change nothing */
        shoal__former_add(&greeting->former, &greeting->identity);
}

/* --- listening --- */

static void note_version(shoal__greeting_t *greeting, shoal__bytes_t version)
{
    shoal__escape(greeting->server_version, sizeof greeting->server_version, version);
}

/* HELLO's answer: a map, or the same as a flat array. */
static bool note_server(shoal__greeting_t *greeting, const shoal_reply_t *reply)
{
    shoal_reply_type_t type = shoal_reply_type(reply);
    bool is_agreed = false;

    if (type != SHOAL_REPLY_MAP && type != SHOAL_REPLY_ARRAY)
        return false;
    for (size_t i = 0; i + 1 < shoal_reply_count(reply); i += 2) {
        shoal__bytes_t key = text_of(shoal_reply_at(reply, i));
        const shoal_reply_t *value = shoal_reply_at(reply, i + 1);

        if (shoal__bytes_is_word(key, "PROTO"))
            is_agreed = shoal_reply_type(value) == SHOAL_REPLY_INTEGER &&
                        shoal_reply_integer(value) == 3;
        else if (shoal__bytes_is_word(key, "VERSION"))
            note_version(greeting, text_of(value));
        else if (shoal__bytes_is_word(key, "MODE"))
            greeting->mode = shoal__mode_read(text_of(value));
        else if (shoal__bytes_is_word(key, "SERVER")) {
            greeting->is_valkey = shoal__bytes_is_word(text_of(value), "VALKEY");
            greeting->is_redis = shoal__bytes_is_word(text_of(value), "REDIS");
        }
    }
    return is_agreed;
}

/* clang-format off */
static const char *const hello_unknown[] = {
    "NOPROTO", "NOPERM", "ERR unknown command", "ERR wrong number",
    "ERR Syntax error in HELLO", NULL};
static const char *const hello_rejected[] = {
    "WRONGPASS", "NOAUTH", "ERR AUTH", "ERR invalid password", NULL};
static const char *const auth_rejected[] = {
    "WRONGPASS", "NOAUTH", "NOPERM", "ERR AUTH", "ERR invalid", "ERR Client sent AUTH",
    "ERR unknown command", "ERR wrong number", NULL};
/* clang-format on */

static shoal__greeting_verdict_t hear_hello(shoal__greeting_t *greeting,
                                            const shoal_reply_t *reply)
{
    if (shoal_reply_type(reply) != SHOAL_REPLY_ERROR) {
        if (!note_server(greeting, reply))
            return shoal__greeting_fail_with_shape(greeting, "HELLO");
        greeting->protocol = 3;
        return shoal__greeting_say_setup(greeting);
    }

    shoal__bytes_t text = text_of(reply);
    if (starts_with_any(text, hello_unknown))
        return say_auth(greeting);
    if (starts_with_any(text, hello_rejected))
        return shoal__greeting_fail_unauthenticated(greeting, "HELLO", reply);
    return shoal__greeting_fail_with_answer(greeting, SHOAL_ECONN, "HELLO", reply);
}

static bool is_ok(const shoal_reply_t *reply)
{
    return shoal_reply_type(reply) == SHOAL_REPLY_STATUS &&
           shoal__bytes_equal(text_of(reply), (shoal__bytes_t){"OK", 2});
}

static shoal__greeting_verdict_t hear_auth(shoal__greeting_t *greeting,
                                           const shoal_reply_t *reply)
{
    if (is_ok(reply))
        return shoal__greeting_say_setup(greeting);
    if (shoal_reply_type(reply) != SHOAL_REPLY_ERROR)
        return shoal__greeting_fail_with_shape(greeting, "AUTH");

    bool is_rejected = starts_with_any(text_of(reply), auth_rejected);
    return shoal__greeting_fail_with_answer(
        greeting, is_rejected ? SHOAL_EAUTH : SHOAL_ECONN, "AUTH", reply);
}

/* The server goes on with the former user if it refuses. */
static shoal__greeting_verdict_t hear_auth_again(shoal__greeting_t *greeting,
                                                 const shoal_reply_t *reply)
{
    if (shoal_reply_type(reply) == SHOAL_REPLY_ERROR)
        greeting->is_refused = true;
    else if (!is_ok(reply))
        return shoal__greeting_fail_with_shape(greeting, "AUTH");
    return SHOAL__GREETING_DONE;
}

/* Some servers say why they will not talk as soon as they accept: "ERR max number of
 * clients reached". */
static shoal__greeting_verdict_t answered_too_soon(shoal__greeting_t *greeting,
                                                   const shoal_reply_t *reply)
{
    if (shoal_reply_type(reply) == SHOAL_REPLY_ERROR)
        return shoal__greeting_fail_with_answer(greeting, SHOAL_EDESYNC,
                                                "the server said", reply);
    return shoal__greeting_fail(greeting, SHOAL_EDESYNC,
                                "the server answered before it was asked");
}

shoal__greeting_verdict_t shoal__greeting_reply(shoal__greeting_t *greeting,
                                                const shoal_reply_t *reply)
{
    greeting->heard_anything = true;
    if (greeting->answers_due == 0)
        return shoal__greeting_fail(greeting, SHOAL_EDESYNC,
                                    "the server answered nothing that was said");
    greeting->answers_due -= 1;
    if (greeting->answers_due == 0 && shoal__buffer_bytes(&greeting->outgoing) > 0)
        return answered_too_soon(greeting, reply);

    if (greeting->step == SHOAL__GREETING_AT_HELLO)
        return hear_hello(greeting, reply);
    if (greeting->step == SHOAL__GREETING_AT_AUTH)
        return hear_auth(greeting, reply);
    if (greeting->step == SHOAL__GREETING_AT_AUTH_AGAIN)
        return hear_auth_again(greeting, reply);
    return shoal__greeting_hear_setup(greeting, reply);
}
