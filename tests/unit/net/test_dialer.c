/* SPDX-License-Identifier: MIT */
#include "unit/net/dialer_rig.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
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
    };
    return cmocka_run_group_tests_name("net/dialer", tests, NULL, NULL);
}
