/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_SIM_SWARM_H
#define SHOAL_TESTS_SIM_SWARM_H

/*
 * What one seed is about: a random configuration of the pipe and a random subset of
 * faults with random rates.  Faults that are left out matter as much as those that are
 * in: many bugs hide behind a fault that comes too often.
 */

#include "core/pipe/pipe.h"
#include "sim/call.h"
#include "sim/dice.h"

/* Seeds mean another history whenever this changes. */
#define SIM_SWARM_VERSION 7

/* What happens next.  Relative weights, the sum is arbitrary. */
typedef enum sim_event {
    SIM_EVENT_SUBMIT,
    SIM_EVENT_CANCEL,
    SIM_EVENT_TURN,   /* tick and write, without need */
    SIM_EVENT_READ,   /* the client reads */
    SIM_EVENT_SERVER, /* the server reads, executes, answers */
    SIM_EVENT_CLOCK,  /* time passes, to the next wake at most */
    SIM_EVENT_GHOST,  /* a connection that was lost executes what it still holds */
    SIM_EVENT_FAULT,
    SIM_EVENT_COUNT
} sim_event_t;

typedef enum sim_fault {
    SIM_FAULT_RESET,   /* the client sees the loss at once; in-flight bytes are lost */
    SIM_FAULT_FIN,     /* the server closes; the client reads what is on its way */
    SIM_FAULT_DEAF,    /* half-closed: what the client writes next fails */
    SIM_FAULT_REFUSE,  /* no connection is accepted for a while */
    SIM_FAULT_RESTART, /* the server starts anew: every session is gone */
    SIM_FAULT_STALL,   /* the server does nothing for a while */
    SIM_FAULT_DRIP,    /* its answers come byte by byte, with long pauses */
    SIM_FAULT_TROUBLE, /* it rejects everything for a while: LOADING, BUSY ... */
    SIM_FAULT_DEMOTE,  /* it rejects writes on this connection: READONLY */
    SIM_FAULT_NOAUTH,  /* the server has forgotten our credentials */
    SIM_FAULT_SUSPEND, /* the machine sleeps: the clock jumps */
    SIM_FAULT_PUSHES,  /* many at once */
    SIM_FAULT_GARBAGE, /* the server sends what is no RESP */
    SIM_FAULT_UNASKED, /* the server answers when nothing was asked */
    SIM_FAULT_DESYNC,  /* it loses, repeats or adds replies, see desync.c */
    SIM_FAULT_POISON,  /* a command ends each connection it travels on, see poison.c */
    SIM_FAULT_RENEW,   /* the target has changed */
    SIM_FAULT_MEMORY,  /* one of the next allocations fails */
    SIM_FAULT_COUNT
} sim_fault_t;

/* Rates are of 1024. */
typedef struct sim_swarm {
    uint32_t events[SIM_EVENT_COUNT]; /* weights */
    uint32_t faults[SIM_FAULT_COUNT]; /* weights */
    uint32_t steps;
    uint32_t threads;         /* callers beside the loop's own thread */
    uint32_t outstanding_max; /* callers wait beyond */
    uint32_t burst_max;       /* commands of one submission */
    uint32_t unit_rate, sink_rate, once_rate, idempotent_rate, urgent_rate, big_rate,
        lent_rate;
    uint32_t write_rate;                   /* of the commands: not read-only */
    uint32_t error_rate;                   /* answered with an ordinary error */
    uint32_t push_rate;                    /* behind a reply, with RESP3 */
    uint32_t attribute_rate;               /* before a reply, with RESP3 */
    uint32_t resubmit_rate, recancel_rate; /* from callbacks */
    uint32_t dial_fail_rate, auth_fail_rate, no_hello_rate, bare_rate;
    uint32_t partial_rate;  /* reads and writes that take less than they could */
    uint32_t deadline_rate; /* of the commands: have one */
    uint32_t lull_rate;     /* of the submissions: begin a time without any */
    uint64_t deadline_us_max;
    uint64_t dial_us_max, handshake_us, late_us_max;
    uint64_t trouble_us_max;                /* of stalls, of LOADING and the like */
    uint64_t clock_us_max;                  /* of one advance */
    uint32_t in_window_max, out_window_max; /* bytes */
    uint32_t unread_bytes_max; /* the server does nothing while more is unread */
    bool are_windows_wide;     /* not random below the above */
    bool ends_with_abandon;
    char *password; /* of the target; NULL: none */
} sim_swarm_t;

void sim_swarm_roll(sim_swarm_t *swarm, shoal__pipe_config_t *config, sim_dice_t *dice);

/* Rates that a replay may switch off, by number; NULL behind the last one. */
const char *sim_swarm_knob(unsigned number);
/* Those whose bits are set never happen. */
void sim_swarm_turn_off(sim_swarm_t *swarm, uint32_t knobs);

/* The faults stop: nothing but the healthy rest. */
void sim_swarm_calm(sim_swarm_t *swarm);

#endif
