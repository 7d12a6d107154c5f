/* SPDX-License-Identifier: MIT */
#include "core/handover.h"

#include "base/time_us.h"
#include <assert.h>
#include <shoal/errors.h>

#define NO_MEMORY_DELAY_US 1000

int shoal__handover_init(shoal__handover_t *handover, shoal__pipe_t *from,
                         shoal__pipe_t *to, shoal__handover_picks_fn picks, void *owner)
{
    const shoal__pipe_parts_t parts = {from->config, from->greeting.target,
                                       from->shared};

    *handover = (shoal__handover_t){.from = from,
                                    .to = to,
                                    .picks = picks,
                                    .owner = owner,
                                    .again_us = SHOAL__NEVER_US};
    for (unsigned i = 0; i < SHOAL__HANDOVER_PENS; i++) {
        shoal__pipe_t *pen = &handover->pens[i].pipe;
        int rc = shoal__pipe_init(pen, &parts, &from->hooks, from->owner);

        if (rc < 0) {
            while (i-- > 0)
                shoal__pipe_release(&handover->pens[i].pipe);
            return rc;
        }
        pen->is_pen = true;
        pen->giver = from;
    }
    return 0;
}

void shoal__handover_release(shoal__handover_t *handover)
{
    for (unsigned i = 0; i < SHOAL__HANDOVER_PENS; i++)
        shoal__pipe_release(&handover->pens[i].pipe);
}

/* ---- the pens ---- */

/* The older one takes no more in, the younger one does. */
static shoal__handover_pen_t *joinable(shoal__handover_t *handover)
{
    unsigned place = handover->oldest + (handover->count > 0);

    return &handover->pens[place % SHOAL__HANDOVER_PENS];
}

/* For the hooks of moves. */
typedef struct choice {
    const shoal__handover_t *handover;
    const shoal__pipe_t *pen;
} choice_t;

static bool is_chosen(void *data, const shoal__request_t *request, const char *bytes)
{
    const choice_t *choice = data;

    return choice->handover->picks(choice->handover->owner, choice->pen, request,
                                   bytes);
}

/* What is held goes first, once there is nothing before the watermark that could be
 * refused and belong between. */
static int move_chosen(shoal__handover_t *handover, const shoal__pipe_t *pen,
                       shoal__pipe_t *to, uint64_t now_us)
{
    choice_t choice = {handover, pen};
    int rc = to == pen ? 0
                       : shoal__pipe_move_held(handover->from, to, is_chosen, &choice,
                                               now_us);

    return rc < 0 ? rc
                  : shoal__pipe_move_queued(handover->from, to, is_chosen, &choice,
                                            now_us);
}

/* Nobody asks a pen for its figures. */
static void hand_figure(shoal__counter_t *from, shoal__counter_t *to)
{
    shoal__counter_add(to, shoal__counter_get(from));
    shoal__counter_set(from, 0);
}

static void hand_figures(shoal__pipe_stats_t *from, shoal__pipe_stats_t *to)
{
    hand_figure(&from->completed, &to->completed);
    hand_figure(&from->timeouts, &to->timeouts);
    hand_figure(&from->cancels, &to->cancels);
    hand_figure(&from->failures, &to->failures);
}

/* ---- the steps ---- */

shoal__pipe_t *shoal__handover_pen(shoal__handover_t *handover)
{
    return &joinable(handover)->pipe;
}

int shoal__handover_begin(shoal__handover_t *handover, uint64_t now_us)
{
    shoal__handover_pen_t *pen = joinable(handover);
    bool is_joined = handover->count == SHOAL__HANDOVER_PENS;

    if (is_joined && pen->was_lost)
        return SHOAL_EAGAIN;

    int rc = move_chosen(handover, &pen->pipe, &pen->pipe, now_us);
    if (rc < 0)
        return rc;
    pen->watermark = shoal__pipe_watermark(handover->from);
    pen->is_free = pen->was_lost = false;
    handover->count += !is_joined;
    return 0;
}

