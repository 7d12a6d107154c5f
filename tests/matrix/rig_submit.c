/* SPDX-License-Identifier: MIT */
#include "fault_proxy/fake_bytes.h"
#include "matrix/rig_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MATRIX_BLOCK 1024
#define WRONG_SHOWN 5

size_t matrix_tag(const matrix_command_t *command, char text[TAG_ROOM])
{
    const matrix_t *m = command->rig;
    return tag_make((tag_t){m->parts->number, m->mode->column, command->seq}, text);
}

matrix_command_t *matrix_at(matrix_t *m, uint64_t seq)
{
    uint64_t index = seq - m->parts->base;
    return &m->parts->blocks[index / MATRIX_BLOCK][index % MATRIX_BLOCK];
}

uint64_t matrix_count(const matrix_t *m)
{
    return m->parts->count;
}

/* Under the lock. */
static matrix_command_t *add_command(matrix_t *m, const matrix_spec_t *spec)
{
    struct matrix_parts *parts = m->parts;
    size_t used = (size_t)(parts->count - parts->base);

    if (used == parts->blocks_count * MATRIX_BLOCK) {
        size_t bytes = (parts->blocks_count + 1) * sizeof *parts->blocks;
        parts->blocks = fake_must(realloc(parts->blocks, bytes));
        parts->blocks[parts->blocks_count++] =
            fake_must(calloc(MATRIX_BLOCK, sizeof(matrix_command_t)));
    }
    matrix_command_t *command = matrix_at(m, parts->count);
    *command = (matrix_command_t){.rig = m, .seq = parts->count++};
    if (spec)
        command->spec = *spec;
    return command;
}

void matrix_forget(matrix_t *m)
{
    struct matrix_parts *parts = m->parts;

    matrix_wait(m);
    matrix_check_commands(m);
    pthread_mutex_lock(&parts->lock);
    parts->base = parts->count;
    pthread_mutex_unlock(&parts->lock);
}

static void finish(matrix_command_t *command)
{
    struct matrix_parts *parts = command->rig->parts;

    command->is_done = true;
    pthread_mutex_lock(&parts->lock);
    parts->done++;
    pthread_mutex_unlock(&parts->lock);
}

/* O1. */
static bool is_right(const matrix_command_t *command, const shoal_reply_t *value)
{
    char tag[TAG_ROOM];
    size_t bytes = 0;

    if (command->spec.kind == MATRIX_WRITE)
        return shoal_reply_type(value) == SHOAL_REPLY_INTEGER;
    if (command->spec.kind == MATRIX_OTHER)
        return !command->spec.is_right ||
               command->spec.is_right(value, command->spec.data);
    const char *text = shoal_reply_string(value, &bytes);
    return shoal_reply_type(value) == SHOAL_REPLY_STRING &&
           matrix_tag(command, tag) == bytes && memcmp(tag, text, bytes) == 0;
}

/* Is this an undamaged tag, whosever it is? */
static bool is_tag(const char *text, size_t bytes)
{
    char copy[TAG_ROOM];
    unsigned client, thread;
    uint64_t seq;

    if (!text || bytes >= sizeof copy)
        return false;
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    return sscanf(copy, "%u|%u|%" SCNu64 "|", &client, &thread, &seq) == 3 &&
           tag_matches((tag_t){client, thread, seq}, text, bytes);
}

static void record_wrong(matrix_command_t *command, const shoal_reply_t *value)
{
    matrix_t *m = command->rig;
    size_t bytes = 0;
    const char *text = value ? shoal_reply_string(value, &bytes) : NULL;

    command->is_wrong = true;
    m->misplaced += is_tag(text, bytes);
    if (m->wrong++ < WRONG_SHOWN && !m->may_be_wrong)
        print_error("O1: wrong value of type %d, %.*s: %s\n",
                    value ? (int)shoal_reply_type(value) : -1,
                    bytes < 100 ? (int)bytes : 100, text ? text : "",
                    matrix_describe(command));
}

