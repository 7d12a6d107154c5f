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
#include "core/greeting/greeting.h"
#include "resp/reply.h"
#include "unit/core/greeting/greeting_scripts.h"

static void fill_nonces(void *memory, size_t bytes)
{
    uint64_t *words = memory;

    for (size_t i = 0; i < bytes / sizeof *words; i++)
        words[i] = 0xb7;
}

/* Play the script: the verdict is MORE before its last answer, and the script's own at
 * the end.  (I12) */
static void play(const struct script *s)
{
    const setting_t *setting = &s->setting;
    const shoal__greeting_config_t config = {.protocol = setting->protocol,
                                             .database = setting->database,
                                             .client_name = setting->client_name,
                                             .integrity = setting->integrity,
                                             .is_settling = setting->is_settling,
                                             .needs_primary = setting->needs_primary,
                                             .finds_mode = setting->finds_mode,
                                             .is_sentinel = setting->is_sentinel};
    shoal__secret_t secret = {.user = (char *)(uintptr_t)setting->user,
                              .password = (char *)(uintptr_t)setting->password};
    const shoal__target_t target = {.secret = &secret};
    shoal__greeting_t greeting;
    shoal__nonce_t nonce;

    shoal__nonce_init(&nonce, fill_nonces);
    shoal__greeting_init(&greeting, &config, &target, detail);
    shoal__greeting_verdict_t verdict =
        shoal__greeting_start(&greeting, s->style, &nonce);
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
    assert_true(greeting.is_test_passed ==
                (s->style == TEST && s->status == SHOAL_ECONN));
    shoal__greeting_release(&greeting);
}

static void test_scripts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        play(&scripts[i]);
}

static const shoal__greeting_config_t full_config = {
    .protocol = 3, .database = 5, .client_name = "me"};
static const shoal__target_t nobody;
static char ann_user[] = "ann", ann_password[] = SECRET;
static shoal__secret_t ann_secret = {.user = ann_user, .password = ann_password};
static const shoal__target_t ann = {.secret = &ann_secret};

static bool holds_secret(const shoal__greeting_t *greeting)
{
    const shoal__buffer_t *buffer = &greeting->outgoing;
    for (size_t i = 0; i + strlen(SECRET) <= buffer->capacity; i++)
        if (memcmp(buffer->memory + i, SECRET, strlen(SECRET)) == 0)
            return true;
    return false;
}

/* The tests search all of the buffer's memory, so it must be initialised. */
static void start(shoal__greeting_t *greeting, const shoal__target_t *target)
{
    shoal__greeting_init(greeting, &full_config, target, detail);
    memset(shoal__buffer_reserve(&greeting->outgoing, 8192), 0, 8192);
    assert_int_equal(shoal__greeting_start(greeting, FULL, NULL), MORE);
    memset(greeting->outgoing.memory + greeting->outgoing.tail, 0,
           greeting->outgoing.capacity - greeting->outgoing.tail);
}

static void test_the_password_is_wiped_once_written(void **state)
{
    (void)state;
    shoal__greeting_t greeting;

    start(&greeting, &ann);
    assert_true(holds_secret(&greeting));
    while (shoal__buffer_bytes(&greeting.outgoing) > 0)
        shoal__greeting_written(&greeting, 1);
    assert_false(holds_secret(&greeting));

    /* The older way of greeting writes the password again. */
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
    shoal__target_t target = ann;

    start(&greeting, &target);
    assert_true(holds_secret(&greeting));
    target.secret = NULL;
    assert_int_equal(shoal__greeting_start(&greeting, FULL, NULL), MORE);
    assert_false(holds_secret(&greeting));
    shoal__greeting_release(&greeting);
}

/* A server may answer before all questions are written.  The buffer must not grow then:
 * its old memory would be freed with the password in it. */
static void test_the_buffer_never_moves(void **state)
{
    (void)state;
    shoal__greeting_t greeting;
    char password[1001] = {0};
    shoal__secret_t secret = {.user = ann_user, .password = password};
    shoal__target_t target = {.secret = &secret};

    memset(password, 'p', sizeof password - 1);
    shoal__greeting_init(&greeting, &full_config, &target, detail);
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

    shoal__greeting_init(&greeting, &full_config, &ann, detail);
    shoal__greeting_start(&greeting, FULL, NULL);
    answer(&greeting, "%3");
    assert_int_equal(answer(&greeting, "-ERR DB index is out of range"), FAILED);

    assert_int_equal(shoal__greeting_start(&greeting, FULL, NULL), MORE);
    assert_int_equal(greeting.protocol, 2);
    assert_int_equal(greeting.status, 0);
    assert_int_equal(greeting.answers_due, 1);
    assert_false(greeting.heard_anything);
    assert_string_equal(greeting.server_version, "");
    shoal__greeting_release(&greeting);
}

static void test_answers_to_nothing_fail(void **state)
{
    (void)state;
    const shoal__greeting_config_t config = {.protocol = 2};
    shoal__greeting_t greeting;

    shoal__greeting_init(&greeting, &config, &nobody, detail);
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
        shoal__greeting_init(&greeting, &full_config, &ann, detail);
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
        shoal__greeting_init(&greeting, &config, &nobody, detail);
        shoal__greeting_start(&greeting, FULL, NULL);
        assert_int_equal(shoal__greeting_reply(&greeting, &reply), FAILED);
        assert_int_equal(greeting.status, SHOAL_EDESYNC);
        shoal__greeting_release(&greeting);
    }
}

/* A reply that comes before the last byte of its question was written is no answer. */
static void test_answers_that_come_too_early(void **state)
{
    (void)state;
    shoal__greeting_t greeting;
    shoal_reply_t ok = reply_of("+OK");

    shoal__greeting_init(&greeting, &(shoal__greeting_config_t){.protocol = 2}, &nobody,
                         detail);
    assert_int_equal(shoal__greeting_start(&greeting, FULL, NULL), MORE);
    size_t bytes = shoal__buffer_bytes(&greeting.outgoing);
    shoal__greeting_written(&greeting, bytes - 1);
    assert_int_equal(shoal__greeting_reply(&greeting, &ok),
                     MORE); /* answers the first */
    assert_int_equal(shoal__greeting_reply(&greeting, &ok), FAILED);
    assert_int_equal(greeting.status, SHOAL_EDESYNC);
    shoal__greeting_release(&greeting);
}

static void test_start_survives_every_failed_allocation(void **state)
{
    (void)state;
    for (size_t allowed = 0;; allowed++) {
        shoal__greeting_t greeting;

        shoal__greeting_init(&greeting, &full_config, &ann, detail);
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
        cmocka_unit_test(test_answers_that_come_too_early),
        cmocka_unit_test(test_start_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("core/greeting/greeting", tests, NULL, NULL);
}
