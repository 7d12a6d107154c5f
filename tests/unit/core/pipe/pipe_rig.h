/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CORE_PIPE_RIG_H
#define TESTS_UNIT_CORE_PIPE_RIG_H

/*
 * A pipe without a transport, and a transcript of what its callers and sinks hear.
 * Included after <cmocka.h>.
 *
 * Its owner answers errors with shoal__pipe_send_again().  Commands have names of one letter; the transcript has for each result
 *     a=+OK       a reply (by its first characters: + - : $ * as on the wire, _ for nil)
 *     a=sink      a reply that went to a sink
 *     a!ETIMEOUT/no        a failure: the code, the fate (no, maybe or lost)
 * and for sinks  a(leaf) a(begin) a(end) a(reset).
 */

#include "base/alloc.h"
#include "base/time_us.h"
#include "core/overdue.h"
#include "core/pipe/pipe.h"
#include "support/pipe_idle.h"
#include <inttypes.h>
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

#define RO SHOAL__CLASS_RO
#define WRITE SHOAL__CLASS_WRITE
#define IDEMPOTENT SHOAL__REQUEST_IDEMPOTENT
#define COMMAND_BYTES 11 /* *1 CR LF $1 CR LF a CR LF */

typedef struct rig {
    shoal__pipe_config_t config;
    shoal__secret_t secret; /* of the target */
    shoal__target_t target;
    shoal__pipe_t pipe;
    shoal__random_t random;
    shoal__entropy_fn entropy; /* of the fences */
    shoal__pipe_shared_t shared;
    uint64_t now_us;
    uint64_t tickets[26]; /* by name */
    uint64_t tickets_given;
    char heard[4096];
    uint32_t attempts;                 /* of the last result */
    bool is_offline, was_reordered;    /* of the last result */
    char detail[SHOAL__OVERDUE_BYTES]; /* of the last result */
    bool is_deaf;
    /* What the callback of the command with this name does. */
    char acting;
    void (*act)(void);
} rig_t;

static rig_t rig;
static const char names[] = "abcdefghijklmnopqrstuvwxyz";

static inline void rig_hear(const char *text)
{
    size_t bytes = strlen(rig.heard);

    if (rig.is_deaf)
        return;
    assert_true(bytes + strlen(text) + 1 < sizeof rig.heard);
    snprintf(rig.heard + bytes, sizeof rig.heard - bytes, "%s", text);
}

/* Compare the transcript and begin a new one. */
#define assert_heard(text)                                                             \
    do {                                                                               \
        assert_string_equal(rig.heard, text);                                          \
        rig.heard[0] = '\0';                                                           \
    } while (0)

static inline void rig_print_reply(char *at, size_t bytes, const shoal_reply_t *reply)
{
    static const char signs[] = {'_', '+', '-', ':', '$', '*', ',',
                                 '#', '%', '~', '>', '(', '='};
    size_t text_bytes = 0;
    const char *text = shoal_reply_string(reply, &text_bytes);
    char sign = signs[shoal_reply_type(reply)];

    if (text)
        snprintf(at, bytes, "%c%.*s", sign, (int)text_bytes, text);
    else if (sign == ':')
        snprintf(at, bytes, ":%" PRId64, shoal_reply_integer(reply));
    else
        snprintf(at, bytes, "%c%zu", sign, shoal_reply_count(reply));
}

