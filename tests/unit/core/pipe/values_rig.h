/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CORE_VALUES_RIG_H
#define TESTS_UNIT_CORE_VALUES_RIG_H

/* Commands that lend two values each, on the pipe of pipe_rig.h.  Included after
 * <cmocka.h>. */

#include "unit/core/pipe/pipe_rig.h"
#include <stdlib.h>

/* A command x with two large values: *3 $1 x $5 ... $7 ... */
#define FIRST_BYTES 5
#define SECOND_BYTES 7
#define VALUE_BYTES (FIRST_BYTES + SECOND_BYTES)
#define LOG_BYTES 23
#define LENT_BYTES (LOG_BYTES + VALUE_BYTES)

/* The memory of one caller. */
typedef struct loan {
    char *memory; /* NULL: given back */
    unsigned released;
} loan_t;

static loan_t loans[26];

static inline loan_t *loan_of(char name)
{
    return &loans[name - 'a'];
}

/* A read from now on is a read of freed memory. */
static inline void on_release(void *data)
{
    loan_t *loan = data;

    loan->released++;
    free(loan->memory);
    loan->memory = NULL;
}

/* Its bytes as they are sent. */
static inline void write_wire(char name, char *wire)
{
    snprintf(wire, LENT_BYTES + 1,
             "*3\r\n$1\r\n%c\r\n$5\r\nFIRST\r\n$7\r\n\r\nSECND\r\n", name);
}

static inline shoal__request_t lent_request(char name, uint16_t flags,
                                            shoal__command_class_t command_class)
{
    shoal__request_t request = rig_request(name, flags, command_class);
    shoal__extra_t *extra = shoal__extra_new(2, 2); /* another may follow */
    loan_t *loan = loan_of(name);

    assert_non_null(extra);
    shoal__reference_t *values = shoal__extra_references(extra, 2);
    extra->owners = 1;
    loan->released = 0;
    loan->memory = malloc(VALUE_BYTES);
    assert_non_null(loan->memory);
    memcpy(loan->memory, "FIRST\r\nSECND", VALUE_BYTES);
    values[0] = (shoal__reference_t){loan->memory, FIRST_BYTES, 15};
    values[1] = (shoal__reference_t){loan->memory + FIRST_BYTES, SECOND_BYTES, 21};
    *extra->values = (shoal__values_t){values, 2, VALUE_BYTES};
    extra->on_release = on_release;
    extra->release_data = loan;
    extra->first_tag = (uint64_t)name;
    request.extra = extra;
    request.bytes = LOG_BYTES;
    return request;
}

static inline void push_lent(const shoal__request_t *request)
{
    char *at = shoal__pipe_reserve(&rig.pipe, LOG_BYTES, 1);
    char log[LOG_BYTES + 1];

    assert_non_null(at);
    snprintf(log, sizeof log, "*3\r\n$1\r\n%c\r\n$5\r\n\r\n$7\r\n\r\n",
             (char)request->tag);
    memcpy(at, log, LOG_BYTES);
    shoal__pipe_push(&rig.pipe, request);
    shoal__stage_times_taken(&rig.pipe.times, 1, rig.now_us);
}

static inline void submit_lent(char name, uint16_t flags,
                               shoal__command_class_t command_class)
{
    shoal__request_t request = lent_request(name, flags, command_class);
    push_lent(&request);
}

/* Write up to so many bytes of what may leave; returns how many, and appends them. */
static char written[4096];
static size_t written_bytes;

static inline size_t write_some(size_t bytes_max)
{
    shoal__bytes_t parts[SHOAL__PIPE_PARTS_MAX];
    size_t count, done = 0;

    parts[0] = rig_output();
    if (parts[0].bytes == 0)
        return 0;
    count = shoal__pipe_gather(&rig.pipe, parts);
    for (size_t i = 0; i < count; i++) {
        size_t bytes = parts[i].bytes;
        if (bytes > bytes_max - done)
            bytes = bytes_max - done;
        assert_true(written_bytes + bytes < sizeof written);
        memcpy(written + written_bytes, parts[i].data, bytes);
        written_bytes += bytes;
        done += bytes;
    }
    shoal__pipe_written(&rig.pipe, done, rig.now_us);
    return done;
}

static inline void write_rest(void)
{
    while (write_some(SIZE_MAX) > 0)
        continue;
}

/* What was written since the last time: commands of capital letters are lent. */
static inline void assert_written(const char *commands)
{
    char wire[4096];
    size_t bytes = 0;

    for (const char *name = commands; *name; name++) {
        if (*name <= 'Z') {
            write_wire((char)(*name - 'A' + 'a'), wire + bytes);
            bytes += LENT_BYTES;
        } else {
            snprintf(wire + bytes, COMMAND_BYTES + 1, "*1\r\n$1\r\n%c\r\n", *name);
            bytes += COMMAND_BYTES;
        }
    }
    assert_int_equal(written_bytes, bytes);
    assert_memory_equal(written, wire, bytes);
    written_bytes = 0;
}

/* a, B, c: of these, b lends its values. */
static inline void submit_three(uint16_t flags, shoal__command_class_t command_class)
{
    written_bytes = 0;
    rig_submit('a', 0, WRITE);
    submit_lent('b', flags, command_class);
    rig_submit('c', 0, WRITE);
}

static inline void assert_nothing_left(void)
{
    assert_int_equal(rig.pipe.referred_bytes, 0);
    assert_int_equal(shoal__buffer_bytes(&rig.pipe.log), 0);
    assert_int_equal(rig.pipe.sent_bytes + rig.pipe.part_bytes, 0);
    assert_int_equal(rig.pipe.flush.queued_bytes, 0);
}

#define THREE_BYTES (2 * COMMAND_BYTES + LENT_BYTES)

#endif
