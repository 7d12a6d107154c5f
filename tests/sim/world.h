/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_SIM_WORLD_H
#define SHOAL_TESTS_SIM_WORLD_H

/*
 * One pipe, its callers, the network and the server, on a virtual clock.  Everything
 * that happens is drawn from one seeded generator, so a seed is a whole history.
 *
 * The oracles (the invariants are in docs/ARCHITECTURE.md):
 *   O1  a reply belongs to its command                              (I1)
 *   O2  what may not be repeated is executed at most once           (I3)
 *   O3  each accepted command completes once, and all do at the end (I2)
 *   O4  what was reported NOT_EXECUTED is never executed            (I4)
 *   O5  deadlines are met, a silent server is found, nothing spins  (I5)
 *   O6  memory returns to nothing; ring and log agree; what is lent is given back
 *       once, before the result                                     (I6)
 *   O7  nothing crosses from one connection to the next, no command of a caller
 *       precedes the end of the greeting                            (I7, I12)
 *   O8  commands of a thread keep their order, units stay together  (I15),
 *       what is said to be settled is
 *   O9  no command ends connections again and again, or in company  (I13)
 *   O10 no command overtakes one of its thread that waits to be sent again; while the
 *       server refuses everything, one command at a time asks it
 */

#include "core/pipe/pipe.h"
#include "sim/callers.h"
#include "sim/dice.h"
#include "sim/link.h"
#include "sim/swarm.h"

#define SIM_CALLS_MAX 65536
#define SIM_STEPS_MAX 32768 /* of a seed, without its calm end */
#define SIM_GHOSTS 4
#define SIM_LINKS (2 + SIM_GHOSTS) /* the present one, and its successor */
#define SIM_LATE_US 50000          /* how long behind its deadline a result may come */

/* What a replay leaves out of a seed.  A step's chance depends on its number alone, so
 * the others stay what they were. */
typedef struct sim_cut {
    uint8_t is_left_out[SIM_STEPS_MAX + 1]; /* by number; the first is 1 */
    uint32_t knobs_off;                     /* see sim_swarm_knob() */
} sim_cut_t;

/* What was seen in all seeds so far: a fault that never strikes proves nothing. */
typedef struct sim_sights {
    uint64_t fates[4]; /* shoal_fate_t */
    uint64_t values, errors, sink_replies, retried, partly_written, timeouts, cancels,
        shutdowns, desyncs, cut_units, ghost_commands, pushes, pings, silences,
        renewals, links, ready_links, spoilt_links, rests, poisoned, lent, rest_bytes,
        torn;
    uint64_t faults[SIM_FAULT_COUNT];
    uint64_t
        cuts; /* a bit for each of the first bytes of a reply behind which it was cut */
} sim_sights_t;

/* A command that ends the connections it travels on. */
typedef struct sim_poison {
    uint32_t id; /* 0: none */
    uint8_t kind;
    bool has_words;
} sim_poison_t;

