/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_SIM_LINK_H
#define SHOAL_TESTS_SIM_LINK_H

/*
 * One connection as the server has it: two byte pipes with finite windows and the
 * session between them.
 *
 *   client  accepted ---- in_window ---->  read, executed      server
 *           taken    <--- out_window ----  produced
 *
 * Commands are parsed when the network accepts their bytes, which tells what the client
 * has handed over; they are executed when the server has read their last byte.  A
 * connection that the client lost becomes a ghost: what was accepted and not dropped is
 * executed at some later time.
 */

#include "core/greeting/greeting.h"
#include "sim/call.h"
#include "sim/dice.h"

#define SIM_HEARD_SLOTS 4096 /* power of two, more than fit a window */
#define SIM_NONCE_DIGITS 16
#define SIM_ADDRESS "10.0.0.1:%" PRIu32 /* of the client, by the connection's number */

typedef struct sim_heard {
    uint64_t end; /* offset behind its last byte */
    uint32_t id;  /* of a caller's command */
    uint8_t verb; /* sim_verb_t */
    bool is_greeting;
    bool is_info;    /* CLIENT INFO */
    bool is_kill;    /* CLIENT KILL */
    uint32_t killed; /* the connection that it means; 0: none */
    bool is_right;   /* HELLO, AUTH: with the right credentials; SELECT: the database */
    char nonce[SIM_NONCE_DIGITS]; /* of FENCE */
} sim_heard_t;

typedef struct sim_link {
    uint32_t serial; /* 1, 2, ... in one world */

    uint64_t accepted_bytes, read_bytes;
    uint32_t in_window;
    char *tail; /* accepted, not a whole command yet */
    size_t tail_bytes, tail_capacity, tail_needed;
    sim_heard_t *heard;
    uint32_t heard_head, heard_tail;

    char *out; /* produced, not taken */
    size_t out_begin, out_end, out_capacity;
    uint64_t produced_bytes, taken_bytes;
    uint32_t out_window;

    /* The greeting: whatever comes before the first command of a caller. */
    uint32_t greetings_heard, greetings_answered;
    uint64_t greeting_end; /* offset behind the last of these answers */
    bool has_callers;      /* such a command was accepted: no greeting any more */
    bool is_resp3, is_known, is_selected;
    bool knows_hello, rejects_auth;

    bool is_demoted;     /* writes are rejected */
    bool is_forgotten;   /* the server has forgotten everything */
    uint64_t redial_end; /* see sim_oracle_heard() */
    uint32_t redial_id;
    bool is_closed;   /* by the server: nothing follows what was produced */
    bool is_deaf;     /* what the client writes next fails */
    bool is_mute;     /* sent garbage: executes nothing more */
    bool is_ghost;    /* lost by the client: its answers go nowhere */
    uint64_t drip_us; /* between two bytes that the client gets; 0: no matter */
    uint64_t drip_next_us;

    bool is_hostile; /* it has broken the protocol in some way */
    uint8_t desync; /* what is to become of the next answer, see desync.c; 0: nothing */
    bool is_spoilt; /* it has: answers do not belong to their commands any more */
    uint64_t fence_us;  /* the last one, or the first command; SHOAL__NEVER_US: none */
    uint64_t handed_us; /* the last command of a caller was accepted */
    bool is_echoing;    /* the greeting has asked whether there is ECHO */
    uint64_t fences_heard, fences_answered;
    uint64_t fence_end; /* offset behind the last answer to one */
    bool was_troubled;  /* since it is spoilt: errors may stand for a fence's answer */
    bool has_fence_behind; /* the spoilt answer: one was answered */
    uint64_t doom_end;     /* see sim_integrity_answered(); SHOAL__NEVER_US: not yet */
    char *held;            /* an answer that is overtaken by the next */
    size_t held_bytes, held_capacity;

    uint32_t answers; /* to commands of callers */
    uint32_t fresh_id[2]
                     [SIM_THREADS_MAX]; /* the last command of each thread that had not
                                           been rejected */
    uint32_t unit_first;                /* inside MULTI; 0: not */
    uint32_t unit_next;                 /* the part that must come */
    bool is_unit_rejected;
} sim_link_t;

void sim_link_init(sim_link_t *link);
void sim_link_release(sim_link_t *link);

/* A new connection, in the memory of an old one. */
void sim_link_open(sim_link_t *link, struct sim_world *world);

/* Bytes that the network would accept now. */
size_t sim_link_room(const sim_link_t *link);
void sim_link_accept(sim_link_t *link, struct sim_world *world, const char *data,
                     size_t bytes);

/* Bytes that the client could read now. */
size_t sim_link_readable(const sim_link_t *link);
const char *sim_link_data(const sim_link_t *link);
void sim_link_take(sim_link_t *link, size_t bytes);

/* The server reads some of what was accepted, and acts. */
void sim_link_serve(sim_link_t *link, struct sim_world *world, uint64_t bytes);

/* Put bytes on the way to the client. */
void sim_link_produce(sim_link_t *link, const char *data, size_t bytes);

/* One RESP3 push. (answers.c) */
void sim_link_push(sim_link_t *link, sim_dice_t *dice);

/* Execute one command. (answers.c) */
void sim_link_execute(sim_link_t *link, struct sim_world *world,
                      const sim_heard_t *heard);

/* Every command of the greeting was answered, and the client has read that.  (I12) */
static inline bool sim_link_is_greeted(const sim_link_t *link)
{
    return link->greetings_heard > 0 &&
           link->greetings_heard == link->greetings_answered && link->is_known &&
           link->is_selected && link->taken_bytes >= link->greeting_end;
}

#endif
