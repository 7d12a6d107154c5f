/* SPDX-License-Identifier: MIT */
/* F23: a server that takes no more clients: it says so, or hangs up, or does not even
 * accept.  The client tries at most ten times a second, however short its pauses are,
 * and is there when there is room again.  (I13 I4) */
#include "fault_proxy/fault_proxy.h"
#include "matrix/load.h"
#include "matrix/matrix.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define REFUSED_US 350000
#define PER_S_MAX 10
#define HURRY_US 50000
#define FILLERS 4

static uint64_t refused_us(void)
{
    size_t wanted_us = matrix_scaled(REFUSED_US);
    return wanted_us < 10000000 ? wanted_us : 10000000;
}

/* For so long the server lets no client in.  A command that cannot wait is proved
 * unexecuted. */
static void check_refused(matrix_t *m, const char *what)
{
    uint64_t begun_us = waiting_now_us();
    unsigned lost = m->events.lost;
    const matrix_command_t *hurried = matrix_submit(
        m, &(matrix_spec_t){.kind = MATRIX_WRITE, .timeout_us = HURRY_US});

    matrix_pause(m, refused_us());
    MATRIX_WAIT_FOR(m, m->events.lost > lost);
    unsigned losses = m->events.lost - lost;
    uint64_t spent_us = waiting_now_us() - begun_us;
    matrix_expect(m, hurried, SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    print_message("%s: %s: %u losses in %llu ms\n", m->mode->name, what, losses,
                  (unsigned long long)spent_us / 1000);
    /* The connection that was there before is lost as well; and the first attempt is made
     * at once. */
    assert_true(losses <= 2 + spent_us * PER_S_MAX / 1000000);
}

/* The server allows one client, and another one is connected.  The proxy turns the client
 * away until that is so: it could be the one client otherwise. */
static void check_maxclients(matrix_t *m, fault_proxy_t *proxy, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char line[64] = "";

    assert_int_equal(connect(other, (struct sockaddr *)&address, sizeof address), 0);
    dprintf(other, "CONFIG SET maxclients 1\r\n");
    bool is_set = read(other, line, sizeof line) > 0 && line[0] == '+';
    fault_proxy_turn_away(proxy, false);
    if (is_set)
        check_refused(m, "too many clients");
    close(other);
    assert_true(is_set);
}

/* Accepted, and hung up on at once. */
static void check_turned_away(matrix_t *m, fault_proxy_t *proxy)
{
    fault_proxy_turn_away(proxy, true);
    fault_proxy_cut(proxy, FAULT_TO_CLIENT, FAULT_END_RESET);
    check_refused(m, "accept and close");
    fault_proxy_turn_away(proxy, false);
    matrix_expect_works(m);
}

static void stop_proxy(void *proxy)
{
    fault_proxy_stop(proxy);
}

/* Nobody accepts, and there is no more room to wait: connecting takes its time. */
static void check_full_backlog(const matrix_mode_t *mode)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    matrix_t *m = matrix_begin(mode);
    int fillers[FILLERS];
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    bind(listener, (struct sockaddr *)&address, sizeof address);
    listen(listener, 0);
    getsockname(listener, (struct sockaddr *)&address, &bytes);
    for (int i = 0; i < FILLERS; i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)connect(fillers[i], (struct sockaddr *)&address, sizeof address);
    }
    matrix_to_port(m, ntohs(address.sin_port));
    assert_int_equal(shoal_options_set_connect_timeout_us(m->options, 20000, 20000), 0);
    matrix_open(m);
    check_refused(m, "full backlog");
    assert_int_equal(m->events.connected, 0);
    matrix_close(m, 0);
    for (int i = 0; i < FILLERS; i++)
        close(fillers[i]);
    close(listener);
    matrix_end(m);
}

static void f23(const matrix_mode_t *mode)
{
    matrix_t *m = matrix_begin(mode);
    redis_process_t *redis = matrix_redis(m, NULL);
    int port = redis_process_port(redis);
    fault_proxy_t *proxy = fault_proxy_start(
        &(fault_proxy_config_t){.server_port = matrix_redis_port(m, redis)});

    assert_non_null(proxy);
    matrix_defer(m, stop_proxy, proxy);
    matrix_to_port(m, fault_proxy_port(proxy));
    matrix_open_ready(m);
    check_turned_away(m, proxy);
    unsigned lost = m->events.lost;
    fault_proxy_turn_away(proxy, true);
    fault_proxy_cut(proxy, FAULT_TO_CLIENT, FAULT_END_FIN);
    MATRIX_WAIT_FOR(m, m->events.lost > lost); /* nothing is written there any more */
    check_maxclients(m, proxy, port);
    matrix_end(m);
    check_full_backlog(mode);
}

MATRIX_ROW(23){
    MATRIX_CELLS_EVERYWHERE(f23),
    MATRIX_ROW_END,
};