static inline void rig_on_result(shoal_client_t *client, const shoal_result_t *result,
                                 void *data)
{
    static const char *const fates[] = {"replied", "no", "maybe", "lost"};
    const char *name = data;
    char reply[128] = "sink", line[192];

    assert_null(client);
    assert_int_equal(result->tag, (uint64_t)*name);
    rig.attempts = result->attempts;
    rig.is_offline = result->is_offline;
    rig.was_reordered = result->was_reordered;
    snprintf(rig.detail, sizeof rig.detail, "%s", result->detail);
    if (result->status == 0) {
        assert_int_equal(result->fate, SHOAL_FATE_REPLIED);
        if (result->reply)
            rig_print_reply(reply, sizeof reply, result->reply);
        snprintf(line, sizeof line, "%c=%s ", *name, reply);
    } else {
        const char *code = "?";
#define RIG_CODE(code_name, value, text)                                               \
    if (result->status == SHOAL_##code_name)                                           \
        code = #code_name;
        SHOAL_ERROR_MAP(RIG_CODE)
#undef RIG_CODE
        snprintf(line, sizeof line, "%c!%s/%s ", *name, code, fates[result->fate]);
    }
    rig_hear(line);
    if (rig.act && rig.acting == *name)
        rig.act();
}

static inline void rig_hear_result(void *owner, const shoal__request_t *request,
                                   const shoal_result_t *result)
{
    assert_ptr_equal(owner, &rig);
    if (request->on_result)
        request->on_result(NULL, result, request->data);
}

static inline shoal__pipe_verdict_t rig_hear_error(void *owner, shoal__pipe_t *pipe,
                                                   const shoal__request_t *request,
                                                   const char *bytes,
                                                   shoal__bytes_t error)
{
    const shoal__refused_t refused = shoal__pipe_refused(pipe);

    assert_ptr_equal(owner, &rig);
    (void)request, (void)bytes;
    return shoal__pipe_send_again(pipe, &refused, error);
}

static const shoal__pipe_hooks_t rig_hooks = {.on_result = rig_hear_result,
                                              .on_error = rig_hear_error};

static inline int rig_init(shoal__pipe_t *pipe)
{
    shoal__pipe_shared_init(&rig.shared, rig.entropy, &rig.random);
    rig.target.name = "server:6379";
    rig.target.secret = &rig.secret;
    const shoal__pipe_parts_t parts = {&rig.config, &rig.target, &rig.shared};
    return shoal__pipe_init(pipe, &parts, &rig_hooks, &rig);
}

static inline uint64_t counter(const shoal__counter_t *of)
{
    return shoal__counter_get(of);
}

/* ---- sinks ---- */

static inline void rig_sink_hear(const void *data, const char *what)
{
    char line[32];

    snprintf(line, sizeof line, "%c(%s) ", *(const char *)data, what);
    rig_hear(line);
}

static inline void rig_on_leaf(const shoal_reply_t *leaf, void *data)
{
    (void)leaf;
    rig_sink_hear(data, "leaf");
}

static inline void rig_on_begin(shoal_reply_type_t type, size_t count, void *data)
{
    (void)type;
    (void)count;
    rig_sink_hear(data, "begin");
}

static inline void rig_on_end(void *data)
{
    rig_sink_hear(data, "end");
}

static inline void rig_on_reset(void *data)
{
    rig_sink_hear(data, "reset");
}

static const shoal_sink_t rig_sink = {rig_on_leaf, rig_on_begin, rig_on_end,
                                      rig_on_reset};

/* ---- the owner's calls ---- */

static inline void *rig_name(char name)
{
    return (void *)(uintptr_t)&names[name - 'a'];
}

/* Tickets ascend in the order of these calls. */
static inline shoal__request_t rig_request(char name, uint16_t flags,
                                           shoal__command_class_t command_class)
{
    rig.tickets[name - 'a'] = ++rig.tickets_given;
    return (shoal__request_t){.on_result = rig_on_result,
                              .data = rig_name(name),
                              .tag = (uint64_t)name,
                              .ticket = rig.tickets_given,
                              .submitted_us = SHOAL__REQUEST_TIME(rig.now_us),
                              .deadline_us = SHOAL__NEVER_US,
                              .bytes = COMMAND_BYTES,
                              .flags = flags,
                              .command_class = command_class};
}

/* Submit what rig_request() made, perhaps changed. */
static inline void rig_push(const shoal__request_t *request)
{
    char wire[COMMAND_BYTES + 1];
    char *at = shoal__pipe_reserve(&rig.pipe, COMMAND_BYTES, 1);

    assert_non_null(at);
    snprintf(wire, sizeof wire, "*1\r\n$1\r\n%c\r\n", (char)request->tag);
    memcpy(at, wire, COMMAND_BYTES);
    shoal__pipe_push(&rig.pipe, request);
    shoal__stage_times_taken(&rig.pipe.times, 1, rig.now_us);
}

static inline void rig_submit(char name, uint16_t flags,
                              shoal__command_class_t command_class)
{
    shoal__request_t request = rig_request(name, flags, command_class);
    rig_push(&request);
}

/* MULTI ... EXEC: one command for each letter. */
static inline void rig_submit_unit(const char *letters, uint16_t flags,
                                   uint64_t deadline_us)
{
    for (const char *at = letters; *at; at++) {
        shoal__request_t request = rig_request(
            *at, (uint16_t)(flags | SHOAL__REQUEST_UNIT), SHOAL__CLASS_WRITE);
        request.flags |= at == letters ? SHOAL__REQUEST_UNIT_FIRST : 0;
        request.flags |= at[1] ? 0 : SHOAL__REQUEST_UNIT_LAST;
        request.deadline_us = deadline_us;
        rig_push(&request);
    }
}

static inline void rig_submit_with_sink(char name, shoal__command_class_t command_class)
{
    shoal__request_t request = rig_request(name, 0, command_class);

    request.extra = shoal__malloc(sizeof *request.extra);
    assert_non_null(request.extra);
    *request.extra =
        (shoal__extra_t){.sink = &rig_sink, .sink_data = rig_name(name), .owners = 1};
    rig_push(&request);
}

static inline shoal__bytes_t rig_output(void)
{
    uint64_t wake_us;
    return shoal__pipe_output(&rig.pipe, rig.now_us, &wake_us);
}

/* Write `bytes` of what may leave. */
static inline void rig_write(size_t bytes)
{
    assert_true(rig_output().bytes >= bytes);
    shoal__pipe_written(&rig.pipe, bytes, rig.now_us);
}

/* Write everything that may leave; returns the letters in it. */
static inline const char *rig_write_all(void)
{
    static char letters[128];
    size_t count = 0;
    shoal__bytes_t out;

    while ((out = rig_output()).bytes > 0) {
        for (size_t i = 0; i < out.bytes; i++)
            if (out.data[i] >= 'a' && out.data[i] <= 'z')
                letters[count++] = out.data[i];
        shoal__pipe_written(&rig.pipe, out.bytes, rig.now_us);
    }
    assert_true(count < sizeof letters);
    letters[count] = '\0';
    return letters;
}

static inline int rig_feed(const char *wire)
{
    return shoal__pipe_feed(&rig.pipe, wire, strlen(wire), rig.now_us);
}

static inline int rig_tick(uint64_t now_us)
{
    rig.now_us = now_us;
    return shoal__pipe_tick(&rig.pipe, now_us);
}

static inline void rig_lose(void)
{
    shoal__pipe_lost(&rig.pipe, SHOAL_ECONN, "cut", rig.now_us);
}

static inline bool rig_cancel(char name)
{
    return shoal__pipe_cancel(&rig.pipe, rig.tickets[name - 'a'], rig.now_us);
}

/* A connection with the shortest greeting there is.  RESP2. */
static inline void rig_connect(void)
{
    assert_int_equal(shoal__pipe_begin(&rig.pipe, SHOAL__GREETING_BARE, rig.now_us), 0);
    if (rig.pipe.phase == SHOAL__PIPE_GREETING) {
        rig_write(rig_output().bytes);
        assert_int_equal(rig_feed("+PONG\r\n"), 0);
    }
    assert_int_equal(rig.pipe.phase, SHOAL__PIPE_READY);
}

static inline int rig_set_up(void **state)
{
    (void)state;
    memset(&rig, 0, sizeof rig);
    rig.now_us = 1000;
    rig.config = (shoal__pipe_config_t){
        .flush = {.mode = SHOAL_FLUSH_OFF, .bytes_max = 65536, .commands_max = 1024},
        .reply = {.bytes_max = 1 << 29, .elements_max = 1 << 24, .depth_max = 1024},
        .greeting = {.protocol = 3},
        .inflight_max = 16384,
        .stall_us = 5000000,
        .attempts_max = 3,
        .queue_offline = true};
    shoal__random_init(&rig.random, 1);
    return rig_init(&rig.pipe);
}

static inline int rig_tear_down(void **state)
{
    (void)state;
    rig.act = NULL;
    rig.is_deaf = true;
    shoal__pipe_abandon(&rig.pipe, rig.now_us);
    shoal__pipe_release(&rig.pipe);
    shoal__pipe_shared_release(&rig.shared);
    return 0;
}

#endif
