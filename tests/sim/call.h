/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_SIM_CALL_H
#define SHOAL_TESTS_SIM_CALL_H

/*
 * The book of a world: one entry for each command that was ever submitted.  Callers
 * write in it what they were told, the server what it did; the oracles compare.
 */

#include "resp/command_info.h"
#include <shoal/result.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Commands that the server knows.  Those from ECHO on are of callers and carry the
 * number of their entry, as ten digits, in their first argument. */
typedef enum sim_verb {
    SIM_VERB_HELLO,
    SIM_VERB_AUTH,
    SIM_VERB_SELECT,
    SIM_VERB_CLIENT,
    SIM_VERB_INFO,
    SIM_VERB_PING,
    SIM_VERB_FENCE,  /* ECHO of a nonce, not of an entry's number */
    SIM_VERB_ECHO,   /* RO, a string */
    SIM_VERB_GET,    /* RO, a string, at times long */
    SIM_VERB_LRANGE, /* RO, an aggregate */
    SIM_VERB_INCR,   /* WRITE */
    SIM_VERB_APPEND, /* WRITE, the command is at times long */
    SIM_VERB_EVAL,   /* SCRIPT */
    SIM_VERB_BLPOP,  /* BLOCK */
    SIM_VERB_MULTI,
    SIM_VERB_EXEC,
    SIM_VERB_COUNT
} sim_verb_t;

#define SIM_ID_DIGITS 10
#define SIM_THREADS_MAX 9 /* the loop's own is 0 */

struct sim_world;

typedef struct sim_call {
    struct sim_world *world;
    uint64_t ticket;
    uint64_t delay_us;              /* of the deadline, from the submission on */
    uint64_t deadline_us;           /* from then on */
    uint64_t accepted_us;           /* when it was submitted */
    uint32_t unit_first, unit_last; /* of MULTI and of EXEC; 0: no unit */
    uint32_t live_index;            /* in the list of those not done */
    uint32_t pad_bytes;             /* of APPEND's value and of GET's reply */
    uint32_t given_up_link; /* given up when this connection held a part of a command */
    int status;
    uint16_t flags;        /* of enum shoal__request_flag */
    uint8_t command_class; /* shoal__command_class_t */
    uint8_t verb;
    bool is_done;
    uint8_t fate; /* shoal_fate_t, once it is done */

    /* Of the server: */
    uint32_t order;                    /* of its last answer on that connection */
    uint32_t answer_link;              /* the last connection that it was answered on */
    uint64_t answer_begin, answer_end; /* where the answer is there */
    bool is_tainted;  /* the server spoilt its connection: anything may be wrong */
    bool is_taken;    /* the pipe has it */
    uint8_t thread;   /* that submitted it */
    bool was_touched; /* a connection was lost inside its bytes */
    uint8_t handed;   /* times that its last byte was accepted by a connection */
    uint8_t executed; /* times */
    uint8_t cuts;     /* connections that ended inside it, or inside its answer */
    bool was_huge;    /* the last of them because its answer is over a bound */
    uint8_t
        role_waits; /* times it was told that the server's role is not the right one */
    uint8_t held;   /* times that the pipe kept it after an error, as no attempt */
    bool waits_again;     /* ... the last one, and it was not handed over since */
    bool is_loose;        /* others may pass it */
    uint32_t handed_link; /* the last connection that it was handed over to */
    uint8_t rejected; /* times, with an error that proves that it was not executed */

    /* Of the memory of its arguments, where the pipe does not copy them: */
    char *lent;       /* NULL: they are copied, or they were given back */
    bool is_lent;     /* they were not copied */
    uint8_t released; /* times */

    /* Of the sink: */
    bool has_sink;
    bool is_sink_wrong, has_sink_begun;
    uint8_t sink_depth;
    uint16_t sink_leaves;
} sim_call_t;

/* How many entries of LRANGE's reply and of EXEC's there are. */
static inline size_t sim_call_items(const sim_call_t *call, uint32_t id)
{
    if (call->verb != SIM_VERB_LRANGE)
        return call->unit_last - call->unit_first - 1;
    return id % 8 == 7 ? 60 : id % 5;
}

/* What fills long values: bytes that a confused parser would take for framing. */
#define SIM_PAD                                                                        \
    "\r\n$3\r\n+OK\r\n*2\r\n:1\r\n-ERR x\r\n>1\r\n_\r\n*0\r\n$-1\r\n#t\r\n,1.5\r\n"
#define SIM_PAD_BYTES (sizeof SIM_PAD - 1)

/* Does it wait for no change of roles? */
static inline bool sim_call_is_read(const sim_call_t *call)
{
    return call->command_class == SHOAL__CLASS_RO && call->unit_first == 0;
}

/* May it be executed more than once? */
bool sim_call_is_repeatable(const sim_call_t *call);

/* Write down `count` new commands of a thread, or a unit; returns how many there are now,
 * from world->call_count on; 0: no more room. */
uint32_t sim_calls_write(struct sim_world *world, unsigned thread, uint32_t burst_max);
/* They were accepted: tickets of one kind, and a result is owed for each. */
void sim_calls_accept(struct sim_world *world, uint32_t first, uint32_t count,
                      uint64_t ticket_kind);
/* Encode them into the pipe; false: it has no memory. */
bool sim_calls_push(struct sim_world *world, uint32_t first, uint32_t count);

/* Are these the bytes that the log has of the command?  False also without memory. */
bool sim_call_has_bytes(const sim_call_t *call, const char *bytes, size_t count);

/* The loop had no memory to take them: they fail. */
void sim_calls_refuse(struct sim_world *world, uint32_t first, uint32_t count);

/* A random command, usually one that is outstanding; 0: there is none. */
uint32_t sim_calls_pick(struct sim_world *world);
/* Cancel it on the loop's thread.  False: the pipe knows no such command. */
bool sim_calls_cancel(struct sim_world *world, uint32_t id);

#endif
