/* SPDX-License-Identifier: MIT */

/* The process runs out of descriptors: a clear error or another try, nothing leaked,
 * and it works again as soon as there are some.  (I6 I14) */

#include "support/lone_fork.h"
#include "support/process_state.h"
#include "support/scene.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int (*open_fn)(const shoal_options_t *options, shoal_client_t **ret_client,
                       shoal_error_t *ret_error);

static struct rlimit usual;

/* Descriptors stay as they are, and `more` can be opened. */
static void allow_descriptors(unsigned more)
{
    uint64_t open = process_descriptor_set();
    struct rlimit few = usual;
    unsigned at = 0;

    for (; more > 0 || (open >> at & 1); at++)
        more -= !(open >> at & 1);
    few.rlim_cur = at;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
}

static void allow_all_descriptors(void)
{
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
}

static int teardown(void **state)
{
    allow_all_descriptors();
    return scene_teardown(state);
}

static void sweep_open(scene_t *scene, open_fn open)
{
    shoal_client_t *client = NULL;

    /* No server listens there: one in this process would need descriptors, too. */
    assert_int_equal(shoal_options_set_unix_path(scene->options, "/dev/null/none"), 0);
    /* What libuv keeps for good, it has from here on. */
    assert_int_equal(open(scene->options, &client, NULL), 0);
    assert_int_equal(shoal_client_close_and_wait(client, 0), 0);
    shoal_client_release(client);
    client = NULL;
    uint64_t before = process_descriptor_set();

    for (unsigned allowed = 0; !client; allowed++) {
        assert_true(allowed < 40);
        shoal_error_t error = SHOAL_ERROR_INIT;
        allow_descriptors(allowed);
        int rc = open(scene->options, &client, &error);
        allow_all_descriptors();
        if (rc == 0) {
            assert_non_null(client);
            assert_true(allowed > 3); /* it did need descriptors */
            assert_int_equal(shoal_client_close_and_wait(client, 0), 0);
            shoal_client_release(client);
        } else {
            assert_int_equal(rc, SHOAL_ESYSTEM);
            assert_null(client);
            assert_int_equal(error.code, SHOAL_ESYSTEM);
            assert_int_equal(error.system_errno, EMFILE);
            assert_non_null(
                strstr(error.text, "no thread or descriptor for the client: "));
            assert_non_null(strstr(error.text, strerror(EMFILE)));
        }
        assert_true(process_descriptor_set() == before);
    }
}

static void test_opening_a_stepped_client(void **state)
{
    sweep_open(*state, shoal_client_open_borrowed);
}

static void test_opening_a_client_with_a_thread(void **state)
{
    sweep_open(*state, shoal_client_open);
}

static void test_creating_a_queue(void **state)
{
    (void)state;
    uint64_t before = process_descriptor_set();
    shoal_completions_t *queue = NULL;

    allow_descriptors(0);
    assert_int_equal(shoal_completions_new(0, &queue), SHOAL_ESYSTEM);
    assert_null(queue);
    allow_all_descriptors();
    assert_true(process_descriptor_set() == before);
}

/* libuv itself ends a process whose first loop finds none. */
static void test_the_first_client_of_a_process(void **state)
{
    shoal_options_t *options = NULL;
    (void)state;

    assert_int_equal(shoal_options_new(&options), 0);
    for (unsigned allowed = 0; allowed < 6; allowed++) {
        int status = 0;
        pid_t child = lone_fork();
        if (child == 0) {
            shoal_client_t *client;
            allow_descriptors(allowed);
            int rc = shoal_client_open_borrowed(options, &client, NULL);
            _exit(rc == SHOAL_ESYSTEM ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    shoal_options_free(options);
}

/* No socket for the next connection: that is one more attempt that failed. */
static void test_reconnecting(void **state)
{
    scene_t *scene = *state;
    scene_events_t events;

    scene_open_ready(scene);
    fake_server_rule(scene->server, &(fake_rule_t){.command = "DEL",
                                                   .connection = 1,
                                                   .is_cut = true,
                                                   .then = FAKE_RESET});
    struct rlimit none = usual;
    none.rlim_cur = 3; /* those that the connection leaves are of no use either */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    outcome_t lost = scene_call(scene, scene_words("DEL", "k", NULL), NULL);
    scene_check(&lost, SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    WAIT_FOR((events = scene_events(scene)).lost_conn >= 3);
    assert_non_null(strstr(events.detail, strerror(EMFILE)));
    assert_int_equal(events.connected, 1);

    allow_all_descriptors();
    scene_check_works(scene);
    assert_int_equal(scene_events(scene).connected, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_setup, teardown)
        /* First: no loop was made yet. */
        cmocka_unit_test(test_the_first_client_of_a_process),
        TEST(test_opening_a_stepped_client),
        TEST(test_opening_a_client_with_a_thread),
        TEST(test_creating_a_queue),
        TEST(test_reconnecting),
    };

    getrlimit(RLIMIT_NOFILE, &usual);
    return cmocka_run_group_tests_name("fault/descriptors", tests, NULL, NULL);
}
