/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_MATRIX_RIG_H
#define SHOAL_TESTS_MATRIX_RIG_H

/*
 * A client in one mode of use, its commands, and the oracles that are always on:
 *
 *   O1 tag         a value is that of its own command           at each result
 *   O2 ledger      what ran, how often, in which order          matrix_check_fake/_redis()
 *   O3 completion  each accepted command completes once         matrix_end()
 *   O4 no-proof    what is "not executed" is not in the ledger  with O2
 *   O5 clock       nothing completes later than promised        matrix_end()
 *   O6 memory      the library gives back what it took          matrix_end()
 *   O7 handles     descriptors and threads as before            matrix_end()
 *
 * In a mode with TLS the client and the servers of matrix_fake() and matrix_redis() speak
 * it; what a test asks a redis-server itself, it asks on another port, without.  In a mode
 * with a cluster the client is one of a cluster, whose only node the server is: it names the
 * address that the client is led to.
 *
 * One rig at a time.  If a test fails, what it began is ended behind it.  Every function
 * is for the test's own thread, but those marked "any thread"; in the borrowed mode that
 * thread is the client's loop, so wait by matrix_wait(), MATRIX_WAIT_FOR() and
 * matrix_pause() only: they step the client.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/fake/fake_server.h"
#include "support/redis_process.h"
#include "support/waiting.h"
#include <shoal/shoal.h>
#include <stdatomic.h>
#include <stdbool.h>

/* The columns of the matrix. */
typedef enum matrix_column {
    MATRIX_RESP3_CALLBACK, /* results by callbacks on the library's thread */
    MATRIX_RESP3_SYNC,     /* blocking calls of several threads */
    MATRIX_RESP3_BORROWED, /* the test's thread steps the client */
    MATRIX_RESP2,          /* callbacks, RESP2 */
    MATRIX_UNITS,          /* callbacks; each command goes as MULTI, command, EXEC */
    MATRIX_COLUMN_COUNT
} matrix_column_t;

typedef enum matrix_caller {
    MATRIX_BY_CALLBACK,
    MATRIX_BY_BLOCKING,
    MATRIX_BY_STEPPING
} matrix_caller_t;

typedef struct matrix_mode {
    matrix_column_t column;
    const char *name; /* "resp3-callback", or "resp3-callback-tls", "-cluster" */
    int protocol;     /* 2 or 3 */
    matrix_caller_t caller;
    bool is_unit;
    bool is_tls;
    bool is_cluster;
} matrix_mode_t;

/* How the client reaches the server. */
typedef enum matrix_way {
    MATRIX_PLAIN,
    MATRIX_TLS,
    MATRIX_CLUSTER,
    MATRIX_WAY_COUNT
} matrix_way_t;

extern const matrix_mode_t matrix_modes[MATRIX_COLUMN_COUNT][MATRIX_WAY_COUNT];

typedef enum matrix_kind {
    MATRIX_READ,  /* ECHO tag: the value must be the tag */
    MATRIX_WRITE, /* RPUSH matrix tag: a ledger in the server; the value is its place */
    MATRIX_OTHER  /* any command */
} matrix_kind_t;

/* What to submit.  Zero: a read with the client's timeout. */
typedef struct matrix_spec {
    matrix_kind_t kind;
    uint32_t flags;       /* SHOAL_CALL_... */
    uint64_t timeout_us;  /* as in shoal_call_t */
    shoal_lease_t *lease; /* NULL: none; it lives until the command is complete */
    /* MATRIX_OTHER only; both live until the command is complete: */
    shoal_command_t command;
    /* O1: is this value right?  NULL: every one is.  Runs where the result comes. */
    bool (*is_right)(const shoal_reply_t *value, void *data);
    void *data;
} matrix_spec_t;

typedef struct matrix matrix_t;

/* One command and what became of it.  A unit is one command: its result is that of the
 * EXEC, its value the one element. */
