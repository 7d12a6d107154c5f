/* SPDX-License-Identifier: MIT */
#include "core/pipe/pipe_succession.h"

#include "base/alloc.h"
#include "core/pipe/pipe_move.h"
#include <assert.h>
#include <shoal/errors.h>

shoal__pipe_t *shoal__pipe_new_greeter(const shoal__pipe_t *pipe)
{
    const shoal__pipe_parts_t parts = {pipe->config, pipe->greeting.target,
                                       pipe->shared};
    const shoal__pipe_hooks_t hooks = {.on_push = pipe->hooks.on_push,
                                       .on_own = pipe->hooks.on_own};
    shoal__pipe_t *greeter = shoal__malloc(sizeof *greeter);

    if (!greeter || shoal__pipe_init(greeter, &parts, &hooks, pipe->owner) < 0) {
        shoal__free(greeter);
        return NULL;
    }
    if (!shoal__maintenance_copy(pipe->maintenance, &greeter->maintenance)) {
        shoal__pipe_release(greeter);
        shoal__free(greeter);
        return NULL;
    }
    return greeter;
}

void shoal__pipe_free_greeter(shoal__pipe_t *pipe, shoal__pipe_t *greeter)
{
    if (!greeter)
        return;
    shoal__counter_add(&pipe->stats.pushes, shoal__counter_get(&greeter->stats.pushes));
    shoal__pipe_release(greeter);
    shoal__free(greeter);
}

void shoal__pipe_drain(shoal__pipe_t *pipe, uint64_t now_us)
{
    shoal__renewal_drain(&pipe->renewal, now_us);
    shoal__pipe_withdraw(pipe);
}

bool shoal__pipe_owes_replies(const shoal__pipe_t *pipe)
{
    return shoal__pipe_due(pipe) != shoal__pipe_begun(pipe);
}

bool shoal__pipe_makes_way(const shoal__pipe_t *pipe, uint64_t now_us)
{
    bool is_drained = !shoal__pipe_owes_replies(pipe) && pipe->authorised_bytes == 0 &&
                      shoal__pipe_watermark(pipe) == pipe->ring.sent;

    return shoal__renewal_is_draining(&pipe->renewal) &&
           (is_drained || now_us >= shoal__pipe_renewal_end_us(pipe));
}

/* What the greeter has heard of the new connection, to the last byte. */
static void take_over(shoal__pipe_t *pipe, shoal__pipe_t *greeter)
{
    shoal__decoder_t *decoder = pipe->decoder;
    shoal__held_t held = pipe->held;
    shoal__maintenance_t *maintenance = greeter->maintenance;

    pipe->decoder = greeter->decoder;
    greeter->decoder = decoder;
    shoal__decoder_set_owner(pipe->decoder, pipe);
    shoal__decoder_set_owner(greeter->decoder, greeter);
    pipe->held = greeter->held;
    greeter->held = held;
    greeter->maintenance = pipe->maintenance;
    pipe->maintenance = maintenance;
}

int shoal__pipe_authenticate(shoal__pipe_t *pipe, uint64_t now_us)
{
    pipe->now_us = now_us;
    shoal__renewal_over(&pipe->renewal);
    pipe->phase = SHOAL__PIPE_GREETING;
    return shoal__pipe_go_on(pipe, shoal__greeting_say_again(&pipe->greeting));
}

int shoal__pipe_succeed(shoal__pipe_t *pipe, shoal__pipe_t *greeter, uint64_t now_us)
{
    assert(greeter->phase == SHOAL__PIPE_READY);
    shoal__pipe_leave(pipe, pipe->renewal.reason, now_us);
    shoal__pipe_reset(pipe);
    take_over(pipe, greeter);
    return shoal__pipe_go_on(
        pipe, shoal__greeting_succeed(&pipe->greeting, &greeter->greeting));
}
