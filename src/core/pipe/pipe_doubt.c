/* SPDX-License-Identifier: MIT */
#include "core/pipe/pipe_doubt.h"

static void leave(shoal__pipe_t *pipe)
{
    shoal__pipe_t **at = &pipe->shared->doubtful;

    while (*at && *at != pipe)
        at = &(*at)->next_doubtful;
    if (*at)
        *at = pipe->next_doubtful;
}

void shoal__pipe_doubt_changed(shoal__pipe_t *pipe)
{
    const shoal__former_t *former = &pipe->greeting.former;

    leave(pipe);
    if (former->count > 0 || former->has_lost_track) {
        pipe->next_doubtful = pipe->shared->doubtful;
        pipe->shared->doubtful = pipe;
    }
    pipe->shared->doubts_changed++;
}

void shoal__pipe_doubt_forget(shoal__pipe_t *pipe)
{
    leave(pipe);
    pipe->shared->doubts_changed++;
}

static bool may_run_on(const shoal__former_t *former, const char *process)
{
    if (former->has_lost_track)
        return true;
    for (unsigned i = 0; i < former->count; i++)
        if (shoal__former_may_be_on(former, i, process))
            return true;
    return false;
}

static bool are_others_settled(const shoal__pipe_t *pipe)
{
    const char *process = pipe->greeting.identity.process;
    const shoal__pipe_t *other = pipe->shared->doubtful;

    for (; other; other = other->next_doubtful)
        if (other != pipe && may_run_on(&other->greeting.former, process))
            return false;
    return true;
}

void shoal__pipe_doubt_look(shoal__pipe_t *pipe)
{
    pipe->doubts_seen = pipe->shared->doubts_changed;
    pipe->are_others_settled = are_others_settled(pipe);
}