typedef struct matrix_command {
    matrix_t *rig;
    matrix_spec_t spec;
    uint64_t seq; /* from 0 */
    uint64_t ticket;
    uint64_t submitted_us;

    /* Once it is done: */
    _Atomic bool is_done;
    int rc; /* of the submission; below 0: refused, and there is no result */
    uint64_t completed_us;
    int status;
    shoal_fate_t fate;
    uint32_t attempts;
    bool has_reply; /* the server answered ... */
    bool is_error;  /* ... with an error, which begins so: */
    char error[48];
    int64_t integer; /* of the value */
    bool is_wrong;   /* O1: a value that is not this command's */
    char detail[96];

    /* By the last matrix_check_...(): */
    unsigned executed; /* times; of writes only */
    size_t place;      /* the last, from 1 */

    unsigned results; /* so far: of a unit there are three */
} matrix_command_t;

/* What was heard of the connection. */
typedef struct matrix_events {
    _Atomic unsigned connected, ready, lost, lost_auth, lost_desync, lost_timeout,
        lost_conn;
} matrix_events_t;

struct matrix {
    const matrix_mode_t *mode;
    shoal_options_t *options; /* may be changed before matrix_open() */
    shoal_client_t *client;   /* NULL: not open, or closed by the test */
    matrix_events_t events;
    unsigned callers;     /* threads of the blocking mode, at most 64; 8 unless changed
                         before the first command */
    uint64_t timeout_us;  /* of commands that name none; by matrix_set_timeout() */
    uint64_t late_us_max; /* O5: 50 ms unless changed, by the clock or by the naps of a
                             sleeping thread; see matrix_is_prompt() */
    bool may_be_wrong;    /* O1: wrong values are counted, and do not fail the test */

    /* Totals; read them when nothing is under way, or with care. */
    _Atomic uint64_t accepted, refused, completed; /* commands; a unit is one */
    _Atomic uint64_t wrong;     /* values that are not their command's ... */
    _Atomic uint64_t misplaced; /* ... but, undamaged, that of another read */

    struct matrix_parts *parts; /* the rig's own */
};

/* A new rig: options for this mode with short pauses between connections and timeouts
 * that no test reaches (25 s; no idle PING; stall 60 s). */
matrix_t *matrix_begin(const matrix_mode_t *mode);
/* Close the client if it is open, end what was begun for the rig, last first, and look at
 * O1, O3, O5, O6 and O7.  The rig is gone. */
void matrix_end(matrix_t *m);

/* When the rig ends, and the client is closed, call end(data). */
void matrix_defer(matrix_t *m, void (*end)(void *data), void *data);
/* A scripted server / the same without TLS / a private redis-server that ends with the rig.
 * Without a redis-server to start the test is skipped. */
fake_server_t *matrix_fake(matrix_t *m, const fake_config_t *config);
fake_server_t *matrix_fake_plain(matrix_t *m, const fake_config_t *config);
redis_process_t *matrix_redis(matrix_t *m, const char *const *arguments);
/* The port of a server of matrix_redis() that the client is to speak to. */
int matrix_redis_port(const matrix_t *m, const redis_process_t *redis);
/* What the servers of the rig are told of TLS; NULL: this mode has none. */
const fake_tls_config_t *matrix_tls(const matrix_t *m);

/* Where the client is to connect to. */
void matrix_to_fake(matrix_t *m, const fake_server_t *server);
void matrix_to_redis(matrix_t *m, const redis_process_t *redis);
void matrix_to_port(matrix_t *m, int port);
void matrix_to_path(matrix_t *m, const char *path);
/* The client's timeout; before matrix_open(). */
void matrix_set_timeout(matrix_t *m, uint64_t timeout_us);
/* Open the client; the second also waits until it is ready. */
void matrix_open(matrix_t *m);
void matrix_open_ready(matrix_t *m);
/* Close it and wait until it is gone.  What is outstanding is complete afterwards. */
void matrix_close(matrix_t *m, uint64_t drain_us);

