/* SPDX-License-Identifier: MIT */
#include "route/parting.h"

#include "base/time_us.h"
#include "resp/command_slot.h"
#include "route/lane_choice.h"
#include <assert.h>
#include <string.h>

static bool stage_leased(shoal__leases_t *leases, const shoal__mailbox_side_t *side)
{
    const char *from = shoal__buffer_data(&side->bytes);

    for (size_t i = 0; i < side->count; from += side->requests[i++].bytes)
        if (side->requests[i].flags & SHOAL__REQUEST_LEASED &&
            !shoal__leases_stage(leases, &side->requests[i], from, SHOAL__SLOT_NONE))
            return false;
    return true;
}

/* Where the commands of a side go that are looked at one by one. */
typedef struct parting {
    shoal__lanes_share_t lane_share, shares[SHOAL__LANE_HOMES_MAX];
    shoal__pipe_t *lane; /* for the lane's share; NULL: it has none */
    char *lane_at, *at[SHOAL__LANE_HOMES_MAX]; /* room for their bytes */
} parting_t;

static void count_shares(const shoal__mailbox_side_t *side, parting_t *parting)
{
    for (size_t i = 0; i < side->count; i++) {
        const shoal__request_t *request = &side->requests[i];
        if (request->flags & (SHOAL__REQUEST_LEASED | SHOAL__REQUEST_APART))
            continue;
        parting->shares[request->attempts].commands++;
        parting->shares[request->attempts].bytes += request->bytes;
    }
}

/* False: no memory. */
static bool reserve_parts(shoal__lanes_t *lanes, parting_t *parting)
{
    bool is_behind = false;

    for (size_t i = 0; i < lanes->homes->count; i++) {
        shoal__lanes_share_t share = parting->shares[i];
        if (share.commands == 0)
            continue;
        is_behind = true;
        parting->at[i] = shoal__pipe_reserve(&lanes->homes->conns[i].pipe, share.bytes,
                                             share.commands);
        if (!parting->at[i])
            return false;
    }
    if (parting->lane_share.commands == 0)
        return true;
    parting->lane =
        shoal__lanes_reserve(lanes, parting->lane_share, is_behind, &parting->lane_at);
    return parting->lane != NULL;
}

static void push_ordinary(shoal__conn_t *conn, const shoal__request_t *request,
                          uint64_t now_us)
{
    shoal__pipe_t *pipe = &conn->pipe;

    shoal__stage_times_count(&pipe->times, SHOAL_STAGE_QUEUED,
                             shoal__time_since(request->submitted_us, now_us), 1);
    shoal__pipe_push(pipe, request);
    shoal__stage_times_taken(&pipe->times, 1, now_us);
    shoal__conn_touch(conn);
}

static void push_parts(shoal__lanes_t *lanes, const shoal__mailbox_side_t *side,
                       parting_t *parting, uint64_t now_us)
{
    const char *from = shoal__buffer_data(&side->bytes);

    for (size_t i = 0; i < side->count; from += side->requests[i++].bytes) {
        shoal__request_t *request = &side->requests[i];
        size_t home = request->attempts;
        char **at = request->flags & SHOAL__REQUEST_APART ? &parting->lane_at
                                                          : &parting->at[home];
        if (request->flags & SHOAL__REQUEST_LEASED)
            continue;
        request->attempts = 0;
        assert(*at); /* there is room for each part that was counted */
        memcpy(*at, from, request->bytes);
        *at += request->bytes;
        if (request->flags & SHOAL__REQUEST_APART)
            shoal__lanes_push(lanes, parting->lane, request, now_us);
        else
            push_ordinary(&lanes->homes->conns[home], request, now_us);
    }
}

bool shoal__parting_place(shoal__lanes_t *lanes, shoal__leases_t *leases,
                          const shoal__mailbox_side_t *side, uint64_t now_us)
{
    parting_t parting = {.lane_share = shoal__lane_choice(lanes, side, now_us)};

    count_shares(side, &parting);
    if (!stage_leased(leases, side) || !reserve_parts(lanes, &parting)) {
        shoal__leases_drop_staged(leases);
        return false;
    }
    push_parts(lanes, side, &parting, now_us);
    shoal__leases_admit(leases);
    return true;
}
