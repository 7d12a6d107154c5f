/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_FAILING_TRIAL_H
#define SHOAL_TESTS_FAILING_TRIAL_H

/* A client, a scripted server, and commands of which the server's ledger says whether
 * they were executed.  Whatever fails meanwhile:
 *
 *   I2  each accepted command completes once, a refused one never
 *   I3  what is not repeatable is executed once at most
 *   I4  NOT_EXECUTED is never executed
 *   I1  the reply is the command's own
 *
 * and afterwards the client works again, and leaves neither memory nor descriptors.
 * Waiting for the next connection takes no time: the clock jumps. */

#include "support/failing/failing_calls.h"
#include "support/failing/failing_memory.h"
#include "support/scene.h"
#include <stdatomic.h>

#define TRIAL_COMMANDS_MAX 320

typedef struct trial_command {
    const char *name; /* INCR, ECHO, or another command that the server knows */
    char key[16];     /* its first argument; no other command has it */
    int rc;           /* what the submission returned */
    uint64_t ticket;
    bool is_repeatable; /* read only, or flagged idempotent */
    bool is_scripted;   /* a rule of the server makes the reply, not its store */
    bool is_sunk;       /* the reply goes to a sink */
    outcome_t outcome;
} trial_command_t;

typedef struct trial {
    scene_t *scene;  /* the server, and the client under test */
    bool is_stepped; /* the trial runs the client's loop; otherwise a thread does */
    trial_command_t *commands;
    size_t count;
    atomic_uint ready, lost, desyncs; /* events; desyncs: losses with SHOAL_EDESYNC */
    atomic_bool is_up;
    char detail[256];   /* the reason of the last loss */
    size_t live;        /* allocated blocks when the trial began */
    size_t descriptors; /* open descriptors when the trial began */
} trial_t;

/* Start a server and make options.  There is no client yet. */
void trial_begin(trial_t *trial);
/* Close the client, check all of the above, end the server. */
void trial_end(trial_t *trial);

/* Open the client if that is possible. */
int trial_open(trial_t *trial, bool is_stepped);
/* Open it, and wait until it is ready. */
void trial_open_ready(trial_t *trial, bool is_stepped);

/* Submit NAME <key>.  The client may refuse it: then rc of the command is not 0. */
trial_command_t *trial_submit(trial_t *trial, const char *name,
                              const shoal_call_t *call);
/* The same in two steps, for a command of more words: the first argument must be the key
 * that the first step gives. */
trial_command_t *trial_new_command(trial_t *trial, const char *name,
                                   const shoal_call_t *call);
void trial_submit_argv(trial_t *trial, trial_command_t *command, size_t argc,
                       const char *const *argv, const shoal_call_t *call);
/* SET <key> with a value of so many bytes. */
void trial_submit_large(trial_t *trial, size_t bytes);
/* Submit `count` commands by one call: the client accepts all of them or none. */
void trial_submit_many(trial_t *trial, const char *name, size_t count,
                       const shoal_call_t *call);
/* NAME <key> as a blocking call; the client has a thread. */
trial_command_t *trial_call(trial_t *trial, const char *name);

/* Step the client, or let its thread run.  Ends the test if that has been going on since
 * since_us for too long. */
void trial_pause(trial_t *trial, uint64_t since_us, const char *condition);
#define TRIAL_WAIT(trial, condition)                                                   \
    do {                                                                               \
        uint64_t since_us_ = waiting_now_us();                                         \
        while (!(condition))                                                           \
            trial_pause(trial, since_us_, #condition);                                 \
    } while (0)

/* True if the server has received the command, or never will. */
bool trial_has_come(trial_t *trial, const trial_command_t *command);
/* Until fake_server_release(), the server writes only the first `bytes` of its answer
 * to the first command of that name, and none of the answers behind it. */
void trial_hold_answer(trial_t *trial, const char *name, size_t bytes);

/* What a sink got of one reply.  The depth is 0 at the end of a reply; a reset sets
 * both fields to 0. */
typedef struct trial_basin {
    int depth;
    unsigned leaves;
} trial_basin_t;
extern const shoal_sink_t trial_sink; /* its data is a trial_basin_t */

/* Wait until the accepted commands are complete. */
void trial_settle(trial_t *trial);
/* A further command succeeds. */
void trial_check_works(trial_t *trial);

/* Something that a client does, and that is repeated with memory that runs out at each
 * allocation. */
typedef struct failing_scenario {
    const char *name;
    void (*prepare)(trial_t *trial); /* has memory; NULL: open a ready, stepped one */
    void (*act)(trial_t *trial);     /* its allocations fail */
} failing_scenario_t;

/* The main() of a test: run each of `count` scenarios once for each allocation of `act`,
 * which fails in that run.  Then do the same with each allocation as the first of many that
 * fail in a row. */
int failing_main(const char *name, const failing_scenario_t *scenarios, size_t count);

/* For cmocka: the state is a trial_t.  The teardown ends it also when the test
 * failed. */
int trial_setup(void **state);
int trial_teardown(void **state);

#define TRIAL_TEST(function)                                                           \
    cmocka_unit_test_setup_teardown(function, trial_setup, trial_teardown)

#endif
