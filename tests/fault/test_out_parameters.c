/* SPDX-License-Identifier: MIT */

/* After every failure each out-parameter is NULL or 0: every function that has one, every
 * way to fail. */

#include "support/scene.h"

#include "client/client.h"
#include <shoal/uv.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define LARGE_BYTES (1024 * 1024)
#define NOT_ZERO ((void *)(uintptr_t)0x5a5a)

/* ---- memory that runs out on this thread ---- */

static _Thread_local bool is_out_of_memory;

static void *hooked_malloc(size_t bytes)
{
    return is_out_of_memory ? NULL : malloc(bytes);
}

static void *hooked_calloc(size_t count, size_t bytes)
{
    return is_out_of_memory ? NULL : calloc(count, bytes);
}

static void *hooked_realloc(void *memory, size_t bytes)
{
    return is_out_of_memory ? NULL : realloc(memory, bytes);
}

static const shoal_allocator_t hooks = {hooked_malloc, hooked_calloc, hooked_realloc,
                                        free};

/* ---- the functions that take a command ---- */

typedef struct attempt {
    const char *why;
    shoal_client_t *client;
    shoal_command_t command;
    const shoal_call_t *call; /* only for those that take extras, if not NULL */
    int rc;                   /* wanted */
    bool is_out_of_memory, is_blocking_only;
} attempt_t;

static void check_rc(const attempt_t *attempt, const char *function, int rc)
{
    is_out_of_memory = false;
    if (rc != attempt->rc)
        fail_msg("%s, %s: %s, not %s", function, attempt->why, shoal_error_name(rc),
                 shoal_error_name(attempt->rc));
}

static void check_ticket(const attempt_t *attempt, const char *function, int rc,
                         uint64_t *ticket)
{
    check_rc(attempt, function, rc);
    if (*ticket != 0)
        fail_msg("%s, %s: a ticket", function, attempt->why);
    *ticket = 77;
    is_out_of_memory = attempt->is_out_of_memory;
}

static void check_result(const attempt_t *attempt, const char *function, int rc,
                         shoal_result_t **result)
{
    check_rc(attempt, function, rc);
    if (*result)
        fail_msg("%s, %s: a result", function, attempt->why);
    *result = NOT_ZERO;
    is_out_of_memory = attempt->is_out_of_memory;
}

static void check_submits(const attempt_t *a)
{
    const shoal_command_t *c = &a->command;
    shoal_completions_t *queue;
    uint64_t ticket = 77;
    int rc;

    assert_int_equal(shoal_completions_new(0, &queue), 0);
    is_out_of_memory = a->is_out_of_memory;
    rc = shoal_client_submit_many(a->client, c, 1, a->call, NULL, NULL, &ticket);
    check_ticket(a, "submit_many", rc, &ticket);
    rc = shoal_completions_submit(queue, a->client, c, 1, a->call, 1, &ticket);
    check_ticket(a, "completions_submit", rc, &ticket);
    if (!a->call) {
        rc = shoal_client_submit(a->client, c->argc, c->argv, c->argvlen, NULL, NULL,
                                 &ticket);
        check_ticket(a, "submit", rc, &ticket);
    }
    if (c->argc == 2 && !a->is_out_of_memory) {
        rc = shoal_client_submitf_with(a->client, a->call, NULL, NULL, &ticket, "%s %s",
                                       c->argv[0], c->argv[1]);
        check_ticket(a, "submitf_with", rc, &ticket);
    }
    is_out_of_memory = false;
    shoal_completions_free(queue);
}

static void check_calls(const attempt_t *a)
{
    const shoal_command_t *c = &a->command;
    shoal_result_t *result = NOT_ZERO;
    shoal_pending_t *pending = NOT_ZERO;
    int rc;

    is_out_of_memory = a->is_out_of_memory;
    rc = shoal_client_call_with(a->client, c, a->call, &result);
    check_result(a, "call_with", rc, &result);
    rc = shoal_client_call_begin(a->client, c, a->call, 0, &pending, &result);
    check_result(a, "call_begin", rc, &result);
    if (pending)
        fail_msg("call_begin, %s: a pending call", a->why);
    if (!a->call) {
        rc = shoal_client_call(a->client, c->argc, c->argv, c->argvlen, &result);
        check_result(a, "call", rc, &result);
    }
    if (c->argc == 2 && !a->is_out_of_memory) {
        rc = shoal_client_callf_with(a->client, a->call, &result, "%s %s", c->argv[0],
                                     c->argv[1]);
        check_result(a, "callf_with", rc, &result);
    }
    is_out_of_memory = false;
}

