/* SPDX-License-Identifier: MIT */
#include "support/live_lease.h"

#include <stdio.h>
#include <string.h>

#define WORDS_MAX 8

typedef struct line {
    char text[160];
    const char *argv[WORDS_MAX];
    shoal_command_t command;
} line_t;

static const shoal_command_t *parse(line_t *line, const char *text)
{
    size_t argc = 0;
    char *rest;

    snprintf(line->text, sizeof line->text, "%s", text);
    for (char *word = strtok_r(line->text, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest))
        line->argv[argc++] = word;
    line->command = (shoal_command_t){argc, line->argv, NULL};
    return &line->command;
}

outcome_t live_lease_ask_for(shoal_client_t *client, shoal_lease_t *lease,
                             const char *text, uint64_t timeout_us)
{
    shoal_call_t call = SHOAL_CALL_INIT;
    shoal_result_t *result;
    outcome_t outcome = {0};
    line_t line;

    call.lease = lease;
    call.timeout_us = timeout_us;
    assert_int_equal(shoal_client_call_with(client, parse(&line, text), &call, &result),
                     0);
    outcome_read(&outcome, result);
    shoal_result_release(result);
    return outcome;
}

outcome_t live_lease_ask(shoal_client_t *client, shoal_lease_t *lease, const char *text)
{
    return live_lease_ask_for(client, lease, text, 0);
}

void live_lease_refuses(shoal_client_t *client, shoal_lease_t *lease, const char *text)
{
    shoal_call_t call = SHOAL_CALL_INIT;
    line_t line;

    call.lease = lease;
    int rc = shoal_client_submit_many(client, parse(&line, text), 1, &call, NULL, NULL,
                                      NULL);
    if (rc != SHOAL_EREFUSED)
        fail_msg("%s: %s", text, shoal_error_name(rc));
}

void live_lease_submit(shoal_client_t *client, shoal_lease_t *lease, const char *text,
                       shoal_result_cb on_result, void *data, uint64_t *ret_ticket)
{
    shoal_call_t call = SHOAL_CALL_INIT;
    line_t line;

    call.lease = lease;
    call.timeout_us = SHOAL_TIMEOUT_NEVER; /* a thousand may stand in line before it */
    assert_int_equal(shoal_client_submit_many(client, parse(&line, text), 1, &call,
                                              on_result, data, ret_ticket),
                     0);
}

shoal_lease_t *live_lease_open(shoal_client_t *client)
{
    shoal_lease_t *lease = NULL;

    assert_int_equal(shoal_lease_open(client, &lease), 0);
    return lease;
}

shoal_client_t *live_lease_begin(void)
{
    shoal_client_t *client = live_open(live_options());

    assert_int_equal(live_lease_ask(client, NULL, "FLUSHALL").status, 0);
    return client;
}

void live_lease_end(shoal_client_t *client)
{
    assert_int_equal(shoal_client_close_and_wait(client, SHOAL_TIMEOUT_NEVER), 0);
    shoal_client_release(client);
}
