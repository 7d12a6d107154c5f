/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/time_us.h"
#include "net/clock.h"
#include "net/dialer.h"
#include "net/finder.h"
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

/* A resolver and streams of the test's own: nothing is connected. */

#define CONNECT_US 6000000
#define STREAMS_MAX 20
#define REFUSED 111
#define UNREACHABLE 101

static struct world {
    bool no_lookup;            /* a look-up cannot begin */
    shoal__lookup_cb on_found; /* of the look-up under way; NULL: none */
    void *on_found_owner;      /* its owner */
    unsigned refused_opens;    /* so many streams cannot be opened */
    shoal__stream_t streams[STREAMS_MAX];
    unsigned opened, closed, forgotten, abandoned, lookups_forgotten;
    socklen_t tried[STREAMS_MAX];       /* the addresses, by their length */
    const char *endpoints[STREAMS_MAX]; /* their endpoints */
    const char *looked_up;              /* the last name that was */
    sa_family_t family;                 /* of the addresses that are found */
    uint64_t due_us;                    /* the last that on_waiting told */
    unsigned waits;
    shoal__stream_t *reached;
    shoal__reached_t where;
    int failed; /* 0: it did not */
    char detail[256];
} world;

static shoal__dialer_t dialer;

/* ---- the resolver: addresses have lengths 1, 2, 3 ... ---- */

static void some_addresses(unsigned count, shoal__addresses_t *ret_addresses)
{
    memset(ret_addresses, 0, sizeof *ret_addresses);
    ret_addresses->count = count;
    for (unsigned i = 0; i < count; i++) {
        ret_addresses->items[i].bytes = (socklen_t)(i + 1);
        ret_addresses->items[i].at.ss_family = world.family;
    }
}

bool shoal__resolver_numeric(const char *host, int port,
                             shoal__addresses_t *ret_addresses)
{
    assert_int_equal(port, 6379);
    if (strcmp(host, "10.0.0.1") != 0)
        return false;
    some_addresses(1, ret_addresses);
    return true;
}

void shoal__resolver_unix(const char *path, shoal__addresses_t *ret_addresses)
{
    assert_string_equal(path, "/run/redis.sock");
    some_addresses(1, ret_addresses);
}

shoal__lookup_t *shoal__resolver_lookup(uv_loop_t *loop, const char *host, int port,
                                        shoal__lookup_cb on_found, void *owner)
{
    assert_null(loop);
    assert_true(strncmp(host, "name", 4) == 0);
    assert_int_equal(port, 6379);
    world.looked_up = host;
    if (world.no_lookup)
        return NULL;
    world.on_found = on_found;
    world.on_found_owner = owner;
    return (shoal__lookup_t *)&world;
}

void shoal__resolver_abandon(shoal__lookup_t *lookup)
{
    world.abandoned += lookup != NULL;
}

void shoal__resolver_forget(shoal__lookup_t *lookup)
{
    world.lookups_forgotten += lookup != NULL;
}

static void find(unsigned count, const char *error)
{
    shoal__addresses_t addresses;

    some_addresses(count, &addresses);
    world.on_found(world.on_found_owner, &addresses, error);
}

/* ---- streams ---- */

static shoal__stream_t *open_stream(const shoal__stream_kind_t *kind,
                                    const shoal__stream_request_t *request,
                                    int *ret_error)
{
    assert_ptr_equal(request->owner, &world);
    assert_int_equal(request->keepalive_us, 15);
    world.endpoints[world.opened] = request->endpoint->name;
    assert_int_equal(request->source ? request->source->bytes : 0, 16);
    assert_true(world.opened < STREAMS_MAX);
    world.tried[world.opened] = request->address->bytes;
    world.streams[world.opened].kind = kind;
    if (world.opened++ < world.refused_opens) {
        world.closed++;
        *ret_error = UNREACHABLE;
        return NULL;
    }
    return &world.streams[world.opened - 1];
}

