/* SPDX-License-Identifier: MIT */
#include "matrix/killer.h"

#include "support/waiting.h"
#include <shoal/shoal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KILLS_PER_S 100

/* One id of the list that CLIENT LIST answered, at random but not our own. */
static uint64_t pick_victim(killer_t *killer, const char *list, uint64_t own_id)
{
    uint64_t victim = 0, seen = 0;

    for (const char *line = list; line; line = strchr(line, '\n')) {
        unsigned long long id = 0;
        line += *line == '\n';
        if (sscanf(line, "id=%llu", &id) != 1 || id == own_id)
            continue;
        killer->random = killer->random * 6364136223846793005u + 1442695040888963407u;
        if ((killer->random >> 33) % ++seen == 0)
            victim = id;
    }
    return victim;
}

/* Ask and copy the text of the answer, or its number as text. */
static bool ask(shoal_client_t *client, char *answer, size_t room, const char *command,
                const char *option, const char *value)
{
    const char *const argv[] = {"CLIENT", command, option, value};
    shoal_result_t *result = NULL;
    size_t bytes = 0;

    if (shoal_client_call(client, option ? 4 : 2, argv, NULL, &result) != 0)
        return false;
    bool is_answered = shoal_result_status(result) == 0;
    if (is_answered) {
        const shoal_reply_t *reply = shoal_result_reply(result);
        const char *text = shoal_reply_string(reply, &bytes);
        if (text)
            snprintf(answer, room, "%.*s", (int)bytes, text);
        else
            snprintf(answer, room, "%lld", (long long)shoal_reply_integer(reply));
    }
    shoal_result_release(result);
    return is_answered;
}

void killer_run(void *data)
{
    killer_t *killer = data;
    shoal_options_t *options = NULL;
    shoal_client_t *client = NULL;
    char own[32] = "", list[8192] = "", id[32] = "", answer[64] = "";

    if (shoal_options_new(&options) != 0 ||
        shoal_options_set_address(options, "127.0.0.1", killer->port) != 0 ||
        shoal_client_open(options, &client, NULL) != 0)
        abort();
    shoal_options_free(options);
    while (!killer->is_over) {
        if (ask(client, own, sizeof own, "ID", NULL, NULL) &&
            ask(client, list, sizeof list, "LIST", "TYPE", "normal")) {
            uint64_t victim = pick_victim(killer, list, strtoull(own, NULL, 10));
            snprintf(id, sizeof id, "%llu", (unsigned long long)victim);
            if (victim && killer->kills < killer->kills_max &&
                ask(client, answer, sizeof answer, "KILL", "ID", id))
                killer->kills += answer[0] == '1';
        }
        waiting_sleep_us(1000000 / KILLS_PER_S);
    }
    (void)shoal_client_close_and_wait(client, 0);
    shoal_client_release(client);
}