static void check(const attempt_t *attempt)
{
    if (!attempt->is_blocking_only)
        check_submits(attempt);
    check_calls(attempt);
}

static const char *const echo[] = {"ECHO", "x"}, *const subscribe[] = {"SUBSCRIBE",
                                                                       "c"};
static const shoal_command_t good = {2, echo, NULL};

static void test_what_is_wrong_with_the_arguments(void **state)
{
    scene_t *scene = *state;
    const shoal_call_t strange = {.size = sizeof strange, .flags = 1u << 31};

    scene_open_ready(scene);
    const attempt_t attempts[] = {
        {"no client", NULL, good, NULL, SHOAL_EINVAL, false, false},
        {"no words", scene->client, {0, echo, NULL}, NULL, SHOAL_EINVAL, false, false},
        {"a strange flag", scene->client, good, &strange, SHOAL_EINVAL, false, false},
        {"refused", scene->client, {2, subscribe, NULL}, NULL, SHOAL_EREFUSED, 0, 0},
    };
    for (size_t i = 0; i < COUNT(attempts); i++)
        check(&attempts[i]);
    scene_check_works(scene);
}

static void test_what_has_no_room(void **state)
{
    scene_t *scene = *state;
    char *text = scene_alloc(scene, LARGE_BYTES);
    const char *const words[] = {"ECHO", text};
    uint64_t ticket;

    memset(text, 'x', LARGE_BYTES - 1);
    assert_int_equal(
        shoal_options_set_outstanding_max(scene->options, 1, 1, LARGE_BYTES / 2), 0);
    fake_server_refuse(scene->server, true);
    scene_open(scene);
    check(&(attempt_t){
        "too big", scene->client, {2, words, NULL}, NULL, SHOAL_ETOOBIG, false, false});
    assert_int_equal(
        shoal_client_submit(scene->client, 2, echo, NULL, NULL, NULL, &ticket), 0);
    check(&(attempt_t){"full", scene->client, good, NULL, SHOAL_EFULL, false, false});
    assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
}

static void test_what_has_no_memory(void **state)
{
    scene_t *scene = *state;
    char *text = scene_alloc(scene, LARGE_BYTES);
    const char *const words[] = {"ECHO", text};

    memset(text, 'x', LARGE_BYTES - 1);
    scene_open_ready(scene);
    check(&(attempt_t){
        "no memory", scene->client, {2, words, NULL}, NULL, SHOAL_ENOMEM, true, false});
    scene_check_works(scene);
}

static void test_what_comes_too_late(void **state)
{
    scene_t *scene = *state;

    scene_open_ready(scene);
    shoal_client_t *client = shoal_client_retain(scene->client);
    shoal_topology_snapshot_t *topology = NOT_ZERO;
    is_out_of_memory = true;
    assert_int_equal(shoal_topology_get(client, &topology), SHOAL_ENOMEM);
    is_out_of_memory = false;
    assert_null(topology);
    client->fork_generation++; /* as if this were a child */
    check(&(attempt_t){"another process", client, good, NULL, SHOAL_EFORK, 0, 0});
    client->fork_generation--;
    scene_close(scene, 0);
    check(&(attempt_t){"closed", client, good, NULL, SHOAL_ECLOSED, false, false});
    shoal_client_release(client);
}

static void test_what_may_not_block(void **state)
{
    scene_t *scene = *state;

    assert_int_equal(shoal_client_open_borrowed(scene->options, &scene->client, NULL),
                     0);
    check(&(attempt_t){"the loop thread", scene->client, good, NULL, SHOAL_ELOOP, false,
                       true});
}

/* ---- leases ---- */

static void check_lease_open(shoal_client_t *client, int rc)
{
    shoal_lease_t *lease = NOT_ZERO;

    assert_int_equal(shoal_lease_open(client, &lease), rc);
    assert_null(lease);
}

static void check_lease_commands(shoal_lease_t *lease, const shoal_command_t *command,
                                 int rc)
{
    shoal_result_t *result = NOT_ZERO;
    uint64_t ticket = 77;

    assert_int_equal(shoal_lease_submit(lease, command, 1, NULL, NULL, NULL, &ticket),
                     rc);
    assert_int_equal(ticket, 0);
    assert_int_equal(shoal_lease_call(lease, command, NULL, &result), rc);
    assert_null(result);
}

