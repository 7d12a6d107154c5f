/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_OUTCOME_H
#define SHOAL_TESTS_OUTCOME_H

/* Records what became of commands, for a test thread to look at. */

#include <shoal/shoal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUTCOME_TEXT_ROOM 96

/* What became of one command.  All fields are 0 before. */
typedef struct outcome {
    unsigned calls; /* how often the callback ran: 1 once the command is complete */
    uint64_t order; /* its place among all outcomes of the process */
    int status;
    shoal_fate_t fate;
    uint32_t attempts, redirects;
    bool is_offline, was_reordered;
    int slot;
    char node[64];
    bool has_reply;
    shoal_reply_type_t type;
    int64_t integer;
    /* The texts are cut to their room and NUL-terminated. */
    size_t bytes;                 /* of the whole reply, if it is a string */
    char text[OUTCOME_TEXT_ROOM]; /* the reply, if it is a string */
    char detail[256];
    bool has_error;     /* shoal_result_error() is not NULL */
    char error[256];    /* shoal_result_error() */
    const void *sender; /* the client as the callback saw it */
} outcome_t;

/* A shoal_result_cb; data points to an outcome_t. */
void outcome_cb(shoal_client_t *client, const shoal_result_t *result, void *data);

/* The outcomes of one call of shoal_client_submit_many(), in order. */
typedef struct outcome_series {
    outcome_t *outcomes;
    size_t count, room;
} outcome_series_t;

/* A shoal_result_cb; data points to an outcome_series_t.  Ends the program when more
 * results come than there is room for. */
void outcome_series_cb(shoal_client_t *client, const shoal_result_t *result,
                       void *data);

/* Write a result into an outcome, without counting a callback. */
void outcome_read(outcome_t *outcome, const shoal_result_t *result);

/* Is it complete?  Any thread may call these two. */
bool outcome_is_done(const outcome_t *outcome);
size_t outcome_series_count(const outcome_series_t *series);

/* "status ETIMEOUT, fate unknown, attempts 1": a text for messages.  It is in static
 * memory, until the next call. */
const char *outcome_describe(const outcome_t *outcome);

#endif
