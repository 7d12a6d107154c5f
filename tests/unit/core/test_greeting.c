/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <shoal/errors.h>

#include "base/alloc.h"
#include "core/greeting.h"
#include "resp/reply.h"

#define MORE SHOAL__GREETING_MORE
#define DONE SHOAL__GREETING_DONE
#define FAILED SHOAL__GREETING_FAILED
#define FULL SHOAL__GREETING_FULL
#define BARE SHOAL__GREETING_BARE

#define SECRET "s3cret-p4ssword"
#define SETINFO                                                                        \
    "CLIENT SETINFO LIB-NAME shoal|CLIENT SETINFO LIB-VER " SHOAL_VERSION_STRING

/* --- replies by hand --- */

static shoal_reply_t text_reply(shoal_reply_type_t type, const char *text)
{
    shoal_reply_t reply = {.type = (uint8_t)type};
    reply.as.text.data = text;
    reply.as.text.bytes = strlen(text);
    return reply;
}

static shoal_reply_t integer_reply(int64_t integer)
{
    shoal_reply_t reply = {.type = SHOAL_REPLY_INTEGER};
    reply.as.integer = integer;
    return reply;
}

/* HELLO's answer with these keys; `type` is MAP or ARRAY. */
static shoal_reply_t server_reply(shoal_reply_type_t type, int64_t protocol)
{
    static shoal_reply_t items[8];
    shoal_reply_t reply = {.type = (uint8_t)type};

    items[0] = text_reply(SHOAL_REPLY_STRING, "server");
    items[1] = text_reply(SHOAL_REPLY_STRING, "redis");
    items[2] = text_reply(SHOAL_REPLY_STRING, "version");
    items[3] = text_reply(SHOAL_REPLY_STRING, "7.0.15");
    items[4] = text_reply(SHOAL_REPLY_STRING, "proto");
    items[5] = integer_reply(protocol);
    items[6] = text_reply(SHOAL_REPLY_STRING, "id");
    items[7] = integer_reply(42);
    reply.as.children.items = items;
    reply.as.children.count = reply.as.children.capacity = 8;
    return reply;
}

/* A script's reply: "+text", "-text", "%proto" a map, "*proto" an array, ":n", "_". */
static shoal_reply_t reply_of(const char *text)
{
    switch (*text) {
    case '+':
        return text_reply(SHOAL_REPLY_STATUS, text + 1);
    case '-':
        return text_reply(SHOAL_REPLY_ERROR, text + 1);
    case '%':
        return server_reply(SHOAL_REPLY_MAP, text[1] - '0');
    case '*':
        return server_reply(SHOAL_REPLY_ARRAY, text[1] - '0');
    case ':':
        return integer_reply(text[1] - '0');
    default:
        return (shoal_reply_t){.type = SHOAL_REPLY_NIL};
    }
}

/* What is to be written, as words with blanks, commands separated by '|'. */
static void spell(const shoal__greeting_t *greeting, char *words, size_t words_bytes)
{
    const char *at = greeting->outgoing.memory + greeting->outgoing.head;
    const char *end = greeting->outgoing.memory + greeting->outgoing.tail;
    size_t used = 0;

    while (at < end) {
        int argc, bytes, skipped;
        assert_int_equal(sscanf(at, "*%d\r\n%n", &argc, &skipped), 1);
        at += skipped;
        used += (size_t)snprintf(words + used, words_bytes - used, used ? "|" : "");
        for (int i = 0; i < argc; i++) {
            assert_int_equal(sscanf(at, "$%d\r\n%n", &bytes, &skipped), 1);
            at += skipped;
            used += (size_t)snprintf(words + used, words_bytes - used, "%s%.*s",
                                     i ? " " : "", bytes, at);
            at += bytes + 2;
        }
    }
    words[used] = '\0';
}

/* --- scripts --- */

#define EXCHANGES_MAX 4
#define SHAPE "the answer has an unexpected shape"
#define HIDDEN "refused, in words that may repeat the password"

