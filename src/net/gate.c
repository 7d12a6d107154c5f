/* SPDX-License-Identifier: MIT */
#include "net/gate.h"

#include "base/time_us.h"
#include "net/clock.h"
#include <assert.h>

int shoal__gate_init(shoal__gate_t *gate, shoal__driver_seat_t *seat)
{
    *gate = (shoal__gate_t){.seat = seat};
    return uv_cond_init(&gate->changed);
}

void shoal__gate_release(shoal__gate_t *gate)
{
    uv_cond_destroy(&gate->changed);
}

void shoal__gate_tell_locked(shoal__gate_t *gate)
{
    if (gate->waiting)
        uv_cond_broadcast(&gate->changed);
}

void shoal__gate_close_locked(shoal__gate_t *gate, uint64_t drain_us)
{
    assert(!gate->is_closed);
    gate->is_closed = true;
    gate->is_close_wanted = true;
    gate->drain_us = drain_us;
    shoal__gate_tell_locked(gate);
    shoal__driver_seat_poke_locked(gate->seat);
}

void shoal__gate_end(shoal__gate_t *gate)
{
    shoal__driver_seat_lock(gate->seat);
    gate->is_over = true;
    shoal__driver_seat_unlock(gate->seat);
}

bool shoal__gate_wait_locked(shoal__gate_t *gate, uint64_t until_us)
{
    uint64_t left_us = shoal__time_since(shoal__clock_us(), until_us);

    if (left_us == 0)
        return false;
    shoal__driver_seat_signal_locked(gate->seat);
    gate->waiting++;
    if (until_us == SHOAL__NEVER_US)
        uv_cond_wait(&gate->changed, &gate->seat->lock);
    else
        shoal__driver_seat_wait_locked(gate->seat, &gate->changed, left_us);
    gate->waiting--;
    return true;
}