static const char *error_text(const shoal__stream_t *stream, int error)
{
    if (error == SHOAL_ETIMEOUT)
        return "timed out";
    if (error == SHOAL_ETLS)
        return "forged";
    assert_int_equal(error, stream ? REFUSED : UNREACHABLE);
    return stream ? "refused" : "unreachable";
}

static void close_stream(shoal__stream_t *stream, bool is_orderly)
{
    assert_false(is_orderly);
    assert_ptr_equal(stream, &world.streams[world.opened - 1]);
    world.closed++;
}

static void forget_stream(shoal__stream_t *stream)
{
    assert_ptr_equal(stream, &world.streams[world.opened - 1]);
    world.forgotten++;
}

static const shoal__stream_kind_t kind = {.open = open_stream,
                                          .error_text = error_text,
                                          .close = close_stream,
                                          .forget = forget_stream};

/* ---- the owner ---- */

static void on_waiting(void *owner, uint64_t due_us)
{
    assert_ptr_equal(owner, &world);
    world.waits++;
    world.due_us = due_us;
}

static void on_reached(void *owner, shoal__stream_t *stream,
                       const shoal__reached_t *reached)
{
    assert_ptr_equal(owner, &world);
    assert_null(world.reached);
    world.where = *reached;
    world.reached = stream;
}

/* As a connection does: it stops the dialer at once. */
static void on_failed(void *owner, int status, const char *detail)
{
    assert_ptr_equal(owner, &world);
    assert_int_equal(world.failed, 0);
    world.failed = status;
    snprintf(world.detail, sizeof world.detail, "%s", detail);
    shoal__dialer_stop(&dialer);
}

static const shoal__dialer_hooks_t hooks = {
    .on_waiting = on_waiting, .on_reached = on_reached, .on_failed = on_failed};
static const shoal__dial_config_t config = {.stream = &kind,
                                            .source = {.bytes = 16},
                                            .keepalive_us = 15,
                                            .connect_us = CONNECT_US};
static const shoal__endpoint_t unix_endpoint = {.unix_path = "/run/redis.sock",
                                                .name = "the server"},
                               numeric_endpoint = {.host = "10.0.0.1",
                                                   .port = 6379,
                                                   .name = "the server"},
                               named_endpoint = {
                                   .host = "name", .port = 6379, .name = "the server"};
static shoal__target_t unix_target = {.endpoints = &unix_endpoint,
                                      .endpoints_count = 1,
                                      .name = "the server"},
                       numeric_target = {.endpoints = &numeric_endpoint,
                                         .endpoints_count = 1,
                                         .name = "the server"},
                       named_target = {.endpoints = &named_endpoint,
                                       .endpoints_count = 1,
                                       .name = "the server"};

/* a is an address, b and c are names. */
static const shoal__endpoint_t three[] = {
    {.host = "10.0.0.1", .port = 6379, .name = "a:6379"},
    {.host = "name-b", .port = 6379, .name = "b:6379"},
    {.host = "name-c", .port = 6379, .name = "c:6379"},
};

static uint64_t begin(shoal__target_t *target)
{
    uint64_t now_us = shoal__clock_us();

    shoal__dialer_begin(
        &dialer,
        &(shoal__dialer_plan_t){
            .config = &config, .target = target, .hooks = &hooks, .owner = &world},
        now_us);
    return now_us;
}

static int set_up(void **state)
{
    (void)state;
    world = (struct world){0};
    return 0;
}

/* Whatever happened, the streams that were opened are closed, but for the owner's. */
static int tear_down(void **state)
{
    (void)state;
    shoal__dialer_stop(&dialer);
    shoal__dialer_stop(&dialer);
    return dialer.attempt || world.closed + (world.reached != NULL) != world.opened;
}

static void check_failed(int status, const char *detail)
{
    assert_int_equal(world.failed, status);
    assert_string_equal(world.detail, detail);
    assert_null(dialer.attempt);
}

/* ---- tests ---- */

