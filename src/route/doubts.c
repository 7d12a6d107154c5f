/* SPDX-License-Identifier: MIT */
#include "route/doubts.h"

#include "resp/reply.h"
#include "route/errand.h"
#include <inttypes.h>
#include <stdio.h>

/* The tag is the id of the connection that was to be ended. */
static void on_answer(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    shoal__pipe_t *pipe = data;
    shoal__former_t *former = &pipe->greeting.former;
    int64_t id = (int64_t)result->tag;
    (void)client;

    /* A greeting that is under way asks by itself, for entries that must stay. */
    if (result->status != 0 || pipe->phase == SHOAL__PIPE_GREETING)
        shoal__former_put_off(former, id);
    else if (shoal_reply_type(result->reply) == SHOAL_REPLY_INTEGER)
        shoal__former_ended(former, id, shoal_reply_integer(result->reply));
    else
        shoal__former_ended(former, id, -1);
    shoal__pipe_doubt_changed(pipe);
}

/* False: no memory. */
static bool ask_for(shoal__conn_t *over, shoal__pipe_t *lost,
                    shoal__former_entry_t *entry, uint64_t now_us)
{
    char id[24];
    const char *argv[] = {"CLIENT", "KILL", "ID", id, "ADDR", entry->identity.address,
                          "SKIPME", "yes"};
    const shoal_command_t command = {8, argv, NULL};
    const shoal__errand_t errand = {
        .on_answer = on_answer, .data = lost, .tag = (uint64_t)entry->identity.id};

    snprintf(id, sizeof id, "%" PRId64, entry->identity.id);
    if (!shoal__errand_send(over, &command, &errand, now_us))
        return false;
    entry->elsewhere = SHOAL__FORMER_ASKED;
    return true;
}

void shoal__doubts_ask(shoal__conn_t *over, uint64_t now_us)
{
    const char *process = over->pipe.greeting.identity.process;

    if (over->state != SHOAL__CONN_READY || process[0] == '\0')
        return;
    for (shoal__pipe_t *lost = over->set->shared.doubtful; lost;
         lost = lost->next_doubtful) {
        shoal__former_t *former = &lost->greeting.former;
        if (lost == &over->pipe || lost->phase != SHOAL__PIPE_DOWN)
            continue;
        for (unsigned i = 0; i < former->count; i++)
            if (former->entries[i].elsewhere == SHOAL__FORMER_NOT_ASKED &&
                shoal__former_is_on(former, i, process) &&
                !ask_for(over, lost, &former->entries[i], now_us))
                return; /* the next turn tries again */
    }
}
