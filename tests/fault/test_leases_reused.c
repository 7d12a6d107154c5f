/* SPDX-License-Identifier: MIT */
/* A unit that waits for its lease is cancelled, and the callback of its last result submits
 * another one: an allocator may give it the same memory at once. */
#include "support/lease_scene.h"

#include <stdlib.h>
#include <string.h>

typedef struct units {
    shoal_lease_t *lease;
    _Atomic int first, second;
    int cancelled; /* results of the second */
} units_t;

static void submit_unit(units_t *units, shoal_result_cb on_result, uint64_t *ret_ticket)
{
    const shoal_command_t commands[] = {scene_words("MULTI", NULL),
                                        scene_words("INCR", "n", NULL),
                                        scene_words("EXEC", NULL)};
    const shoal_call_t call = {.size = sizeof call, .flags = SHOAL_CALL_CONTIGUOUS};

    if (shoal_lease_submit(units->lease, commands, 3, &call, on_result, units,
                           ret_ticket) != 0)
        abort();
}

static void on_second(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    units_t *units = data;

    (void)client;
    units->cancelled += shoal_result_status(result) == SHOAL_ECANCELLED;
    units->second++;
}

static void on_first(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    units_t *units = data;

    (void)client;
    (void)result;
    if (units->first == 2)
        submit_unit(units, on_second, NULL);
    units->first++;
}

static void test_only_the_cancelled_unit_ends(void **state)
{
    scene_t *scene = *state;
    units_t *units = scene_alloc(scene, sizeof *units);
    outcome_t *outcomes = scene_outcomes(scene, 2);
    uint64_t ticket;

    units->lease = lease_scene_open_used(scene);
    fake_server_rule(scene->server, &(fake_rule_t){.command = "BLPOP",
                                                   .reply = "*-1\r\n",
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    for (size_t i = 0; i < 2; i++) /* the second one waits, and all behind it */
        lease_scene_submit(scene, units->lease, scene_words("BLPOP", "a", "0", NULL), 0,
                           &outcomes[i], NULL);
    submit_unit(units, on_first, &ticket);
    WAIT_FOR(fake_server_received(scene->server, 2, "BLPOP", "a") == 1);
    assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
    WAIT_FOR(units->first == 3);
    fake_server_forget_rules(scene->server);
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "BLPOP", .reply = "*-1\r\n"});
    fake_server_release(scene->server);
    WAIT_FOR(units->second == 3);
    assert_int_equal(units->cancelled, 0);
    shoal_lease_close(units->lease);
}

/* Unlike glibc's, which does not reuse at once. */
static void *reusing_calloc(size_t count, size_t bytes)
{
    void *memory = malloc(count * bytes);

    return memory ? memset(memory, 0, count * bytes) : NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {SCENE_TEST(test_only_the_cancelled_unit_ends)};
    const shoal_allocator_t reusing = {malloc, reusing_calloc, realloc, free};

    if (shoal_allocator_set(&reusing) != 0)
        return 1;
    return cmocka_run_group_tests_name("fault/leases_reused", tests, NULL, NULL);
}
