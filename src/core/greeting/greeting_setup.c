/* SPDX-License-Identifier: MIT */

/* The questions of a greeting behind HELLO and AUTH, asked in one write, and those that
 * end former connections, in another; and what the answers mean. */

#include "core/fence/fence_rule.h"
#include "core/greeting/greeting.h"

#include <assert.h>
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

/* Several questions are asked at once. */
enum question {
    ASK_KILL, /* in the step AT_ENDS; all others in AT_SETUP */
    ASK_SELECT,
    ASK_CLIENT, /* SETNAME, SETINFO */
    ASK_CAPA,
    ASK_IDENTITY,
    ASK_PROCESS,
    ASK_ECHO,
    ASK_ROLE,
    ASK_EVENTS, /* SUBSCRIBE */
    ASK_PING
};

static shoal__bytes_t text_of(const shoal_reply_t *reply)
{
    size_t bytes = 0;
    const char *data = shoal_reply_string(reply, &bytes);
    return (shoal__bytes_t){data, data ? bytes : 0};
}

static bool is_status(const shoal_reply_t *reply, const char *word)
{
    return shoal_reply_type(reply) == SHOAL_REPLY_STATUS &&
           shoal__bytes_equal(text_of(reply), (shoal__bytes_t){word, strlen(word)});
}

/* An error that is not about the one command that it answers. */
static bool is_turned_away(shoal__bytes_t text)
{
    return shoal__bytes_start(text, "ERR max number of clients") ||
           shoal__bytes_start(text, "DENIED");
}

/* --- asking --- */

static void ask(shoal__greeting_t *greeting, enum question question, size_t argc,
                const char *const *argv, const size_t *argvlen)
{
    const shoal_command_t command = {.argc = argc, .argv = argv, .argvlen = argvlen};

    assert(greeting->questions_count < SHOAL__GREETING_QUESTIONS_MAX);
    greeting->questions[greeting->questions_count++] = (uint8_t)question;
    shoal__greeting_say(greeting, &command);
}
#define ASK(greeting, question, ...)                                                   \
    ask(greeting, question,                                                            \
        sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *),                   \
        (const char *const[]){__VA_ARGS__}, NULL)

/* False: nothing to ask. */
static bool ask_for_ends(shoal__greeting_t *greeting)
{
    greeting->step = SHOAL__GREETING_AT_ENDS;
    greeting->questions_count = 0;
    for (unsigned i = 0; i < greeting->former.count; i++) {
        const shoal__identity_t *identity = &greeting->former.entries[i].identity;
        char id[24];

        if (!shoal__former_may_be_ended(&greeting->former, i,
                                        greeting->identity.process))
            continue;
        greeting->asked[greeting->questions_count] = (uint8_t)i;
        snprintf(id, sizeof id, "%lld", (long long)identity->id);
        ASK(greeting, ASK_KILL, "CLIENT", "KILL", "ID", id, "ADDR", identity->address,
            "SKIPME", "yes");
    }
    return greeting->questions_count > 0;
}

/* The server is to say where commands are better off. */
static void ask_for_hints(shoal__greeting_t *greeting)
{
    if (greeting->is_valkey)
        ASK(greeting, ASK_CAPA, "CLIENT", "CAPA", "redirect");
    if (greeting->is_redis && greeting->config->hears_notices &&
        greeting->endpoint_type)
        ASK(greeting, ASK_CLIENT, "CLIENT", "MAINT_NOTIFICATIONS", "ON",
            "moving-endpoint-type", greeting->endpoint_type);
}

static void ask_client(shoal__greeting_t *greeting)
{
    const shoal__greeting_config_t *config = greeting->config;

    if (config->client_name)
        ASK(greeting, ASK_CLIENT, "CLIENT", "SETNAME", config->client_name);
    ASK(greeting, ASK_CLIENT, "CLIENT", "SETINFO", "LIB-NAME", "shoal");
    ASK(greeting, ASK_CLIENT, "CLIENT", "SETINFO", "LIB-VER", SHOAL_VERSION_STRING);
    /* A finder knows better, and a replica would send each read away. */
    if (!greeting->target->finder && !greeting->target->is_replica)
        ask_for_hints(greeting);
    if (config->is_settling)
        ASK(greeting, ASK_IDENTITY, "CLIENT", "INFO");
    if (config->is_settling || (config->finds_mode && greeting->protocol < 3))
        ASK(greeting, ASK_PROCESS, "INFO", "server");
}

