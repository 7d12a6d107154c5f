/* SPDX-License-Identifier: MIT */
/* F7: the server is there and does not answer, or says that it is busy.  The
 * connection stays, commands in a hurry end at their deadlines, the others are
 * answered afterwards. (I1 I3 I5) */
#include "matrix/load.h"
#include "matrix/matrix.h"

#include <string.h>

#define HURRY_US 40000
#define COMMANDS 20

static const char *const arguments[] = {"--enable-debug-command", "yes",
                                        "--busy-reply-threshold", "20", NULL};

typedef struct question {
    int port;
    const char *command;
    char answer[64];
} question_t;

/* On the agent's thread: some of them answer late. */
static void ask(void *data)
{
    question_t *question = data;
    (void)redis_ask(question->port, question->command, question->answer,
                    sizeof question->answer);
}

/* Reads and writes while the server is silent.  False: it was not yet silent, or not any
 * more, when the first came; or that one was not written in time. */
static bool check_silence(matrix_t *m, load_agent_t *agent, question_t *question)
{
    const matrix_spec_t hurried = {.kind = MATRIX_WRITE, .timeout_us = HURRY_US};
    uint64_t first = matrix_count(m);

    load_agent_begin(agent, ask, question);
    matrix_pause(m, 10000); /* it reached the server */
    matrix_command_t *impatient = matrix_submit(m, &hurried);
    for (int i = 0; i < COMMANDS; i++) {
        (void)matrix_submit(m, &(matrix_spec_t){.kind = MATRIX_READ});
        (void)matrix_submit(m, &(matrix_spec_t){.kind = MATRIX_WRITE});
    }
    matrix_wait(m);
    MATRIX_WAIT_FOR(m, load_agent_is_idle(agent));
    if (strncmp(question->answer, "-", 1) == 0)
        fail_msg("%s: %s", question->command, question->answer);
    if (impatient->status != 0) /* a loop that was held up may not have written it */
        matrix_expect(m, impatient, SHOAL_ETIMEOUT,
                      impatient->attempts > 0 ? SHOAL_FATE_UNKNOWN
                                              : SHOAL_FATE_NOT_EXECUTED);
    for (uint64_t seq = first; seq < matrix_count(m); seq++)
        if (matrix_at(m, seq) != impatient)
            matrix_expect_value(m, matrix_at(m, seq));
    return impatient->fate == SHOAL_FATE_UNKNOWN;
}

/* A pause of writes holds up the connection from the first write on. */
static void check_silences(matrix_t *m, load_agent_t *agent, int port)
{
    static const char *const commands[] = {"CLIENT PAUSE 120 ALL", "DEBUG SLEEP 0.12",
                                           "CLIENT PAUSE 120 WRITE"};

    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        question_t question = {.port = port, .command = commands[i]};
        MATRIX_WAIT_FOR(m, check_silence(m, agent, &question));
    }
    assert_true(matrix_stats(m).timeouts >= 3);
}

/* Was it told that the server is busy?  A unit learns that it was not accepted whole. */
static bool is_told(const matrix_command_t *command)
{
    const char *error = command->rig->mode->is_unit ? "EXECABORT " : "BUSY ";
    return command->is_error && strncmp(command->error, error, strlen(error)) == 0;
}

static bool is_busy(matrix_t *m)
{
    return is_told(matrix_call(m, &(matrix_spec_t){.kind = MATRIX_READ}));
}

/* While a script runs on and on, a command is told so, and is not executed. */
static void check_busy(matrix_t *m, load_agent_t *agent, int port)
{
    question_t script = {.port = port, .command = "EVAL 'while true do end' 0"};
    uint64_t retries = matrix_stats(m).retries;

    load_agent_begin(agent, ask, &script);
    MATRIX_WAIT_FOR(m, is_busy(m));
    for (int i = 0; i < COMMANDS; i++) {
        const matrix_command_t *write =
            matrix_call(m, &(matrix_spec_t){.kind = MATRIX_WRITE});
        assert_int_equal(write->status, 0);
        if (!is_told(write))
            fail_msg("busy: %s", matrix_describe(write));
    }
    assert_int_equal(matrix_stats(m).retries,
                     retries); /* it is told, not tried again */
    assert_true(redis_ask(port, "SCRIPT KILL", NULL, 0));
    MATRIX_WAIT_FOR(m, load_agent_is_idle(agent));
}

static void f7(const matrix_mode_t *mode)
{
    matrix_t *m = matrix_begin(mode);
    load_agent_t *agent = load_agent_new(m);
    redis_process_t *redis = matrix_redis(m, arguments);
    int port = redis_process_port(redis);

    matrix_to_redis(m, redis);
    matrix_open_ready(m);
    check_silences(m, agent, port);
    check_busy(m, agent, port);
    matrix_expect_works(m);
    matrix_check_redis(m, port);
    assert_int_equal(matrix_stats(m).connects, 1); /* nobody hung up */
    matrix_end(m);
}

MATRIX_ROW(7){
    MATRIX_CELLS_EVERYWHERE(f7),
    MATRIX_ROW_END,
};
