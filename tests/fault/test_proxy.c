/* SPDX-License-Identifier: MIT */
/* What the fault proxy does to bytes on their way, seen where they arrive. */
#include "support/fault/fault_rig.h"
#include "support/waiting.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ALWAYS FAULT_RATE_ALWAYS

/* No TCP connection of this process, and the proxy's are among them, waits with small
 * writes for an acknowledgement: that would be a delay nobody asked for. */
static void check_nothing_is_kept_back(void)
{
    for (int fd = 0; fd < 1024; fd++) {
        struct sockaddr_storage peer;
        socklen_t bytes = sizeof peer;
        int is_set = 0;
        socklen_t set_bytes = sizeof is_set;
        if (getpeername(fd, (struct sockaddr *)&peer, &bytes) < 0 ||
            peer.ss_family != AF_INET)
            continue;
        getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &is_set, &set_bytes);
        assert_true(is_set);
    }
}

static void test_bytes_are_carried_both_ways(void **state)
{
    fault_rig_t *rig = *state;

    for (int i = 0; i < 3; i++) {
        fault_rig_start(rig, &(fault_proxy_config_t){
                                 .is_unix = i == 1, .server_path = i == 2 ? "" : NULL});
        assert_true((fault_proxy_path(rig->proxy) != NULL) == (i == 1));
        assert_true((fault_proxy_port(rig->proxy) != 0) == (i != 1));
        fault_rig_connect(rig);
        fault_rig_send(rig->client, "to\0the server\r\n", 15);
        fault_rig_expect(rig->server, "to\0the server\r\n", 15);
        fault_rig_send_text(rig->server, "and back");
        fault_rig_expect_text(rig->client, "and back");
        check_nothing_is_kept_back();
        fault_proxy_counts_t counts = fault_proxy_counts(rig->proxy);
        assert_int_equal(counts.accepted, 1);
        assert_int_equal(counts.open_now, 1);
        assert_int_equal(counts.bytes[FAULT_TO_SERVER], 15);
        assert_int_equal(counts.bytes[FAULT_TO_CLIENT], 8);
        assert_int_equal(counts.harmed, 0);
        char path[80] = "";
        if (i == 1)
            snprintf(path, sizeof path, "%s", fault_proxy_path(rig->proxy));
        fault_rig_stop(rig);
        assert_int_equal(access(path, F_OK), -1);
    }
}

/* One end of a long stream in both directions at once. */
typedef struct streamer {
    int fd;
    uint64_t sent, received;
} streamer_t;

/* Sends and receives as much as is possible now; checks what comes. */
static void stream_some(streamer_t *streamer, uint64_t bytes)
{
    unsigned char data[8192];
    size_t part = sizeof data;

    if (bytes - streamer->sent < part)
        part = (size_t)(bytes - streamer->sent);
    for (size_t i = 0; i < part; i++)
        data[i] = fault_rig_pattern(streamer->sent + i);
    ssize_t count = send(streamer->fd, data, part, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0)
        streamer->sent += (uint64_t)count;
    count = recv(streamer->fd, data, sizeof data, MSG_DONTWAIT);
    if (count < 0)
        assert_int_equal(errno, EAGAIN);
    for (ssize_t i = 0; i < count; i++)
        assert_int_equal(data[i], fault_rig_pattern(streamer->received++));
}

static void stream_both_ways(fault_rig_t *rig, uint64_t bytes)
{
    streamer_t ends[2] = {{.fd = rig->client}, {.fd = rig->server}};

    while (ends[0].received < bytes || ends[1].received < bytes) {
        struct pollfd ready[2];
        for (int i = 0; i < 2; i++)
            ready[i] = (struct pollfd){
                .fd = ends[i].fd,
                .events = (short)(POLLIN | (ends[i].sent < bytes ? POLLOUT : 0))};
        assert_true(poll(ready, 2, WAITING_US_MAX / 1000) > 0);
        stream_some(&ends[0], bytes);
        stream_some(&ends[1], bytes);
    }
}

