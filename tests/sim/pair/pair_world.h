/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_SIM_PAIR_WORLD_H
#define SHOAL_TESTS_SIM_PAIR_WORLD_H

/*
 * Two pipes, two servers, and commands that are handed over between them, on a virtual
 * clock.  The oracles have the numbers of ../world.h; here O9 is the order:
 *
 *   O9  commands of a thread for a key run in the order of their submission, while the
 *       key moves from one server or connection to the other; and for a slot, unless its
 *       keys move one by one
 *
 * Two kinds of worlds.  In a cluster each slot has an owner; the other server answers
 * MOVED, or ASK while the keys of the slot move.  With lanes both connections lead to one
 * server, and the client alone moves slots between them.
 *
 * A slot moves on only when all its commands are at its owner: what becomes of the order
 * when a server changes its mind is not promised.  So a command that a server refused with
 * LOADING may run behind those that the same server was sent before the refusal was heard,
 * or the connection lost, and that it executed or redirected; but behind no other.  The
 * order is not promised of units that were refused while their keys move one by one, or
 * with LOADING; of commands that are executed again; nor, in a cluster, of those that a lost connection
 * executes late (ghosts).
 */

#include "core/handover.h"
#include "sim/dice.h"
#include "sim/world.h"

#define PAIR 2
#define PAIR_SLOTS 4
#define PAIR_KEYS 12 /* key % PAIR_SLOTS is the slot */
#define PAIR_THREADS 4
#define PAIR_CALLS_MAX 16384
#define PAIR_GHOSTS 4
#define PAIR_ID_DIGITS 10

typedef enum pair_verb {
    PAIR_GET,
    PAIR_APPEND,
    PAIR_MULTI,
    PAIR_EXEC,
    PAIR_ASKING,
    PAIR_ECHO,
    PAIR_PING,
    PAIR_VERBS
} pair_verb_t;

struct pair_world;
typedef struct pair_pass pair_pass_t;

typedef struct pair_call {
    struct pair_world *world;
    uint64_t ticket, deadline_us;
    uint32_t unit_first, unit_last; /* 0: no unit */
    uint32_t live_index;
    uint32_t pad_bytes; /* of APPEND's value */
    uint16_t flags;
    uint8_t verb, key, thread;
    uint8_t handed, executed, rejected; /* times */
    uint8_t handed_max;                 /* once it is done */
    uint8_t held;                       /* times that the pipe kept it */
    bool is_refused;                    /* once, for a while */
    /* O9: */
    bool has_run;
    bool is_unheard; /* it was refused, and the client does not know it yet */
    uint8_t side;    /* that refused it, or where it ran */
    uint64_t place;  /* for the time of a look at all commands; else 0 */
    uint32_t passes; /* those that may run before it: an index; 0: none */
    bool is_done;
    int status;
    shoal_fate_t fate;
    bool is_lent;     /* its arguments are not copied; the whole submission's are not */
    struct {          /* of the first command of a submission, for all of it: */
        char *memory; /* NULL: it was given back */
        size_t bytes;
        uint32_t results;  /* told */
        uint32_t released; /* times */
    } loan;
} pair_call_t;

/* One connection as its server has it. */
typedef struct pair_link {
    char *in; /* accepted, not executed; `parsed` of it are whole commands */
    size_t in_bytes, in_capacity, parsed_bytes, read_bytes, in_window;
    char *out; /* answers that the client has not taken */
    size_t out_bytes, out_capacity;
    bool is_up, is_closed, is_asking;
    uint32_t unit_first, unit_next; /* inside MULTI; 0: not */
    bool is_unit_rejected;
    bool is_unit_put_off, is_unit_asking; /* with LOADING; it follows ASKING */
} pair_link_t;

typedef struct pair_side {
    struct pair_world *world;
    unsigned index;
    shoal__target_t target;
    shoal__pipe_t pipe;
    shoal__handover_t handover; /* to the other side */
    pair_link_t link;
    pair_link_t ghosts[PAIR_GHOSTS]; /* lost, but not all was executed */
    uint64_t dial_us, flush_us;
    uint64_t loading_until_us; /* the server refuses everything */
} pair_side_t;

typedef struct pair_rates { /* of 1024, or weights */
    uint32_t events[16];
    uint32_t steps, outstanding_max, burst_max;
    uint32_t unit, once, idempotent, write, deadline, partial, resubmit, recancel, big,
        lent;
    uint64_t deadline_us_max, dial_us_max, clock_us_max;
    uint32_t window;
    bool is_lanes, has_ask, ends_with_abandon;
} pair_rates_t;

typedef struct pair_sights {
    uint64_t results[4], begun, shared, spliced, penned, redirected, asked, losses,
        losses_meanwhile, moves, moves_of_keys, ghosts, not_begun, refused, lent, units;
} pair_sights_t;

