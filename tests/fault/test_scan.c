/* SPDX-License-Identifier: MIT */
/* Scans of a server that the test plays: where a cursor means something, and what ends. */
#include "fault/scan_steps.h"

/* ---- one server ---- */

static void pages_come_until_the_cursor_is_0(void **state)
{
    scene_t *scene = *state;

    scene_open_ready(scene);
    say(scene->server, "0", PAGE_7_A);
    say(scene->server, "7", PAGE_0_B);
    shoal_scan_t *scan = new_scan(scene);
    check_next(scan, "a");
    check_next(scan, "b");
    check_over(scan);
    check_over(scan);
    shoal_scan_free(scan);
    assert_int_equal(fake_server_received(scene->server, 0, "SCAN", NULL), 2);
}

/* All words of the command, in their order. */
static void the_options_are_words_of_the_command(void **state)
{
    scene_t *scene = *state;
    char match[] = "a*b", key[] = "key";
    shoal_scan_options_t options = SHOAL_SCAN_OPTIONS_INIT;
    shoal_scan_t *scan;

    scene_open_ready(scene);
    say(scene->server, "0", PAGE_0);
    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "ZSCAN", .argument = "key", .reply = PAGE_0_B});
    options.match = match;
    options.match_bytes = 3;
    options.count = 1000;
    options.type = "zset";
    assert_int_equal(shoal_scan_new(scene->client, &options, &scan), 0);
    match[0] = 'X'; /* it was copied */
    check_next(scan, "");
    shoal_scan_free(scan);
    options.kind = SHOAL_SCAN_SORTED_SET;
    options.key = key;
    options.key_bytes = 3;
    options.type = NULL;
    options.count = 0;
    assert_int_equal(shoal_scan_new(scene->client, &options, &scan), 0);
    key[0] = 'X';
    check_next(scan, "b");
    check_over(scan);
    shoal_scan_free(scan);
    size_t size = fake_server_ledger_size(scene->server);
    fake_entry_t last = fake_server_ledger_at(scene->server, size - 1);
    assert_int_equal(last.argc, 5);
    assert_string_equal(last.args[2], "0");
    assert_string_equal(last.args[4], "X*b");
    last = fake_server_ledger_at(scene->server, size - 2);
    assert_int_equal(last.argc, 8);
    assert_string_equal(last.args[2], "MATCH");
    assert_string_equal(last.args[3], "a*b");
    assert_string_equal(last.args[4], "COUNT");
}

static void what_makes_no_scan(void **state)
{
    static const shoal_scan_options_t bad[] = {
        {.size = 0},
        {.size = sizeof bad[0], .kind = SHOAL_SCAN_HASH},
        {.size = sizeof bad[0], .kind = (shoal_scan_kind_t)4, .key = "k"},
        {.size = sizeof bad[0], .key = "k", .key_bytes = 1},
        {.size = sizeof bad[0], .kind = SHOAL_SCAN_SET, .key = "k", .type = "set"},
        {.size = sizeof bad[0], .count = UINT64_MAX},
    };
    scene_t *scene = *state;
    shoal_scan_t *scan;

    scene_open_ready(scene);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(shoal_scan_new(scene->client, &bad[i], &scan), SHOAL_EINVAL);
        assert_null(scan);
    }
}

/* A scan stays where it is: errors, replies that are no pages, a deadline. */
static void a_failure_moves_nothing(void **state)
{
    static const char *const wrong[] = {"-NOPERM no\r\n", "*1\r\n$1\r\n7\r\n",
                                        "*2\r\n$2\r\n x\r\n*0\r\n",
                                        "*2\r\n$1\r\n7\r\n$1\r\na\r\n"};
    scene_t *scene = *state;

    scene_open_ready(scene);
    shoal_scan_t *scan = new_scan(scene);
    for (size_t i = 0; i < 2; i++) {
        for (size_t j = 0; j < 4; j++)
            fake_server_rule(
                scene->server,
                &(fake_rule_t){.command = "SCAN", .reply = wrong[j], .times = 1});
        fake_server_hold(scene->server, "SCAN");
        check_error(scan, "NOPERM no");
        for (size_t j = 0; j < 3; j++)
            check_status(scan, 0, SHOAL_EDESYNC);
        check_status(scan, 20000, SHOAL_ETIMEOUT);
        fake_server_forget_rules(scene->server);
        fake_server_release(scene->server);
        say(scene->server, "0", PAGE_7_A);
        say(scene->server, "7", PAGE_0_B);
        check_next(scan, i == 0 ? "a" : "b");
        fake_server_forget_rules(scene->server);
    }
    check_over(scan);
    shoal_scan_free(scan);
}

