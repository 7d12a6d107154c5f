/* SPDX-License-Identifier: MIT */
#include "core/greeting.h"

#include "base/alloc.h"
#include "base/escape.h"
#include "base/mutant.h"
#include "core/fence_rule.h"
#include "resp/encoder.h"

#include <assert.h>
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

enum step { STEP_SILENT, STEP_HELLO, STEP_AUTH, STEP_SETUP, STEP_ENDS, STEP_OVER };

/* Of the last step, in which many are asked at once. */
enum question {
    ASK_KILL, /* zero or more, first of all */
    ASK_SELECT,
    ASK_CLIENT, /* SETNAME, SETINFO */
    ASK_IDENTITY,
    ASK_PROCESS,
    ASK_ECHO,
    ASK_PING
};

/* Room for every word of a greeting but the texts of the configuration. */
#define FIXED_BYTES 4096

/* Of the server's own words in `detail`. */
#define SERVER_TEXT_BYTES_MAX 200

void shoal__greeting_init(shoal__greeting_t *greeting,
                          const shoal__greeting_config_t *config)
{
    *greeting = (shoal__greeting_t){.config = config, .protocol = 2};
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
}

void shoal__greeting_written(shoal__greeting_t *greeting, size_t bytes)
{
    shoal__wipe(shoal__buffer_data(&greeting->outgoing), bytes);
    shoal__buffer_consume(&greeting->outgoing, bytes);
}

/* --- failing --- */

static shoal__greeting_verdict_t fail(shoal__greeting_t *greeting, int status,
                                      const char *text)
{
    greeting->step = STEP_OVER;
    greeting->status = status;
    snprintf(greeting->detail, sizeof greeting->detail, "%s", text);
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
    const char *password = greeting->config->password;
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

static shoal__greeting_verdict_t fail_with_answer(shoal__greeting_t *greeting,
                                                  int status, const char *command,
                                                  const shoal_reply_t *reply)
{
    shoal__bytes_t text = text_of(reply);
    char words[SERVER_TEXT_BYTES_MAX + 1];

    if (shoal__greeting_may_hold_password(greeting, text))
        snprintf(words, sizeof words, "refused, in words that may repeat the password");
    else
        shoal__escape(words, sizeof words, text);

    char line[sizeof greeting->detail];
    snprintf(line, sizeof line, "%s: %s", command, words);
    return fail(greeting, status, line);
}

static shoal__greeting_verdict_t fail_with_shape(shoal__greeting_t *greeting,
                                                 const char *command)
{
    char line[sizeof greeting->detail];
    snprintf(line, sizeof line, "%s: the answer has an unexpected shape", command);
    return fail(greeting, SHOAL_EDESYNC, line);
}

static bool starts_with_any(shoal__bytes_t text, const char *const *prefixes)
{
    for (; *prefixes; prefixes++)
        if (shoal__bytes_start(text, *prefixes))
            return true;
    return false;
}

/* An error that is not about the one command that it answers. */
static bool is_turned_away(shoal__bytes_t text)
{
    static const char *const prefixes[] = {"ERR max number of clients", "DENIED", NULL};
    return starts_with_any(text, prefixes);
}

static shoal__greeting_verdict_t fail_unauthenticated(shoal__greeting_t *greeting,
                                                      const char *command,
                                                      const shoal_reply_t *reply)
{
    if (!greeting->config->password)
        return fail(greeting, SHOAL_EAUTH, "the server asks for credentials");
    return fail_with_answer(greeting, SHOAL_EAUTH, command, reply);
}

/* --- speaking --- */

/* The most that one greeting can need, so that the buffer never grows, which would
 * leave a copy of the password in freed memory. */
static size_t bytes_max(const shoal__greeting_config_t *config)
{
    size_t bytes = FIXED_BYTES;

    if (config->user)
        bytes += 2 * strlen(config->user);
    if (config->password)
        bytes += 2 * strlen(config->password);
    if (config->client_name)
        bytes += strlen(config->client_name);
    return bytes;
}

static void say(shoal__greeting_t *greeting, const shoal_command_t *command)
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
    say(greeting, &(shoal_command_t){.argc = argc, .argv = argv});
}

