/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/sentinel/sentinel_reply.h"
#include "unit/core/wire.h"
#include <stdio.h>
#include <string.h>

/* ---- the primary ---- */

#define IP "$2\r\nip\r\n$9\r\n127.0.0.1\r\n"
#define PORT "$4\r\nport\r\n$4\r\n6379\r\n"
#define EPOCH "$12\r\nconfig-epoch\r\n$2\r\n17\r\n"
#define NAME "$4\r\nname\r\n$8\r\nmymaster\r\n"

typedef struct primary {
    bool is_read;
    shoal__sentinel_view_t view;
} primary_t;

static void look_at_primary(const shoal_reply_t *reply, void *data)
{
    primary_t *primary = data;

    memset(primary, 0x5a, sizeof *primary);
    primary->is_read = shoal__sentinel_read_primary(reply, &primary->view);
}

static void test_a_primary(void **state)
{
    static const char *const wires[] = {
        "*8\r\n" NAME IP PORT EPOCH,              /* RESP2 */
        "%4\r\n" NAME IP PORT EPOCH,              /* RESP3 */
        "*7\r\n" EPOCH PORT IP "$5\r\nflags\r\n", /* a name without a value */
        "%4\r\n:1\r\n*0\r\n" EPOCH PORT IP,       /* a name that is no text */
    };

    (void)state;
    for (size_t i = 0; i < sizeof wires / sizeof *wires; i++) {
        primary_t primary = {0};
        wire_read(wires[i], look_at_primary, &primary);
        assert_true(primary.is_read);
        assert_string_equal(primary.view.address.host, "127.0.0.1");
        assert_int_equal(primary.view.address.port, 6379);
        assert_int_equal(primary.view.epoch, 17);
    }
}

static void test_no_primary(void **state)
{
    static const char *const wires[] = {
        "*-1\r\n",
        "_\r\n",
        "-ERR No such master with that name\r\n",
        "$2\r\nip\r\n",
        "~6\r\n" IP PORT EPOCH,
        "*0\r\n",
        "*4\r\n" PORT EPOCH,
        "*4\r\n" IP EPOCH,
        "*4\r\n" IP PORT,
        "*6\r\n" PORT EPOCH "$2\r\nip\r\n$0\r\n\r\n",
        "*6\r\n" PORT EPOCH "$2\r\nip\r\n$1\r\n?\r\n",
        "*6\r\n" PORT EPOCH "$2\r\nip\r\n$3\r\na b\r\n",
        "*6\r\n" PORT EPOCH "$2\r\nip\r\n$3\r\na\x7f"
        "b\r\n",
        "*6\r\n" PORT EPOCH "$2\r\nip\r\n:1\r\n",
        "*6\r\n" PORT EPOCH "$2\r\nip\r\n*-1\r\n",
        "*6\r\n" IP EPOCH "$4\r\nport\r\n$1\r\n0\r\n",
        "*6\r\n" IP EPOCH "$4\r\nport\r\n$5\r\n65536\r\n",
        "*6\r\n" IP EPOCH "$4\r\nport\r\n$2\r\n-1\r\n",
        "*6\r\n" IP EPOCH "$4\r\nport\r\n$0\r\n\r\n",
        "*6\r\n" IP PORT "$12\r\nconfig-epoch\r\n$19\r\n9999999999999999999\r\n",
        "*6\r\n" IP PORT "$12\r\nconfig-epoch\r\n$1\r\nx\r\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof wires / sizeof *wires; i++) {
        primary_t primary = {0};
        wire_read(wires[i], look_at_primary, &primary);
        if (primary.is_read)
            fail_msg("'%s' names a primary", wires[i]);
    }
}

/* The longest host fits, and one byte more does not. */
static void test_a_long_host(void **state)
{
    char wire[600], host[300];
    primary_t primary = {0};

    (void)state;
    for (int bytes = SHOAL__SENTINEL_HOST_BYTES - 1; bytes < 258; bytes++) {
        memset(host, 'h', sizeof host);
        host[bytes] = '\0';
        snprintf(wire, sizeof wire, "*6\r\n" PORT EPOCH "$2\r\nip\r\n$%d\r\n%s\r\n",
                 bytes, host);
        wire_read(wire, look_at_primary, &primary);
        assert_int_equal(primary.is_read, bytes < SHOAL__SENTINEL_HOST_BYTES);
        if (primary.is_read)
            assert_string_equal(primary.view.address.host, host);
    }
}

/* ---- peers ---- */

#define PEERS_MAX 2
#define FLAGS(bytes, flags) "$5\r\nflags\r\n$" bytes "\r\n" flags "\r\n"

typedef struct peers {
    size_t count;
    shoal__sentinel_peer_t of[PEERS_MAX];
} peers_t;

static void look_at_peers(const shoal_reply_t *reply, void *data)
{
    peers_t *peers = data;

    peers->count = shoal__sentinel_read_peers(reply, peers->of, PEERS_MAX);
}

