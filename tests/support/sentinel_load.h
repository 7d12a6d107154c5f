/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_SENTINEL_LOAD_H
#define SHOAL_TESTS_SENTINEL_LOAD_H

/* Callers of a client that knows sentinels, while the sentinels exchange the primary.
 *
 * Each caller pushes ascending numbers to a list of its own, one after the other.  In the
 * end the list of the last primary tells what became of each number:
 *
 *   NOT_EXECUTED                    it is not there
 *   OK, by the last primary         it is there
 *   OK, by a former primary         it may be missing: replication is asynchronous
 *   UNKNOWN                         both
 *
 * and the numbers that are there ascend. */

#include "support/live.h"
#include "support/sentinel_rig.h"

#include <stdatomic.h>

#define SENTINEL_LOAD_CALLERS 8
#define SENTINEL_LOAD_WAITS_MAX 1000

typedef struct sentinel_tally {
    size_t ok, unknown, not_executed, lost;
} sentinel_tally_t;

typedef struct sentinel_caller sentinel_caller_t;

typedef struct sentinel_load {
    sentinel_rig_t *rig;
    shoal_client_t *client;
    sentinel_caller_t *callers; /* SENTINEL_LOAD_CALLERS */
    /* Events: how often ready, and another server; no sentinel answers; none names one. */
    _Atomic unsigned era, changed, silent, unnamed;
    _Atomic bool is_over;
    _Atomic uint64_t resumed_us;                /* the first OK in this era */
    sentinel_tally_t tally;                     /* of the rounds that are over */
    uint64_t waits_us[SENTINEL_LOAD_WAITS_MAX]; /* of writes, behind the news */
    size_t waits;
    char error[200];
} sentinel_load_t;

/* What ends a primary, and what brings it back. */
typedef struct sentinel_failure {
    void (*strike)(sentinel_load_t *load, size_t primary);
    void (*heal)(sentinel_load_t *load, size_t primary); /* the former one */
} sentinel_failure_t;

/* Begin, with a client that knows `sentinels` of the sentinels. */
sentinel_load_t *sentinel_load_begin(sentinel_rig_t *rig, size_t sentinels);
/* End it with its rig; fails the test if a number is where it may not be. */
sentinel_tally_t sentinel_load_end(sentinel_load_t *load);

/* Wait until every caller had so many numbers taken, since the client became ready last or
 * since sentinel_load_count_anew(). */
void sentinel_load_await_progress(const sentinel_load_t *load, size_t count);
void sentinel_load_count_anew(sentinel_load_t *load);

/* Is the client ready, with this server? */
bool sentinel_load_leads_to(const sentinel_load_t *load, size_t server);
/* Wait until the sentinels name another primary than before, and the client, which was
 * ready so often (era), follows and works there.  The primary is returned. */
size_t sentinel_load_await_switch(sentinel_load_t *load, size_t former, unsigned era);

/* A failover of one kind, or SHOAL_TEST_SCALE of them, each with new numbers; printed is how
 * long writes waited behind the first sentinel that named the new primary.  The rig is
 * stopped; NULL skips the test. */
void sentinel_load_follow(sentinel_rig_t *rig, const sentinel_failure_t *failure);

/* The tests of a program; its first argument, if there is one, is a pattern of their names. */
#define SENTINEL_LOAD_MAIN(group, tests)                                               \
    int main(int argc, char **argv)                                                    \
    {                                                                                  \
        if (argc > 1)                                                                  \
            cmocka_set_test_filter(argv[1]);                                           \
        return cmocka_run_group_tests_name(group, tests, NULL, NULL);                  \
    }

#endif
