/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_SIM_WORLD_H
#define SHOAL_TESTS_SIM_WORLD_H

/*
 * One pipe, its callers, the network and the server, on a virtual clock.  Everything
 * that happens is drawn from one seeded generator, so a seed is a whole history.
 *
 * The oracles (see GUARANTEES for the invariants):
 *   O1  a reply belongs to its command                              (I1)
 *   O2  what may not be repeated is executed at most once           (I3)
 *   O3  each accepted command completes once, and all do at the end (I2)
 *   O4  what was reported NOT_EXECUTED is never executed            (I4)
 *   O5  deadlines are met, a silent server is found, nothing spins  (I5)
 *   O6  memory returns to nothing; ring and log agree               (I6)
 *   O7  nothing crosses from one connection to the next, no command of a caller
 *       precedes the end of the greeting                            (I7, I12)
 *   O8  commands keep their order, units stay together              (I15)
 */

#include "core/pipe.h"
#include "sim/call.h"
#include "sim/dice.h"
#include "sim/link.h"
#include "sim/swarm.h"

#define SIM_CALLS_MAX 65536
#define SIM_GHOSTS 4
#define SIM_LATE_US 50000 /* how long behind its deadline a result may come */

/* What was seen in all seeds so far: a fault that never strikes proves nothing. */
typedef struct sim_sights {
    uint64_t fates[4]; /* shoal_fate_t */
    uint64_t values, errors, sink_replies, retried, partly_written, timeouts, cancels,
        shutdowns, desyncs, cut_units, ghost_commands, pushes, pings, silences,
        renewals, links, ready_links;
} sim_sights_t;

typedef struct sim_world {
    uint64_t seed;
    uint64_t step;
    uint64_t now_us;
    sim_dice_t dice;
    sim_swarm_t swarm;
    bool is_traced;

    shoal__pipe_config_t config;
    shoal__pipe_t pipe;
    shoal__random_t jitter; /* the pipe's own chance */

    /* The client's side of the connection. */
    sim_link_t *link; /* NULL: down */
    uint32_t links;   /* opened so far */
    uint64_t dial_us; /* when down: the next attempt */
    uint64_t opened_us;
    uint64_t heard_us;      /* bytes came */
    uint64_t waits_from_us; /* something was written and nothing else was unanswered */
    uint64_t flush_us;      /* when the flush policy wants to be asked again */
    shoal__greeting_style_t style;
    bool is_closing;
    bool is_unclear; /* inside feed or loss: taken is not yet decoded, or settled */
    bool was_lost;   /* the last attempt at a connection failed */
    bool is_calm;    /* the faults have stopped */
    bool is_short_of_memory; /* one of the next allocations fails */
    bool has_submitted;      /* since the last turn began, perhaps in its callbacks */
    unsigned depth;          /* of callbacks that cause callbacks */

    /* The server. */
    sim_link_t memory[1 + SIM_GHOSTS];
    sim_link_t *ghosts[SIM_GHOSTS];
    unsigned ghost_count;
    uint64_t stalled_until_us, loading_until_us;

    /* The book.  Entry 0 is nobody's. */
    sim_call_t *calls;
    uint32_t call_count;
    uint32_t *live; /* entries that are not done */
    uint32_t live_count;
    uint64_t tickets[2]; /* given out, of both kinds */

    uint64_t answers, paid_retries; /* of the retry allowance */
    uint64_t answered_order; /* of the last reply that was delivered; 0: none yet */
    size_t bytes_peak, commands_peak; /* outstanding */

    sim_sights_t sights;
    uint64_t hash; /* of the whole history */
    bool has_failed;
    char failure[512];
} sim_world_t;

/* NULL if memory ran out.  One world serves for many seeds. */
sim_world_t *sim_world_new(void);
void sim_world_free(sim_world_t *world);

/* Live through a seed, from nothing to the end.  False: see world->failure. */
bool sim_world_run(sim_world_t *world, uint64_t seed);

/* An oracle objects.  Only the first objection counts. */
void sim_world_fail(sim_world_t *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Something happened: into the hash, and on paper if traced. */
void sim_world_note(sim_world_t *world, const char *what, uint64_t a, uint64_t b);

/* The owner's part. (owner.c) */
void sim_owner_turn(sim_world_t *world);
void sim_owner_write(sim_world_t *world);
void sim_owner_read(sim_world_t *world);
void sim_owner_lose(sim_world_t *world, int status, const char *detail);
uint64_t sim_owner_wake_us(const sim_world_t *world);

/* What the server and the network do wrong. (faults.c) */
void sim_fault_strike(sim_world_t *world);
/* Run the oldest ghost to its end. */
void sim_fault_bury(sim_world_t *world);

/* Checks. (oracles.c) */
void sim_oracle_result(sim_world_t *world, sim_call_t *call,
                       const shoal_result_t *result);
void sim_oracle_handed(sim_world_t *world, sim_link_t *link, uint32_t id,
                       uint64_t begin);
void sim_oracle_lost(sim_world_t *world, const char *detail);
void sim_oracle_settled(sim_world_t *world);   /* after a turn */
void sim_oracle_structure(sim_world_t *world); /* now and then */
void sim_oracle_end(sim_world_t *world);
extern const shoal_sink_t sim_sink;

/* Figures. (sights.c) */
void sim_sights_note_result(sim_world_t *world, const sim_call_t *call,
                            const shoal_result_t *result);
void sim_sights_note_loss(sim_world_t *world, int status, const char *detail);
void sim_sights_note_end(sim_world_t *world);
void sim_sights_print(const sim_sights_t *sights);

#endif