static void test_peers(void **state)
{
    static const struct {
        const char *wire;
        size_t count;
        const char *id;
    } cases[] = {
        {"*1\r\n*6\r\n" IP PORT "$5\r\nrunid\r\n$3\r\nabc\r\n", 1, "abc"},
        {"*1\r\n%3\r\n" IP PORT "$5\r\nrunid\r\n$3\r\nabc\r\n", 1, "abc"},
        {"*1\r\n*4\r\n" IP PORT, 1, ""},
        {"*1\r\n*6\r\n" IP PORT "$5\r\nrunid\r\n$0\r\n\r\n", 1, ""},
        {"*1\r\n*6\r\n" IP PORT FLAGS("8", "sentinel"), 1, ""},
        {"*1\r\n*6\r\n" IP PORT FLAGS("9", "xs_down,x"), 1, ""},
        {"*1\r\n*6\r\n" IP PORT FLAGS("6", "s_down"), 0, ""},
        {"*1\r\n*6\r\n" IP PORT FLAGS("15", "s_down,sentinel"), 0, ""},
        {"*1\r\n*6\r\n" IP PORT FLAGS("21", "sentinel,disconnected"), 0, ""},
        {"*2\r\n*6\r\n" IP PORT FLAGS("6", "s_down") "*4\r\n" IP PORT, 1, ""},
        {"*3\r\n*4\r\n" IP PORT "*4\r\n" IP PORT "*4\r\n" IP PORT, 2, ""},
        {"*3\r\n:1\r\n*0\r\n*4\r\n" IP PORT, 1, ""},
        {"*0\r\n", 0, ""},
        {"%1\r\n" IP, 0, ""},
        {"-ERR No such master with that name\r\n", 0, ""},
        {"_\r\n", 0, ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        peers_t peers = {0};
        wire_read(cases[i].wire, look_at_peers, &peers);
        assert_int_equal(peers.count, cases[i].count);
        if (peers.count == 0)
            continue;
        assert_string_equal(peers.of[0].address.host, "127.0.0.1");
        assert_int_equal(peers.of[0].address.port, 6379);
        assert_string_equal(peers.of[0].id, cases[i].id);
    }
}

/* ---- the id ---- */

static void look_at_id(const shoal_reply_t *reply, void *data)
{
    char *id = data;

    bool is_read = shoal__sentinel_read_id(reply, id);

    assert_int_equal(is_read, id[0] != '\0');
}

static void test_an_id(void **state)
{
    static const struct {
        const char *wire, *id;
    } cases[] = {
        {"$3\r\nabc\r\n", "abc"},
        {"+abc\r\n", ""},
        {"-ERR Unknown subcommand\r\n", ""},
        {"$0\r\n\r\n", ""},
        {"$48\r\n123456789012345678901234567890123456789012345678\r\n", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char id[SHOAL__SENTINEL_ID_BYTES] = "former";
        wire_read(cases[i].wire, look_at_id, id);
        assert_string_equal(id, cases[i].id);
    }
}

/* ---- messages ---- */

static void look_at_push(const shoal_reply_t *push, void *data)
{
    *(bool *)data = shoal__sentinel_tells_of(push, "mymaster");
}

#define MESSAGE "$7\r\nmessage\r\n"
#define CHANNEL "$14\r\n+switch-master\r\n"

static void test_messages(void **state)
{
    static const struct {
        const char *wire;
        bool tells;
    } cases[] = {
        {">3\r\n" MESSAGE CHANNEL "$28\r\nmymaster 10.0.0.1 1 10.0.0.2\r\n", true},
        {">3\r\n" MESSAGE CHANNEL "$9\r\nmymaster \r\n", true},
        {">3\r\n" MESSAGE CHANNEL "$8\r\nmymaster\r\n", false},
        {">3\r\n" MESSAGE CHANNEL "$10\r\nmymaster2 \r\n", false},
        {">3\r\n" MESSAGE CHANNEL "$9\r\nMymaster \r\n", false},
        {">3\r\n" MESSAGE CHANNEL "$9\r\n mymaster\r\n", false},
        {">3\r\n" MESSAGE CHANNEL ":1\r\n", false},
        {">3\r\n" MESSAGE "$5\r\n+odow\r\n$9\r\nmymaster \r\n", false},
        {">3\r\n$9\r\nsubscribe\r\n" CHANNEL ":1\r\n", false},
        {">2\r\n" MESSAGE CHANNEL, false},
        {">4\r\n" MESSAGE CHANNEL "$9\r\nmymaster \r\n:1\r\n", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool tells = false;
        wire_read(cases[i].wire, look_at_push, &tells);
        assert_int_equal(tells, cases[i].tells);
    }
}

static void test_addresses(void **state)
{
    static const shoal__sentinel_address_t one = {"a", 1}, port = {"a", 2},
                                           host = {"b", 1};

    (void)state;
    assert_true(shoal__sentinel_is_same(&one, &one));
    assert_false(shoal__sentinel_is_same(&one, &port));
    assert_false(shoal__sentinel_is_same(&one, &host));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_primary),   cmocka_unit_test(test_no_primary),
        cmocka_unit_test(test_a_long_host), cmocka_unit_test(test_peers),
        cmocka_unit_test(test_an_id),       cmocka_unit_test(test_messages),
        cmocka_unit_test(test_addresses),
    };
    return cmocka_run_group_tests_name("core/sentinel/sentinel_reply", tests, NULL,
                                       NULL);
}