/* clang-format off */
static const struct script {
    const char *name;
    shoal__greeting_style_t style;
    shoal__greeting_config_t config;
    struct {
        const char *says;     /* what is written, then ... */
        const char *hears[5]; /* ... the answers, in order */
    } exchanges[EXCHANGES_MAX];
    shoal__greeting_verdict_t verdict; /* of the last answer */
    int protocol;                      /* after DONE */
    int status;                        /* after FAILED */
    const char *detail;                /* after FAILED: all of it */
} scripts[] = {
    {"RESP3, nothing configured", FULL, {.protocol = 3},
     {{"HELLO 3", {"%3"}}, {SETINFO, {"+OK", "+OK"}}}, DONE, 3, 0, NULL},
    {"HELLO answered as an array", FULL, {.protocol = 3},
     {{"HELLO 3", {"*3"}}, {SETINFO, {"+OK", "+OK"}}}, DONE, 3, 0, NULL},
    {"RESP3, everything configured", FULL, {3, "ann", SECRET, 5, "me", 0, false},
     {{"HELLO 3 AUTH ann " SECRET, {"%3"}},
      {"SELECT 5|CLIENT SETNAME me|" SETINFO, {"+OK", "+OK", "+OK", "+OK"}}},
     DONE, 3, 0, NULL},
    {"password only: the default user", FULL, {.protocol = 3, .password = SECRET},
     {{"HELLO 3 AUTH default " SECRET, {"%3"}}, {SETINFO, {"+OK", "+OK"}}},
     DONE, 3, 0, NULL},
    {"RESP2", FULL, {.protocol = 2}, {{SETINFO, {"+OK", "+OK"}}}, DONE, 2, 0, NULL},
    {"RESP2 with credentials", FULL, {2, .user = "ann", .password = SECRET},
     {{"AUTH ann " SECRET, {"+OK"}}, {SETINFO, {"+OK", "+OK"}}}, DONE, 2, 0, NULL},
    {"bare, nothing to say", BARE, {.protocol = 3, .client_name = "me"},
     {{"PING", {"+PONG"}}}, DONE, 2, 0, NULL},
    {"bare, PING refused", BARE, {.protocol = 3},
     {{"PING", {"-ERR unknown command"}}}, DONE, 2, 0, NULL},
    {"bare, credentials asked for", BARE, {.protocol = 3},
     {{"PING", {"-NOAUTH Authentication required."}}},
     FAILED, 0, SHOAL_EAUTH, "the server asks for credentials"},
    {"bare, with credentials and database", BARE,
     {.protocol = 3, .password = SECRET, .database = 1, .client_name = "me"},
     {{"AUTH " SECRET, {"+OK"}}, {"SELECT 1", {"+OK"}}}, DONE, 2, 0, NULL},
    {"the largest database", BARE, {.protocol = 2, .database = INT32_MAX},
     {{"SELECT 2147483647", {"+OK"}}}, DONE, 2, 0, NULL},

    /* falling back */
    {"HELLO unknown", FULL, {.protocol = 3},
     {{"HELLO 3", {"-ERR unknown command 'HELLO'"}}, {SETINFO, {"-ERR", "-ERR"}}},
     DONE, 2, 0, NULL},
    {"HELLO unknown, with credentials", FULL, {.protocol = 3, .password = SECRET},
     {{"HELLO 3 AUTH default " SECRET,
       {"-ERR unknown command `HELLO`, with args: `" SECRET "`"}},
      {"AUTH " SECRET, {"+OK"}}, {SETINFO, {"+OK", "+OK"}}}, DONE, 2, 0, NULL},
    {"protocol 3 not supported", FULL, {.protocol = 3},
     {{"HELLO 3", {"-NOPROTO no"}}, {SETINFO, {"+OK", "+OK"}}}, DONE, 2, 0, NULL},
    {"HELLO not permitted", FULL, {.protocol = 3, .password = SECRET},
     {{"HELLO 3 AUTH default " SECRET, {"-NOPERM this user has no permissions"}},
      {"AUTH " SECRET, {"+OK"}}, {SETINFO, {"+OK", "+OK"}}}, DONE, 2, 0, NULL},
    {"HELLO without arguments", FULL, {.protocol = 3},
     {{"HELLO 3", {"-ERR wrong number"}}, {SETINFO, {"+OK", "+OK"}}}, DONE, 2, 0, NULL},
    {"SETINFO may fail after SELECT", FULL, {.protocol = 2, .database = 1},
     {{"SELECT 1|" SETINFO, {"+OK", "-ERR no", "-ERR no"}}}, DONE, 2, 0, NULL},
    {"SETNAME and SETINFO may fail", FULL, {.protocol = 3, .client_name = "me"},
     {{"HELLO 3", {"%3"}},
      {"CLIENT SETNAME me|" SETINFO, {"-ERR no", "-ERR unknown", "-NOPERM"}}},
     DONE, 3, 0, NULL},

    /* credentials */
    {"wrong password", FULL, {.protocol = 3, .password = SECRET},
     {{"HELLO 3 AUTH default " SECRET, {"-WRONGPASS invalid username-password pair"}}},
     FAILED, 0, SHOAL_EAUTH, "HELLO: WRONGPASS invalid username-password pair"},
    {"wrong password, RESP2", FULL, {.protocol = 2, .password = SECRET},
     {{"AUTH " SECRET, {"-WRONGPASS invalid username-password pair"}}},
     FAILED, 0, SHOAL_EAUTH, "AUTH: WRONGPASS invalid username-password pair"},
    {"no password where one is asked for", FULL, {.protocol = 3},
     {{"HELLO 3", {"-NOAUTH HELLO must be called after authentication"}}},
     FAILED, 0, SHOAL_EAUTH, "the server asks for credentials"},
    {"the same, seen at SELECT", BARE, {.protocol = 2, .database = 1},
     {{"SELECT 1", {"-NOAUTH Authentication required."}}},
     FAILED, 0, SHOAL_EAUTH, "the server asks for credentials"},
    {"the same, seen at SETINFO", FULL, {.protocol = 2},
     {{SETINFO, {"-NOAUTH Authentication required."}}},
     FAILED, 0, SHOAL_EAUTH, "the server asks for credentials"},
    {"NOAUTH in spite of a password", FULL, {.protocol = 3, .password = SECRET},
     {{"HELLO 3 AUTH default " SECRET, {"-NOAUTH no"}}},
     FAILED, 0, SHOAL_EAUTH, "HELLO: NOAUTH no"},
    {"a password where none is set", FULL, {.protocol = 2, .password = SECRET},
     {{"AUTH " SECRET, {"-ERR Client sent AUTH, but no password is set"}}},
     FAILED, 0, SHOAL_EAUTH, "AUTH: ERR Client sent AUTH, but no password is set"},
    {"the same, newer words", FULL, {.protocol = 3, .password = SECRET},
     {{"HELLO 3 AUTH default " SECRET, {"-ERR AUTH <password> called without any"}}},
     FAILED, 0, SHOAL_EAUTH, "HELLO: ERR AUTH <password> called without any"},
    {"AUTH unknown", BARE, {.protocol = 2, .password = SECRET},
     {{"AUTH " SECRET, {"-ERR unknown command 'AUTH'"}}},
     FAILED, 0, SHOAL_EAUTH, "AUTH: ERR unknown command 'AUTH'"},
    {"a user where there are none", BARE, {2, .user = "u", .password = SECRET},
     {{"AUTH u " SECRET, {"-ERR wrong number of arguments for 'auth' command"}}},
     FAILED, 0, SHOAL_EAUTH, "AUTH: ERR wrong number of arguments for 'auth' command"},
    {"the answer repeats the password", FULL, {.protocol = 3, .password = SECRET},
     {{"HELLO 3 AUTH default " SECRET, {"-WRONGPASS default:" SECRET}}},
     FAILED, 0, SHOAL_EAUTH, "HELLO: " HIDDEN},
    {"or its beginning", FULL, {.protocol = 2, .password = SECRET},
     {{"AUTH " SECRET, {"-ERR no such word: s3cr"}}},
     FAILED, 0, SHOAL_ECONN, "AUTH: " HIDDEN},
    {"a short password", FULL, {.protocol = 2, .password = "xy"},
     {{"AUTH xy", {"-WRONGPASS xy"}}}, FAILED, 0, SHOAL_EAUTH, "AUTH: " HIDDEN},
    {"a password with control characters", FULL, {.protocol = 2, .password = "a\nb"},
     {{"AUTH a\nb", {"-WRONGPASS a b"}}}, FAILED, 0, SHOAL_EAUTH, "AUTH: " HIDDEN},

    /* other refusals */
    {"too many clients", FULL, {.protocol = 3},
     {{"HELLO 3", {"-ERR max number of clients reached"}}},
     FAILED, 0, SHOAL_ECONN, "HELLO: ERR max number of clients reached"},
    {"too many clients, said to SETINFO", FULL, {.protocol = 2},
     {{SETINFO, {"-ERR max number of clients reached"}}},
     FAILED, 0, SHOAL_ECONN, "CLIENT: ERR max number of clients reached"},
    {"protected mode", FULL, {.protocol = 3},
     {{"HELLO 3", {"-DENIED Redis is running in protected mode"}}},
     FAILED, 0, SHOAL_ECONN, "HELLO: DENIED Redis is running in protected mode"},
    {"loading", FULL, {.protocol = 2, .password = SECRET},
     {{"AUTH " SECRET, {"-LOADING data"}}},
     FAILED, 0, SHOAL_ECONN, "AUTH: LOADING data"},
    {"no such database", FULL, {.protocol = 3, .database = 99},
     {{"HELLO 3", {"%3"}}, {"SELECT 99|" SETINFO, {"-ERR DB index is out of range"}}},
     FAILED, 0, SHOAL_ECONN, "SELECT: ERR DB index is out of range"},

    /* nonsense */
    {"HELLO agrees on another protocol", FULL, {.protocol = 3},
     {{"HELLO 3", {"%2"}}}, FAILED, 0, SHOAL_EDESYNC, "HELLO: " SHAPE},
    {"HELLO answered with OK", FULL, {.protocol = 3},
     {{"HELLO 3", {"+OK"}}}, FAILED, 0, SHOAL_EDESYNC, "HELLO: " SHAPE},
    {"AUTH answered with a number", BARE, {.protocol = 2, .password = SECRET},
     {{"AUTH " SECRET, {":1"}}}, FAILED, 0, SHOAL_EDESYNC, "AUTH: " SHAPE},
    {"AUTH answered with another status", BARE, {.protocol = 2, .password = SECRET},
     {{"AUTH " SECRET, {"+QUEUED"}}}, FAILED, 0, SHOAL_EDESYNC, "AUTH: " SHAPE},
    {"SELECT answered with nil", BARE, {.protocol = 2, .database = 1},
     {{"SELECT 1", {"_"}}}, FAILED, 0, SHOAL_EDESYNC, "SELECT: " SHAPE},
    {"SETINFO answered with a map", FULL, {.protocol = 2},
     {{SETINFO, {"+OK", "%3"}}}, FAILED, 0, SHOAL_EDESYNC, "CLIENT: " SHAPE},
    {"control characters are escaped", FULL, {.protocol = 3},
     {{"HELLO 3", {"-ERR a\r\nb\x1b[2J\xff"}}},
     FAILED, 0, SHOAL_ECONN, "HELLO: ERR a\\x0d\\x0ab\\x1b[2J\\xff"},
};
/* clang-format on */

