/* SPDX-License-Identifier: MIT */
/* The fault proxy's parts by themselves: what is held, when it is due, in which writes it
 * leaves, and the text of it all.  No clock is waited for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fault_proxy/fault_clock.h"
#include "fault_proxy/fault_link.h"
#include "fault_proxy/fault_spec.h"
#include "support/fault/fault_rig.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define BOUND 65536u

/* Adds up to `bytes`, as much as there is room for in one piece. */
static size_t add_some(fault_line_t *line, uint64_t position, size_t bytes,
                       uint64_t due_ns)
{
    size_t room;
    char *at = fault_line_room(line, BOUND, &room);

    if (room < bytes)
        bytes = room;
    for (size_t i = 0; i < bytes; i++)
        at[i] = (char)fault_rig_pattern(position + i);
    fault_line_add(line, bytes, due_ns);
    return bytes;
}

static size_t take_some(fault_line_t *line, uint64_t position, size_t bytes)
{
    size_t ready;
    const char *at = fault_line_ready(line, &ready);

    if (ready < bytes)
        bytes = ready;
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal((unsigned char)at[i], fault_rig_pattern(position + i));
    fault_line_take(line, bytes);
    return bytes;
}

static void test_nothing_leaves_before_it_is_due(void **state)
{
    (void)state;
    fault_line_t line;
    size_t ready;

    fault_line_init(&line);
    assert_int_equal(fault_line_due_ns(&line), FAULT_NEVER_NS);
    add_some(&line, 0, 40, 100);
    add_some(&line, 40, 60, 200);
    fault_line_end(&line, 300);
    assert_int_equal(fault_line_due_ns(&line), 100);
    fault_line_release(&line, 99);
    assert_null(fault_line_ready(&line, &ready));
    fault_line_release(&line, 100);
    assert_non_null(fault_line_ready(&line, &ready));
    assert_int_equal(ready, 40);
    assert_int_equal(fault_line_due_ns(&line), 200);
    fault_line_release(&line, 299);
    assert_int_equal(take_some(&line, 0, 1000), 100);
    assert_false(fault_line_is_over(&line));
    assert_int_equal(fault_line_due_ns(&line), 300);
    fault_line_release(&line, 300);
    assert_true(fault_line_is_over(&line));
    assert_int_equal(fault_line_due_ns(&line), FAULT_NEVER_NS);
    fault_line_release_memory(&line);
}

static void test_order_and_content_hold_through_growth_and_wrapping(void **state)
{
    (void)state;
    fault_line_t line;
    uint64_t added = 0;
    uint64_t taken = 0;

    fault_line_init(&line);
    for (size_t i = 0; i < 5000; i++) {
        added += add_some(&line, added, 1 + i * 7919 % 9000, i);
        fault_line_release(&line, i - i % 7);
        taken += take_some(&line, taken, 1 + i * 104729 % 8000);
        assert_int_equal(fault_line_held(&line), added - taken);
    }
    fault_line_release(&line, 5000);
    while (taken < added)
        taken += take_some(&line, taken, BOUND);
    assert_true(added > 10 * BOUND);
    fault_line_release_memory(&line);
}

static void test_a_full_line_has_no_room_but_for_what_must_go_in(void **state)
{
    (void)state;
    static char much[3 * BOUND];
    fault_line_t line;
    uint64_t added = 0;
    size_t room;
    size_t bytes;

    fault_line_init(&line);
    while ((bytes = add_some(&line, added, BOUND, 1)) > 0)
        added += bytes;
    assert_int_equal(added, BOUND);
    assert_null(fault_line_room(&line, BOUND, &room));
    fault_line_release(&line, 1);
    assert_int_equal(take_some(&line, 0, 10), 10);
    assert_non_null(fault_line_room(&line, BOUND, &room));
    assert_int_equal(room, 10);
    added += add_some(&line, added, 10, 1); /* around the end of the ring */

    for (size_t i = 0; i < sizeof much; i++)
        much[i] = (char)fault_rig_pattern(added + i);
    fault_line_append(&line, much, sizeof much, 2);
    fault_line_release(&line, 2);
    uint64_t taken = 10;
    while (taken < added + sizeof much)
        taken += take_some(&line, taken, BOUND);
    assert_int_equal(fault_line_held(&line), 0);
    fault_line_release_memory(&line);
}