static void record_reply(matrix_command_t *command, const shoal_reply_t *reply)
{
    const shoal_reply_t *value = reply;

    command->has_reply = true;
    if (command->rig->mode->is_unit && shoal_reply_type(reply) == SHOAL_REPLY_ARRAY)
        value = shoal_reply_count(reply) == 1 ? shoal_reply_at(reply, 0) : NULL;
    else if (command->rig->mode->is_unit &&
             shoal_reply_type(reply) != SHOAL_REPLY_ERROR)
        value = NULL; /* an EXEC has no other answer */
    if (value && shoal_reply_type(value) == SHOAL_REPLY_ERROR) {
        size_t bytes = 0;
        const char *text = shoal_reply_string(value, &bytes);
        if (bytes > sizeof command->error - 1)
            bytes = sizeof command->error - 1;
        memcpy(command->error, text, bytes);
        command->is_error = true;
        return;
    }
    command->integer = value ? shoal_reply_integer(value) : 0;
    if (!value || !is_right(command, value))
        record_wrong(command, value);
}

void matrix_record(matrix_command_t *command, const shoal_result_t *result)
{
    unsigned due = command->rig->mode->is_unit ? 3 : 1;

    if (command->results++ >= due) {
        command->rig->parts->doubled++;
        return;
    }
    if (command->results < due)
        return;
    command->completed_us = waiting_now_us();
    command->status = shoal_result_status(result);
    command->fate = shoal_result_fate(result);
    command->attempts = shoal_result_attempts(result);
    snprintf(command->detail, sizeof command->detail, "%s",
             shoal_result_detail(result));
    if (shoal_result_reply(result))
        record_reply(command, shoal_result_reply(result));
    command->rig->completed++;
    finish(command);
}

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    (void)client;
    matrix_record(data, result);
}

/* The command itself; `words` and `tag` must live as long. */
static shoal_command_t command_of(const matrix_command_t *command, const char *words[3],
                                  char tag[TAG_ROOM])
{
    if (command->spec.kind == MATRIX_OTHER)
        return command->spec.command;
    matrix_tag(command, tag);
    if (command->spec.kind == MATRIX_READ) {
        words[0] = "ECHO";
        words[1] = tag;
        return (shoal_command_t){2, words, NULL};
    }
    words[0] = "RPUSH";
    words[1] = MATRIX_LEDGER_KEY;
    words[2] = tag;
    return (shoal_command_t){3, words, NULL};
}

static void refuse(matrix_command_t *command, int rc)
{
    command->rc = rc;
    command->rig->refused++;
    finish(command);
}

static void submit_now(matrix_t *m, matrix_command_t *command)
{
    static const char *const multi[] = {"MULTI"}, *const exec[] = {"EXEC"};
    shoal_call_t call = {.size = sizeof call,
                         .flags = command->spec.flags,
                         .timeout_us = command->spec.timeout_us,
                         .lease = command->spec.lease};
    const char *words[3];
    char tag[TAG_ROOM];
    shoal_command_t unit[3] = {{1, multi, NULL}, {0}, {1, exec, NULL}};

    unit[1] = command_of(command, words, tag);
    if (m->mode->is_unit)
        call.flags |= SHOAL_CALL_CONTIGUOUS;
    command->submitted_us = waiting_now_us();
    m->accepted++; /* before the result can come */
    int rc = shoal_client_submit_many(m->client, m->mode->is_unit ? unit : &unit[1],
                                      m->mode->is_unit ? 3 : 1, &call, on_result,
                                      command, &command->ticket);
    if (rc != 0) {
        m->accepted--;
        refuse(command, rc);
    }
}

static void call_now(matrix_t *m, matrix_command_t *command)
{
    shoal_call_t call = {.size = sizeof call,
                         .flags = command->spec.flags,
                         .timeout_us = command->spec.timeout_us,
                         .lease = command->spec.lease};
    shoal_result_t *result = NULL;
    const char *words[3];
    char tag[TAG_ROOM];
    shoal_command_t what = command_of(command, words, tag);

    command->submitted_us = waiting_now_us();
    int rc = shoal_client_call_with(m->client, &what, &call, &result);
    if (rc == 0) {
        m->accepted++;
        matrix_record(command, result);
    } else {
        refuse(command, rc);
    }
    shoal_result_release(result);
}

