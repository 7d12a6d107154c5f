/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/cluster/slots_reply.h"
#include "unit/core/wire.h"
#include <stdio.h>
#include <string.h>

/* ---- CLUSTER SLOTS ---- */

#define HOST "$9\r\n127.0.0.1\r\n"
#define ID "$4\r\nid-1\r\n"
#define NODE "*3\r\n" HOST ":7000\r\n" ID
#define NO_NAME(list) "*4\r\n$1\r\n?\r\n:7000\r\n" ID list
#define NAMED(list) "*4\r\n" HOST ":7000\r\n" ID list "$8\r\nhostname\r\n+h.org\r\n"

/* A whole answer as text. */
static void print(const shoal_reply_t *reply, void *data)
{
    char *text = data;

    *text = '\0';
    if (!shoal__slots_reply_is_whole(reply)) {
        strcpy(text, "no");
        return;
    }
    for (size_t i = 0; i < shoal_reply_count(reply); i++) {
        shoal__slots_range_t range = shoal__slots_reply_range(reply, i);
        text += sprintf(text, "%u-%u", range.first, range.last);
        for (size_t k = 0; k < range.nodes; k++) {
            shoal__slots_node_t node;
            shoal__slots_reply_node(reply, i, k, &node);
            text += sprintf(text, " %s@%s:%d%s%s%s%s", node.id, node.host, node.port,
                            *node.hostname ? "," : "", node.hostname,
                            *node.ip ? "=" : "", node.ip);
        }
        text += sprintf(text, ";");
    }
}

static const struct slots_row {
    const char *wire, *text;
} rows[] = {
    {"*0\r\n", ""},
    {"*1\r\n*3\r\n:0\r\n:16383\r\n" NODE, "0-16383 id-1@127.0.0.1:7000;"},
    {"*2\r\n*4\r\n:0\r\n:5\r\n" NODE NODE "*3\r\n:6\r\n:6\r\n" NODE,
     "0-5 id-1@127.0.0.1:7000 id-1@127.0.0.1:7000;6-6 id-1@127.0.0.1:7000;"},
    /* More is known of a node. */
    {"*1\r\n*3\r\n:0\r\n:5\r\n" NAMED("*2\r\n"), "0-5 id-1@127.0.0.1:7000,h.org;"},
    {"*1\r\n*3\r\n:0\r\n:5\r\n" NAMED("%1\r\n"), "0-5 id-1@127.0.0.1:7000,h.org;"},
    {"*1\r\n*3\r\n:0\r\n:5\r\n*4\r\n" HOST ":7000\r\n" ID "*0\r\n",
     "0-5 id-1@127.0.0.1:7000;"},
    /* ... or less. */
    {"*1\r\n*3\r\n:0\r\n:5\r\n*3\r\n$-1\r\n:7000\r\n" ID, "0-5 id-1@:7000;"},
    {"*1\r\n*3\r\n:0\r\n:5\r\n*3\r\n_\r\n:7000\r\n" ID, "0-5 id-1@:7000;"},
    {"*1\r\n*3\r\n:0\r\n:5\r\n*3\r\n$0\r\n\r\n:7000\r\n" ID, "0-5 id-1@:7000;"},
    {"*1\r\n*3\r\n:0\r\n:5\r\n*3\r\n$1\r\n?\r\n:7000\r\n" ID, "0-5 id-1@?:0;"},
    {"*1\r\n*3\r\n:0\r\n:5\r\n*3\r\n" HOST ":0\r\n" ID, "0-5 id-1@127.0.0.1:0;"},
    /* It has no name, but an address. */
    {"*1\r\n*3\r\n:0\r\n:5\r\n" NO_NAME("*2\r\n$2\r\nip\r\n" HOST),
     "0-5 id-1@127.0.0.1:7000=127.0.0.1;"},
    {"*1\r\n*3\r\n:0\r\n:5\r\n" NO_NAME("*2\r\n$2\r\nip\r\n$0\r\n\r\n"),
     "0-5 id-1@?:0;"},
    {"*1\r\n*3\r\n:0\r\n:5\r\n" NO_NAME("*2\r\n$2\r\nip\r\n$1\r\n?\r\n"),
     "0-5 id-1@?:0;"},
    {"*1\r\n*3\r\n:0\r\n:5\r\n" NO_NAME("*0\r\n"), "0-5 id-1@?:0;"},
    {"*1\r\n*3\r\n:0\r\n:5\r\n*4\r\n" HOST ":7000\r\n" ID "*2\r\n+ip\r\n+::1\r\n",
     "0-5 id-1@127.0.0.1:7000=::1;"},
    /* That is none. */
    {"+OK\r\n", "no"},
    {"%1\r\n+a\r\n+b\r\n", "no"},
    {"*1\r\n*0\r\n", "no"},
    {"*1\r\n*2\r\n:0\r\n:5\r\n", "no"},
    {"*1\r\n*3\r\n:6\r\n:5\r\n" NODE, "no"},
    {"*1\r\n*3\r\n:-1\r\n:5\r\n" NODE, "no"},
    {"*1\r\n*3\r\n:0\r\n:16384\r\n" NODE, "no"},
    {"*1\r\n*3\r\n+0\r\n:5\r\n" NODE, "no"},
    {"*1\r\n*3\r\n:0\r\n:5\r\n*2\r\n" HOST ":7000\r\n", "no"},
    {"*1\r\n*3\r\n:0\r\n:5\r\n*3\r\n" HOST ":65536\r\n" ID, "no"},
    {"*1\r\n*3\r\n:0\r\n:5\r\n*3\r\n" HOST "+7000\r\n" ID, "no"},
    {"*1\r\n*3\r\n:0\r\n:5\r\n*3\r\n$3\r\na b\r\n:7000\r\n" ID, "no"},
    {"*1\r\n*3\r\n:0\r\n:5\r\n*3\r\n:1\r\n:7000\r\n" ID, "no"},
    {"*1\r\n*3\r\n:0\r\n:5\r\n*3\r\n" HOST ":7000\r\n$0\r\n\r\n", "no"},
    {"*2\r\n*3\r\n:0\r\n:5\r\n" NODE "*3\r\n:5\r\n:6\r\n" NODE, "no"},
};

