/* SPDX-License-Identifier: MIT */
/* What the tests rely on: when they refuse connections, none is made any more when the call
 * has returned; and a node that changes what it says does so in one step. */
#include "cluster_nodes/redis_ask.h"
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
#define ROLE "*1\r\n$4\r\nROLE"
#define GET "*2\r\n$3\r\nGET\r\n$1\r\nx"

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

static void expect(const fake_server_t *server, const char *command, const char *said)
{
    char answer[32] = "";

    assert_true(redis_ask(fake_server_port(server), command, answer, sizeof answer));
    assert_string_equal(answer, said);
}

static void test_rules_are_exchanged_in_one_step(void **state)
{
    fake_server_t *server = fake_server_start(NULL);
    (void)state;

    fake_server_rule(server, &(fake_rule_t){.command = "ROLE", .reply = "+old\r\n"});
    fake_server_prepare_rules(server);
    fake_server_rule(server, &(fake_rule_t){.command = "ROLE", .reply = "+new\r\n"});
    fake_server_rule(server, &(fake_rule_t){.command = "GET", .reply = "+new\r\n"});
    expect(server, ROLE, "+old");
    expect(server, GET, "$-1");
    fake_server_forget_rules(server);
    expect(server, ROLE, "+new");
    expect(server, GET, "+new");
    fake_server_forget_rules(server);
    expect(server, GET, "$-1");
    fake_server_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusing_on_tcp),
        cmocka_unit_test(test_refusing_on_a_unix_socket),
        cmocka_unit_test(test_rules_are_exchanged_in_one_step),
    };
    return cmocka_run_group_tests_name("fault/fake_server", tests, NULL, NULL);
}