static void test_leases(void **state)
{
    scene_t *scene = *state;
    shoal_lease_t *lease;
    const shoal_command_t refused = {2, subscribe, NULL};

    scene_open_ready(scene);
    shoal_client_t *client = shoal_client_retain(scene->client);
    assert_int_equal(shoal_lease_open(client, &lease), 0);
    check_lease_open(NULL, SHOAL_EINVAL);
    check_lease_commands(NULL, &good, SHOAL_EINVAL);
    check_lease_commands(lease, NULL, SHOAL_EINVAL);
    check_lease_commands(lease, &refused, SHOAL_EREFUSED);
    is_out_of_memory = true;
    check_lease_open(client, SHOAL_ENOMEM);
    check_lease_commands(lease, &good, SHOAL_ENOMEM);
    is_out_of_memory = false;
    client->fork_generation++;
    check_lease_open(client, SHOAL_EFORK);
    check_lease_commands(lease, &good, SHOAL_EFORK);
    client->fork_generation--;
    scene_close(scene, 0);
    check_lease_open(client, SHOAL_ECLOSED);
    check_lease_commands(lease, &good, SHOAL_ECLOSED);
    shoal_lease_close(lease);
    shoal_client_release(client);
}

/* ---- scans ---- */

static void check_scan(shoal_client_t *client, shoal_scan_t *scan, int rc)
{
    shoal_result_t *page = NOT_ZERO;
    shoal_scan_t *other = NOT_ZERO;

    assert_int_equal(shoal_scan_new(client, NULL, &other), rc);
    assert_null(other);
    assert_int_equal(shoal_scan_next(scan, 0, &page), rc);
    assert_null(page);
}

static void test_scans(void **state)
{
    scene_t *scene = *state;
    shoal_scan_t *scan;

    scene_open_ready(scene);
    assert_int_equal(shoal_scan_new(scene->client, NULL, &scan), 0);
    check_scan(NULL, NULL, SHOAL_EINVAL);
    is_out_of_memory = true;
    check_scan(scene->client, scan, SHOAL_ENOMEM);
    is_out_of_memory = false;
    scene->client->fork_generation++;
    check_scan(scene->client, scan, SHOAL_EFORK);
    scene->client->fork_generation--;
    shoal_scan_free(scan);
}

/* ---- pending calls ---- */

static void test_a_call_that_is_still_pending(void **state)
{
    scene_t *scene = *state;
    shoal_pending_t *pending = NULL;
    shoal_result_t *result = NOT_ZERO;

    fake_server_hold(scene->server, "ECHO");
    scene_open_ready(scene);
    assert_int_equal(
        shoal_client_call_begin(scene->client, &good, NULL, 0, &pending, &result),
        SHOAL_EAGAIN);
    assert_non_null(pending);
    assert_null(result);
    result = NOT_ZERO;
    assert_int_equal(shoal_pending_wait(pending, 0, &result), SHOAL_EAGAIN);
    assert_null(result);

    scene->client->fork_generation++;
    result = NOT_ZERO;
    assert_int_equal(shoal_pending_wait(pending, 0, &result), SHOAL_EFORK);
    assert_null(result);
    result = NOT_ZERO;
    assert_int_equal(shoal_pending_give_up(pending, &result), SHOAL_EFORK);
    assert_null(result);
    scene->client->fork_generation--;

    assert_int_equal(shoal_pending_give_up(pending, &result), 0);
    shoal_result_release(result);
    fake_server_release(scene->server);
}

/* ---- objects ---- */

