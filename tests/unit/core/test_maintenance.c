/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "core/maintenance.h"
#include "resp/reply.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#define NOBODY (-1)
#define MINUTE_US 60000000u
#define SECOND_US 1000000u

/* What the server says: words, and numbers if they are digits; NULL stands for null. */
typedef struct said {
    const char *word;
    int64_t number;
    int64_t seconds;  /* NOBODY: the push ends before */
    const char *host; /* NULL: null */
} said_t;

static bool hear(shoal__maintenance_t **maintenance, const said_t *said,
                 uint64_t now_us)
{
    shoal_reply_t items[4] = {
        {.type = SHOAL_REPLY_STRING},
        {.type = SHOAL_REPLY_INTEGER, .as.integer = said->number},
        {.type = SHOAL_REPLY_INTEGER, .as.integer = said->seconds},
        {.type = said->host ? SHOAL_REPLY_STRING : SHOAL_REPLY_NIL}};
    shoal_reply_t push = {.type = SHOAL_REPLY_PUSH};

    items[0].as.text.data = (char *)said->word;
    items[0].as.text.bytes = strlen(said->word);
    if (said->host) {
        items[3].as.text.data = (char *)said->host;
        items[3].as.text.bytes = strlen(said->host);
    }
    push.as.children.items = items;
    push.as.children.count = push.as.children.capacity =
        said->seconds == NOBODY ? 2 : 4;
    return shoal__maintenance_hear(maintenance, &push, now_us);
}

static void test_where_and_when(void **state)
{
    static const struct {
        said_t said;
        const char *host; /* NULL: the same name */
        uint64_t after_us;
    } cases[] = {
        {{"MOVING", 1, 15, "redis.example:7000"}, "redis.example", 0},
        {{"moving", 1, 0, "[fd00::1]:7000"}, "fd00::1", 0},
        {{"MOVING", 1, 15, NULL}, NULL, 15 * SECOND_US / 2},
        {{"MOVING", 1, NOBODY, NULL}, NULL, 0},
        {{"MOVING", 1, -3, NULL}, NULL, 0},
        {{"MOVING", 1, INT64_MAX, NULL}, NULL, 1800 * (uint64_t)SECOND_US},
        {{"MOVING", 1, 10, "user:pw@host:7000"}, NULL, 5 * SECOND_US},
        {{"MOVING", 1, 10, "host"}, NULL, 5 * SECOND_US},
        {{"MOVING", 1, 10, "host:0"}, NULL, 5 * SECOND_US},
        {{"MOVING", 1, 10, ""}, NULL, 5 * SECOND_US},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shoal__maintenance_t *maintenance = NULL;

        assert_true(hear(&maintenance, &cases[i].said, 1000));
        assert_non_null(maintenance->news);
        assert_int_equal(maintenance->is_named, cases[i].host != NULL);
        assert_int_equal(shoal__maintenance_moves_us(maintenance),
                         1000 + cases[i].after_us);
        if (cases[i].host) {
            assert_string_equal(maintenance->to.host, cases[i].host);
            assert_int_equal(maintenance->to.port, 7000);
        }
        shoal__free(maintenance);
    }
}

/* A day of a connection: what it hears, and how long the server may be silent afterwards. */
static void test_patience(void **state)
{
    static const struct {
        uint64_t at_s;
        said_t said;
        bool is_notice, is_news;
        uint64_t ends_after_s; /* of a silence that begins at that time; stall: 2 s */
    } steps[] = {
        {1, {"message", 1, 1, NULL}, false, false, 2},
        {2, {"MIGRATED", 1, NOBODY, NULL}, true, false, 2}, /* nothing had begun */
        {3, {"MIGRATING", 2, 5, NULL}, true, true, 10},
        {4, {"MIGRATING", 2, 5, NULL}, true, false, 10}, /* twice */
        {5, {"MIGRATED", 3, NOBODY, NULL}, true, true, 2},
        {6, {"MIGRATED", 3, NOBODY, NULL}, true, false, 2},
        {7, {"FAILING_OVER", 2, 5, NULL}, true, true, 10}, /* another kind */
        {8, {"MIGRATING", 4, 5, NULL}, true, true, 10},
        {9, {"FAILED_OVER", 5, NOBODY, NULL}, true, false, 10}, /* one of two */
        {9, {"MIGRATED", 6, NOBODY, NULL}, true, true, 2},
        {20, {"FAILING_OVER", 7, 5, NULL}, true, true, 10},
        {74,
         {"FAILED_OVER", 5, NOBODY, NULL},
         true,
         false,
         6}, /* known; 80 s is the end */
        {79, {"message", 1, 1, NULL}, false, false, 2},
        {100, {"message", 1, 1, NULL}, false, false, 2},
        {306,
         {"MIGRATED", 3, NOBODY, NULL},
         true,
         true,
         2}, /* its number is forgotten */
    };
    shoal__maintenance_t *maintenance = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        uint64_t at_us = steps[i].at_s * SECOND_US;

        if (maintenance)
            maintenance->news = NULL;
        assert_int_equal(hear(&maintenance, &steps[i].said, at_us), steps[i].is_notice);
        assert_int_equal(maintenance && maintenance->news, steps[i].is_news);
        assert_int_equal(
            shoal__maintenance_stall_ends_us(maintenance, at_us, 2 * SECOND_US),
            at_us + steps[i].ends_after_s * SECOND_US);
        assert_int_equal(shoal__maintenance_moves_us(maintenance), SHOAL__NEVER_US);
    }
    /* A client whose own stall time is longer keeps it. */
    hear(&maintenance, &(said_t){"MIGRATING", 8, 5, NULL}, 400 * (uint64_t)SECOND_US);
    assert_int_equal(
        shoal__maintenance_stall_ends_us(maintenance, 0, 30 * (uint64_t)SECOND_US),
        30 * (uint64_t)SECOND_US);
    shoal__free(maintenance);
}

