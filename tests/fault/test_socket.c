/* SPDX-License-Identifier: MIT */

/* How the library sets a socket up: read back from the system. */

#include "support/scene.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <shoal/connection.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define FD_MAX 1024

/* The descriptor of this process that is connected to the server: the client's. */
static int find_socket(scene_t *scene)
{
    int port = fake_server_port(scene->server), found = -1;

    for (int fd = 0; fd < FD_MAX; fd++) {
        struct sockaddr_in peer = {0};
        socklen_t bytes = sizeof peer;
        if (getpeername(fd, (struct sockaddr *)&peer, &bytes) == 0 &&
            peer.sin_family == AF_INET && ntohs(peer.sin_port) == port)
            found = fd;
    }
    assert_true(found >= 0);
    return found;
}

static int read_int(int fd, int level, int name)
{
    int value = -1;
    socklen_t bytes = sizeof value;

    assert_int_equal(getsockopt(fd, level, name, &value, &bytes), 0);
    return value;
}

static void test_keepalive(void **state)
{
    static const struct {
        uint64_t idle_us; /* 1: the default */
        int is_on, idle_s, interval_s;
    } cases[] = {
        {1, 1, 15, 5},
        {0, 0, 0, 0},
        {1000000, 1, 1, 1},
        {3000001, 1, 4, 2},
        {3600000000, 1, 3600, 1200},
    };
    scene_t *scene = *state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (cases[i].idle_us != 1)
            assert_int_equal(
                shoal_options_set_keepalive_us(scene->options, cases[i].idle_us), 0);
        scene_open_ready(scene);
        int fd = find_socket(scene);
        assert_int_equal(read_int(fd, SOL_SOCKET, SO_KEEPALIVE), cases[i].is_on);
        if (cases[i].is_on) {
            assert_int_equal(read_int(fd, IPPROTO_TCP, TCP_KEEPIDLE), cases[i].idle_s);
            assert_int_equal(read_int(fd, IPPROTO_TCP, TCP_KEEPINTVL),
                             cases[i].interval_s);
            assert_int_equal(read_int(fd, IPPROTO_TCP, TCP_KEEPCNT), 3);
        }
        assert_int_equal(read_int(fd, IPPROTO_TCP, TCP_NODELAY), 1);
        scene_close(scene, 0);
    }
}

static void test_source_address(void **state)
{
    scene_t *scene = *state;
    struct sockaddr_in own = {0};
    socklen_t bytes = sizeof own;
    char text[INET_ADDRSTRLEN];

    assert_int_equal(shoal_options_set_source_address(scene->options, "127.0.0.2"), 0);
    scene_open_ready(scene);
    assert_int_equal(getsockname(find_socket(scene), (struct sockaddr *)&own, &bytes),
                     0);
    assert_string_equal(inet_ntop(AF_INET, &own.sin_addr, text, sizeof text),
                        "127.0.0.2");
    scene_check_works(scene);
}

/* The reason is told: the machine has no such address, or it is of the other family. */
static void test_a_source_address_that_does_not_fit(void **state)
{
    static const struct {
        const char *address;
        int system_errno;
    } cases[] = {{"192.0.2.1", EADDRNOTAVAIL}, {"::1", EAFNOSUPPORT}};
    scene_t *scene = *state;
    char text[160];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scene->events = (scene_events_t){0};
        assert_int_equal(
            shoal_options_set_source_address(scene->options, cases[i].address), 0);
        scene_open(scene);
        WAIT_FOR(scene_events(scene).lost > 0);
        snprintf(text, sizeof text, "connect 127.0.0.1:%d: %s (source address %s)",
                 fake_server_port(scene->server), strerror(cases[i].system_errno),
                 cases[i].address);
        assert_string_equal(scene_events(scene).detail, text);
        scene_close(scene, 0);
    }
}

static void test_a_unix_socket_needs_neither(void **state)
{
    scene_t *scene = *state;

    scene_serve(scene, &(fake_config_t){.is_unix = true});
    assert_int_equal(shoal_options_set_source_address(scene->options, "127.0.0.2"), 0);
    scene_open_ready(scene);
    scene_check_works(scene);
}

static void test_addresses_are_checked(void **state)
{
    static const char *const bad[] = {"",          "localhost", "127.0.0",
                                      "1.2.3.4:5", "[::1]",     " 127.0.0.1"};
    scene_t *scene = *state;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(shoal_options_set_source_address(scene->options, bad[i]),
                         SHOAL_EINVAL);
    assert_int_equal(shoal_options_set_source_address(NULL, "::1"), SHOAL_EINVAL);
    assert_int_equal(shoal_options_set_source_address(scene->options, "::1"), 0);
    assert_int_equal(shoal_options_set_source_address(scene->options, NULL), 0);
    scene_open_ready(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_keepalive),
        SCENE_TEST(test_source_address),
        SCENE_TEST(test_a_source_address_that_does_not_fit),
        SCENE_TEST(test_a_unix_socket_needs_neither),
        SCENE_TEST(test_addresses_are_checked),
    };
    return cmocka_run_group_tests_name("socket", tests, NULL, NULL);
}