static void test_objects(void **state)
{
    shoal_options_t *options = NULL, *none = NOT_ZERO;
    shoal_completions_t *queue = NOT_ZERO;
    uv_loop_t loop;

    (void)state;
    assert_int_equal(shoal_options_new(&options), 0);
    assert_int_equal(uv_loop_init(&loop), 0);
    const struct case_ {
        const char *why, *url; /* NULL: memory runs out */
        int rc;
    } cases[] = {
        {"not a URL", "http://h", SHOAL_EURL},
        {"an unknown key", "redis://h?nonsense=1", SHOAL_EURL},
        {"no memory", NULL, SHOAL_ENOMEM},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *url = cases[i].url ? cases[i].url : "redis://h";
        shoal_client_t *client = NOT_ZERO;

        is_out_of_memory = !cases[i].url;
        int by_options = shoal_options_from_url(url, &none, NULL);
        int by_client = shoal_client_open_url(url, &client, NULL);
        is_out_of_memory = false;
        if (by_options != cases[i].rc || by_client != cases[i].rc || none || client)
            fail_msg("%s", cases[i].why);
        none = NOT_ZERO;
    }

    shoal_client_t *clients[] = {NOT_ZERO, NOT_ZERO, NOT_ZERO, NOT_ZERO};
    is_out_of_memory = true;
    const int rcs[] = {shoal_client_open(options, &clients[0], NULL),
                       shoal_client_open_borrowed(options, &clients[1], NULL),
                       shoal_client_open_uv(&loop, options, &clients[2], NULL),
                       shoal_options_new(&none), shoal_completions_new(0, &queue)};
    is_out_of_memory = false;
    for (size_t i = 0; i < COUNT(rcs); i++)
        assert_int_equal(rcs[i], SHOAL_ENOMEM);
    assert_int_equal(shoal_client_open_uv(NULL, options, &clients[3], NULL),
                     SHOAL_EINVAL);
    for (size_t i = 0; i < COUNT(clients); i++)
        assert_null(clients[i]);
    assert_null(none);
    assert_null(queue);
    queue = NOT_ZERO;
    assert_int_equal(shoal_completions_new(SIZE_MAX, &queue), SHOAL_EINVAL);
    assert_null(queue);
    assert_int_equal(uv_loop_close(&loop), 0);
    shoal_options_free(options);
}

/* ---- figures ---- */

static void check_figures(shoal_client_t *client, uint64_t connection, int rc)
{
    const shoal_stats_t no_stats = SHOAL_STATS_INIT;
    const shoal_connection_info_t no_info = SHOAL_CONNECTION_INFO_INIT;
    shoal_stats_t stats;
    shoal_connection_info_t info;

    memset(&stats, 0x5a, sizeof stats);
    stats.size = sizeof stats;
    assert_int_equal(shoal_stats_get_connection(client, connection, &stats), rc);
    assert_memory_equal(&stats, &no_stats, sizeof stats);
    if (rc != SHOAL_ENOENT) {
        memset(&stats, 0x5a, sizeof stats);
        stats.size = sizeof stats;
        assert_int_equal(shoal_stats_get(client, &stats), rc);
        assert_memory_equal(&stats, &no_stats, sizeof stats);
    }
    if (rc != SHOAL_ENOENT) {
        shoal_topology_snapshot_t *topology = NOT_ZERO;
        assert_int_equal(shoal_topology_get(client, &topology), rc);
        assert_null(topology);
    }
    if (rc == SHOAL_ECLOSED) /* a connection tells that it is closed */
        return;
    memset(&info, 0x5a, sizeof info);
    info.size = sizeof info;
    assert_int_equal(shoal_connection_get(client, connection, &info), rc);
    assert_memory_equal(&info, &no_info, sizeof info);
}

static void test_figures(void **state)
{
    scene_t *scene = *state;

    scene_open_ready(scene);
    check_figures(NULL, 1, SHOAL_EINVAL);
    check_figures(scene->client, 2, SHOAL_ENOENT);
    shoal_client_t *client = shoal_client_retain(scene->client);
    client->fork_generation++;
    check_figures(client, 1, SHOAL_EFORK);
    client->fork_generation--;
    scene_close(scene, 0);
    check_figures(client, 1, SHOAL_ECLOSED);
    shoal_client_release(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_what_is_wrong_with_the_arguments),
        SCENE_TEST(test_what_has_no_room),
        SCENE_TEST(test_what_has_no_memory),
        SCENE_TEST(test_what_comes_too_late),
        SCENE_TEST(test_what_may_not_block),
        SCENE_TEST(test_leases),
        SCENE_TEST(test_scans),
        SCENE_TEST(test_a_call_that_is_still_pending),
        cmocka_unit_test(test_objects),
        SCENE_TEST(test_figures),
    };

    if (shoal_allocator_set(&hooks) < 0)
        return 1;
    return cmocka_run_group_tests_name("fault/out_parameters", tests, NULL, NULL);
}