typedef struct pair_world {
    uint64_t seed, step, now_us, hash;
    sim_dice_t dice;
    pair_rates_t rates;
    const sim_cut_t *cut; /* NULL: nothing is left out */
    bool is_traced, is_calm, is_closing, is_short_of_memory;
    unsigned depth; /* of callbacks that cause callbacks */

    shoal__pipe_config_t config;
    shoal__random_t jitter;
    shoal__pipe_shared_t shared;
    pair_side_t sides[PAIR];

    /* The servers: who owns a slot, and where the keys are of one that moves. */
    unsigned owner[PAIR_SLOTS];
    bool is_migrating[PAIR_SLOTS]; /* to the other server, key by key */
    unsigned place[PAIR_KEYS];

    /* The client's map. */
    unsigned map[PAIR_SLOTS];
    shoal__pipe_t *pen[PAIR_SLOTS]; /* NULL: no hand-over is under way */
    bool is_told[PAIR_SLOTS];       /* a redirect came that the map does not know of */

    /* O9: the youngest one that ran, of each thread. */
    uint32_t ran_for_slot[PAIR_THREADS][PAIR_SLOTS];
    pair_pass_t *passes;
    uint32_t pass_count, pass_capacity;

    pair_call_t *calls; /* the first is nobody's */
    uint32_t call_count;
    uint32_t *live;
    uint32_t live_count;
    uint64_t tickets[2];
    uint64_t completed; /* as the client was told, ASKING included */
    pair_sights_t sights;

    bool has_failed;
    const char *objection;
    char failure[512];
} pair_world_t;

pair_world_t *pair_world_new(void);
void pair_world_free(pair_world_t *world);
/* Live through a seed.  False: see world->failure. */
bool pair_world_run(pair_world_t *world, uint64_t seed);
void pair_world_fail(pair_world_t *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void pair_world_note(pair_world_t *world, const char *what, uint64_t a, uint64_t b);
void pair_sights_print(const pair_sights_t *sights);

static inline unsigned pair_slot_of(const pair_call_t *call)
{
    return call->key % PAIR_SLOTS;
}
static inline uint32_t pair_id_of(const pair_call_t *call)
{
    return (uint32_t)(call - call->world->calls);
}
bool pair_is_repeatable(const pair_call_t *call);

/* The servers and the network. (pair_server.c) */
void pair_link_accept(pair_world_t *world, pair_side_t *side, const char *data,
                      size_t bytes);
/* The server reads so much more, and executes. */
void pair_link_serve(pair_world_t *world, pair_side_t *side, pair_link_t *link,
                     size_t bytes);
/* Something about a slot changes at the servers. */
void pair_servers_move(pair_world_t *world);

/* The callers. (pair_callers.c) */
void pair_callers_submit(pair_world_t *world, uint32_t burst_max);
void pair_callers_cancel(pair_world_t *world);
/* What the log has of it: all but the arguments that are lent.  at NULL: measure. */
size_t pair_encode(const pair_call_t *call, char *at);
/* Are these the bytes that the log has of the command?  Values are not looked at. */
bool pair_has_bytes(const pair_call_t *call, const char *bytes, size_t count);
void pair_callers_heard(pair_world_t *world, pair_call_t *call,
                        const shoal_result_t *result);

/* The client: connections and map. (pair_client.c) */
extern const shoal__pipe_hooks_t pair_client_hooks;
void pair_client_turn(pair_world_t *world);
void pair_client_write(pair_world_t *world, pair_side_t *side);
void pair_client_read(pair_world_t *world, pair_side_t *side);
void pair_client_lose(pair_world_t *world, pair_side_t *side, int status);
uint64_t pair_client_wake_us(const pair_world_t *world);
bool pair_client_picks(void *owner, const shoal__pipe_t *pen,
                       const shoal__request_t *request, const char *bytes);
/* A slot leaves the side that the client takes for its home. */
void pair_client_flip(pair_world_t *world, uint32_t slots);
/* Where the commands of a slot go. */
shoal__pipe_t *pair_client_pipe(pair_world_t *world, unsigned slot);

/* The oracles. (pair_oracles.c) */
void pair_oracle_executed(pair_world_t *world, pair_call_t *call, unsigned side,
                          bool is_ghost);
void pair_oracle_handed(pair_world_t *world, pair_call_t *call);
void pair_oracle_result(pair_world_t *world, pair_call_t *call,
                        const shoal_result_t *result);
void pair_oracle_structure(pair_world_t *world);
void pair_oracle_end(pair_world_t *world);

/* O9: the order. (pair_places.c) */
void pair_place_ran(pair_world_t *world, pair_call_t *call, unsigned side);
void pair_place_refused(pair_call_t *call, unsigned side);
void pair_place_refusal_heard(pair_world_t *world, pair_call_t *call, unsigned side);
/* The side executes nothing any more of what it was sent; or it does not matter. */
void pair_place_lost(pair_world_t *world, unsigned side);

#endif