/* The first of a few hundred that move about, against a look at all of them. */
static void test_the_agenda_knows_what_is_first(void **state)
{
    enum { ENTRIES = 300 };
    static fault_agenda_entry_t entries[ENTRIES];
    fault_agenda_t agenda = {0};
    shoal__random_t dice = {1};

    (void)state;
    for (int step = 0; step < 20000; step++) {
        fault_agenda_entry_t *moved = &entries[shoal__random_below(&dice, ENTRIES)];
        bool is_in = shoal__random_below(&dice, 3) > 0;
        fault_agenda_set(&agenda, moved,
                         is_in ? shoal__random_below(&dice, 1000) : UINT64_MAX);
        assert_int_equal(moved->place > 0, is_in);
        uint64_t least = UINT64_MAX;
        for (int i = 0; i < ENTRIES; i++)
            if (entries[i].place > 0 && entries[i].due_ns < least)
                least = entries[i].due_ns;
        for (size_t place = 2; place <= agenda.count; place++)
            assert_true(agenda.entries[place / 2 - 1]->due_ns <=
                        agenda.entries[place - 1]->due_ns);
        const fault_agenda_entry_t *first = fault_agenda_first(&agenda);
        assert_int_equal(first ? first->due_ns : UINT64_MAX, least);
    }
    fault_agenda_release(&agenda);
}