static shoal__greeting_verdict_t answer(shoal__greeting_t *greeting, const char *text)
{
    shoal_reply_t reply = reply_of(text);
    return shoal__greeting_reply(greeting, &reply);
}

/* Nothing but DONE or FAILED may come before the last answer.  (I12) */
static void play(const struct script *s)
{
    shoal__greeting_t greeting;

    shoal__greeting_init(&greeting, &s->config);
    shoal__greeting_verdict_t verdict =
        shoal__greeting_start(&greeting, s->style, NULL);
    for (int i = 0; i < EXCHANGES_MAX && s->exchanges[i].says; i++) {
        char words[512];
        if (verdict != MORE)
            fail_msg("%s: over before exchange %d", s->name, i);
        spell(&greeting, words, sizeof words);
        if (strcmp(words, s->exchanges[i].says) != 0)
            fail_msg("%s: says '%s', not '%s'", s->name, words, s->exchanges[i].says);
        shoal__greeting_written(&greeting, shoal__buffer_bytes(&greeting.outgoing));

        for (int k = 0; k < 5 && s->exchanges[i].hears[k]; k++) {
            if (verdict != MORE)
                fail_msg("%s: over before answer %d.%d", s->name, i, k);
            verdict = answer(&greeting, s->exchanges[i].hears[k]);
        }
    }
    if (verdict != s->verdict)
        fail_msg("%s: verdict %u (%s)", s->name, verdict, greeting.detail);
    if (verdict == DONE && greeting.protocol != s->protocol)
        fail_msg("%s: protocol %d", s->name, greeting.protocol);
    if (verdict == DONE && greeting.protocol == 3) {
        assert_string_equal(greeting.server_version, "7.0.15");
    }
    if (verdict == FAILED && greeting.status != s->status)
        fail_msg("%s: status %d (%s)", s->name, greeting.status, greeting.detail);
    if (verdict == FAILED && strcmp(greeting.detail, s->detail) != 0)
        fail_msg("%s: detail '%s'", s->name, greeting.detail);
    shoal__greeting_release(&greeting);
}

