/* SPDX-License-Identifier: MIT */

/* A node comes, gets slots, gives them back and goes; then a foreign server has its port. */

#include "support/cluster_load.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SLOTS 6         /* that the node gets */
#define LOOK_US 1500000 /* so long the foreign server is there */

static void move(const cluster_load_t *load, size_t caller, size_t from, size_t to)
{
    cluster_rig_move(load->rig, cluster_load_slot(load, caller), from, to);
    cluster_rig_await_owner(load->rig, cluster_load_key(load, caller), to);
}

/* Nobody accepts connections here: the kernel keeps those that come. */
static int listen_at(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;

    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 16), 0);
    return fd;
}

/* The client knows the node, and has been connected to it: no connection comes. */
static void a_foreign_server_hears_nothing(cluster_load_t *load, int port)
{
    int fd = listen_at(port);

    waiting_sleep_us(LOOK_US);
    cluster_load_await_progress(load, 10);
    assert_int_equal(accept(fd, NULL, NULL), -1);
    close(fd);
}

static void a_node_comes_and_goes_under_load(void **state)
{
    cluster_rig_t *rig = cluster_rig_start_patient();
    (void)state;

    if (!rig)
        skip();
    cluster_load_t *load = cluster_load_begin(rig, 8);
    for (size_t round = live_scaled(1); round > 0; round--) {
        size_t node = cluster_rig_add(rig), from[SLOTS];
        int port = cluster_rig_client_port(rig, node);
        cluster_rig_join(rig, node);
        for (size_t i = 0; i < SLOTS; i++) {
            from[i] = cluster_rig_agreed_owner(rig, cluster_load_key(load, i));
            move(load, i, from[i], node);
        }
        cluster_load_await_progress(load, 10);
        for (size_t i = 0; i < SLOTS; i++)
            move(load, i, node, from[i]);
        cluster_load_await_progress(load, 10);
        cluster_rig_forget(rig);
        a_foreign_server_hears_nothing(load, port);
    }
    cluster_tally_t tally = cluster_load_stop(load);
    assert_int_equal(tally.unknown, 0);
    assert_int_equal(tally.not_executed, 0);
    assert_int_equal(tally.errors, 0);
    assert_int_equal(tally.lost, 0);
    assert_int_equal(tally.inversions, 0);
    assert_in_range(load->losses, 0, live_scaled(1)); /* of the node that was stopped */
    cluster_load_end(load);
}

/* As after a handshake that took longer than the node timeout: the node knows no other one, and
 * none knows it. */
static void nodes_whose_handshake_was_given_up_meet_again(void **state)
{
    cluster_rig_t *rig = cluster_rig_start();
    (void)state;

    if (!rig)
        skip();
    cluster_rig_add(rig);
    cluster_rig_await_known(rig);
    cluster_rig_stop(rig);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_comes_and_goes_under_load),
        cmocka_unit_test(nodes_whose_handshake_was_given_up_meet_again),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("cluster_nodes", tests, NULL, NULL);
}
