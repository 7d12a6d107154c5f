/* SPDX-License-Identifier: MIT */
/* MONITOR, of a real server: each command that it executes is told, in order. */
#include "support/live.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define ECHOES 2000

typedef struct watcher {
    _Atomic unsigned results, echoes, ends;
    unsigned misplaced;
    int status;
} watcher_t;

static void on_line(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    watcher_t *watcher = data;
    size_t bytes;
    const char *text = shoal_reply_string(shoal_result_reply(result), &bytes);
    const char *word;
    char want[32];

    (void)client;
    watcher->results++;
    watcher->status = shoal_result_status(result);
    if (watcher->status != 0) {
        watcher->ends++;
        return;
    }
    word = strstr(text, "\"monitored");
    if (!word)
        return; /* the answer, or a command of another connection */
    snprintf(want, sizeof want, "\"monitored %u\\r\\n\"", watcher->echoes);
    watcher->misplaced += strcmp(word, want) != 0;
    watcher->echoes++;
}

static void echo(shoal_client_t *client, unsigned number)
{
    char text[32];
    const char *argv[] = {"ECHO", text};

    snprintf(text, sizeof text, "monitored %u\r\n", number);
    assert_int_equal(shoal_client_submit(client, 2, argv, NULL, NULL, NULL, NULL), 0);
}

static void test_each_command_is_told(void **state)
{
    (void)state;
    shoal_client_t *client = live_open(live_options());
    watcher_t watcher = {0};
    shoal_lease_t *lease;

    assert_int_equal(shoal_lease_open(client, &lease), 0);
    assert_int_equal(shoal_lease_monitor(lease, NULL, on_line, &watcher), 0);
    WAIT_FOR(watcher.results > 0);
    for (unsigned i = 0; i < ECHOES; i++)
        echo(client, i);
    WAIT_FOR(watcher.echoes == ECHOES);
    shoal_lease_close(lease);
    WAIT_FOR(watcher.ends == 1);
    assert_int_equal(watcher.status, SHOAL_ECANCELLED);
    assert_int_equal(watcher.misplaced, 0);

    /* Over: the server does not know the connection any more. */
    unsigned results = watcher.results;
    for (unsigned i = 0; i < 10; i++)
        echo(client, i);
    assert_int_equal(shoal_client_close_and_wait(client, SHOAL_TIMEOUT_NEVER), 0);
    shoal_client_release(client);
    assert_int_equal(watcher.results, results);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_command_is_told)};
    return cmocka_run_group_tests_name("integration/monitor", tests, NULL, NULL);
}