static void test_a_new_connection(void **state)
{
    const said_t moving = {"MOVING", 1, 4, NULL}, migrating = {"MIGRATING", 2, 4, NULL};
    shoal__maintenance_t *maintenance = NULL, *copy;

    (void)state;
    shoal__maintenance_reset(NULL);
    assert_true(shoal__maintenance_copy(NULL, &copy));
    assert_null(copy);
    hear(&maintenance, &moving, 0);
    hear(&maintenance, &migrating, 0);
    assert_true(shoal__maintenance_copy(maintenance, &copy));
    assert_int_equal(shoal__maintenance_moves_us(copy), 2 * SECOND_US);
    shoal__free(copy);
    shoal__maintenance_reset(maintenance);
    assert_int_equal(shoal__maintenance_moves_us(maintenance), SHOAL__NEVER_US);
    assert_null(maintenance->news);
    assert_int_equal(shoal__maintenance_stall_ends_us(maintenance, 0, 5), 5);
    /* They come once more, for the connection that has made way. */
    assert_true(hear(&maintenance, &moving, 1));
    assert_true(hear(&maintenance, &migrating, 1));
    assert_int_equal(shoal__maintenance_moves_us(maintenance), SHOAL__NEVER_US);
    assert_null(maintenance->news);
    shoal__free(maintenance);
}

/* Without memory for the first one it is none. */
static void test_no_memory(void **state)
{
    const said_t moving = {"MOVING", 1, 4, NULL};
    shoal__maintenance_t *maintenance = NULL, *copy = NULL;

    (void)state;
    shoal__test_fail_alloc_after(0);
    assert_true(hear(&maintenance, &moving, 0));
    assert_null(maintenance);
    shoal__test_fail_alloc_never();
    hear(&maintenance, &moving, 0);
    shoal__test_fail_alloc_after(0);
    assert_false(shoal__maintenance_copy(maintenance, &copy));
    shoal__test_fail_alloc_never();
    shoal__free(maintenance);
}

/* Without a number it could be any: it is none. */
static void test_what_has_no_number(void **state)
{
    shoal_reply_t items[2] = {{.type = SHOAL_REPLY_STRING}, {.type = SHOAL_REPLY_NIL}};
    shoal_reply_t push = {.type = SHOAL_REPLY_PUSH};
    shoal__maintenance_t *maintenance = NULL;

    (void)state;
    assert_false(shoal__maintenance_hear(&maintenance, &push, 0));
    items[0].as.text.data = (char *)"MOVING";
    items[0].as.text.bytes = 6;
    push.as.children.items = items;
    for (push.as.children.count = 1; push.as.children.count <= 2;
         push.as.children.count++) {
        assert_true(shoal__maintenance_hear(&maintenance, &push, 0));
        assert_int_equal(shoal__maintenance_moves_us(maintenance), SHOAL__NEVER_US);
    }
    shoal__free(maintenance);
}

static void test_endpoint_types(void **state)
{
    static const struct {
        const char *address, *type, *tls;
    } cases[] = {
        {"8.8.8.8", "external-ip", "external-fqdn"},
        {"10.1.2.3", "internal-ip", "internal-fqdn"},
        {"127.0.0.1", "internal-ip", "internal-fqdn"},
        {"0.0.0.0", NULL, NULL},
    };
    shoal__address_t unix_path = {.bytes = sizeof unix_path.at};

    (void)state;
    unix_path.at.ss_family = AF_UNIX;
    assert_null(shoal__maintenance_endpoint_type(&unix_path, false));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int tls = 0; tls < 2; tls++) {
            const char *type = tls ? cases[i].tls : cases[i].type, *got;
            struct sockaddr_in ipv4 = {.sin_family = AF_INET};
            shoal__address_t address = {.bytes = sizeof ipv4};

            assert_int_equal(inet_pton(AF_INET, cases[i].address, &ipv4.sin_addr), 1);
            memcpy(&address.at, &ipv4, sizeof ipv4);
            got = shoal__maintenance_endpoint_type(&address, tls);
            assert_int_equal(got == NULL, type == NULL);
            if (type)
                assert_string_equal(got, type);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_where_and_when),
        cmocka_unit_test(test_patience),
        cmocka_unit_test(test_a_new_connection),
        cmocka_unit_test(test_what_has_no_number),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_endpoint_types),
    };
    return cmocka_run_group_tests_name("maintenance", tests, NULL, NULL);
}