/* Nothing is lost, torn or overtaken by any mixture of faults that lose nothing. */
static void test_order_and_content_hold(void **state)
{
    static const struct {
        fault_proxy_config_t config;
        fault_carriage_t carriage;
        uint64_t bytes;
    } cases[] = {
        {{.is_unix = true}, {0}, 3000000},
        {{.buffer_bytes = 4096}, {0}, 1000000},
        {{.is_unix = true}, {.chunk_bytes = 1}, 20000},
        {{0}, {.chunk_bytes = 7}, 100000},
        {{0}, {.delay_us = 3000, .jitter_us = 5000}, 1000000},
        {{.buffer_bytes = 4096}, {.jitter_us = 2000, .chunk_bytes = 100}, 50000},
        {{.is_unix = true}, {.bytes_per_s = 2000000, .delay_us = 5000}, 300000},
        {{0}, {.bytes_per_s = 1000000, .jitter_us = 700, .chunk_bytes = 33}, 100000},
    };
    fault_rig_t *rig = *state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fault_rig_start(rig, &cases[i].config);
        fault_proxy_carry(rig->proxy, FAULT_TO_SERVER, &cases[i].carriage);
        fault_proxy_carry(rig->proxy, FAULT_TO_CLIENT, &cases[i].carriage);
        fault_rig_connect(rig);
        stream_both_ways(rig, cases[i].bytes);
        assert_int_equal(fault_proxy_counts(rig->proxy).bytes[FAULT_TO_CLIENT],
                         cases[i].bytes);
        fault_rig_stop(rig);
    }
}

/* Never shorter than asked; how much longer is the machine's affair. */
static void test_bytes_are_held(void **state)
{
    const fault_carriage_t held = {.delay_us = 60000, .jitter_us = 10000};
    const fault_carriage_t plain = {0};
    fault_rig_t *rig = *state;

    fault_rig_start(rig, &(fault_proxy_config_t){.is_unix = true});
    fault_rig_connect(rig);
    fault_proxy_carry(rig->proxy, FAULT_TO_CLIENT, &held);
    uint64_t since_us = waiting_now_us();
    fault_rig_send_text(rig->server, "slow");
    fault_rig_expect_text(rig->client, "slow");
    assert_true(waiting_now_us() - since_us >= 60000);
    assert_true(fault_proxy_counts(rig->proxy).bytes[FAULT_TO_CLIENT] == 4);

    /* What comes later does not overtake it, but the other way is not held. */
    fault_rig_send_text(rig->server, "slow");
    WAIT_FOR(fault_rig_is_read(rig->server));
    fault_proxy_carry(rig->proxy, FAULT_TO_CLIENT, &plain);
    fault_rig_send_text(rig->server, "fast");
    fault_rig_send_text(rig->client, "other way");
    fault_rig_expect_text(rig->server, "other way");
    fault_rig_expect_text(rig->client, "slowfast");
}

static void test_a_slow_link(void **state)
{
    enum { BYTES = 20000, BYTES_PER_S = 100000 };
    static char data[4 * 1024 * 1024];
    const fault_carriage_t slow = {.bytes_per_s = BYTES_PER_S};
    fault_rig_t *rig = *state;
    size_t taken = 0;
    ssize_t count;

    fault_rig_start(rig, &(fault_proxy_config_t){.buffer_bytes = 8192});
    fault_rig_connect(rig);
    fault_proxy_carry(rig->proxy, FAULT_TO_SERVER, &slow);
    uint64_t since_us = waiting_now_us();
    fault_rig_send(rig->client, data, BYTES);
    fault_rig_expect(rig->server, data, BYTES);
    assert_true(waiting_now_us() - since_us >= BYTES * 1000000ull / BYTES_PER_S);

    /* Its sender notices: buffers are full long before 4 MiB. */
    while ((count = send(rig->client, data, sizeof data - taken,
                         MSG_NOSIGNAL | MSG_DONTWAIT)) > 0)
        taken += (size_t)count;
    assert_int_equal(errno, EAGAIN);
    assert_true(taken < sizeof data / 2);
}

static void test_a_proxy_that_does_not_read(void **state)
{
    static char data[65536];
    const fault_carriage_t stopped = {.is_stopped = true};
    const fault_carriage_t plain = {0};
    fault_rig_t *rig = *state;
    size_t taken = 0;
    ssize_t count;

    fault_rig_start(rig, &(fault_proxy_config_t){.buffer_bytes = 4096});
    fault_rig_connect(rig);
    fault_proxy_carry(rig->proxy, FAULT_TO_SERVER, &stopped);
    for (struct pollfd room = {.fd = rig->client, .events = POLLOUT};
         poll(&room, 1, 100) == 1;) {
        while ((count = send(rig->client, data, sizeof data,
                             MSG_NOSIGNAL | MSG_DONTWAIT)) > 0)
            taken += (size_t)count;
    }
    assert_false(fault_rig_has_come(rig->server));
    assert_int_equal(fault_proxy_counts(rig->proxy).bytes[FAULT_TO_SERVER], 0);
    fault_rig_send_text(rig->server, "the other way goes on");
    fault_rig_expect_text(rig->client, "the other way goes on");

    fault_proxy_carry(rig->proxy, FAULT_TO_SERVER, &plain);
    for (size_t left = taken; left > 0;) {
        size_t part = left < sizeof data ? left : sizeof data;
        fault_rig_expect(rig->server, data, part);
        left -= part;
    }
    /* The sender can go on, too. */
    fault_rig_send_text(rig->client, "again");
    fault_rig_expect_text(rig->server, "again");
}

