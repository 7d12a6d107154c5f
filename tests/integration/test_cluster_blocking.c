/* SPDX-License-Identifier: MIT */

/* Commands that block, on a real cluster: their slot moves, its primary is demoted or dies,
 * the cluster is down.  Each element is popped once, or is still there. */

#include "support/cluster_rig.h"
#include "support/live.h"
#include "support/outcome.h"
#include "support/waiting.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY "yard"
#define POPPERS 12
/* Of all tests; each leaves it calm. */
static cluster_rig_t *rig;

static int start(void **state)
{
    (void)state;
    rig = cluster_rig_start_as(&(cluster_plan_t){.keeps_roles = true});
    return 0;
}

static int stop(void **state)
{
    (void)state;
    cluster_rig_stop(rig);
    return 0;
}

static unsigned key_slot(void)
{
    char said[32];

    assert_true(
        redis_ask(cluster_rig_port(rig, 0), "CLUSTER KEYSLOT " KEY, said, sizeof said));
    return (unsigned)strtoul(said + 1, NULL, 10);
}

static uint64_t submit(shoal_client_t *client, const char *const *argv,
                       shoal_result_cb on_result, void *data, uint64_t timeout_us)
{
    shoal_command_t command = {0, argv, NULL};
    shoal_call_t call = SHOAL_CALL_INIT;
    uint64_t ticket = 0;

    while (argv[command.argc])
        command.argc++;
    call.timeout_us = timeout_us;
    if (shoal_client_submit_many(client, &command, 1, &call, on_result, data, &ticket) <
        0)
        abort();
    return ticket;
}

static size_t another_primary(size_t node)
{
    do
        node = (node + 1) % CLUSTER_NODES;
    while (!cluster_rig_is_primary(rig, node));
    return node;
}

/* ---- one command ---- */

typedef struct one {
    shoal_client_t *client;
    size_t owner, replica;
    outcome_t popped;
} one_t;

/* Is a client blocked on the node? */
static bool is_blocked(size_t node)
{
    char line[64];

    for (unsigned i = 2; i < 20; i++)
        if (redis_ask_line(cluster_rig_port(rig, node), "INFO clients", i, line,
                           sizeof line) &&
            strncmp(line, "blocked_clients:", 16) == 0)
            return strtoul(line + 16, NULL, 10) > 0;
    return false;
}

/* No node is taken for dead ... */
static const char patient[] = "60000";
/* ... or those are that are stopped.  Who votes for a replica votes for another one of the same
 * primary after twice that time. */
static const char brisk[] = "1500";

/* A BLPOP.  False: there is no server to ask. */
static bool pop_one(one_t *one, const char *node_timeout_ms, uint64_t timeout_us)
{
    static const char *const argv[] = {"BLPOP", KEY, "0", NULL};

    memset(one, 0, sizeof *one);
    if (!rig)
        return false;
    cluster_rig_set_timeout(rig, node_timeout_ms);
    one->owner = cluster_rig_agreed_owner(rig, KEY);
    one->replica = (one->owner + 3) % CLUSTER_NODES;
    one->client = live_open(cluster_rig_options(rig, (one->owner + 1) % CLUSTER_NODES));
    submit(one->client, argv, outcome_cb, &one->popped, timeout_us);
    return true;
}

/* ... that blocks. */
static bool begin(one_t *one, const char *node_timeout_ms)
{
    if (!pop_one(one, node_timeout_ms, 0))
        return false;
    WAIT_FOR(is_blocked(one->owner));
    return true;
}

static void end(one_t *one)
{
    live_finish(one->client);
    cluster_rig_await_calm(rig);
}

static void expect_popped(one_t *one)
{
    live_ask(one->client, "RPUSH " KEY " v");
    WAIT_FOR(outcome_is_done(&one->popped));
    if (one->popped.status != 0 || one->popped.type != SHOAL_REPLY_ARRAY)
        fail_msg("%s", outcome_describe(&one->popped));
}