/* Its process is another one, while the question for the cursor 7 is on its way. */
static void a_cursor_is_of_no_use_to_another_process(void **state)
{
    scene_t *scene = *state;

    scene_open_ready(scene);
    say(scene->server, "0", PAGE_7_A);
    size_t cut = fake_server_rule(scene->server, &(fake_rule_t){.command = "SCAN",
                                                                .argument = "7",
                                                                .times = 1,
                                                                .reply = "*",
                                                                .then = FAKE_RESET});
    fake_server_rule(scene->server, &(fake_rule_t){.command = "INFO",
                                                   .reply = "$11\r\nrun_id:beef\r\n"});
    say(scene->server, "7", PAGE_0_B);
    shoal_scan_t *scan = new_scan(scene);
    check_next(scan, "a");
    check_next(scan, "b"); /* it was asked again; that is no end */
    assert_int_equal(fake_server_hits(scene->server, cut), 1);
    check_next(scan, "a");
    check_next(scan, "b");
    check_over(scan);
    shoal_scan_free(scan);
    assert_int_equal(fake_server_received(scene->server, 0, "SCAN", "0"), 2);
}

/* The same process: the scan goes on. */
static void a_lost_connection_alone_does_not_matter(void **state)
{
    scene_t *scene = *state;

    scene_open_ready(scene);
    say(scene->server, "0", PAGE_7_A);
    say(scene->server, "7", PAGE_0_B);
    shoal_scan_t *scan = new_scan(scene);
    check_next(scan, "a");
    fake_server_cut(scene->server, FAKE_CUT_RESET);
    check_next(scan, "b");
    check_over(scan);
    shoal_scan_free(scan);
}

/* ---- callbacks ---- */

static void a_callback_asks_for_the_next_page(void **state)
{
    scene_t *scene = *state;
    walk_t *walk = scene_alloc(scene, sizeof *walk);

    scene_open_ready(scene);
    say(scene->server, "0", PAGE_7_A);
    say(scene->server, "7", PAGE_0_B);
    check_walk(scene, walk, "ab");
    assert_int_equal(walk->pages, 2);
    shoal_scan_free(walk->scan);
    walk = scene_alloc(scene, sizeof *walk);
    walk->frees = true;
    check_walk(scene, walk, "a");
}

static void on_page_that_waits(shoal_client_t *client, const shoal_result_t *page,
                               void *data)
{
    walk_t *walk = data;
    shoal_result_t *next;
    (void)client, (void)page;

    walk->status = shoal_scan_next(walk->scan, 0, &next);
    walk->ends++;
}

static void a_callback_does_not_wait(void **state)
{
    scene_t *scene = *state;
    walk_t *walk = scene_alloc(scene, sizeof *walk);

    scene_open_ready(scene);
    say(scene->server, "0", PAGE_7_A);
    say(scene->server, "7", PAGE_0_B);
    walk->scan = new_scan(scene);
    assert_int_equal(shoal_scan_submit(walk->scan, 0, on_page_that_waits, walk), 0);
    WAIT_FOR(walk->ends == 1);
    assert_int_equal(walk->status, SHOAL_ELOOP);
    check_next(walk->scan, "b");
    check_over(walk->scan);
    shoal_scan_free(walk->scan);
}

static void one_page_at_a_time(void **state)
{
    scene_t *scene = *state;
    walk_t *walk = scene_alloc(scene, sizeof *walk);
    shoal_result_t *page;

    scene_open_ready(scene);
    fake_server_hold(scene->server, "SCAN");
    walk->scan = new_scan(scene);
    assert_int_equal(shoal_scan_submit(walk->scan, 0, on_page, walk), 0);
    assert_int_equal(shoal_scan_submit(walk->scan, 0, on_page, walk), SHOAL_EINVAL);
    assert_int_equal(shoal_scan_next(walk->scan, 0, &page), SHOAL_EINVAL);
    shoal_scan_free(walk->scan); /* the page comes all the same */
    walk->frees = false;
    assert_int_equal(walk->ends, 0);
    shoal_client_close_and_wait(scene->client, 0);
    WAIT_FOR(walk->pages == 1);
    assert_int_equal(walk->status, SHOAL_ESHUTDOWN);
    shoal_scan_t *late = new_scan(scene);
    assert_int_equal(shoal_scan_submit(late, 0, on_page, walk), SHOAL_ECLOSED);
    assert_int_equal(shoal_scan_next(late, 0, &page), SHOAL_ECLOSED);
    shoal_scan_free(late);
    shoal_client_release(scene->client);
    scene->client = NULL;
    assert_int_equal(walk->pages, 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(pages_come_until_the_cursor_is_0),
        SCENE_TEST(the_options_are_words_of_the_command),
        SCENE_TEST(what_makes_no_scan),
        SCENE_TEST(a_failure_moves_nothing),
        SCENE_TEST(a_cursor_is_of_no_use_to_another_process),
        SCENE_TEST(a_lost_connection_alone_does_not_matter),
        SCENE_TEST(a_callback_asks_for_the_next_page),
        SCENE_TEST(a_callback_does_not_wait),
        SCENE_TEST(one_page_at_a_time),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("scan", tests, NULL, NULL);
}