static void test_scripts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        play(&scripts[i]);
}

static const shoal__greeting_config_t full_config = {.protocol = 3,
                                                     .user = "ann",
                                                     .password = SECRET,
                                                     .database = 5,
                                                     .client_name = "me"};

static bool holds_secret(const shoal__greeting_t *greeting)
{
    const shoal__buffer_t *buffer = &greeting->outgoing;
    for (size_t i = 0; i + strlen(SECRET) <= buffer->capacity; i++)
        if (memcmp(buffer->memory + i, SECRET, strlen(SECRET)) == 0)
            return true;
    return false;
}

/* The buffer's memory is scanned whole, so it must have been initialised. */
static void start(shoal__greeting_t *greeting, const shoal__greeting_config_t *config)
{
    shoal__greeting_init(greeting, config);
    memset(shoal__buffer_reserve(&greeting->outgoing, 8192), 0, 8192);
    assert_int_equal(shoal__greeting_start(greeting, FULL, NULL), MORE);
    memset(greeting->outgoing.memory + greeting->outgoing.tail, 0,
           greeting->outgoing.capacity - greeting->outgoing.tail);
}

static void test_the_password_is_wiped_once_written(void **state)
{
    (void)state;
    shoal__greeting_t greeting;

    start(&greeting, &full_config);
    assert_true(holds_secret(&greeting));
    while (shoal__buffer_bytes(&greeting.outgoing) > 0)
        shoal__greeting_written(&greeting, 1);
    assert_false(holds_secret(&greeting));

    /* The fall-back says it again. */
    answer(&greeting, "-ERR unknown command");
    assert_true(holds_secret(&greeting));
    shoal__greeting_written(&greeting, shoal__buffer_bytes(&greeting.outgoing));
    assert_false(holds_secret(&greeting));
    shoal__greeting_release(&greeting);
}