static void test_when_bytes_are_due(void **state)
{
    static const struct {
        fault_carriage_t carriage;
        uint64_t due_ns[3]; /* of 1000 bytes at 10 000 ns, 1000 at once behind, and 1 at
                               5 000 000 ns */
    } cases[] = {
        {{0}, {10000, 10000, 5000000}},
        {{.delay_us = 7}, {17000, 17000, 5007000}},
        {{.bytes_per_s = 1000000}, {1010000, 2010000, 5001000}},
        {{.bytes_per_s = 1000000, .delay_us = 7}, {1017000, 2017000, 5008000}},
        {{.bytes_per_s = 100000}, {10010000, 20010000, 20020000}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const fault_carriage_t *carriage = &cases[i].carriage;
        fault_pace_t pace = {0};
        assert_int_equal(fault_pace_due_ns(&pace, carriage, 1000, 10000),
                         cases[i].due_ns[0]);
        assert_int_equal(fault_pace_due_ns(&pace, carriage, 1000, 10000),
                         cases[i].due_ns[1]);
        assert_int_equal(fault_pace_due_ns(&pace, carriage, 1, 5000000),
                         cases[i].due_ns[2]);
    }
}

static void test_jitter_keeps_its_bounds_and_the_order(void **state)
{
    static const fault_carriage_t carriage = {.delay_us = 100, .jitter_us = 50};
    fault_pace_t pace = {0};
    uint64_t former_ns = 0, least_ns = UINT64_MAX, most_ns = 0;

    (void)state;
    for (uint64_t now_ns = 0; now_ns < 100000000; now_ns += 10000) {
        uint64_t due_ns = fault_pace_due_ns(&pace, &carriage, 1, now_ns);
        assert_true(due_ns >= former_ns);
        assert_in_range(due_ns - now_ns, 100000, 150000);
        former_ns = due_ns;
        least_ns = due_ns - now_ns < least_ns ? due_ns - now_ns : least_ns;
        most_ns = due_ns - now_ns > most_ns ? due_ns - now_ns : most_ns;
    }
    assert_true(least_ns < 105000 && most_ns > 145000);
    /* A carriage without any does not let later bytes overtake. */
    assert_int_equal(fault_pace_due_ns(&pace, &(fault_carriage_t){0}, 1, 0), former_ns);
}

static void test_a_slow_line_takes_little(void **state)
{
    (void)state;
    const fault_carriage_t slow = {.bytes_per_s = 1000000};
    const fault_carriage_t slow_and_far = {.bytes_per_s = 1000000, .delay_us = 1000000};

    assert_int_equal(fault_pace_window(&(fault_carriage_t){0}, BOUND), BOUND);
    assert_int_equal(fault_pace_window(&slow, BOUND), 50000);
    assert_int_equal(fault_pace_window(&slow_and_far, 1 << 30), 1050000);
    assert_int_equal(fault_pace_window(&slow_and_far, BOUND), BOUND);
    assert_int_equal(fault_pace_piece_bytes(&slow), 1000);
    assert_int_equal(fault_pace_piece_bytes(&(fault_carriage_t){.bytes_per_s = 9}), 1);
    assert_int_equal(fault_pace_piece_bytes(&(fault_carriage_t){.chunk_bytes = 9}),
                     SIZE_MAX);
}

/* One link by itself, between sockets that keep the bounds of what is written. */
typedef struct alone {
    fault_hub_t hub;
    fault_link_t *link;
    int client, server; /* the ends of the peers */
} alone_t;

static void open_pair(int pair[2])
{
    int kind = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;
    assert_int_equal(socketpair(AF_UNIX, kind, 0, pair), 0);
}

static void start_alone(alone_t *alone, size_t chunk_bytes)
{
    int client[2], server[2];

    *alone = (alone_t){.hub = {.epoll = epoll_create1(EPOLL_CLOEXEC),
                               .held_bytes_max = BOUND,
                               .ways = {{.chunk_bytes = chunk_bytes}, {0}}}};
    open_pair(client);
    open_pair(server);
    alone->client = client[0];
    alone->server = server[0];
    alone->link = fault_link_new(&alone->hub, 1, client[1], server[1]);
}

static void stop_alone(alone_t *alone)
{
    fault_link_free(alone->link);
    fault_agenda_release(&alone->hub.agenda);
    fake_bytes_release(&alone->hub.came);
    fake_bytes_release(&alone->hub.harmed);
    close(alone->hub.epoll);
    close(alone->client);
    close(alone->server);
}

static void give(alone_t *alone, const char *data, size_t bytes)
{
    fault_rig_send(alone->client, data, bytes);
    fault_link_serve(&alone->link->sides[0], EPOLLIN);
}

static void test_writes_have_the_size_asked_for(void **state)
{
    static const char text[] = "0123456789";
    alone_t alone;
    char came[64];

    (void)state;
    for (size_t chunk = 0; chunk < 12; chunk++) {
        start_alone(&alone, chunk);
        give(&alone, text, 5);
        give(&alone, text + 5, 5);
        fault_link_release(&alone.link->flows[FAULT_TO_SERVER], fault_clock_ns());
        for (size_t at = 0; at < 10;) {
            size_t left = 10 - at;
            size_t wanted = chunk == 0 || chunk > left ? left : chunk;
            assert_int_equal(recv(alone.server, came, sizeof came, 0), wanted);
            assert_memory_equal(came, text + at, wanted);
            at += wanted;
            /* Not before the socket was asked again whether it takes more. */
            assert_int_equal(recv(alone.server, came, sizeof came, 0), -1);
            fault_link_serve(&alone.link->sides[1], EPOLLOUT);
        }
        stop_alone(&alone);
    }
}

/* An event that was found before the link was closed comes too late: its descriptors may
 * be another's by then. */
static void test_a_closed_link_is_left_alone(void **state)
{
    alone_t alone;
    int others[4];
    char byte;

    (void)state;
    start_alone(&alone, 1);
    give(&alone, "0123456789", 10);
    fault_link_release(&alone.link->flows[FAULT_TO_SERVER], fault_clock_ns());
    fault_link_cut(alone.link, FAULT_TO_SERVER, FAULT_END_RESET);
    open_pair(&others[0]);
    open_pair(&others[2]);
    for (int i = 0; i < 4; i++)
        fault_rig_send(others[i], "x", 1);
    for (int i = 0; i < 2; i++)
        fault_link_serve(&alone.link->sides[i], EPOLLIN | EPOLLOUT | EPOLLHUP);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(recv(others[i], &byte, 1, 0), 1);
        assert_int_equal(byte, 'x');
        assert_int_equal(recv(others[i], &byte, 1, 0), -1);
    }
    for (int i = 0; i < 4; i++)
        close(others[i]);
    stop_alone(&alone);
}