static void test_injected_bytes(void **state)
{
    const fault_carriage_t held = {.delay_us = 50000};
    fault_rig_t *rig = *state;

    fault_rig_start(rig, &(fault_proxy_config_t){.is_unix = true});
    fault_rig_connect(rig);
    int client = rig->client, server = rig->server;
    fault_rig_connect(rig);
    fault_proxy_inject(rig->proxy, FAULT_TO_CLIENT, "+O\0\r\n", 5);
    fault_proxy_inject(rig->proxy, FAULT_TO_SERVER, "PING\r\n", 6);
    fault_rig_expect(client, "+O\0\r\n", 5);
    fault_rig_expect(rig->client, "+O\0\r\n", 5);
    fault_rig_expect(server, "PING\r\n", 6);
    fault_rig_expect(rig->server, "PING\r\n", 6);
    close(client);
    close(server);
    WAIT_FOR(fault_proxy_counts(rig->proxy).open_now == 1);

    /* Behind what is held, and before what is read later. */
    fault_proxy_carry(rig->proxy, FAULT_TO_CLIENT, &held);
    fault_rig_send_text(rig->server, "first ");
    WAIT_FOR(fault_rig_is_read(rig->server));
    fault_proxy_inject(rig->proxy, FAULT_TO_CLIENT, "second ", 7);
    fault_rig_send_text(rig->server, "third");
    fault_rig_expect_text(rig->client, "first second third");
}

/* Every byte is harmed, and each in just one way. */
static void test_rates_of_a_million_are_always(void **state)
{
    static const struct {
        fault_carriage_t carriage;
        size_t bytes_for_each; /* that come */
    } cases[] = {
        {{.flip_rate = ALWAYS}, 1},
        {{.insert_rate = ALWAYS}, 2},
        {{.lose_rate = ALWAYS}, 0},
    };
    static const fault_carriage_t plain = {0};
    enum { BYTES = 5000 };
    fault_rig_t *rig = *state;
    char sent[BYTES];
    unsigned char came[2 * BYTES];

    fault_rig_start(rig, NULL);
    fault_rig_connect(rig);
    for (size_t i = 0; i < BYTES; i++)
        sent[i] = (char)fault_rig_pattern(i);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t bytes = BYTES * cases[i].bytes_for_each;
        uint64_t before = fault_proxy_counts(rig->proxy).harmed;
        fault_proxy_carry(rig->proxy, FAULT_TO_CLIENT, &cases[i].carriage);
        fault_rig_send(rig->server, sent, BYTES);
        WAIT_FOR(fault_proxy_counts(rig->proxy).harmed - before == BYTES);
        fault_proxy_carry(rig->proxy, FAULT_TO_CLIENT, &plain);
        fault_rig_send_text(rig->server, "unharmed");
        if (bytes > 0)
            assert_int_equal(recv(rig->client, came, bytes, MSG_WAITALL), bytes);
        fault_rig_expect_text(rig->client, "unharmed");
        for (size_t at = 0; at < bytes; at++) {
            unsigned difference =
                came[at] ^ fault_rig_pattern(at / cases[i].bytes_for_each);
            if (cases[i].bytes_for_each == 1)
                assert_int_equal(__builtin_popcount(difference), 1);
            else if (at % 2 == 0)
                assert_int_equal(difference, 0);
        }
    }
}

/* What comes of one stream under byte faults, up to its end. */
static size_t harmed_stream(fault_rig_t *rig, uint64_t seed, size_t write_bytes,
                            char *ret_came, size_t room)
{
    static const fault_carriage_t harm = {
        .flip_rate = 50000, .lose_rate = 30000, .insert_rate = 20000};
    fault_proxy_config_t config = {.seed = seed};
    char byte[64];
    size_t total = 0;
    ssize_t count;

    config.ways[FAULT_TO_SERVER] = harm;
    fault_rig_start(rig, &config);
    fault_rig_connect(rig);
    for (size_t at = 0; at < 4096; at += write_bytes) {
        for (size_t i = 0; i < write_bytes; i++)
            byte[i] = (char)fault_rig_pattern(at + i);
        fault_rig_send(rig->client, byte, write_bytes);
    }
    shutdown(rig->client, SHUT_WR);
    while ((count = recv(rig->server, ret_came + total, room - total, 0)) > 0)
        total += (size_t)count;
    fault_rig_stop(rig);
    return total;
}

