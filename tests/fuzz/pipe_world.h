/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FUZZ_PIPE_WORLD_H
#define TESTS_FUZZ_PIPE_WORLD_H

/*
 * A pipe, the calls that are made through it, and a model of a server that executes what
 * was written to it.  fuzz_pipe.c drives the three by the fuzzer's bytes.
 *
 *   pipe_calls.c   submits commands and judges their results
 *   pipe_server.c  reads what the pipe writes, judges that, and answers it
 *
 * Every command carries its number ("call:0001") and every honest answer repeats it, so
 * that an answer that reaches another command is seen.
 */

#include "core/pipe/pipe.h"
#include "fault_proxy/fake_bytes.h"
#include "fuzz_input.h"
#include "support/fake/fake_request.h"

#define CALLS_MAX 160
#define UNIT_CALLS_MAX 6
#define CALL_ID_BYTES 9 /* call:0001 */
#define PASSWORD "s3cr3t-pw"

typedef enum verb {
    VERB_ECHO,   /* read-only */
    VERB_LRANGE, /* read-only */
    VERB_INCR,   /* a write */
    VERB_EVAL,
    VERB_BLPOP,
    VERB_MULTI, /* begins a unit, whose commands are INCR */
    VERB_EXEC,
    VERB_COUNT
} verb_t;

typedef struct world world_t;

typedef struct call {
    world_t *world;
    verb_t verb;
    shoal__command_class_t command_class;
    uint16_t flags;
    uint32_t unit_first, unit_last; /* the ids of MULTI and EXEC; 0: not in a unit */
    uint64_t ticket, deadline_us;
    bool is_cancel_asked;

    /* What the server saw. */
    unsigned handed;   /* how often the server received the whole command */
    unsigned rejected; /* how often its answer proved that it did not execute it */
    unsigned held;     /* how often the pipe kept it then, as no attempt */
    bool is_excused;   /* bytes that are no answers may have proved the same */

    /* What the caller heard. */
    bool is_done;
    char *lent;        /* the memory of its argument; NULL: copied, or given back */
    bool is_lent;      /* it was not copied */
    unsigned released; /* how often it was given back */
    int status;
    shoal_fate_t fate;
    uint32_t done_link; /* the connection when the result came */
    bool has_sink;
    bool is_wrong; /* a value came that is not this call's own */
    size_t depth, leaves;
} call_t;

/* How the server answers the next commands. */
typedef enum mood {
    MOOD_KIND,
    MOOD_LOADING,
    MOOD_READONLY,
    MOOD_NOAUTH,
    MOOD_ERR
} mood_t;

struct world {
    fuzz_input_t *in;
    shoal__pipe_config_t config;
    shoal__secret_t secret; /* of the target */
    shoal__target_t target;
    shoal__pipe_t pipe;
    shoal__random_t random;
    shoal__pipe_shared_t shared;
    uint64_t now_us;
    call_t calls[CALLS_MAX]; /* by id, from 1 */
    uint32_t call_count;
    unsigned callback_depth;
    bool is_closing;

    /* The connection; 0: there is none. */
    uint32_t link, links;
    fake_bytes_t received; /* what the client wrote and the server has not parsed */
    fake_bytes_t answers;  /* what the server wrote and the client has not read */
    fake_bytes_t heard;    /* what the client read on this connection */
    fake_request_t request;
    size_t greeting_bytes; /* where the greeting's answers end, counted as in `heard` */
    uint32_t unit_next;    /* the call that must come next; 0: any may */
    uint32_t unit_first;
    bool is_unit_refused;
    bool has_said_hello;
    bool is_lying; /* this connection was fed bytes that are no answers */
    bool has_lied; /* some connection was fed such bytes */
    mood_t mood;
    bool knows_hello;
};

/* ---- pipe_calls.c ---- */

/* What a call has beside its command. */
enum { CALL_HAS_SINK = 1, CALL_IS_LENT = 2 };

/* One command, or MULTI, `parts` commands, EXEC. */
void calls_submit(world_t *world, verb_t verb, uint16_t flags, uint64_t timeout_us,
                  unsigned extras, unsigned parts);
void calls_cancel(world_t *world, uint32_t id);
/* Abort unless these are the bytes with which the request was submitted. */
void calls_check_bytes(const world_t *world, const shoal__request_t *request,
                       const char *bytes);
/* Abort if a call has no result although its deadline has passed.  (I5) */
void calls_check_deadlines(const world_t *world);
uint32_t calls_outstanding(const world_t *world);
/* Abort if a text for users repeats the password, whatever a server said in the
 * greeting.  (I14) */
void calls_check_detail(const world_t *world, const char *detail);

static inline uint32_t call_id(const call_t *call)
{
    return (uint32_t)(call - call->world->calls);
}

static inline const char *verb_name(verb_t verb)
{
    static const char *const names[VERB_COUNT] = {"ECHO",  "LRANGE", "INCR", "EVAL",
                                                  "BLPOP", "MULTI",  "EXEC"};
    return names[verb];
}

/* True if the library may execute the call twice. */
static inline bool call_is_repeatable(const call_t *call)
{
    if (call->flags & SHOAL__REQUEST_ONCE)
        return false;
    return (call->flags & SHOAL__REQUEST_IDEMPOTENT) ||
           (call->command_class == SHOAL__CLASS_RO && call->unit_first == 0);
}

/* ---- pipe_server.c ---- */

/* Begin a new connection: nothing of the former one remains. */
void server_begin(world_t *world);
void server_release(world_t *world);
/* Receive bytes that the pipe wrote, and answer the commands in them. */
void server_receive(world_t *world, const char *data, size_t bytes);
/* Send a push, if the protocol has pushes. */
void server_push(world_t *world, uint8_t kind);
/* Note what these bytes, which the client is about to read, may make it believe. */
void server_tell(world_t *world, const char *data, size_t bytes);

#endif