static shoal__greeting_verdict_t say_hello(shoal__greeting_t *greeting)
{
    const shoal__greeting_config_t *config = greeting->config;
    const char *const argv[] = {"HELLO", "3", "AUTH",
                                config->user ? config->user : "default",
                                config->password};

    greeting->step = STEP_HELLO;
    say_words(greeting, config->password ? 5 : 2, argv);
    return SHOAL__GREETING_MORE;
}

static void ask(shoal__greeting_t *greeting, enum question question, size_t argc,
                const char *const *argv, const size_t *argvlen)
{
    const shoal_command_t command = {.argc = argc, .argv = argv, .argvlen = argvlen};

    assert(greeting->questions_count < SHOAL__GREETING_QUESTIONS_MAX);
    greeting->questions[greeting->questions_count++] = (uint8_t)question;
    say(greeting, &command);
}
#define ASK(greeting, question, ...)                                                   \
    ask(greeting, question,                                                            \
        sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *),                   \
        (const char *const[]){__VA_ARGS__}, NULL)

/* False: nothing to ask. */
static bool ask_for_ends(shoal__greeting_t *greeting)
{
    greeting->step = STEP_ENDS;
    greeting->questions_count = 0;
    for (unsigned i = 0; i < greeting->former.count; i++) {
        const shoal__identity_t *identity = &greeting->former.entries[i].identity;
        char id[24];

        if (!shoal__former_may_be_on(&greeting->former, i, greeting->identity.process))
            continue;
        if (SHOAL__MUTANT(SETTLED_WITHOUT_KILL)) {
            shoal__former_answer(&greeting->former, i, 1);
            continue;
        }
        greeting->asked[greeting->questions_count] = (uint8_t)i;
        snprintf(id, sizeof id, "%lld", (long long)identity->id);
        ASK(greeting, ASK_KILL, "CLIENT", "KILL", "ID", id, "ADDR", identity->address,
            "SKIPME", "yes");
    }
    return greeting->questions_count > 0;
}

static void ask_client(shoal__greeting_t *greeting)
{
    const shoal__greeting_config_t *config = greeting->config;

    if (config->client_name)
        ASK(greeting, ASK_CLIENT, "CLIENT", "SETNAME", config->client_name);
    ASK(greeting, ASK_CLIENT, "CLIENT", "SETINFO", "LIB-NAME", "shoal");
    ASK(greeting, ASK_CLIENT, "CLIENT", "SETINFO", "LIB-VER", SHOAL_VERSION_STRING);
    if (config->is_settling) {
        ASK(greeting, ASK_IDENTITY, "CLIENT", "INFO");
        ASK(greeting, ASK_PROCESS, "INFO", "server");
    }
}

static shoal__greeting_verdict_t setup_done(shoal__greeting_t *greeting)
{
    greeting->step = STEP_OVER;
    greeting->is_settled =
        shoal__former_conclude(&greeting->former, greeting->identity.process);
    return SHOAL__GREETING_DONE;
}

static shoal__greeting_verdict_t say_setup(shoal__greeting_t *greeting)
{
    const shoal__greeting_config_t *config = greeting->config;
    bool is_full = greeting->style == SHOAL__GREETING_FULL;

    greeting->step = STEP_SETUP;
    if (config->database != 0 &&
        !(SHOAL__MUTANT(NO_RESELECT) && greeting->protocol == 3)) {
        char number[16];
        snprintf(number, sizeof number, "%d", config->database);
        ASK(greeting, ASK_SELECT, "SELECT", number);
    }
    if (is_full)
        ask_client(greeting);
    if (config->integrity == SHOAL_INTEGRITY_STRICT ||
        (is_full && config->integrity == SHOAL_INTEGRITY_DETECT))
        ask(greeting, ASK_ECHO, 2, (const char *const[]){"ECHO", greeting->nonce},
            (const size_t[]){4, SHOAL__NONCE_BYTES});
    /* A server that has not said a word may not be one. */
    if (greeting->answers_due == 0 && !greeting->heard_anything)
        ASK(greeting, ASK_PING, "PING");
    return greeting->answers_due > 0 ? SHOAL__GREETING_MORE : setup_done(greeting);
}

