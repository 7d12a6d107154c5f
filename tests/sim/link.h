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

#include "core/greeting.h"
#include "sim/call.h"

#define SIM_HEARD_SLOTS 4096 /* power of two, more than fit a window */

typedef struct sim_heard {
    uint64_t end;  /* offset behind its last byte */
    uint32_t id;   /* of a caller's command */
    uint8_t verb;  /* sim_verb_t */
    bool is_right; /* HELLO, AUTH: with the right credentials */
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

    shoal__greeting_style_t style;
    int setup_left;        /* answers of SELECT and CLIENT that are due */
    uint64_t greeting_end; /* offset behind its last answer; SHOAL__NEVER_US: not yet */
    uint64_t user_from;    /* in bytes accepted: the client had read that answer */
    bool is_resp3, is_known;
    bool knows_hello, rejects_auth;

    bool is_demoted; /* writes are rejected */
    bool is_closed;  /* by the server: nothing follows what was produced */
    bool is_mute;    /* sent garbage: executes nothing more */
    bool is_ghost;   /* lost by the client: its answers go nowhere */

    uint32_t answers;    /* to commands of callers */
    uint32_t fresh_id;   /* the last caller's command that had not been rejected */
    uint32_t unit_first; /* inside MULTI; 0: not */
    uint32_t unit_next;  /* the part that must come */
    bool is_unit_rejected;
} sim_link_t;

void sim_link_init(sim_link_t *link);
void sim_link_release(sim_link_t *link);

/* A new connection, in the memory of an old one. */
void sim_link_open(sim_link_t *link, struct sim_world *world,
                   shoal__greeting_style_t style);

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

/* Execute one command. (answers.c) */
void sim_link_execute(sim_link_t *link, struct sim_world *world,
                      const sim_heard_t *heard);

/* Is a command of this verb part of the greeting?  A bare one may be a PING. */
static inline bool sim_link_greets(const sim_link_t *link, sim_verb_t verb)
{
    return verb < SIM_VERB_PING ||
           (verb == SIM_VERB_PING && link->greeting_end == UINT64_MAX);
}

#endif
