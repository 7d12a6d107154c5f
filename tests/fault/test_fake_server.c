/* SPDX-License-Identifier: MIT */
/* What the tests rely on when they refuse connections: none is made any more when the call
 * has returned. */
#include "support/fake/fake_server.h"
#include "support/waiting.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ROUNDS 500

/* 0, or an errno. */
static int try_to_connect(const fake_server_t *server)
{
    const char *path = fake_server_path(server);
    struct sockaddr_in tcp = {.sin_family = AF_INET,
                              .sin_port = htons((uint16_t)fake_server_port(server)),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    int fd = socket(path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    if (path)
        strncpy(local.sun_path, path, sizeof local.sun_path - 1);
    int rc = path ? connect(fd, (struct sockaddr *)&local, sizeof local)
                  : connect(fd, (struct sockaddr *)&tcp, sizeof tcp);
    int error = rc < 0 ? errno : 0;
    close(fd);
    return error;
}

static void check_refusing(const fake_config_t *config)
{
    fake_server_t *server = fake_server_start(config);

    for (unsigned round = 1; round <= ROUNDS; round++) {
        assert_int_equal(try_to_connect(server), 0);
        WAIT_FOR(fake_server_accepted(server) == round);
        fake_server_refuse(server, true);
        fake_server_refuse(server, true);
        assert_int_equal(try_to_connect(server), ECONNREFUSED);
        assert_int_equal(fake_server_accepted(server), round);
        fake_server_refuse(server, false);
    }
    fake_server_stop(server);
}

static void test_refusing_on_tcp(void **state)
{
    (void)state;
    check_refusing(NULL);
}

static void test_refusing_on_a_unix_socket(void **state)
{
    (void)state;
    check_refusing(&(fake_config_t){.is_unix = true});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusing_on_tcp),
        cmocka_unit_test(test_refusing_on_a_unix_socket),
    };
    return cmocka_run_group_tests_name("fault/fake_server", tests, NULL, NULL);
}