static void test_the_text_of_a_carriage(void **state)
{
    static const char *const wrong[] = {"delay",
                                        "delay_us",
                                        "delay_us=",
                                        "delay_us=x",
                                        "=1",
                                        ",",
                                        "flip=1,,lose=1",
                                        "flip=-1",
                                        "flip=1 ",
                                        "flip=1000001",
                                        "stopped=2",
                                        "flip=1,x=2",
                                        "delay_us=99999999999999999999"};
    fault_carriage_t carriage = {.delay_us = 1};

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_non_null(fault_spec_parse(wrong[i], &carriage));
    assert_int_equal(carriage.delay_us, 1);
    assert_null(fault_spec_parse("", &carriage));
    assert_int_equal(carriage.delay_us, 0);

    assert_null(
        fault_spec_parse("delay_us=1,jitter_us=2,bytes_per_s=3,chunk=4", &carriage));
    assert_true(fault_spec_is_lossless(&carriage));
    assert_int_equal(carriage.delay_us, 1);
    assert_int_equal(carriage.jitter_us, 2);
    assert_int_equal(carriage.bytes_per_s, 3);
    assert_int_equal(carriage.chunk_bytes, 4);
    assert_null(fault_spec_parse(
        "stopped=1,flip=5,lose=6,insert=7,drop=8,repeat=9,swap=10,extra=1000000",
        &carriage));
    assert_true(carriage.is_stopped);
    assert_int_equal(carriage.flip_rate, 5);
    assert_int_equal(carriage.lose_rate, 6);
    assert_int_equal(carriage.insert_rate, 7);
    assert_int_equal(carriage.drop_rate, 8);
    assert_int_equal(carriage.repeat_rate, 9);
    assert_int_equal(carriage.swap_rate, 10);
    assert_int_equal(carriage.extra_rate, 1000000);
    assert_int_equal(carriage.delay_us, 0);
}

static void test_what_loses_something(void **state)
{
    static const char *const lossy[] = {"stopped=1", "flip=1",   "lose=1", "insert=1",
                                        "drop=1",    "repeat=1", "swap=1", "extra=1"};
    fault_carriage_t carriage;

    (void)state;
    for (size_t i = 0; i < sizeof lossy / sizeof *lossy; i++) {
        assert_null(fault_spec_parse(lossy[i], &carriage));
        assert_false(fault_spec_is_lossless(&carriage));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_leaves_before_it_is_due),
        cmocka_unit_test(test_order_and_content_hold_through_growth_and_wrapping),
        cmocka_unit_test(test_a_full_line_has_no_room_but_for_what_must_go_in),
        cmocka_unit_test(test_the_agenda_knows_what_is_first),
        cmocka_unit_test(test_when_bytes_are_due),
        cmocka_unit_test(test_jitter_keeps_its_bounds_and_the_order),
        cmocka_unit_test(test_a_slow_line_takes_little),
        cmocka_unit_test(test_writes_have_the_size_asked_for),
        cmocka_unit_test(test_a_closed_link_is_left_alone),
        cmocka_unit_test(test_the_text_of_a_carriage),
        cmocka_unit_test(test_what_loses_something),
    };
    return cmocka_run_group_tests_name("fault/proxy_parts", tests, NULL, NULL);
}