static void test_the_same_seed_is_the_same_harm(void **state)
{
    fault_rig_t *rig = *state;
    static char first[16384], second[16384];
    size_t bytes = harmed_stream(rig, 7, 64, first, sizeof first);

    assert_int_equal(harmed_stream(rig, 7, 1, second, sizeof second), bytes);
    assert_memory_equal(first, second, bytes);
    size_t others = harmed_stream(rig, 8, 64, second, sizeof second);
    assert_true(others != bytes || memcmp(first, second, bytes) != 0);
}

/* A connection of its own with an echo for a server, until it is cut. */
typedef struct talker {
    fault_rig_t rig;
    uint64_t echoes;
    pthread_t thread;
} talker_t;

static void *talk(void *data)
{
    talker_t *talker = data;
    char word[16];

    for (;;) {
        if (send(talker->rig.client, "0123456789abcdef", 16, MSG_NOSIGNAL) != 16 ||
            recv(talker->rig.server, word, 16, MSG_WAITALL) != 16 ||
            send(talker->rig.server, word, 16, MSG_NOSIGNAL) != 16 ||
            recv(talker->rig.client, word, 16, MSG_WAITALL) != 16)
            return NULL;
        talker->echoes += memcmp(word, "0123456789abcdef", 16) == 0;
    }
}

/* Another one that gives orders. */
typedef struct meddler {
    fault_proxy_t *proxy;
    atomic_bool is_over;
    pthread_t thread;
} meddler_t;

static void *meddle(void *data)
{
    meddler_t *meddler = data;
    fault_carriage_t carriage = {0};

    while (!meddler->is_over) {
        carriage.jitter_us = (carriage.jitter_us + 10) % 100;
        fault_proxy_carry(meddler->proxy, FAULT_TO_SERVER, &carriage);
        fault_proxy_inject(meddler->proxy, FAULT_TO_CLIENT, "", 0);
        (void)fault_proxy_counts(meddler->proxy);
        waiting_sleep_us(50);
    }
    return NULL;
}

/* Every function from several threads at once; for ThreadSanitizer. */
static void test_called_from_many_threads(void **state)
{
    enum { TALKERS = 3, CHANGES = 200 };
    fault_rig_t *rig = *state;
    talker_t talkers[TALKERS] = {0};
    meddler_t meddler = {0};

    fault_rig_start(rig, NULL);
    meddler.proxy = rig->proxy;
    pthread_create(&meddler.thread, NULL, meddle, &meddler);
    for (int i = 0; i < TALKERS; i++) {
        fault_rig_connect(rig);
        talkers[i].rig = *rig;
        pthread_create(&talkers[i].thread, NULL, talk, &talkers[i]);
    }
    for (unsigned i = 0; i < CHANGES; i++) {
        fault_carriage_t carriage = {
            .delay_us = i % 3 * 50, .chunk_bytes = i % 5, .jitter_us = i % 2 * 100};
        fault_proxy_carry(rig->proxy, i % 2 ? FAULT_TO_SERVER : FAULT_TO_CLIENT,
                          &carriage);
        fault_proxy_cut_after(rig->proxy, 99, FAULT_TO_SERVER, 1, FAULT_END_FIN);
        fault_proxy_turn_away(rig->proxy, i % 2);
        waiting_sleep_us(100);
    }
    uint64_t before = fault_proxy_counts(rig->proxy).bytes[FAULT_TO_CLIENT];
    WAIT_FOR(fault_proxy_counts(rig->proxy).bytes[FAULT_TO_CLIENT] > before + 160);
    fault_proxy_cut(rig->proxy, FAULT_TO_CLIENT, FAULT_END_RESET);
    meddler.is_over = true;
    pthread_join(meddler.thread, NULL);
    for (int i = 0; i < TALKERS; i++) {
        pthread_join(talkers[i].thread, NULL);
        assert_true(talkers[i].echoes > 0);
        close(talkers[i].rig.client);
        close(talkers[i].rig.server);
    }
    rig->client = rig->server = -1;
    WAIT_FOR(fault_proxy_counts(rig->proxy).open_now == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAULT_RIG_TEST(test_bytes_are_carried_both_ways),
        FAULT_RIG_TEST(test_order_and_content_hold),
        FAULT_RIG_TEST(test_bytes_are_held),
        FAULT_RIG_TEST(test_a_slow_link),
        FAULT_RIG_TEST(test_a_proxy_that_does_not_read),
        FAULT_RIG_TEST(test_injected_bytes),
        FAULT_RIG_TEST(test_rates_of_a_million_are_always),
        FAULT_RIG_TEST(test_the_same_seed_is_the_same_harm),
        FAULT_RIG_TEST(test_called_from_many_threads),
    };
    return cmocka_run_group_tests_name("fault/proxy", tests, NULL, NULL);
}