/* Submit one command in the mode's way and return at once; NULL: a read.  It lives until
 * matrix_forget() or the end.  In the blocking mode it queues for a thread that makes the
 * call, so no more than `callers` are under way.  Any thread but in the borrowed mode. */
matrix_command_t *matrix_submit(matrix_t *m, const matrix_spec_t *spec);
/* `count` times the same.  Returns the first's seq. */
uint64_t matrix_submit_many(matrix_t *m, const matrix_spec_t *spec, size_t count);
/* Submit and wait for it. */
matrix_command_t *matrix_call(matrix_t *m, const matrix_spec_t *spec);
/* Give it up.  False: this mode has no tickets.  Any thread but in the borrowed mode. */
bool matrix_cancel(matrix_t *m, matrix_command_t *command);
/* By seq, the forgotten ones excluded; how many there are, they included. */
matrix_command_t *matrix_at(matrix_t *m, uint64_t seq);
uint64_t matrix_count(const matrix_t *m);

/* Let the client work for a moment / for so long. */
void matrix_idle(matrix_t *m);
/* Let the client work until a test that has waited since `since_us` looks again. */
void matrix_look(matrix_t *m, uint64_t since_us);
void matrix_pause(matrix_t *m, uint64_t pause_us);
/* Wait for one command / until everything submitted is done. */
void matrix_await(matrix_t *m, const matrix_command_t *command);
void matrix_wait(matrix_t *m);
/* Wait for a condition. */
#define MATRIX_WAIT_FOR(m, condition)                                                  \
    do {                                                                               \
        uint64_t since_us_ = waiting_now_us();                                         \
        while (!(condition)) {                                                         \
            matrix_look(m, since_us_);                                                 \
            if (waiting_now_us() - since_us_ > WAITING_US_MAX) {                       \
                print_error("never came true: %s\n", #condition);                      \
                _fail(__FILE__, __LINE__);                                             \
            }                                                                          \
        }                                                                              \
    } while (0)

/* O2 and O4 against the ledger of the server; everything must be done.  `connection` 0.
 * The second reads database 0 of a server on loopback, and at a SHOAL_TEST_SCALE above 1
 * once more after 5 s. */
void matrix_check_fake(matrix_t *m, fake_server_t *server);
void matrix_check_redis(matrix_t *m, int port);
/* O1, O3 and O5 of all that is done; matrix_end() does it too. */
void matrix_check_commands(matrix_t *m);
/* Forget all commands: they must be done and, if there were writes, checked.  Places in
 * the ledger go on. */
void matrix_forget(matrix_t *m);
/* Done, with this status and fate. */
void matrix_expect(matrix_t *m, const matrix_command_t *command, int status,
                   shoal_fate_t fate);
/* Answered with its own value. */
void matrix_expect_value(matrix_t *m, const matrix_command_t *command);
/* Is the connection of use?  A read and a write come back right, now or after another
 * connection was made. */
void matrix_expect_works(matrix_t *m);
/* For messages; static memory. */
const char *matrix_describe(const matrix_command_t *command);

shoal_stats_t matrix_stats(const matrix_t *m);
/* Bytes that the library holds by the allocator hook; the most since matrix_begin(). */
size_t matrix_memory_now(void);
size_t matrix_memory_peak(void);
/* Was what was due at due_us, and happened at then_us, late by no more than late_us and
 * what O5 allows?  Time that the machine kept threads waiting does not count
 * (support/sleeper.h).  Asked before the rig ends. */
bool matrix_is_prompt(const matrix_t *m, uint64_t due_us, uint64_t then_us,
                      uint64_t late_us);
/* SHOAL_TEST_SCALE (1 if it is not set) times a number, at least 1. */
size_t matrix_scaled(size_t count);
double matrix_scale(void);

#endif
