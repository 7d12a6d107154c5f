/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_MATRIX_RIG_PARTS_H
#define SHOAL_TESTS_MATRIX_RIG_PARTS_H

/* What the files of the rig share. */

#include "cluster_nodes/cluster_nodes.h"
#include "matrix/rig.h"
#include "support/loopback_port.h"
#include "support/tag.h"
#include <pthread.h>

#define MATRIX_CALLERS_MAX 64
#define MATRIX_LEDGER_KEY "matrix"

/* Something to end with the rig. */
typedef struct matrix_deferred {
    struct matrix_deferred *next;
    void (*end)(void *data);
    void *data;
} matrix_deferred_t;

struct matrix_parts {
    pthread_mutex_t lock;    /* over the commands and the callers */
    pthread_cond_t has_work; /* for callers */
    unsigned number;         /* of the rig, in the process */

    matrix_command_t **blocks; /* of MATRIX_BLOCK commands: they stay where they are */
    size_t blocks_count;
    uint64_t base, count; /* seq of the first that is not forgotten; of the next */
    uint64_t done;        /* commands that are, the forgotten ones included */
    unsigned doubled;     /* results for commands that were done already */

    pthread_t callers[MATRIX_CALLERS_MAX];
    unsigned callers_started;
    uint64_t next_call; /* seq of the next command to be called */
    uint64_t entered;   /* calls begun */
    bool is_closing;    /* no more calls */
    bool is_ending;     /* callers return */

    matrix_deferred_t *deferred;
    /* In a cluster, those that were begun last; NULL: none. */
    fake_server_t *fake;
    redis_process_t *redis;
    loopback_port_t bus; /* of the latter */
    char bus_text[12];
    size_t memory, descriptors, threads; /* when the rig began */
};

/* The rig that was not ended yet; NULL: none. */
extern matrix_t *matrix_current;

/* The tag of a command, as text. */
size_t matrix_tag(const matrix_command_t *command, char text[TAG_ROOM]);
/* Record a result: the last one of a command completes it. */
void matrix_record(matrix_command_t *command, const shoal_result_t *result);

/* Callers of the blocking mode: begin no more calls, and wait until those that were begun
 * are known to the client; then, when the client is gone, end them. */
void matrix_callers_hold(matrix_t *m);
void matrix_callers_end(matrix_t *m);

/* End the current rig, whatever state it is in, without a look at the oracles. */
void matrix_abandon(void);

#endif