static void test_slots(void **state)
{
    char text[512];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        wire_read(rows[i].wire, print, text);
        if (strcmp(text, rows[i].text) != 0)
            fail_msg("%s: %s", rows[i].wire, text);
    }
}

/* ---- CLUSTER NODES ---- */

static void test_nodes(void **state)
{
    static const char said[] =
        "a 127.0.0.1:1@10001,h myself,master - 0 0 12 connected 0-5 7 [9->-b]\n"
        "b 127.0.0.1:2@10002 slave,fail? a 0 0 12 connected\n"
        "c :0@0 slave,noaddr a 0 0 12 disconnected\n"
        "d 127.0.0.1:4@10004 master,handshake - 0 0 0 connected\n"
        "e 127.0.0.1:5@10005 master,fail - 0 0 x connected\n"
        "\n"
        "f 127.0.0.1:6@10006\n"
        "g 127.0.0.1:7@10007 master,fail - 0 0 3 disconnected";
    shoal__bytes_t text = {said, sizeof said - 1};
    shoal__nodes_line_t line;

    (void)state;
    assert_true(shoal__nodes_reply_next(&text, &line));
    assert_string_equal(line.id, "a");
    assert_true(line.is_primary && line.is_myself && !line.is_failed);
    assert_int_equal(line.epoch, 12);
    assert_true(shoal__nodes_reply_next(&text, &line));
    assert_string_equal(line.id, "b");
    assert_true(!line.is_primary && !line.is_myself && !line.is_failed);
    assert_true(shoal__nodes_reply_next(&text, &line));
    assert_string_equal(line.id, "g");
    assert_true(line.is_primary && line.is_failed);
    assert_int_equal(line.epoch, 3);
    assert_false(shoal__nodes_reply_next(&text, &line));
}

static void test_slots_of_a_node(void **state)
{
    static const char said[] = "a 127.0.0.1:1@10001 myself,master - 0 0 12 connected "
                               "0-5 7 x 16384 9-8 3-x 16383 "
                               "[9->-b] [10-<-b] [11] [-<-b]";
    static const shoal__nodes_slots_t expected[] = {
        {0, 5, false, {"0-5", 3}},
        {7, 7, false, {"7", 1}},
        {16383, 16383, false, {"16383", 5}},
        {10, 10, true, {"[10-<-b]", 8}},
    };
    shoal__bytes_t text = {said, sizeof said - 1};
    shoal__nodes_line_t line;
    shoal__nodes_slots_t slots;

    (void)state;
    assert_true(shoal__nodes_reply_next(&text, &line));
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_true(shoal__nodes_slots_next(&line.slots, &slots));
        assert_int_equal(slots.first, expected[i].first);
        assert_int_equal(slots.last, expected[i].last);
        assert_int_equal(slots.is_import, expected[i].is_import);
        assert_true(shoal__bytes_equal(slots.text, expected[i].text));
    }
    assert_false(shoal__nodes_slots_next(&line.slots, &slots));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slots),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_slots_of_a_node),
    };
    return cmocka_run_group_tests_name("core/cluster/slots_reply", tests, NULL, NULL);
}