static bool is_refused_sentinel(const shoal__greeting_t *greeting)
{
    return greeting->config->finds_mode && greeting->mode == SHOAL__MODE_SENTINEL;
}

static shoal__greeting_verdict_t refuse_sentinel(shoal__greeting_t *greeting)
{
    return shoal__greeting_fail(greeting, SHOAL_ECONN,
                                shoal__mode_advice(SHOAL__MODE_SENTINEL));
}

static shoal__greeting_verdict_t setup_done(shoal__greeting_t *greeting)
{
    if (greeting->style == SHOAL__GREETING_TEST) {
        greeting->is_test_passed = true;
        return shoal__greeting_fail(greeting, SHOAL_ECONN,
                                    "it hung up on HELLO: asking once more");
    }
    if (is_refused_sentinel(greeting)) /* as INFO says */
        return refuse_sentinel(greeting);
    greeting->step = SHOAL__GREETING_AT_OVER;
    greeting->is_settled =
        shoal__former_conclude(&greeting->former, greeting->identity.process);
    return SHOAL__GREETING_DONE;
}

shoal__greeting_verdict_t shoal__greeting_say_setup(shoal__greeting_t *greeting)
{
    const shoal__greeting_config_t *config = greeting->config;
    bool is_full = greeting->style == SHOAL__GREETING_FULL;

    greeting->step = SHOAL__GREETING_AT_SETUP;
    if (is_refused_sentinel(greeting))
        return refuse_sentinel(greeting);
    if (config->database != 0) {
        char number[16];
        snprintf(number, sizeof number, "%d", config->database);
        ASK(greeting, ASK_SELECT, "SELECT", number);
    }
    if (is_full)
        ask_client(greeting);
    if (shoal__greeting_is_strict(config) ||
        (is_full && config->integrity == SHOAL_INTEGRITY_DETECT))
        ask(greeting, ASK_ECHO, 2, (const char *const[]){"ECHO", greeting->nonce},
            (const size_t[]){4, SHOAL__NONCE_BYTES});
    if (config->needs_primary || (is_full && shoal__target_asks_role(greeting->target)))
        ASK(greeting, ASK_ROLE, "ROLE");
    if (config->is_sentinel && greeting->protocol >= 3)
        ASK(greeting, ASK_EVENTS, "SUBSCRIBE", "+switch-master");
    /* A peer that has not answered anything may not be a server. */
    if (greeting->answers_due == 0 && !greeting->heard_anything)
        ASK(greeting, ASK_PING, "PING");
    return greeting->answers_due > 0 ? SHOAL__GREETING_MORE : setup_done(greeting);
}

/* --- hearing --- */

shoal__greeting_verdict_t shoal__greeting_say_ends(shoal__greeting_t *greeting)
{
    bool is_settling =
        greeting->style == SHOAL__GREETING_FULL && greeting->config->is_settling;

    return is_settling && ask_for_ends(greeting) ? SHOAL__GREETING_MORE
                                                 : setup_done(greeting);
}

static shoal__greeting_verdict_t go_on(shoal__greeting_t *greeting)
{
    if (greeting->answers_due > 0)
        return SHOAL__GREETING_MORE;
    return greeting->step == SHOAL__GREETING_AT_SETUP
               ? shoal__greeting_say_ends(greeting)
               : setup_done(greeting);
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
    case ASK_ROLE:
        return "ROLE";
    case ASK_EVENTS:
        return "SUBSCRIBE";
    case ASK_PING:
        return "PING";
    case ASK_KILL:
    case ASK_CLIENT:
    case ASK_CAPA:
    case ASK_IDENTITY:
        break;
    }
    return "CLIENT";
}

