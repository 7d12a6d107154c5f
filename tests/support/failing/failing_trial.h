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
    const char *name; /* INCR, or ECHO, or another of the server's */
    char key[16];     /* its first argument; no other command has it */
    int rc;           /* of the submission */
    uint64_t ticket;
    bool is_repeatable; /* read only, or flagged idempotent */
    bool is_scripted;   /* the reply is a rule's, not the store's */
    bool is_sunk;       /* the reply goes to a sink */
    outcome_t outcome;
} trial_command_t;

typedef struct trial {
    scene_t *scene;  /* its client is the trial's */
    bool is_stepped; /* by the trial; else the client has a thread */
    trial_command_t *commands;
    size_t count;
    atomic_uint ready, lost, desyncs; /* events; desyncs: of the losses */
    atomic_bool is_up;
    char detail[256]; /* of the last loss */
    size_t live;      /* blocks and descriptors before */
    size_t descriptors;
} trial_t;

/* Begin: a server, and options; no client yet. */
void trial_begin(trial_t *trial);
/* Close the client, check all of the above, end the server. */
void trial_end(trial_t *trial);

/* Open the client if that is possible. */
int trial_open(trial_t *trial, bool is_stepped);
/* Open it, and wait until it is ready. */
void trial_open_ready(trial_t *trial, bool is_stepped);

/* Submit NAME <key>.  It may be refused: see rc. */
trial_command_t *trial_submit(trial_t *trial, const char *name,
                              const shoal_call_t *call);
/* The same in two steps, for a command of more words: the first argument must be the key
 * that the first step gives. */
trial_command_t *trial_new_command(trial_t *trial, const char *name,
                                   const shoal_call_t *call);
void trial_submit_argv(trial_t *trial, trial_command_t *command, size_t argc,
                       const char *const *argv, const shoal_call_t *call);
/* Submit `count` at once: all are accepted or none. */
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

/* The server has it, or never will. */
bool trial_has_come(trial_t *trial, const trial_command_t *command);
/* Of the answer to the first command of that name only so many bytes get out, and
 * nothing of those behind it, until fake_server_release(). */
void trial_hold_answer(trial_t *trial, const char *name, size_t bytes);

/* What a sink got of one reply.  At the end the depth is 0, and what was cut off is
 * forgotten. */
typedef struct trial_basin {
    int depth;
    unsigned leaves;
} trial_basin_t;
extern const shoal_sink_t trial_sink; /* its data is a trial_basin_t */

/* Wait until the accepted commands are complete. */
void trial_settle(trial_t *trial);
/* A further command succeeds. */
void trial_check_works(trial_t *trial);

/* One thing to do while memory runs out at each point of it. */
typedef struct failing_scenario {
    const char *name;
    void (*prepare)(trial_t *trial); /* with memory; NULL: a ready client, stepped */
    void (*act)(trial_t *trial);     /* without */
} failing_scenario_t;

/* Run it with the first allocation failing, with the second, and so on until none is
 * left to fail; and again with each the first of many that fail. */
void failing_sweep(const failing_scenario_t *scenario, trial_t *trial);

/* For cmocka: the state is a trial_t, ended also when the test failed. */
int trial_setup(void **state);
int trial_teardown(void **state);

#define TRIAL_TEST(function)                                                           \
    cmocka_unit_test_setup_teardown(function, trial_setup, trial_teardown)

#endif