/* RESP2: AUTH alone, then the rest. */
static shoal__greeting_verdict_t say_auth(shoal__greeting_t *greeting)
{
    const shoal__greeting_config_t *config = greeting->config;

    if (!config->password)
        return say_setup(greeting);

    greeting->step = STEP_AUTH;
    if (config->user)
        say_words(greeting, 3,
                  (const char *const[]){"AUTH", config->user, config->password});
    else
        say_words(greeting, 2, (const char *const[]){"AUTH", config->password});
    return SHOAL__GREETING_MORE;
}

shoal__greeting_verdict_t shoal__greeting_start(shoal__greeting_t *greeting,
                                                shoal__greeting_style_t style,
                                                shoal__nonce_t *nonce)
{
    wipe_outgoing(greeting);
    shoal__former_begin(&greeting->former);
    if (greeting->config->integrity != SHOAL_INTEGRITY_SHAPES)
        shoal__nonce_write(nonce, greeting->nonce);
    greeting->identity = (shoal__identity_t){0};
    greeting->may_echo = greeting->is_settled = false;
    greeting->style = style;
    greeting->answers_due = greeting->questions_count = greeting->killed = 0;
    greeting->protocol = 2;
    greeting->heard_anything = false;
    greeting->status = 0;
    greeting->detail[0] = '\0';
    greeting->server_version[0] = '\0';

    if (!shoal__buffer_reserve(&greeting->outgoing, bytes_max(greeting->config)))
        return fail(greeting, SHOAL_ENOMEM, "out of memory");
    if (style == SHOAL__GREETING_FULL && greeting->config->protocol >= 3)
        return say_hello(greeting);
    return say_auth(greeting);
}

void shoal__greeting_left_writes(shoal__greeting_t *greeting)
{
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
            return fail_with_shape(greeting, "HELLO");
        greeting->protocol = 3;
        return say_setup(greeting);
    }

    shoal__bytes_t text = text_of(reply);
    if (starts_with_any(text, hello_unknown))
        return say_auth(greeting);
    if (starts_with_any(text, hello_rejected))
        return fail_unauthenticated(greeting, "HELLO", reply);
    return fail_with_answer(greeting, SHOAL_ECONN, "HELLO", reply);
}

static bool is_status(const shoal_reply_t *reply, const char *word)
{
    return shoal_reply_type(reply) == SHOAL_REPLY_STATUS &&
           shoal__bytes_equal(text_of(reply), (shoal__bytes_t){word, strlen(word)});
}

static bool is_ok(const shoal_reply_t *reply)
{
    return is_status(reply, "OK");
}

static shoal__greeting_verdict_t hear_auth(shoal__greeting_t *greeting,
                                           const shoal_reply_t *reply)
{
    if (is_ok(reply))
        return say_setup(greeting);
    if (shoal_reply_type(reply) != SHOAL_REPLY_ERROR)
        return fail_with_shape(greeting, "AUTH");

    bool is_rejected = starts_with_any(text_of(reply), auth_rejected);
    return fail_with_answer(greeting, is_rejected ? SHOAL_EAUTH : SHOAL_ECONN, "AUTH",
                            reply);
}

static shoal__greeting_verdict_t go_on(shoal__greeting_t *greeting)
{
    bool is_settling = greeting->style == SHOAL__GREETING_FULL &&
                       greeting->config->is_settling && greeting->step == STEP_SETUP;

    if (SHOAL__MUTANT(SETINFO_NOT_AWAITED))
        return setup_done(greeting);
    if (greeting->answers_due > 0 || (is_settling && ask_for_ends(greeting)))
        return SHOAL__GREETING_MORE;
    return setup_done(greeting);
}

static const char *name_of(enum question question)
{
    switch (question) {
    case ASK_SELECT:
        return "SELECT";
    case ASK_PROCESS:
        return "INFO";
    case ASK_ECHO:
        return "ECHO";
    case ASK_PING:
        return "PING";
    case ASK_KILL:
    case ASK_CLIENT:
    case ASK_IDENTITY:
        break;
    }
    return "CLIENT";
}

