/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/role_reply.h"
#include "resp/reply.h"
#include <stdio.h>
#include <stdlib.h>

/* A tree from a text: "[a b [c d]]" is an array of strings, ":7" an integer, "_" a nil. */
static shoal_reply_t pool[64];
static char texts[64][400];
static size_t used;

static shoal_reply_t read_item(const char **at)
{
    shoal_reply_t reply = {.type = SHOAL_REPLY_STRING};
    size_t bytes, slot = used++;

    if (**at == '[') {
        shoal_reply_t items[8];
        size_t count = 0;
        for ((*at)++; **at != ']';) {
            items[count++] = read_item(at);
            *at += **at == ' ';
        }
        (*at)++;
        reply.type = SHOAL_REPLY_ARRAY;
        reply.as.children.items = &pool[used];
        reply.as.children.count = reply.as.children.capacity = count;
        memcpy(&pool[used], items, count * sizeof *items);
        used += count;
        return reply;
    }
    bytes = strcspn(*at, " ]");
    memcpy(texts[slot], *at, bytes);
    texts[slot][bytes] = '\0';
    *at += bytes;
    if (texts[slot][0] == '_')
        reply.type = SHOAL_REPLY_NIL;
    else if (texts[slot][0] == ':') {
        reply.type = SHOAL_REPLY_INTEGER;
        reply.as.integer = atoi(texts[slot] + 1);
    } else {
        reply.as.text.data = texts[slot];
        reply.as.text.bytes = bytes;
    }
    return reply;
}

static shoal_reply_t reply_of(const char *text)
{
    used = 0;
    return read_item(&text);
}

static const struct row {
    const char *text;
    shoal__role_t role;
    bool is_linked;
} rows[] = {
    {"[master :0 []]", SHOAL__ROLE_PRIMARY, false},
    {"[master :0 [[h 1 0]]]", SHOAL__ROLE_PRIMARY, false},
    {"[slave h :1 connected :0]", SHOAL__ROLE_REPLICA, true},
    {"[slave h :1 connect :-1]", SHOAL__ROLE_REPLICA, false},
    {"[slave h :1 connecting :-1]", SHOAL__ROLE_REPLICA, false},
    {"[slave h :1 sync :-1]", SHOAL__ROLE_REPLICA, false},
    {"[slave]", SHOAL__ROLE_REPLICA, false},
    {"[sentinel [a]]", SHOAL__ROLE_UNKNOWN, false},
    {"[]", SHOAL__ROLE_UNKNOWN, false},
    {"[:1 :2 :3]", SHOAL__ROLE_UNKNOWN, false},
    {"[masters :0 []]", SHOAL__ROLE_UNKNOWN, false},
    {"master", SHOAL__ROLE_UNKNOWN, false},
    {"_", SHOAL__ROLE_UNKNOWN, false},
};

static void test_which_role(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        shoal_reply_t reply = reply_of(rows[i].text);
        shoal__role_reply_t role = shoal__role_reply_read(&reply);
        assert_int_equal(role.role, rows[i].role);
        assert_int_equal(role.is_linked, rows[i].is_linked);
        assert_int_equal(role.replicas != NULL, rows[i].role == SHOAL__ROLE_PRIMARY);
    }
    assert_int_equal(shoal__role_reply_read(NULL).role, SHOAL__ROLE_UNKNOWN);
}

static void check_replica(const char *entry, const char *host, int port)
{
    char text[700];
    shoal__bytes_t found = {0};
    int found_port = 0;
    shoal_reply_t reply;
    shoal__role_reply_t role;

    snprintf(text, sizeof text, "[master :0 [%s]]", entry);
    reply = reply_of(text);
    role = shoal__role_reply_read(&reply);
    assert_int_equal(shoal_reply_count(role.replicas), 1);
    assert_int_equal(shoal__role_reply_replica(&role, 0, &found, &found_port),
                     host != NULL);
    if (!host)
        return;
    assert_true(shoal__bytes_equal(found, (shoal__bytes_t){host, strlen(host)}));
    assert_int_equal(found_port, port);
}

static void test_which_replicas(void **state)
{
    char longest[SHOAL__ROLE_REPLY_HOST_BYTES + 1] = "", entry[600];
    (void)state;

    check_replica("[127.0.0.1 6380 12]", "127.0.0.1", 6380);
    check_replica("[fe80::1%eth0 1 12]", "fe80::1%eth0", 1);
    check_replica("[a-B.c_9 65535 12]", "a-B.c_9", 65535);
    check_replica("[h 65536 0]", NULL, 0);
    check_replica("[h 99999999999999999999 0]", NULL, 0);
    check_replica("[h 0 0]", NULL, 0);
    check_replica("[h 1x 0]", NULL, 0);
    check_replica("[h -1 0]", NULL, 0);
    check_replica("[h :1 0]", NULL, 0);
    check_replica("[? 1 0]", NULL, 0);
    check_replica("[a/b 1 0]", NULL, 0);
    check_replica("[a@b 1 0]", NULL, 0);
    check_replica("[_ 1 0]", NULL, 0);
    check_replica("[h]", NULL, 0);
    check_replica("[]", NULL, 0);
    check_replica("h", NULL, 0);
    shoal_reply_t none = reply_of("[master]");
    shoal__role_reply_t role = shoal__role_reply_read(&none);
    assert_int_equal(shoal_reply_count(role.replicas), 0);
    memset(longest, 'h', SHOAL__ROLE_REPLY_HOST_BYTES);
    snprintf(entry, sizeof entry, "[%s 1 0]", longest);
    check_replica(entry, longest, 1);
    snprintf(entry, sizeof entry, "[h%s 1 0]", longest);
    check_replica(entry, NULL, 0);
}

static void test_a_nul_is_in_no_host(void **state)
{
    shoal_reply_t reply = reply_of("[master :0 [[hxh 1 0]]]");
    shoal__role_reply_t role = shoal__role_reply_read(&reply);
    shoal__bytes_t host;
    int port;
    (void)state;

    assert_true(shoal__role_reply_replica(&role, 0, &host, &port));
    *strchr((char *)(uintptr_t)host.data, 'x') = '\0';
    assert_false(shoal__role_reply_replica(&role, 0, &host, &port));
    assert_false(shoal__role_reply_replica(&role, 1, &host, &port));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which_role),
        cmocka_unit_test(test_which_replicas),
        cmocka_unit_test(test_a_nul_is_in_no_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