static void test_an_address_needs_no_look_up(void **state)
{
    (void)state;
    shoal__target_t *const targets[] = {&unix_target, &numeric_target};

    for (size_t i = 0; i < 2; i++) {
        world = (struct world){0};
        begin(targets[i]);
        assert_int_equal(world.opened, 1);
        assert_null(world.reached);
        shoal__dialer_answered(&dialer, 0);
        assert_ptr_equal(world.reached, &world.streams[0]);
        assert_null(dialer.attempt); /* its memory is given back */
        assert_int_equal(world.closed, 0);
    }
}

static void test_a_name_is_looked_up(void **state)
{
    (void)state;
    uint64_t now_us = begin(&named_target);

    assert_int_equal(world.opened, 0);
    assert_int_equal(world.due_us, now_us + CONNECT_US);
    find(2, NULL);
    assert_int_equal(world.opened, 1);
    assert_int_equal(world.abandoned, 0);
    shoal__dialer_answered(&dialer, 0);
    assert_non_null(world.reached);
}

static void test_addresses_are_tried_in_turn(void **state)
{
    (void)state;
    begin(&named_target);
    find(3, NULL);
    shoal__dialer_answered(&dialer, REFUSED);
    shoal__dialer_timed_out(&dialer);
    assert_int_equal(world.opened, 3);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(world.tried[i], i + 1);
    assert_int_equal(world.closed, 2);
    shoal__dialer_answered(&dialer, 0);
    assert_ptr_equal(world.reached, &world.streams[2]);
    assert_int_equal(world.failed, 0);
}

/* The due time of the address, if the dialer looks at the clock now: later for a later
 * look. */
static uint64_t due_at(uint64_t now_us, uint64_t end_us, unsigned left)
{
    return now_us + shoal__time_since(now_us, end_us) / left;
}

static void test_each_address_has_its_share_of_the_time(void **state)
{
    (void)state;
    uint64_t end_us = begin(&named_target) + CONNECT_US;

    for (unsigned left = 3; left > 0; left--) {
        uint64_t before_us = shoal__clock_us();
        if (left == 3)
            find(3, NULL);
        else
            shoal__dialer_answered(&dialer, REFUSED);
        assert_true(world.due_us >= due_at(before_us, end_us, left));
        assert_true(world.due_us <= due_at(shoal__clock_us(), end_us, left));
    }
    assert_int_equal(world.waits, 4);
}

static void test_the_last_failure_is_told(void **state)
{
    (void)state;
    begin(&named_target);
    find(2, NULL);
    shoal__dialer_timed_out(&dialer);
    shoal__dialer_answered(&dialer, REFUSED);
    check_failed(SHOAL_ECONN, "connect the server: refused");

    world = (struct world){0};
    begin(&named_target);
    find(2, NULL);
    shoal__dialer_answered(&dialer, REFUSED);
    shoal__dialer_timed_out(&dialer);
    check_failed(SHOAL_ETIMEOUT, "connect the server: timed out");

    /* Not reached, because it is the wrong one. */
    world = (struct world){0};
    begin(&numeric_target);
    shoal__dialer_answered(&dialer, SHOAL_ETLS);
    check_failed(SHOAL_ETLS, "connect the server: forged");

    /* The status is that of the failure that is told, not that of the last address. */
    world = (struct world){0};
    begin(&named_target);
    find(2, NULL);
    world.refused_opens = 2;
    shoal__dialer_timed_out(&dialer);
    check_failed(SHOAL_ETIMEOUT, "connect the server: timed out");

    world = (struct world){.refused_opens = 2};
    begin(&named_target);
    find(2, NULL);
    check_failed(SHOAL_ECONN, "connect the server: unreachable");
}

static void test_a_stream_that_cannot_be_opened(void **state)
{
    (void)state;
    world.refused_opens = 1;
    begin(&named_target);
    find(2, NULL);
    assert_int_equal(world.opened, 2);
    shoal__dialer_answered(&dialer, 0);
    assert_ptr_equal(world.reached, &world.streams[1]);

    world = (struct world){.refused_opens = 1}; /* fails inside of begin */
    begin(&unix_target);
    check_failed(SHOAL_ECONN, "connect the server: unreachable");
}

