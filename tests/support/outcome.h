/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_OUTCOME_H
#define SHOAL_TESTS_OUTCOME_H

/* Records what became of commands, for a test thread to look at. */

#include <shoal/shoal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUTCOME_TEXT_ROOM 96

/* Of one command.  Start from zero. */
typedef struct outcome {
    unsigned calls; /* of the callback: 1 once it is complete */
    uint64_t order; /* among all outcomes of the process */
    int status;
    shoal_fate_t fate;
    uint32_t attempts;
    bool is_offline;
    bool has_reply;
    shoal_reply_type_t type;
    int64_t integer;
    size_t bytes;                 /* of the text */
    char text[OUTCOME_TEXT_ROOM]; /* of a string reply: cut, terminated */
    char detail[256];             /* cut, terminated */
    bool has_error;               /* shoal_result_error() is not NULL */
    char error[256];              /* it, cut, terminated */
    const void *sender;           /* the client as the callback saw it */
} outcome_t;

/* A shoal_result_cb; data points to an outcome_t. */
void outcome_cb(shoal_client_t *client, const shoal_result_t *result, void *data);

/* For shoal_client_submit_many(): the outcomes of one call, in order. */
typedef struct outcome_series {
    outcome_t *outcomes;
    size_t count, room;
} outcome_series_t;

/* A shoal_result_cb; data points to an outcome_series_t.  Ends the program when more
 * results come than there is room for. */
void outcome_series_cb(shoal_client_t *client, const shoal_result_t *result,
                       void *data);

/* Fill an outcome from a result at hand. */
void outcome_read(outcome_t *outcome, const shoal_result_t *result);

/* Is it complete?  Thread-safe, as is the next. */
bool outcome_is_done(const outcome_t *outcome);
size_t outcome_series_count(const outcome_series_t *series);

/* "status ETIMEOUT, fate unknown, attempts 1": for messages; static memory. */
const char *outcome_describe(const outcome_t *outcome);

#endif