static void test_a_restart_wipes_what_was_not_written(void **state)
{
    (void)state;
    shoal__greeting_t greeting;
    shoal__greeting_config_t config = full_config;

    start(&greeting, &config);
    assert_true(holds_secret(&greeting));
    config.password = config.user = NULL;
    assert_int_equal(shoal__greeting_start(&greeting, FULL, NULL), MORE);
    assert_false(holds_secret(&greeting));
    shoal__greeting_release(&greeting);
}

/* A server that answers before it was asked everything must not make the buffer grow:
 * that would leave the password in freed memory. */
static void test_the_buffer_never_moves(void **state)
{
    (void)state;
    shoal__greeting_t greeting;
    shoal__greeting_config_t config = full_config;
    char password[1001] = {0};

    config.password = memset(password, 'p', sizeof password - 1);
    shoal__greeting_init(&greeting, &config);
    assert_int_equal(shoal__greeting_start(&greeting, FULL, NULL), MORE);
    const char *memory = greeting.outgoing.memory;
    assert_int_equal(answer(&greeting, "-NOPROTO"), MORE);
    assert_int_equal(answer(&greeting, "+OK"), MORE);
    assert_ptr_equal(greeting.outgoing.memory, memory);
    shoal__greeting_release(&greeting);
}

static void test_a_new_connection_forgets_the_former(void **state)
{
    (void)state;
    shoal__greeting_t greeting;

    shoal__greeting_init(&greeting, &full_config);
    shoal__greeting_start(&greeting, FULL, NULL);
    answer(&greeting, "%3");
    assert_int_equal(answer(&greeting, "-ERR DB index is out of range"), FAILED);

    assert_int_equal(shoal__greeting_start(&greeting, FULL, NULL), MORE);
    assert_int_equal(greeting.protocol, 2);
    assert_int_equal(greeting.status, 0);
    assert_int_equal(greeting.answers_due, 1);
    assert_false(greeting.heard_anything);
    assert_string_equal(greeting.detail, "");
    assert_string_equal(greeting.server_version, "");
    shoal__greeting_release(&greeting);
}