/* SELECT must succeed; with STRICT ECHO must, and ROLE if a primary is needed.  The others
 * may be answered with errors. */
static shoal__greeting_verdict_t hear_setup_error(shoal__greeting_t *greeting,
                                                  enum question question,
                                                  const shoal_reply_t *reply)
{
    shoal__bytes_t text = text_of(reply);
    const char *command = name_of(question);
    bool is_needed =
        question == ASK_SELECT ||
        (question == ASK_ROLE && greeting->config->needs_primary) ||
        (question == ASK_ECHO && shoal__greeting_is_strict(greeting->config));

    if (shoal__bytes_start(text, "NOAUTH"))
        return shoal__greeting_fail_unauthenticated(greeting, command, reply);
    if (is_needed || is_turned_away(text))
        return shoal__greeting_fail_with_answer(greeting, SHOAL_ECONN, command, reply);
    if (question == ASK_ECHO) /* "not now" is not "never" */
        greeting->may_echo =
            shoal__fence_is_unclear(text) && !shoal__fence_is_forbidden(text);
    if (question == ASK_KILL)
        shoal__former_answer(&greeting->former, greeting->asked[greeting->killed++],
                             -1);
    return go_on(greeting);
}

bool shoal__greeting_awaits_push(const shoal__greeting_t *greeting,
                                 const shoal_reply_t *push)
{
    static const char word[] = "subscribe";

    return greeting->step == SHOAL__GREETING_AT_SETUP && greeting->answers_due > 0 &&
           greeting->questions[greeting->questions_count - greeting->answers_due] ==
               ASK_EVENTS &&
           shoal__bytes_equal(text_of(shoal_reply_at(push, 0)),
                              (shoal__bytes_t){word, sizeof word - 1});
}

/* Take in an answer that is no error.  False: it is no answer to this question. */
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
        if (is_text) {
            shoal__identity_read_process(&greeting->identity, text.data, text.bytes);
            greeting->mode = shoal__mode_read_info(text, greeting->mode);
        }
        return is_text || type == SHOAL_REPLY_STATUS;
    case ASK_ECHO:
        greeting->may_echo =
            type == SHOAL_REPLY_STRING &&
            shoal__bytes_equal(text,
                               (shoal__bytes_t){greeting->nonce, SHOAL__NONCE_BYTES});
        return greeting->may_echo;
    case ASK_CAPA:
        greeting->may_redirect = is_status(reply, "OK");
        return greeting->may_redirect;
    case ASK_ROLE: /* some proxies answer something else */
        greeting->role = shoal__role_read(reply);
        return true;
    case ASK_PING:
        return is_status(reply, "PONG");
    case ASK_EVENTS: /* it came as a push */
        return type == SHOAL_REPLY_PUSH;
    case ASK_SELECT:
    case ASK_CLIENT:
        break;
    }
    return is_status(reply, "OK");
}

shoal__greeting_verdict_t shoal__greeting_hear_setup(shoal__greeting_t *greeting,
                                                     const shoal_reply_t *reply)
{
    unsigned index = greeting->questions_count - greeting->answers_due - 1;
    enum question question = (enum question)greeting->questions[index];

    if (shoal_reply_type(reply) == SHOAL_REPLY_ERROR)
        return hear_setup_error(greeting, question, reply);
    if (!hear_setup_answer(greeting, question, reply))
        return shoal__greeting_fail_with_shape(greeting, name_of(question));
    if (question == ASK_ROLE && greeting->config->needs_primary &&
        greeting->role != SHOAL__ROLE_PRIMARY)
        return shoal__greeting_fail(greeting, SHOAL_ECONN,
                                    greeting->role == SHOAL__ROLE_REPLICA
                                        ? "ROLE: the server is a replica, no primary"
                                        : "ROLE: the answer is not that of a primary");
    if (!shoal__target_accepts(greeting->target, greeting->role))
        return shoal__greeting_fail(greeting, SHOAL_ECONN,
                                    "ROLE: a replica, and the primary may have another "
                                    "of the addresses");
    return go_on(greeting);
}