static void it_follows_its_slot(void **state)
{
    one_t one;
    (void)state;

    if (!begin(&one, patient))
        skip();
    size_t to = another_primary(one.owner);
    cluster_rig_move(rig, key_slot(), one.owner, to);
    WAIT_FOR(is_blocked(to));
    expect_popped(&one);
    end(&one);
}

static void it_follows_the_next_primary(void **state)
{
    one_t one;
    (void)state;

    if (!begin(&one, brisk))
        skip();
    cluster_rig_failover(rig, one.replica, "");
    WAIT_FOR(is_blocked(one.replica));
    expect_popped(&one);
    end(&one);
}

/* Two of three primaries are stopped: the others take the cluster for down, and let go what is
 * blocked.  It waits, until the cluster is up again. */
static void it_waits_until_the_cluster_is_up(void **state)
{
    one_t one;
    (void)state;

    if (!begin(&one, brisk))
        skip();
    for (size_t i = 0; i < CLUSTER_NODES; i++)
        if (i != one.owner)
            redis_process_pause(rig->nodes[i].server);
    WAIT_FOR(!is_blocked(one.owner));
    assert_false(outcome_is_done(&one.popped));
    for (size_t i = 0; i < CLUSTER_NODES; i++)
        if (i != one.owner)
            redis_process_resume(rig->nodes[i].server);
    cluster_rig_await_calm(rig);
    expect_popped(&one);
    end(&one);
}

/* The primary dies: nobody knows what became of the command.  One that comes then waits for the
 * next primary. */
static void its_primary_dies(void **state)
{
    static const char *const argv[] = {"BLPOP", KEY, "0", NULL};
    outcome_t second = {0};
    one_t one;
    (void)state;

    if (!begin(&one, brisk))
        skip();
    cluster_rig_let_take_over(rig, one.replica, true);
    redis_process_kill(rig->nodes[one.owner].server);
    WAIT_FOR(outcome_is_done(&one.popped));
    assert_int_equal(one.popped.status, SHOAL_ECONN);
    assert_int_equal(one.popped.fate, SHOAL_FATE_UNKNOWN);
    submit(one.client, argv, outcome_cb, &second, 0);
    WAIT_FOR(cluster_rig_is_primary(rig, one.replica));
    cluster_rig_let_take_over(rig, one.replica, false);
    live_ask(one.client, "RPUSH " KEY " v");
    WAIT_FOR(outcome_is_done(&second));
    assert_int_equal(second.status, 0);
    assert_int_equal(second.type, SHOAL_REPLY_ARRAY);
    assert_true(redis_process_restart(rig->nodes[one.owner].server));
    end(&one);
}

/* The primary is stopped, and another one takes its place: it is silent, and given up. */
static void its_primary_is_stopped(void **state)
{
    one_t one;
    (void)state;

    if (!begin(&one, brisk))
        skip();
    cluster_rig_let_take_over(rig, one.replica, true);
    redis_process_pause(rig->nodes[one.owner].server);
    WAIT_FOR(outcome_is_done(&one.popped));
    assert_true(cluster_rig_is_primary(rig, one.replica));
    cluster_rig_let_take_over(rig, one.replica, false);
    assert_int_equal(one.popped.status, SHOAL_ECONN);
    assert_int_equal(one.popped.fate, SHOAL_FATE_UNKNOWN);
    redis_process_resume(rig->nodes[one.owner].server);
    WAIT_FOR(!cluster_rig_is_primary(rig, one.owner));
    end(&one);
}