static void test_a_look_up_fails(void **state)
{
    (void)state;
    begin(&named_target);
    find(0, "no such name");
    check_failed(SHOAL_ECONN, "look up the server: no such name");
    assert_int_equal(world.abandoned, 0); /* it had ended by itself */

    world = (struct world){0};
    begin(&named_target);
    shoal__dialer_timed_out(&dialer);
    check_failed(SHOAL_ETIMEOUT, "connect the server: timed out");
    assert_int_equal(world.abandoned, 1);

    world = (struct world){.no_lookup = true};
    begin(&named_target);
    check_failed(SHOAL_ECONN,
                 "look up the server: no thread, descriptor or memory to be had");
}

/* ---- a finder ---- */

static shoal__search_t *search; /* that waits; NULL: none */
static bool finds_at_once;
static shoal__list_t searches;

static void begin_search(shoal__finder_t *finder, shoal__search_t *begun)
{
    (void)finder;
    assert_ptr_equal(begun->dialer, &world);
    if (finds_at_once) {
        begun->on_found(begun->owner, NULL);
        return;
    }
    search = begun;
    shoal__list_append(&searches, &begun->node);
}

static shoal__finder_t finder = {begin_search};
static shoal__target_t found_target = {.endpoints = &numeric_endpoint,
                                       .endpoints_count = 1,
                                       .name = "the server",
                                       .finder = &finder};

static void find_server(const char *error)
{
    shoal__list_remove(&search->node);
    search->on_found(search->owner, error);
}

static void test_a_server_is_found_first(void **state)
{
    (void)state;
    shoal__list_init(&searches);
    uint64_t now_us = begin(&found_target);
    assert_int_equal(world.opened, 0);
    assert_int_equal(world.due_us, now_us + CONNECT_US);
    find_server(NULL);
    assert_int_equal(world.opened, 1);
    shoal__dialer_answered(&dialer, 0);
    assert_non_null(world.reached);

    world = (struct world){0};
    finds_at_once = true;
    begin(&found_target);
    finds_at_once = false;
    assert_int_equal(world.opened, 1);
    shoal__dialer_answered(&dialer, 0);
}

static void test_no_server_is_found(void **state)
{
    (void)state;
    shoal__list_init(&searches);
    begin(&found_target);
    find_server("nobody knows");
    check_failed(SHOAL_ECONN, "nobody knows");

    world = (struct world){0};
    begin(&found_target);
    shoal__dialer_timed_out(&dialer);
    check_failed(SHOAL_ETIMEOUT, "connect the server: timed out");
    assert_true(shoal__list_is_empty(&searches));
}

static void test_a_search_is_stopped(void **state)
{
    (void)state;
    shoal__list_init(&searches);
    begin(&found_target);
    shoal__dialer_stop(&dialer);
    assert_true(shoal__list_is_empty(&searches));
    assert_int_equal(world.failed, 0);
}

static void test_there_is_no_memory(void **state)
{
    (void)state;
    shoal__test_fail_alloc_after(0);
    begin(&unix_target);
    shoal__test_fail_alloc_never();
    check_failed(SHOAL_ENOMEM, "connect the server: no memory");
}

static void test_it_is_stopped(void **state)
{
    (void)state;
    begin(&named_target);
    shoal__dialer_stop(&dialer);
    assert_int_equal(world.abandoned, 1);

    begin(&numeric_target);
    shoal__dialer_stop(&dialer);
    assert_int_equal(world.closed, 1);
    assert_int_equal(world.failed, 0);
}