static void test_answers_to_nothing_fail(void **state)
{
    (void)state;
    const shoal__greeting_config_t config = {.protocol = 2};
    shoal__greeting_t greeting;

    shoal__greeting_init(&greeting, &config);
    assert_int_equal(shoal__greeting_start(&greeting, BARE, NULL),
                     SHOAL__GREETING_MORE);
    assert_int_equal(answer(&greeting, "+PONG"), DONE);
    assert_int_equal(answer(&greeting, "+OK"), FAILED);
    assert_int_equal(greeting.status, SHOAL_EDESYNC);
    shoal__greeting_release(&greeting);
}

static void test_long_texts_are_cut(void **state)
{
    (void)state;
    shoal__greeting_t greeting;
    char text[2000];

    for (int is_plain = 0; is_plain < 2; is_plain++) {
        memset(text, is_plain ? 'x' : '\x01', sizeof text);
        memcpy(text, "-ERR ", 5);
        text[sizeof text - 1] = '\0';
        shoal__greeting_init(&greeting, &full_config);
        shoal__greeting_start(&greeting, FULL, NULL);
        assert_int_equal(answer(&greeting, text), FAILED);
        assert_in_range(strlen(greeting.detail), 190, 7 + 200);
        shoal__greeting_release(&greeting);
    }
}

static void test_odd_answers_to_hello(void **state)
{
    (void)state;
    shoal__greeting_config_t config = {.protocol = 3};
    shoal_reply_t items[3] = {text_reply(SHOAL_REPLY_STRING, "proto"),
                              text_reply(SHOAL_REPLY_STRING, "3"),
                              text_reply(SHOAL_REPLY_STRING, "proto")};
    shoal_reply_t reply = {.type = SHOAL_REPLY_ARRAY};

    reply.as.children.items = items;
    for (size_t count = 0; count <= 3; count++) { /* never a proto of integer 3 */
        shoal__greeting_t greeting;
        reply.as.children.count = reply.as.children.capacity = count;
        shoal__greeting_init(&greeting, &config);
        shoal__greeting_start(&greeting, FULL, NULL);
        assert_int_equal(shoal__greeting_reply(&greeting, &reply), FAILED);
        assert_int_equal(greeting.status, SHOAL_EDESYNC);
        shoal__greeting_release(&greeting);
    }
}

static void test_start_survives_every_failed_allocation(void **state)
{
    (void)state;
    for (size_t allowed = 0;; allowed++) {
        shoal__greeting_t greeting;

        shoal__greeting_init(&greeting, &full_config);
        shoal__test_fail_alloc_after(allowed);
        shoal__greeting_verdict_t verdict =
            shoal__greeting_start(&greeting, FULL, NULL);
        shoal__test_fail_alloc_never();

        int status = greeting.status;
        shoal__greeting_release(&greeting);
        if (verdict == MORE)
            return;
        assert_int_equal(verdict, FAILED);
        assert_int_equal(status, SHOAL_ENOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scripts),
        cmocka_unit_test(test_the_password_is_wiped_once_written),
        cmocka_unit_test(test_a_restart_wipes_what_was_not_written),
        cmocka_unit_test(test_the_buffer_never_moves),
        cmocka_unit_test(test_a_new_connection_forgets_the_former),
        cmocka_unit_test(test_answers_to_nothing_fail),
        cmocka_unit_test(test_long_texts_are_cut),
        cmocka_unit_test(test_odd_answers_to_hello),
        cmocka_unit_test(test_start_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("core/greeting", tests, NULL, NULL);
}