static void its_deadline_holds(void **state)
{
    uint64_t timeout_us = 300000;
    bool was_blocked = false;
    one_t one;
    (void)state;

    for (; !was_blocked; timeout_us *= 2) { /* until it passes behind that */
        if (!pop_one(&one, patient, timeout_us))
            skip();
        WAIT_FOR((was_blocked = is_blocked(one.owner)) || outcome_is_done(&one.popped));
        WAIT_FOR(outcome_is_done(&one.popped));
        assert_int_equal(one.popped.status, SHOAL_ETIMEOUT);
        assert_int_equal(one.popped.fate, SHOAL_FATE_NOT_EXECUTED);
        assert_false(is_blocked(one.owner));
        end(&one);
    }
}

/* XADD, and then XREAD with BLOCK and "$": what was added before is not read. */
static void it_stays_in_order(void **state)
{
    static const char *const add[] = {"XADD", "s", "*", "f", "v", NULL};
    static const char *const read[] = {"XREAD", "BLOCK", "0", "STREAMS",
                                       "s",     "$",     NULL};
    static const char *const read_all[] = {"XREAD", "BLOCK", "0", "STREAMS",
                                           "s",     "0",     NULL};
    (void)state;

    if (!rig)
        skip();
    shoal_client_t *client = live_open(cluster_rig_options(rig, 0));
    for (size_t i = 0; i < live_scaled(200); i++) {
        outcome_t all = {0}, later = {0};
        live_ask(client, "DEL s");
        submit(client, add, NULL, NULL, 0);
        submit(client, read_all, outcome_cb, &all, 0);
        submit(client, read, outcome_cb, &later, 20000);
        WAIT_FOR(outcome_is_done(&all) && outcome_is_done(&later));
        assert_int_equal(all.status, 0);
        assert_int_equal(later.status, SHOAL_ETIMEOUT);
    }
    live_finish(client);
}

/* ---- many ---- */

typedef struct yard {
    shoal_client_t *client;
    size_t elements;
    _Atomic unsigned char *popped; /* how often */
    _Atomic bool is_over;
    _Atomic size_t busy, got, let_go, unknown, others;
} yard_t;

typedef struct popper {
    yard_t *yard;
    unsigned random;
    _Atomic uint64_t ticket;
} popper_t;

static void on_pop(shoal_client_t *client, const shoal_result_t *result, void *data);

static void pop(popper_t *popper)
{
    static const char *const argv[] = {"BLPOP", KEY, "0", NULL};
    uint64_t timeout_us = 0;

    if (live_roll(&popper->random) % 2)
        timeout_us = 200 + live_roll(&popper->random) % 20000;
    popper->ticket = submit(popper->yard->client, argv, on_pop, popper, timeout_us);
}

static void on_pop(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    popper_t *popper = data;
    yard_t *yard = popper->yard;
    const shoal_reply_t *reply = shoal_result_reply(result);
    int status = shoal_result_status(result);
    size_t bytes;
    (void)client;

    if (status == 0 && shoal_reply_type(reply) == SHOAL_REPLY_ARRAY) {
        const char *text = shoal_reply_string(shoal_reply_at(reply, 1), &bytes);
        atomic_fetch_add(&yard->popped[strtoul(text, NULL, 10)], 1);
        yard->got++;
    } else if (status == 0) {
        print_message("a reply: %s\n", shoal_result_error(result));
        yard->others++;
    } else if (shoal_result_fate(result) != SHOAL_FATE_NOT_EXECUTED) {
        print_message("unknown: %s\n", shoal_result_detail(result));
        yard->unknown++;
    } else {
        yard->let_go++;
    }
    if (yard->is_over)
        yard->busy--;
    else
        pop(popper);
}

static void count_left(const yard_t *yard, unsigned char *left)
{
    shoal_result_t *result;
    size_t bytes;

    assert_int_equal(shoal_client_callf(yard->client, &result, "LRANGE " KEY " 0 -1"),
                     0);
    assert_int_equal(shoal_result_status(result), 0);
    const shoal_reply_t *list = shoal_result_reply(result);
    for (size_t i = 0; i < shoal_reply_count(list); i++)
        left[strtoul(shoal_reply_string(shoal_reply_at(list, i), &bytes), NULL, 10)]++;
    shoal_result_release(result);
}