static void test_the_child_of_a_fork_forgets(void **state)
{
    (void)state;
    shoal__dialer_forget(&dialer);

    begin(&named_target);
    shoal__dialer_forget(&dialer);
    assert_int_equal(world.lookups_forgotten, 1);
    shoal__dialer_stop(&dialer);
    assert_int_equal(world.abandoned, 0);

    begin(&numeric_target);
    shoal__dialer_forget(&dialer);
    assert_int_equal(world.forgotten, 1);
    shoal__dialer_stop(&dialer);
    assert_int_equal(world.closed, 0);
    world.closed = world.opened; /* for tear_down */
}

/* ---- several endpoints ---- */

static shoal__target_t several(unsigned count, unsigned present)
{
    return (shoal__target_t){.endpoints = three,
                             .endpoints_count = count,
                             .present = present,
                             .name = three[present % count].name};
}

static void test_endpoints_are_tried_in_turn(void **state)
{
    shoal__target_t target = several(3, 0);

    (void)state;
    begin(&target);
    assert_string_equal(world.endpoints[0], "a:6379");
    assert_int_equal(target.known, 3);
    shoal__dialer_answered(&dialer, REFUSED);
    assert_string_equal(world.looked_up, "name-b");
    find(2, NULL);
    assert_int_equal(target.known, 4);
    shoal__dialer_answered(&dialer, REFUSED);
    shoal__dialer_answered(&dialer, REFUSED);
    assert_string_equal(world.looked_up, "name-c");
    find(1, NULL);
    assert_string_equal(world.endpoints[2], "b:6379");
    assert_string_equal(world.endpoints[3], "c:6379");
    shoal__dialer_answered(&dialer, 0);
    assert_ptr_equal(world.reached, &world.streams[3]);
    assert_int_equal(world.where.endpoint, 2);
    assert_int_equal(world.where.address.bytes, 1);
    assert_int_equal(world.failed, 0);
}

static void test_the_present_endpoint_is_the_first(void **state)
{
    shoal__target_t target = several(3, 1);

    (void)state;
    begin(&target);
    assert_string_equal(world.looked_up, "name-b");
    find(0, "no such name");
    assert_string_equal(world.looked_up, "name-c");
    shoal__dialer_timed_out(&dialer); /* of the look-up */
    assert_int_equal(world.abandoned, 1);
    assert_string_equal(world.endpoints[0], "a:6379");
    shoal__dialer_answered(&dialer, REFUSED);
    check_failed(SHOAL_ECONN, "look up b:6379: no such name; connect c:6379: timed "
                              "out; connect a:6379: refused");
}

static void test_each_endpoint_has_its_share_of_the_time(void **state)
{
    shoal__target_t target = several(3, 0);
    uint64_t before_us, end_us = begin(&target) + CONNECT_US;

    (void)state;
    assert_true(world.due_us <= due_at(shoal__clock_us(), end_us, 3));
    assert_true(world.due_us >= end_us - CONNECT_US + CONNECT_US / 3);
    before_us = shoal__clock_us();
    shoal__dialer_answered(&dialer, REFUSED);
    assert_true(world.due_us >= due_at(before_us, end_us, 2)); /* the look-up */
    assert_true(world.due_us <= due_at(shoal__clock_us(), end_us, 2));
    uint64_t share_end_us = world.due_us;
    find(2, NULL);
    assert_true(world.due_us <= due_at(shoal__clock_us(), share_end_us, 2));
    shoal__dialer_answered(&dialer, REFUSED);
    assert_true(world.due_us <= share_end_us);
    before_us = shoal__clock_us();
    shoal__dialer_answered(&dialer, REFUSED);
    assert_true(world.due_us >= due_at(before_us, end_us, 1));
}

/* A connection works at the present endpoint. */
static void test_a_further_connection_goes_nowhere_else(void **state)
{
    shoal__target_t target = several(3, 0);

    (void)state;
    target.ready = 1;
    begin(&target);
    shoal__dialer_answered(&dialer, REFUSED);
    assert_int_equal(world.opened, 1);
    check_failed(SHOAL_ECONN, "connect a:6379: refused");
}