typedef struct sim_world {
    uint64_t seed;
    uint64_t step;
    uint64_t now_us;
    sim_dice_t dice;
    sim_swarm_t swarm;
    const sim_cut_t *cut; /* NULL: nothing is left out */
    bool is_traced;

    shoal__pipe_config_t config;
    shoal__secret_t secret; /* of the target */
    shoal__target_t target;
    shoal__pipe_t pipe;
    shoal__random_t jitter; /* the pipe's own chance */
    shoal__pipe_shared_t shared;

    /* The client's side of the connection. */
    sim_link_t *link;       /* NULL: down */
    sim_link_t *successor;  /* that it is to be renewed by; NULL: there is none */
    shoal__pipe_t *greeter; /* of the successor */
    uint32_t links;         /* opened so far */
    uint64_t dial_us;       /* when down: the next attempt */
    uint64_t opened_us;
    uint64_t heard_us;      /* bytes came */
    uint64_t waits_from_us; /* something was written and nothing else was unanswered */
    uint64_t flush_us;      /* when the flush policy wants to be asked again */
    bool is_fresh_batch;    /* the bytes that leave were let go now */
    bool is_written_out;    /* it has just said that nothing may leave */
    shoal__greeting_style_t style;
    bool is_closing;
    bool is_unclear; /* inside feed or loss: taken is not yet decoded, or settled */
    int lost_status; /* why, inside loss; else 0 */
    bool was_lost;   /* the last attempt at a connection failed */
    bool is_calm;    /* the faults have stopped */
    bool is_short_of_memory; /* one of the next allocations fails */
    uint64_t lull_end;       /* nobody submits before this step */
    uint64_t resumed_us;     /* the end of the last sleep of the machine */
    uint64_t renewed_us;     /* the last renewal was begun; 0: none was */
    bool has_submitted;      /* since the last turn began, perhaps in its callbacks */
    unsigned depth;          /* of callbacks that cause callbacks */

    /* The server. */
    sim_link_t memory[SIM_LINKS];
    sim_link_t *ghosts[SIM_GHOSTS];
    unsigned ghost_count;
    uint64_t stalled_until_us, trouble_until_us, refused_until_us;
    uint64_t demoted_until_us; /* it rejects writes on every connection */
    const char *trouble;       /* the error that it says meanwhile */
    sim_poison_t poison;
    bool is_trouble_passing; /* one that proves that nothing was done, and passes */

    /* The book.  Entry 0 is nobody's. */
    sim_call_t *calls;
    uint32_t call_count;
    uint32_t *live; /* entries that are not done */
    uint32_t live_count;
    uint64_t tickets[2]; /* given out, of both kinds */
    sim_inbox_t inbox;

    uint64_t pushes_heard;  /* by the owner */
    uint32_t settled_link;  /* nothing of its predecessors runs any more, it was said */
    uint32_t restarts;      /* of the server */
    uint64_t allowance_10;  /* of retries, in tenths */
    uint64_t answers_heard; /* by the client; zombies' are not among them */
    uint64_t answers_counted;                /* in the allowance */
    uint32_t waiting_again[SIM_THREADS_MAX]; /* commands, of each thread */
    uint32_t handed_in_hold;                 /* since something was answered */
    bool
        has_role_hold; /* there was one: reads pass writes that wait for another role */
    uint64_t answered_order; /* of the last reply that was delivered; 0: none yet */
    size_t bytes_peak, commands_peak; /* outstanding */

    sim_sights_t sights;
    uint64_t hash; /* of the whole history */
    bool has_failed;
    const char *objection; /* the format of the failure: which oracle it was */
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
extern const shoal__pipe_hooks_t sim_owner_hooks; /* for the world */
void sim_owner_turn(sim_world_t *world);
void sim_owner_write(sim_world_t *world);
void sim_owner_read(sim_world_t *world);
void sim_owner_lose(sim_world_t *world, int status, const char *detail);
uint64_t sim_owner_wake_us(const sim_world_t *world);
sim_link_t *sim_owner_spare_link(sim_world_t *world);
/* The pipe is about to settle what it had on its connection (status: of a loss; 0: all was
 * answered); it has, and that connection is a ghost. */
void sim_owner_leaves(sim_world_t *world, int status);
void sim_owner_has_left(sim_world_t *world, sim_link_t *link);

/* The renewal of a connection. (renewal.c) */
void sim_renewal_want(sim_world_t *world);
void sim_renewal_turn(sim_world_t *world);
void sim_renewal_drop(sim_world_t *world); /* there is no successor any more */

/* What the server and the network do wrong. (faults.c) */
void sim_fault_strike(sim_world_t *world);
/* Run the oldest ghost to its end. */
void sim_fault_bury(sim_world_t *world);
const char *sim_fault_name(unsigned fault);
/* End a former connection; what it has not executed yet never is.  How many there were. */
unsigned sim_ghosts_kill(sim_world_t *world, uint32_t serial);
/* The server restarts: this is the end of all of them. */
void sim_ghosts_forget(sim_world_t *world);

/* The next answer on this connection is lost, repeated ... (desync.c) */
void sim_desync_strike(sim_world_t *world, sim_link_t *link);
/* An answer was produced from `begin` on: spoil it, if it is its turn. */
void sim_desync_answered(sim_world_t *world, sim_link_t *link, uint64_t begin,
                         bool is_fence);

/* An outstanding command becomes poison; the server has read to the end of what came; it
 * has answered a command. (poison.c) */
void sim_poison_strike(sim_world_t *world);
void sim_poison_read(sim_world_t *world, sim_link_t *link);
void sim_poison_answered(sim_world_t *world, sim_link_t *link, uint32_t id);
/* Bytes that may leave: all but the end of what the server refuses midway. */
size_t sim_poison_room(const sim_world_t *world);
/* O9: the connection is about to be lost; now and then; nothing leaves, and rightly. */
void sim_poison_lost(sim_world_t *world, int status);
/* ... a command is handed over. */
void sim_poison_handed(sim_world_t *world, const sim_call_t *call);
void sim_poison_check_company(sim_world_t *world);
bool sim_poison_is_waited_for(const sim_world_t *world);

static inline uint32_t sim_call_id(const sim_call_t *call)
{
    return (uint32_t)(call - call->world->calls);
}

/* Checks. (oracles.c, replies.c, role.c) */
void sim_oracle_reply(sim_world_t *world, sim_call_t *call, const shoal_reply_t *reply);
void sim_oracle_result(sim_world_t *world, sim_call_t *call,
                       const shoal_result_t *result);
/* The connection is lost: may the client repeat what it repeats? */
void sim_oracle_repeats(sim_world_t *world, uint32_t link);
void sim_oracle_held(sim_world_t *world, sim_call_t *call, const char *error);
void sim_oracle_moves_on(sim_world_t *world, sim_call_t *call); /* no longer held */
void sim_oracle_handed(sim_world_t *world, sim_link_t *link, uint32_t id);
/* An answer was produced, or heard by the client: must the connection be renewed? */
void sim_oracle_answered(sim_world_t *world, sim_link_t *link, uint32_t id);
void sim_oracle_role(const sim_call_t *call); /* turned away for the server's role */
void sim_oracle_heard(sim_world_t *world, sim_link_t *link);
void sim_oracle_lost(sim_world_t *world, int status, const char *detail);
void sim_oracle_settled(sim_world_t *world);   /* after a turn */
void sim_oracle_structure(sim_world_t *world); /* now and then */
void sim_oracle_end(sim_world_t *world);
extern const shoal_sink_t sim_sink;

/* Of the promises of <shoal/integrity.h>. (integrity.c) */
bool sim_integrity_is_strict(const sim_world_t *world);
void sim_integrity_handed(sim_world_t *world, sim_link_t *link);
void sim_integrity_fenced(sim_world_t *world, sim_link_t *link);
void sim_integrity_written(sim_world_t *world, const sim_link_t *link);
void sim_integrity_answered(sim_world_t *world, sim_link_t *link, bool is_fence,
                            bool was_spoilt);
void sim_integrity_heard(sim_world_t *world, const sim_link_t *link);

/* An oracle objects to what became of a command, unless the server spoilt it. */
void sim_oracle_blame(sim_world_t *world, const sim_call_t *call, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));

/* Figures. (sights.c) */
void sim_sights_note_result(sim_world_t *world, const sim_call_t *call,
                            const shoal_result_t *result);
void sim_sights_note_loss(sim_world_t *world, int status, const char *detail);
void sim_sights_note_end(sim_world_t *world);
void sim_sights_print(const sim_sights_t *sights);

#endif