static void check(const yard_t *yard)
{
    unsigned char *left = calloc(yard->elements, 1);
    size_t missing = 0, twice = 0;

    assert_non_null(left);
    count_left(yard, left);
    for (size_t i = 0; i < yard->elements; i++) {
        missing += left[i] + yard->popped[i] == 0;
        twice += left[i] + yard->popped[i] > 1;
    }
    free(left);
    print_message("%zu elements: popped %zu, missing %zu, twice %zu; let go %zu, "
                  "unknown %zu, others %zu\n",
                  yard->elements, yard->got, missing, twice, yard->let_go,
                  yard->unknown, yard->others);
    assert_int_equal(twice, 0);
    assert_true(missing <= yard->unknown);
    assert_int_equal(yard->others, 0);
    assert_true(yard->let_go > 0);
}

typedef enum trouble { MOVES, FAILOVERS } trouble_t;

static void trouble(trouble_t kind)
{
    size_t owner = cluster_rig_agreed_owner(rig, KEY);

    if (kind == MOVES) {
        size_t to = another_primary(owner);
        cluster_rig_move(rig, key_slot(), owner, to);
        cluster_rig_await_owner(rig, KEY, to);
    } else {
        cluster_rig_failover(rig, (owner + 3) % CLUSTER_NODES, "");
        cluster_rig_await_calm(rig);
    }
}

static void run(size_t elements, size_t troubles, trouble_t kind)
{
    yard_t yard = {.elements = elements, .busy = POPPERS};
    popper_t poppers[POPPERS];
    unsigned random = 4711;
    char text[40];

    if (!rig)
        skip();
    cluster_rig_set_timeout(rig, kind == MOVES ? patient : brisk);
    yard.client = live_open(cluster_rig_options(rig, 0));
    yard.popped = calloc(elements, sizeof *yard.popped);
    assert_non_null(yard.popped);
    for (unsigned i = 0; i < POPPERS; i++) {
        poppers[i] = (popper_t){.yard = &yard, .random = i + 1};
        pop(&poppers[i]);
    }
    for (size_t i = 0; i < elements; i++) {
        snprintf(text, sizeof text, "RPUSH " KEY " %zu", i);
        live_ask(yard.client, text);
        if (live_roll(&random) % 3 == 0)
            (void)!shoal_client_cancel(yard.client,
                                       poppers[live_roll(&random) % POPPERS].ticket);
        if (i % (elements / troubles) == elements / troubles / 2)
            trouble(kind);
    }
    yard.is_over = true;
    while (yard.busy > 0) {
        for (unsigned i = 0; i < POPPERS; i++)
            (void)!shoal_client_cancel(yard.client, poppers[i].ticket);
        waiting_sleep_us(1000);
    }
    check(&yard);
    WAIT_FOR(live_stats(yard.client).leases_now == 0);
    live_finish(yard.client);
    free((void *)yard.popped);
}

static void each_element_is_popped_once_while_slots_move(void **state)
{
    (void)state;
    run(live_scaled(2000), live_scaled(10), MOVES);
}

static void each_element_is_popped_once_while_replicas_are_promoted(void **state)
{
    (void)state;
    run(live_scaled(2000), live_scaled(3), FAILOVERS);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_follows_its_slot),
        cmocka_unit_test(it_follows_the_next_primary),
        cmocka_unit_test(it_waits_until_the_cluster_is_up),
        cmocka_unit_test(its_primary_dies),
        cmocka_unit_test(its_primary_is_stopped),
        cmocka_unit_test(its_deadline_holds),
        cmocka_unit_test(it_stays_in_order),
        cmocka_unit_test(each_element_is_popped_once_while_slots_move),
        cmocka_unit_test(each_element_is_popped_once_while_replicas_are_promoted),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("cluster_blocking", tests, start, stop);
}