/* A name with many addresses leaves room for those behind it. */
static void test_addresses_are_bounded(void **state)
{
    shoal__target_t target = several(3, 1); /* b, c, a */

    (void)state;
    begin(&target);
    find(16, NULL);
    assert_int_equal(target.known, 16);
    for (unsigned i = 0; i < 14; i++)
        shoal__dialer_answered(&dialer, REFUSED);
    assert_string_equal(world.looked_up, "name-c");
    find(16, NULL);
    shoal__dialer_answered(&dialer, REFUSED);
    assert_string_equal(world.endpoints[15], "a:6379");
    shoal__dialer_answered(&dialer, REFUSED);
    assert_int_equal(world.opened, SHOAL__ADDRESSES_MAX);
    assert_int_equal(world.failed, SHOAL_ECONN);
}

static void test_the_address_that_worked_is_the_first(void **state)
{
    shoal__target_t target = several(3, 1);

    (void)state;
    target.worked.bytes = 3;
    target.failed.bytes = 1;
    begin(&target);
    find(4, NULL);
    for (unsigned i = 0; i < 3; i++)
        shoal__dialer_answered(&dialer, REFUSED);
    shoal__dialer_answered(&dialer, 0);
    assert_int_equal(world.tried[0], 3);
    assert_int_equal(world.tried[1], 2);
    assert_int_equal(world.tried[2], 4);
    assert_int_equal(world.where.address.bytes, 1);
    assert_int_equal(world.where.endpoint, 1);
}

/* A server named another one: that is tried first, unless its address is of a kind that the
 * first server must not name. */
static void test_a_named_server_is_the_first(void **state)
{
    shoal__target_t target = several(2, 2);
    shoal__named_endpoint_t named = {
        .endpoint = {.host = "name-d", .port = 6379, .name = "d:6379", .by = &named.by},
        .by = {.bytes = 1, .at = {.ss_family = AF_UNIX}}};

    (void)state;
    target.named = &named;
    target.name = "d:6379";
    begin(&target);
    assert_string_equal(world.looked_up, "name-d");
    world.family = AF_UNIX;
    find(1, NULL);
    assert_string_equal(world.endpoints[0], "d:6379");
    assert_int_equal(target.known, 3);
    shoal__dialer_answered(&dialer, 0);
    assert_int_equal(world.where.endpoint, 2);
    assert_string_equal(world.where.name, "d:6379");

    world = (struct world){.family = AF_UNSPEC};
    begin(&target);
    find(2, NULL);
    assert_string_equal(world.endpoints[0], "a:6379");
    shoal__dialer_answered(&dialer, REFUSED);
    find(0, "no such name");
    check_failed(
        SHOAL_ECONN,
        "connect d:6379: the server was named by another one that must not know "
        "it; connect a:6379: refused; look up b:6379: no such name");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_an_address_needs_no_look_up),
        TEST(test_a_name_is_looked_up),
        TEST(test_addresses_are_tried_in_turn),
        TEST(test_each_address_has_its_share_of_the_time),
        TEST(test_the_last_failure_is_told),
        TEST(test_a_stream_that_cannot_be_opened),
        TEST(test_a_look_up_fails),
        TEST(test_a_server_is_found_first),
        TEST(test_no_server_is_found),
        TEST(test_a_search_is_stopped),
        TEST(test_there_is_no_memory),
        TEST(test_it_is_stopped),
        TEST(test_the_child_of_a_fork_forgets),
        TEST(test_endpoints_are_tried_in_turn),
        TEST(test_the_present_endpoint_is_the_first),
        TEST(test_each_endpoint_has_its_share_of_the_time),
        TEST(test_a_further_connection_goes_nowhere_else),
        TEST(test_addresses_are_bounded),
        TEST(test_the_address_that_worked_is_the_first),
        TEST(test_a_named_server_is_the_first),
    };
    return cmocka_run_group_tests_name("net/dialer", tests, NULL, NULL);
}