/* SELECT must succeed, and ECHO where every batch needs it; the answers to the others
 * must come, whatever they are. */
static shoal__greeting_verdict_t hear_setup_error(shoal__greeting_t *greeting,
                                                  enum question question,
                                                  const shoal_reply_t *reply)
{
    shoal__bytes_t text = text_of(reply);
    const char *command = name_of(question);
    bool is_needed =
        question == ASK_SELECT ||
        (question == ASK_ECHO && greeting->config->integrity == SHOAL_INTEGRITY_STRICT);

    if (shoal__bytes_start(text, "NOAUTH"))
        return fail_unauthenticated(greeting, command, reply);
    if (is_needed || is_turned_away(text))
        return fail_with_answer(greeting, SHOAL_ECONN, command, reply);
    if (question == ASK_ECHO) /* "not now" is not "never" */
        greeting->may_echo =
            shoal__fence_is_unclear(text) && !shoal__fence_is_forbidden(text);
    if (question == ASK_KILL)
        shoal__former_answer(&greeting->former, greeting->asked[greeting->killed++],
                             -1);
    return go_on(greeting);
}

/* Take in what the answer says.  False: it is no answer to this question. */
static bool hear_setup_answer(shoal__greeting_t *greeting, enum question question,
                              const shoal_reply_t *reply)
{
    shoal_reply_type_t type = shoal_reply_type(reply);
    bool is_text = type == SHOAL_REPLY_STRING || type == SHOAL_REPLY_VERBATIM;
    shoal__bytes_t text = text_of(reply);

    switch (question) {
    case ASK_KILL:
        if (type != SHOAL_REPLY_INTEGER || shoal_reply_integer(reply) < 0)
            return false;
        shoal__former_answer(&greeting->former, greeting->asked[greeting->killed++],
                             shoal_reply_integer(reply));
        return true;
    case ASK_IDENTITY:
        if (is_text)
            shoal__identity_read(&greeting->identity, text.data, text.bytes);
        return is_text ||
               type == SHOAL_REPLY_STATUS; /* some proxies say OK to CLIENT */
    case ASK_PROCESS:
        if (is_text)
            shoal__identity_read_process(&greeting->identity, text.data, text.bytes);
        return is_text || type == SHOAL_REPLY_STATUS;
    case ASK_ECHO:
        greeting->may_echo =
            type == SHOAL_REPLY_STRING &&
            shoal__bytes_equal(text,
                               (shoal__bytes_t){greeting->nonce, SHOAL__NONCE_BYTES});
        return greeting->may_echo;
    case ASK_PING:
        return is_status(reply, "PONG");
    case ASK_SELECT:
    case ASK_CLIENT:
        break;
    }
    return is_ok(reply);
}

static shoal__greeting_verdict_t hear_setup(shoal__greeting_t *greeting,
                                            const shoal_reply_t *reply)
{
    unsigned index = greeting->questions_count - greeting->answers_due - 1;
    enum question question = (enum question)greeting->questions[index];

    if (shoal_reply_type(reply) == SHOAL_REPLY_ERROR)
        return hear_setup_error(greeting, question, reply);
    if (!hear_setup_answer(greeting, question, reply))
        return fail_with_shape(greeting, name_of(question));
    return go_on(greeting);
}

shoal__greeting_verdict_t shoal__greeting_reply(shoal__greeting_t *greeting,
                                                const shoal_reply_t *reply)
{
    greeting->heard_anything = true;
    if (greeting->answers_due == 0)
        return fail(greeting, SHOAL_EDESYNC,
                    "the server answered nothing that was said");
    greeting->answers_due -= 1;
    if (greeting->answers_due == 0 && shoal__buffer_bytes(&greeting->outgoing) > 0)
        return fail(greeting, SHOAL_EDESYNC, "the server answered before it was asked");

    if (greeting->step == STEP_HELLO)
        return hear_hello(greeting, reply);
    if (greeting->step == STEP_AUTH)
        return hear_auth(greeting, reply);
    return hear_setup(greeting, reply);
}
