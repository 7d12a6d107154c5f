/* SPDX-License-Identifier: MIT */

/* A leased connection that is to be replaced is not pooled: its next holder relies on the
 * state of the connection, and would lose it in the middle. */
#include "support/lease_scene.h"

#include <string.h>

/* The connection that a command came on last; 0: it did not come. */
static unsigned connection_of(scene_t *scene, const char *command)
{
    for (size_t i = fake_server_ledger_size(scene->server); i > 0; i--) {
        fake_entry_t entry = fake_server_ledger_at(scene->server, i - 1);
        if (strcmp(entry.args[0], command) == 0)
            return entry.connection;
    }
    return 0;
}

static void test_a_holder_keeps_its_connection(void **state)
{
    scene_t *scene = *state;
    outcome_t outcome;
    shoal_lease_t *lease;

    scene_open_ready(scene);
    /* A blocking command takes the second connection, which is to be replaced then; but it
     * works on, and the command is answered before the successor is. */
    fake_server_rule(scene->server, &(fake_rule_t){.command = "BLPOP",
                                                   .connection = 2,
                                                   .times = 1,
                                                   .reply = "-READONLY no\r\n"});
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "BLPOP", .reply = "*-1\r\n"});
    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "HELLO", .connection = 3, .then = FAKE_HOLD});
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "WATCH", .reply = "+OK\r\n"});
    outcome = scene_call(scene, WORDS("BLPOP", "a", "0"), NULL);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_received(scene->server, 2, "BLPOP", "a"), 2);

    lease = lease_scene_open(scene);
    outcome = lease_scene_ask(scene, lease, WORDS("WATCH", "k"));
    scene_check_text(&outcome, "OK");
    unsigned connection = connection_of(scene, "WATCH");
    assert_int_not_equal(connection, 2);
    fake_server_release(scene->server);
    outcome = lease_scene_ask(scene, lease, WORDS("MULTI"));
    scene_check_text(&outcome, "OK");
    outcome = lease_scene_ask(scene, lease, WORDS("EXEC"));
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(connection_of(scene, "EXEC"), connection);
    shoal_lease_close(lease);
}

int main(void)
{
    const struct CMUnitTest tests[] = {SCENE_TEST(test_a_holder_keeps_its_connection)};

    return cmocka_run_group_tests_name("fault/leases_renewed", tests, NULL, NULL);
}