shoal__pipe_verdict_t shoal__handover_redirect(shoal__pipe_t *to,
                                               const shoal__refused_t *refused,
                                               shoal__bytes_t ahead, uint64_t now_us)
{
    const shoal__request_t *first =
        shoal__request_ring_at(refused->ring, refused->first);
    shoal__refused_t again = *refused;
    bool is_torn = refused->count == 1 && refused->own == 0 &&
                   (first->flags & SHOAL__REQUEST_UNIT);

    if (is_torn || first->hops >= SHOAL__HANDOVER_HOPS_MAX)
        return SHOAL__PIPE_SURFACE;
    again.hops = 1;
    if (shoal__pipe_adopt_refused(to, &again, ahead, now_us) < 0)
        return SHOAL__PIPE_SURFACE;
    return SHOAL__PIPE_TAKEN;
}

void shoal__handover_lost(shoal__handover_t *handover, bool may_run_late)
{
    for (unsigned i = 0; i < SHOAL__HANDOVER_PENS; i++) {
        shoal__handover_pen_t *pen = &handover->pens[i];

        pen->watermark = handover->from->ring.head;
        pen->is_free = !may_run_late;
        pen->was_lost = true;
    }
}

void shoal__handover_recall(shoal__handover_t *handover)
{
    handover->to = handover->from;
    for (unsigned i = 0; i < SHOAL__HANDOVER_PENS; i++)
        handover->pens[i].is_free = true;
}

static bool is_over(const shoal__handover_t *handover, const shoal__handover_pen_t *pen)
{
    return pen->is_free || (handover->from->phase == SHOAL__PIPE_READY &&
                            shoal__pipe_has_passed(handover->from, pen->watermark));
}

shoal__pipe_t *shoal__handover_step(shoal__handover_t *handover, uint64_t now_us)
{
    shoal__handover_pen_t *pen = &handover->pens[handover->oldest];

    handover->again_us = SHOAL__NEVER_US;
    if (handover->count == 0 || !is_over(handover, pen))
        return NULL;
    if ((handover->to != handover->from &&
         move_chosen(handover, &pen->pipe, handover->to, now_us) < 0) ||
        shoal__pipe_move_queued(&pen->pipe, handover->to, NULL, NULL, now_us) < 0) {
        handover->again_us = now_us + NO_MEMORY_DELAY_US;
        return NULL;
    }
    hand_figures(&pen->pipe.stats, &handover->to->stats);
    shoal__pipe_rest(&pen->pipe);
    handover->oldest = (handover->oldest + 1) % SHOAL__HANDOVER_PENS;
    handover->count--;
    return &pen->pipe;
}

/* ---- what else happens to commands ---- */

void shoal__handover_tick(shoal__handover_t *handover, uint64_t now_us)
{
    for (unsigned i = 0; i < SHOAL__HANDOVER_PENS; i++)
        (void)shoal__pipe_tick(&handover->pens[i].pipe, now_us);
}

uint64_t shoal__handover_next_wake_us(const shoal__handover_t *handover)
{
    uint64_t wake_us = handover->again_us;

    for (unsigned i = 0; i < SHOAL__HANDOVER_PENS; i++)
        wake_us =
            shoal__time_min(wake_us, shoal__pipe_next_wake_us(&handover->pens[i].pipe));
    return wake_us;
}

bool shoal__handover_cancel(shoal__handover_t *handover, uint64_t ticket,
                            uint64_t now_us)
{
    for (unsigned i = 0; i < SHOAL__HANDOVER_PENS; i++)
        if (shoal__pipe_cancel(&handover->pens[i].pipe, ticket, now_us))
            return true;
    return false;
}

void shoal__handover_abandon(shoal__handover_t *handover, uint64_t now_us)
{
    for (unsigned i = 0; i < SHOAL__HANDOVER_PENS; i++) {
        shoal__pipe_abandon(&handover->pens[i].pipe, now_us);
        hand_figures(&handover->pens[i].pipe.stats, &handover->to->stats);
    }
}
