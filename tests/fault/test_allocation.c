/* SPDX-License-Identifier: MIT */

/* Memory runs out at every point of opening and submitting: a clear error, nothing
 * leaked, nothing half done. */

#include "base/alloc.h"
#include "support/process_state.h"
#include "support/scene.h"

typedef int (*open_fn)(const shoal_options_t *options, shoal_client_t **ret_client,
                       shoal_error_t *ret_error);

static void sweep_open(scene_t *scene, open_fn open)
{
    uint64_t descriptors = process_descriptor_set();

    for (size_t allowed = 0;; allowed++) {
        shoal_error_t error = SHOAL_ERROR_INIT;
        shoal_client_t *client = NULL;
        shoal__test_fail_alloc_after(allowed);
        int rc = open(scene->options, &client, &error);
        shoal__test_fail_alloc_never();
        if (rc == 0) {
            assert_true(allowed > 5); /* it did need memory */
            assert_int_equal(shoal_client_close_and_wait(client, 0), 0);
            shoal_client_release(client);
            break;
        }
        assert_true(rc == SHOAL_ENOMEM || rc == SHOAL_ESYSTEM);
        assert_null(client);
        assert_int_equal(error.code, rc);
        assert_string_not_equal(error.text, "");
        assert_true(process_descriptor_set() == descriptors);
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
    uint64_t descriptors = process_descriptor_set();

    for (size_t allowed = 0;; allowed++) {
        shoal_completions_t *queue = NULL;
        shoal__test_fail_alloc_after(allowed);
        int rc = shoal_completions_new(0, &queue);
        shoal__test_fail_alloc_never();
        if (rc == 0) {
            shoal_completions_free(queue);
            break;
        }
        assert_int_equal(rc, SHOAL_ENOMEM);
        assert_null(queue);
        assert_true(process_descriptor_set() == descriptors);
    }
}

/* Refused or completed, never anything between; and it works again afterwards. */
static void test_submitting(void **state)
{
    enum { COUNT = 300 };
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, COUNT);
    const char *const argv[] = {"INCR", "k"};
    unsigned accepted = 0, refused = 0;

    assert_int_equal(shoal_client_open_borrowed(scene->options, &scene->client, NULL),
                     0);
    for (size_t i = 0; i < COUNT; i++) {
        shoal__test_fail_alloc_after(0);
        int rc = shoal_client_submit(scene->client, 2, argv, NULL, outcome_cb,
                                     &outcomes[accepted], NULL);
        shoal__test_fail_alloc_never();
        assert_true(rc == 0 || rc == SHOAL_ENOMEM);
        accepted += rc == 0;
        refused += rc != 0;
        if (rc != 0) /* make room with memory, then fail again */
            accepted += shoal_client_submit(scene->client, 2, argv, NULL, outcome_cb,
                                            &outcomes[accepted], NULL) == 0;
    }
    assert_true(refused > 0);
    for (unsigned i = 0; i < accepted; i++) {
        while (!outcome_is_done(&outcomes[i]))
            assert_int_equal(shoal_client_step(scene->client, SHOAL_TIMEOUT_NEVER), 0);
        assert_int_equal(outcomes[i].status, 0);
        assert_int_equal(outcomes[i].integer, i + 1);
    }
    assert_int_equal(fake_server_executed(scene->server, 0, "INCR", NULL), accepted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_opening_a_stepped_client),
        SCENE_TEST(test_opening_a_client_with_a_thread),
        SCENE_TEST(test_creating_a_queue),
        SCENE_TEST(test_submitting),
    };
    return cmocka_run_group_tests_name("fault/allocation", tests, NULL, NULL);
}
