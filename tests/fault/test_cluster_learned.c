/* SPDX-License-Identifier: MIT */
/* Commands that the library does not know: a node of the cluster, which the test plays, says once
 * where their keys stand. */
#include "fault/shard_scene.h"

#define OTHER "bar" /* a key of the first node; KEY is the second one's */

/* MY.CMD option key */
#define SECOND "*1\r\n*6\r\n$6\r\nmy.cmd\r\n:-3\r\n*1\r\n+write\r\n:2\r\n:2\r\n:1\r\n"
#define NO_KEY                                                                         \
    "*1\r\n*6\r\n$6\r\nmy.cmd\r\n:-1\r\n*1\r\n+readonly\r\n:0\r\n:0\r\n:0\r\n"
#define NOBODY "*1\r\n*-1\r\n"

static void execute_my_cmd(void)
{
    for (size_t i = 0; i < NODES; i++)
        fake_server_rule(nodes[i],
                         &(fake_rule_t){.command = "MY.CMD", .reply = "+OK\r\n"});
}

static void answer(const char *reply)
{
    for (size_t i = 0; i < NODES; i++)
        fake_server_rule(nodes[i],
                         &(fake_rule_t){.command = "COMMAND", .reply = reply});
}

static size_t received(size_t node, const char *command)
{
    return fake_server_received(nodes[node], 0, command, NULL);
}

static size_t questions(void)
{
    return received(0, "COMMAND") + received(1, "COMMAND") + received(2, "COMMAND") +
           received(3, "COMMAND");
}

/* Call it until a call goes to this node. */
static void call_until(scene_t *scene, shoal_command_t command, size_t node)
{
    size_t before = received(node, "MY.CMD");

    for (int i = 0; i < 1000 && received(node, "MY.CMD") == before; i++)
        check_ok(scene, command);
    assert_true(received(node, "MY.CMD") > before);
}

static void a_node_says_where_the_keys_are(void **state)
{
    scene_t *scene = *state;

    agree();
    execute_my_cmd();
    answer(SECOND);
    open_cluster(scene, 0);
    check_ok(scene, WORDS("MY.CMD", OTHER, KEY)); /* its first argument, it seems */
    assert_int_equal(received(0, "MY.CMD"), 1);
    call_until(scene, WORDS("my.cmd", OTHER, KEY), 1);
    size_t before = received(0, "MY.CMD");
    for (int i = 0; i < 20; i++)
        check_ok(scene, WORDS("My.Cmd", OTHER, KEY));
    assert_int_equal(received(0, "MY.CMD"), before);
    assert_int_equal(questions(), 1);
}

static void a_command_without_a_key_goes_anywhere(void **state)
{
    scene_t *scene = *state;

    agree();
    execute_my_cmd();
    answer(NO_KEY);
    open_cluster(scene, 0);
    /* Two arguments, of two nodes: one of them gets both, because neither is a key. */
    for (int i = 0; i < 1000; i++) {
        size_t first = received(0, "MY.CMD"), second = received(1, "MY.CMD");
        check_ok(scene, WORDS("MY.CMD", OTHER));
        check_ok(scene, WORDS("MY.CMD", KEY));
        if (received(0, "MY.CMD") == first + 2 || received(1, "MY.CMD") == second + 2)
            break;
        assert_true(i < 999);
    }
    assert_int_equal(questions(), 1);
}

static void what_no_node_knows_is_asked_once(void **state)
{
    scene_t *scene = *state;

    agree();
    execute_my_cmd();
    answer(NOBODY);
    open_cluster(scene, 0);
    check_ok(scene, WORDS("MY.CMD", KEY, OTHER));
    WAIT_FOR(questions() == 1);
    for (int i = 0; i < 50; i++)
        check_ok(scene, WORDS("MY.CMD", KEY, OTHER));
    assert_int_equal(received(1, "MY.CMD"), 51);
    assert_int_equal(questions(), 1);
}

static void an_error_is_an_answer(void **state)
{
    scene_t *scene = *state;

    agree();
    execute_my_cmd();
    answer("-NOPERM no permission\r\n");
    open_cluster(scene, 0);
    check_ok(scene, WORDS("MY.CMD", KEY, OTHER));
    WAIT_FOR(questions() == 1);
    for (int i = 0; i < 50; i++)
        check_ok(scene, WORDS("MY.CMD", KEY, OTHER));
    assert_int_equal(questions(), 1);
}

/* The node that was asked dies first. */
static void a_lost_question_is_asked_again(void **state)
{
    scene_t *scene = *state;

    agree();
    execute_my_cmd();
    for (size_t i = 0; i < NODES; i++)
        fake_server_rule(nodes[i], &(fake_rule_t){.command = "COMMAND",
                                                  .times = 1,
                                                  .reply = "",
                                                  .then = FAKE_RESET});
    answer(SECOND);
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", KEY, "1"));
    /* Its reply may be lost with the connection. */
    (void)scene_call(scene, WORDS("MY.CMD", OTHER, KEY), NULL);
    for (int i = 0; i < 1000 && received(1, "MY.CMD") == 0; i++)
        (void)scene_call(scene, WORDS("MY.CMD", OTHER, KEY), NULL);
    assert_true(received(1, "MY.CMD") > 0);
    assert_true(questions() >= 2 && questions() <= 3);
}

/* Keys of two nodes: the caller hears that before anything is sent. */
static void keys_of_several_slots_are_refused(void **state)
{
    static const char both[] =
        "*1\r\n*6\r\n$6\r\nmy.cmd\r\n:-3\r\n*1\r\n+write\r\n:1\r\n:2\r\n:1\r\n";
    scene_t *scene = *state;
    shoal_command_t command = WORDS("MY.CMD", OTHER, KEY);
    shoal_error_t error = SHOAL_ERROR_INIT;
    shoal_call_t call = SHOAL_CALL_INIT;
    int rc = 0;

    agree();
    execute_my_cmd();
    answer(both);
    open_cluster(scene, 0);
    call.error = &error;
    for (int i = 0; i < 1000 && rc == 0; i++) {
        shoal_result_t *result = NULL;
        rc = shoal_client_call_with(scene->client, &command, &call, &result);
        shoal_result_release(result);
    }
    assert_int_equal(rc, SHOAL_ECROSSSLOT);
    assert_non_null(strstr(error.text, "belong to several slots"));
    assert_null(strstr(error.text, "stay together"));
}

static void so_many_names_are_asked_for(void **state)
{
    scene_t *scene = *state;

    agree();
    for (size_t i = 0; i < NODES; i++)
        fake_server_rule(nodes[i], &(fake_rule_t){.argument = KEY, .reply = "+OK\r\n"});
    answer(NOBODY);
    open_cluster(scene, 0);
    for (int i = 0; i < 300; i++) {
        char name[16];
        snprintf(name, sizeof name, "MY.%d", i);
        check_ok(scene, WORDS(name, KEY));
    }
    WAIT_FOR(questions() >= 256);
    check_ok(scene, WORDS("MY.LAST", KEY));
    assert_int_equal(questions(), 256);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_node_says_where_the_keys_are),
        TEST(a_command_without_a_key_goes_anywhere),
        TEST(what_no_node_knows_is_asked_once),
        TEST(an_error_is_an_answer),
        TEST(a_lost_question_is_asked_again),
        TEST(keys_of_several_slots_are_refused),
        TEST(so_many_names_are_asked_for),
    };
    return cmocka_run_group_tests_name("fault/cluster_learned", tests, NULL, NULL);
}