/* A caller of the blocking mode. */
static void *make_calls(void *data)
{
    matrix_t *m = data;
    struct matrix_parts *parts = m->parts;

    pthread_mutex_lock(&parts->lock);
    while (!parts->is_ending) {
        if (parts->next_call == parts->count) {
            pthread_cond_wait(&parts->has_work, &parts->lock);
            continue;
        }
        matrix_command_t *command = matrix_at(m, parts->next_call++);
        bool may_call = !parts->is_closing;
        parts->entered += may_call;
        pthread_mutex_unlock(&parts->lock);
        if (may_call)
            call_now(m, command);
        else
            refuse(command, SHOAL_ECLOSED);
        pthread_mutex_lock(&parts->lock);
    }
    pthread_mutex_unlock(&parts->lock);
    return NULL;
}

/* Under the lock. */
static void start_callers(matrix_t *m)
{
    struct matrix_parts *parts = m->parts;

    if (m->mode->caller != MATRIX_BY_BLOCKING || parts->callers_started > 0)
        return;
    for (; parts->callers_started < m->callers; parts->callers_started++)
        fake_must(pthread_create(&parts->callers[parts->callers_started], NULL,
                                 make_calls, m) == 0
                      ? parts
                      : NULL);
}

void matrix_callers_hold(matrix_t *m)
{
    struct matrix_parts *parts = m->parts;
    uint64_t entered;

    pthread_mutex_lock(&parts->lock);
    parts->is_closing = true;
    entered = parts->entered;
    pthread_mutex_unlock(&parts->lock);
    if (m->mode->caller == MATRIX_BY_BLOCKING)
        WAIT_FOR(matrix_stats(m).commands + matrix_stats(m).refused >= entered);
}

void matrix_callers_end(matrix_t *m)
{
    struct matrix_parts *parts = m->parts;

    if (parts->callers_started > 0)
        matrix_wait(m);
    pthread_mutex_lock(&parts->lock);
    parts->is_ending = true;
    pthread_cond_broadcast(&parts->has_work);
    pthread_mutex_unlock(&parts->lock);
    for (; parts->callers_started > 0; parts->callers_started--)
        pthread_join(parts->callers[parts->callers_started - 1], NULL);
    parts->is_closing = parts->is_ending = false;
}

matrix_command_t *matrix_submit(matrix_t *m, const matrix_spec_t *spec)
{
    struct matrix_parts *parts = m->parts;

    pthread_mutex_lock(&parts->lock);
    start_callers(m);
    matrix_command_t *command = add_command(m, spec);
    if (m->mode->caller == MATRIX_BY_BLOCKING)
        pthread_cond_signal(&parts->has_work);
    pthread_mutex_unlock(&parts->lock);
    if (m->mode->caller != MATRIX_BY_BLOCKING)
        submit_now(m, command);
    return command;
}

uint64_t matrix_submit_many(matrix_t *m, const matrix_spec_t *spec, size_t count)
{
    uint64_t first = matrix_count(m);

    for (size_t i = 0; i < count; i++)
        (void)matrix_submit(m, spec);
    return first;
}

matrix_command_t *matrix_call(matrix_t *m, const matrix_spec_t *spec)
{
    matrix_command_t *command = matrix_submit(m, spec);

    matrix_await(m, command);
    return command;
}

bool matrix_cancel(matrix_t *m, matrix_command_t *command)
{
    if (m->mode->caller == MATRIX_BY_BLOCKING || command->rc != 0)
        return false;
    for (unsigned i = 0; i < (m->mode->is_unit ? 3 : 1); i++)
        (void)shoal_client_cancel(m->client, command->ticket + i); /* may be done */
    return true;
}

void matrix_await(matrix_t *m, const matrix_command_t *command)
{
    MATRIX_WAIT_FOR(m, command->is_done);
}

/* As long as something completes it is worth to wait. */
void matrix_wait(matrix_t *m)
{
    struct matrix_parts *parts = m->parts;
    uint64_t done_before = UINT64_MAX, since_us = waiting_now_us();

    for (;;) {
        pthread_mutex_lock(&parts->lock);
        uint64_t done = parts->done, count = parts->count;
        pthread_mutex_unlock(&parts->lock);
        if (done == count)
            return;
        if (done != done_before)
            since_us = waiting_now_us();
        done_before = done;
        if (waiting_now_us() - since_us > WAITING_US_MAX)
            fail_msg("%" PRIu64 " of %" PRIu64 " commands never complete", count - done,
                     count);
        matrix_look(m, since_us);
    }
}
