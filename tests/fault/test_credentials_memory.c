/* SPDX-License-Identifier: MIT */

/* Secrets leave nothing behind: every byte of memory that the library frees is searched, and
 * so is every text that it says. */

#include "support/scene.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)
#define CANARY "c4n4ry" /* each secret has it */

static atomic_uint found;
static bool are_watched; /* before any thread begins, and behind their ends */

static bool holds(const char *data, size_t bytes)
{
    return memmem(data, bytes, CANARY, strlen(CANARY)) != NULL;
}

/* ---- memory ---- */

typedef struct block {
    size_t bytes;
    max_align_t data[];
} block_t;

/* What the server of the test left there must not be found. */
static void *take(size_t bytes)
{
    block_t *block = calloc(1, sizeof *block + bytes);

    if (!block)
        return NULL;
    block->bytes = bytes;
    /* cppcheck-suppress memleak ; give() frees it */
    return block->data;
}

static void *take_zeroed(size_t count, size_t bytes)
{
    void *memory = take(count * bytes);

    return memory ? memset(memory, 0, count * bytes) : NULL;
}

static void give(void *memory)
{
    block_t *block;

    if (!memory)
        return;
    block = (block_t *)(void *)((char *)memory - offsetof(block_t, data));
    if (are_watched)
        found += holds(memory, block->bytes);
    free(block);
}

/* It always moves, as realloc() may. */
static void *resize(void *memory, size_t bytes)
{
    void *moved = take(bytes);
    size_t kept = 0;

    if (!moved)
        return NULL;
    if (memory)
        kept = ((block_t *)(void *)((char *)memory - offsetof(block_t, data)))->bytes;
    if (kept > 0)
        memcpy(moved, memory, kept < bytes ? kept : bytes);
    give(memory);
    return moved;
}

/* ---- texts ---- */

static void on_log(shoal_log_level_t level, const char *line, void *data)
{
    (void)level, (void)data;
    found += holds(line, strlen(line));
}

static atomic_uint ready, refused, answers;

static void on_event(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    const char *detail = shoal_event_detail(event);
    (void)client, (void)data;

    found += holds(detail, strlen(detail));
    ready += shoal_event_kind(event) == SHOAL_EVENT_READY;
    refused += shoal_event_status(event) == SHOAL_EAUTH;
    answers += shoal_event_kind(event) == SHOAL_EVENT_CREDENTIALS;
}

static void provide(shoal_credentials_request_t *request, void *data)
{
    char password[16];
    (void)data;

    snprintf(password, sizeof password, "%s", CANARY "-3"); /* on this stack */
    shoal_credentials_give(request, NULL, password, 1);
}

static void open_client(scene_t *scene, shoal_options_t *options)
{
    assert_int_equal(shoal_options_set_on_event(options, on_event, NULL), 0);
    assert_int_equal(shoal_options_set_on_log(options, SHOAL_LOG_DEBUG, on_log, NULL),
                     0);
    ready = refused = answers = 0;
    assert_int_equal(shoal_client_open(options, &scene->client, NULL), 0);
    shoal_options_free(options);
}

static shoal_options_t *options_of(scene_t *scene, const char *keys)
{
    shoal_options_t *options = NULL;
    char url[128];

    snprintf(url, sizeof url, "redis://:" CANARY "-1@127.0.0.1:%d/?%s",
             fake_server_port(scene->server), keys);
    assert_int_equal(shoal_options_from_url(url, &options, NULL), 0);
    return options;
}

static void serve(scene_t *scene)
{
    are_watched = true;
    scene_serve(scene, &(fake_config_t){.identity = {.password = CANARY "-1"}});
}

static void check(scene_t *scene)
{
    scene_close(scene, 0);
    assert_int_equal(found, 0);
}

static void set(scene_t *scene, const char *password)
{
    assert_int_equal(shoal_client_set_credentials(scene->client, NULL, password), 0);
}

static void incr(scene_t *scene)
{
    outcome_t outcome = scene_call(scene, WORDS("INCR", "k"), NULL);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
}

/* ---- the tests ---- */

/* The test sees what is there to be seen. */
static void test_a_secret_that_is_not_wiped_is_found(void **state)
{
    char *memory = take(sizeof CANARY);

    (void)state;
    are_watched = true;
    strcpy(memory, CANARY);
    give(memory);
    assert_int_equal(found, 1);
    found = 0;
}

static void test_replaced_and_refused(void **state)
{
    scene_t *scene = *state;

    serve(scene);
    open_client(scene, options_of(scene, "rotation=successor"));
    WAIT_FOR(ready == 1);
    incr(scene);
    fake_server_set_password(scene->server, CANARY "-2");
    set(scene, CANARY "-2");
    WAIT_FOR(ready == 2);
    incr(scene);
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "HELLO", .reply = "-WRONGPASS no\r\n"});
    set(scene, CANARY "-4");
    WAIT_FOR(refused >= 1);
    check(scene);
}

static void test_in_place(void **state)
{
    scene_t *scene = *state;

    serve(scene);
    open_client(scene, options_of(scene, "rotation=in_place"));
    WAIT_FOR(ready == 1);
    fake_server_set_password(scene->server, CANARY "-2");
    set(scene, CANARY "-2");
    WAIT_FOR(answers == 1);
    incr(scene);
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "AUTH", .reply = "-WRONGPASS no\r\n"});
    set(scene, CANARY "-4");
    WAIT_FOR(refused >= 1);
    check(scene);
}

static void test_a_provider(void **state)
{
    scene_t *scene = *state;
    shoal_options_t *options;

    serve(scene);
    fake_server_set_password(scene->server, CANARY "-3");
    options = options_of(scene, "protocol=2");
    assert_int_equal(shoal_options_set_credentials_provider(options, provide, NULL), 0);
    open_client(scene, options);
    WAIT_FOR(answers >= 2); /* the same again, which is wiped, too */
    incr(scene);
    set(scene, CANARY "-5"); /* nobody takes it any more */
    check(scene);
}

int main(void)
{
    const shoal_allocator_t watched = {take, take_zeroed, resize, give};
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_a_secret_that_is_not_wiped_is_found),
        SCENE_TEST(test_replaced_and_refused),
        SCENE_TEST(test_in_place),
        SCENE_TEST(test_a_provider),
    };

    if (shoal_allocator_set(&watched) != 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
