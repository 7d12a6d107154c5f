/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/sized.h"
#include "base/time_us.h"
#include "client/plan.h"
#include <shoal/errors.h>
#include <stdlib.h>

#define COMMANDS_MAX 65536 /* of one submission */
#define LINE_COMMANDS_MAX 6
#define WORDS_MAX 8
#define NOW_US 1000
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- commands, from a text ---- */

typedef struct line {
    char text[128];
    const char *argv[LINE_COMMANDS_MAX][WORDS_MAX];
    shoal_command_t commands[LINE_COMMANDS_MAX];
    size_t count;
} line_t;

/* Fill the line from a text: single blanks separate words, " ; " separates commands. */
static void parse(line_t *line, const char *text)
{
    shoal_command_t *command = line->commands;

    *line = (line_t){.count = 1};
    assert_true(strlen(text) < sizeof line->text);
    memcpy(line->text, text, strlen(text) + 1);
    for (char *word = strtok(line->text, " "); word; word = strtok(NULL, " ")) {
        if (strcmp(word, ";") == 0) {
            assert_true(line->count < LINE_COMMANDS_MAX);
            command = &line->commands[line->count++];
            continue;
        }
        assert_true(command->argc < WORDS_MAX);
        command->argv = line->argv[line->count - 1];
        line->argv[line->count - 1][command->argc++] = word;
    }
}

static const shoal_options_t roomy = {
    .bytes_max = UINT64_MAX, .queued_max = SIZE_MAX, .timeout_us = 50};

/* ---- which submissions are accepted ---- */

#define TOGETHER SHOAL_CALL_CONTIGUOUS
#define ALL_FLAGS 0x7f

/* clang-format off */
static const struct verdict_case {
    const char *name, *commands;
    uint32_t flags;
    uint64_t bytes_max;
    size_t queued_max;
    int rc;
    size_t bytes; /* with rc 0: of all commands */
} verdicts[] = {
    {"one command",                "GET k",          0,  99, 9, 0, 20},
    {"three",              "GET k ; PING ; SET k v", 0,  99, 9, 0, 61},
    {"every flag there is",        "GET k",  ALL_FLAGS,  99, 9, 0, 20},
    {"no words",                   "GET k ; ; PING", 0,  99, 9, SHOAL_EINVAL, 0},
    {"the last byte that fits",    "GET k",          0,  20, 9, 0, 20},
    {"one byte too many",          "GET k",          0,  19, 9, SHOAL_ETOOBIG, 0},
    {"the last byte of three", "GET k ; PING ; SET k v", 0, 61, 9, 0, 61},
    {"one too many in three",  "GET k ; PING ; SET k v", 0, 60, 9, SHOAL_ETOOBIG, 0},
    {"as many as may be queued",   "PING ; PING",    0,  99, 2, 0, 28},
    {"one command too many",       "PING ; PING",    0,  99, 1, SHOAL_ETOOBIG, 0},
    {"refused",                    "SUBSCRIBE c",    0,  99, 9, SHOAL_EREFUSED, 0},
    {"refused, the last one",      "PING ; QUIT",    0,  99, 9, SHOAL_EREFUSED, 0},
    {"refused, also together",     "PING ; QUIT", TOGETHER, 99, 9, SHOAL_EREFUSED, 0},
    {"too big comes first",        "SUBSCRIBE c",    0,   9, 9, SHOAL_ETOOBIG, 0},
    {"blocking, on its own",       "BLPOP k 0",      0,  99, 9, 0, 29},
    {"counting writes",            "WAIT 1 0",       0,  99, 9, SHOAL_EREFUSED, 0},
    {"blocking, shared", "BLPOP k 0", SHOAL_CALL_MAY_BLOCK, 99, 9, 0, 29},
    {"a unit, not together",       "MULTI ; EXEC",   0,  99, 9, SHOAL_EREFUSED, 0},
    {"a unit without an end",    "MULTI ; PING", TOGETHER, 99, 9, SHOAL_EREFUSED, 0},
    {"blocking in a unit", "MULTI ; BLPOP k 0 ; EXEC", TOGETHER, 99, 9,
                                                               SHOAL_EREFUSED, 0},
    {"a unit",               "MULTI ; GET k ; EXEC", TOGETHER, 99, 9, 0, 49},
    {"a unit that is too big", "MULTI ; GET k ; EXEC", TOGETHER, 48, 9,
                                                               SHOAL_ETOOBIG, 0},
};
/* clang-format on */

static void check_verdict(const struct verdict_case *c)
{
    const shoal_options_t options = {.bytes_max = c->bytes_max,
                                     .queued_max = c->queued_max};
    shoal__plan_t plan, before;
    line_t line;

    parse(&line, c->commands);
    const shoal__submission_t submission = {
        .commands = line.commands, .count = line.count, .call.flags = c->flags};
    memset(&plan, 0x5a, sizeof plan);
    memcpy(&before, &plan, sizeof plan);
    int rc = shoal__plan_make(&submission, &options, &plan);
    if (rc != c->rc)
        fail_msg("%s: %d, want %d", c->name, rc, c->rc);
    if (rc < 0 && memcmp(&plan, &before, sizeof plan) != 0)
        fail_msg("%s: a plan", c->name);
    if (rc == 0 && plan.bytes != c->bytes)
        fail_msg("%s: %zu bytes, want %zu", c->name, plan.bytes, c->bytes);
}

static void test_verdicts(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(verdicts); i++)
        check_verdict(&verdicts[i]);
}

static void test_from_1_to_65536_commands(void **state)
{
    static shoal_command_t commands[COMMANDS_MAX + 1];
    static const char *const ping[] = {"PING"};
    shoal__submission_t submission = {.commands = commands};
    shoal__plan_t plan;

    (void)state;
    for (size_t i = 0; i < COUNT(commands); i++)
        commands[i] = (shoal_command_t){.argc = 1, .argv = ping};
    assert_int_equal(shoal__plan_make(&submission, &roomy, &plan), SHOAL_EINVAL);
    submission.count = COMMANDS_MAX;
    assert_int_equal(shoal__plan_make(&submission, &roomy, &plan), 0);
    assert_int_equal(plan.bytes, COMMANDS_MAX * 14);
    submission.count = COMMANDS_MAX + 1;
    assert_int_equal(shoal__plan_make(&submission, &roomy, &plan), SHOAL_EINVAL);
}

/* A request counts its bytes in 32 bits.  The plan reads the sizes only, so no such
 * text has to exist. */
static void test_a_command_has_less_than_4_gib(void **state)
{
    static const char *const argv[] = {"MSET", "k", "v", "k", "v", "k", "v", "k", "v"};
    size_t argvlen[COUNT(argv)] = {4};
    shoal_command_t command = {COUNT(argv), argv, argvlen};
    const shoal__submission_t submission = {.commands = &command, .count = 1};
    shoal__request_t request;
    shoal__plan_t plan;

    (void)state;
    if (SIZE_MAX == UINT32_MAX)
        skip();
    for (size_t i = 1; i < COUNT(argv); i++)
        argvlen[i] = SHOAL_ARG_BYTES_MAX;
    assert_int_equal(shoal__plan_make(&submission, &roomy, &plan), SHOAL_ETOOBIG);
    argvlen[1] -= 1000;
    assert_int_equal(shoal__plan_make(&submission, &roomy, &plan), 0);
    shoal__plan_request(&plan, 0, NOW_US, &request);
    assert_true(request.bytes > UINT32_MAX - 1000);
    assert_int_equal(request.bytes, plan.bytes);
}

/* ---- requests ---- */

#define ANY SHOAL__SHAPE_ANY
#define ONCE SHOAL__REQUEST_ONCE
#define UNIT SHOAL__REQUEST_UNIT
#define FIRST (SHOAL__REQUEST_UNIT | SHOAL__REQUEST_UNIT_FIRST)
#define LAST (SHOAL__REQUEST_UNIT | SHOAL__REQUEST_UNIT_LAST)
#define OWN 255 /* stands for the shape of the command when it is sent alone */

typedef struct wanted {
    uint32_t bytes;
    uint16_t flags;
    shoal__command_class_t command_class;
    unsigned shape;
} wanted_t;

/* clang-format off */
static const struct requests_case {
    const char *commands;
    uint32_t flags;
    wanted_t wanted[LINE_COMMANDS_MAX];
} requests_cases[] = {
    {"GET k", 0, {{20, 0, SHOAL__CLASS_RO, OWN}}},
    {"SET k v", SHOAL_CALL_IDEMPOTENT,
        {{27, SHOAL__REQUEST_IDEMPOTENT, SHOAL__CLASS_WRITE, OWN}}},
    {"EVAL s 0", SHOAL_CALL_ONCE, {{28, ONCE, SHOAL__CLASS_SCRIPT, ANY}}},
    {"NO.SUCH x", SHOAL_CALL_URGENT,
        {{24, SHOAL__REQUEST_URGENT, SHOAL__CLASS_SCRIPT, ANY}}},
    {"GET k ; BLPOP k 0", 0,
        {{20, 0, SHOAL__CLASS_RO, OWN},
         {29, SHOAL__REQUEST_LEASED, SHOAL__CLASS_BLOCK, OWN}}},
    {"BLPOP k 0", SHOAL_CALL_MAY_BLOCK | SHOAL_CALL_WAIT_FOR_ROOM,
        {{29, 0, SHOAL__CLASS_BLOCK, OWN}}},
    {"XREAD BLOCK 0 STREAMS s 0", SHOAL_CALL_MAY_BLOCK | SHOAL_CALL_SINK_HERE,
        {{60, 0, SHOAL__CLASS_BLOCK, OWN}}},
    {"SET k v ; GET k ; EVAL s 0", SHOAL_CALL_ONCE,
        {{27, ONCE, SHOAL__CLASS_WRITE, OWN}, {20, ONCE, SHOAL__CLASS_RO, OWN},
         {28, ONCE, SHOAL__CLASS_SCRIPT, ANY}}},
    {"SET k v ; GET k", TOGETHER,
        {{27, 0, SHOAL__CLASS_WRITE, OWN}, {20, 0, SHOAL__CLASS_RO, OWN}}},
    {"MULTI ; GET k ; SET k v ; EXEC", TOGETHER | SHOAL_CALL_ONCE,
        {{15, FIRST | ONCE, SHOAL__CLASS_WRITE, SHOAL__SHAPE_QUEUED},
         {20, UNIT | ONCE, SHOAL__CLASS_WRITE, SHOAL__SHAPE_QUEUED},
         {27, UNIT | ONCE, SHOAL__CLASS_WRITE, SHOAL__SHAPE_QUEUED},
         {14, LAST | ONCE, SHOAL__CLASS_WRITE, SHOAL__SHAPE_EXEC}}},
    {"MULTI ; DISCARD", TOGETHER,
        {{15, FIRST, SHOAL__CLASS_WRITE, SHOAL__SHAPE_QUEUED},
         {17, LAST, SHOAL__CLASS_WRITE, SHOAL__SHAPE_QUEUED}}},
};
/* clang-format on */

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    (void)client;
    (void)result;
    (void)data;
}

static void check_request(const char *name, const shoal__request_t *request,
                          const wanted_t *wanted, const shoal_command_t *command)
{
    unsigned shape = wanted->shape;

    if (shape == OWN) {
        shape = shoal__refusal_check(command, UINT32_MAX).shape;
        assert_true(shape != SHOAL__SHAPE_ANY); /* otherwise the row proves nothing */
    }
    if (request->bytes != wanted->bytes || request->flags != wanted->flags)
        fail_msg("%s: %s: %u bytes, flags %u", name, command->argv[0], request->bytes,
                 request->flags);
    if (request->command_class != wanted->command_class || request->shape != shape)
        fail_msg("%s: %s: class %u, shape %u", name, command->argv[0],
                 request->command_class, request->shape);
}

static void check_requests(const struct requests_case *c)
{
    int data = 0;
    shoal__plan_t plan;
    line_t line;

    parse(&line, c->commands);
    const shoal__submission_t submission = {.commands = line.commands,
                                            .count = line.count,
                                            .call.flags = c->flags,
                                            .on_result = on_result,
                                            .data = &data,
                                            .first_tag = 70};
    assert_int_equal(shoal__plan_make(&submission, &roomy, &plan), 0);
    for (size_t i = 0; i < line.count; i++) {
        shoal__request_t request;

        shoal__plan_request(&plan, i, NOW_US, &request);
        check_request(c->commands, &request, &c->wanted[i], &line.commands[i]);
        assert_ptr_equal(request.on_result, on_result);
        assert_ptr_equal(request.data, &data);
        assert_int_equal(request.tag, 70 + i);
        assert_int_equal(request.ticket, 0);
        assert_int_equal(request.submitted_us, NOW_US);
        assert_int_equal(request.attempts, 0);
        assert_null(request.extra);
    }
}

static void test_requests(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(requests_cases); i++)
        check_requests(&requests_cases[i]);
}

/* clang-format off */
static const struct deadline_case {
    const char *name;
    uint64_t client_us, call_us; /* timeouts */
    uint64_t deadline_us;
} deadlines[] = {
    {"the client's",              50,                   0, NOW_US + 50},
    {"the call's own",            50,                   7, NOW_US + 7},
    {"the call's own, longer",    50,                 900, NOW_US + 900},
    {"none, says the call",       50, SHOAL_TIMEOUT_NEVER, UINT64_MAX},
    {"none, says the client",     SHOAL_TIMEOUT_NEVER,  0, UINT64_MAX},
    {"one, says the call",        SHOAL_TIMEOUT_NEVER,  7, NOW_US + 7},
    {"behind the end of time",    50,      UINT64_MAX - 9, UINT64_MAX},
};
/* clang-format on */

static void test_deadlines(void **state)
{
    line_t line;

    (void)state;
    parse(&line, "PING");
    for (size_t i = 0; i < COUNT(deadlines); i++) {
        const struct deadline_case *c = &deadlines[i];
        shoal_options_t options = roomy;
        const shoal__submission_t submission = {
            .commands = line.commands, .count = 1, .call.timeout_us = c->call_us};
        shoal__request_t request;
        shoal__plan_t plan;

        options.timeout_us = c->client_us;
        assert_int_equal(shoal__plan_make(&submission, &options, &plan), 0);
        shoal__plan_request(&plan, 0, NOW_US, &request);
        if (request.deadline_us != c->deadline_us)
            fail_msg("%s: %llu", c->name, (unsigned long long)request.deadline_us);
    }
}

/* ---- leases ---- */

/* clang-format off */
static const struct wait_case {
    const char *command;
    bool is_on_lease;
    uint32_t flags;
    uint64_t call_us, timeout_us;
} waits[] = {
    {"PING",        false, 0,                    0,   50},
    {"PING",        true,  0,                    0,   50},
    {"BLPOP k 1",   false, 0,                    0,   3000000},
    {"BLPOP k 0",   false, 0,                    0,   SHOAL_TIMEOUT_NEVER},
    {"BLPOP k 1",   false, 0,                    7,   7},
    {"BLPOP k 1",   false, SHOAL_CALL_MAY_BLOCK, 0,   50},
    {"BLPOP k 1",   true,  0,                    0,   3000000},
    {"BLPOP k 1",   true,  SHOAL_CALL_MAY_BLOCK, 0,   3000000},
    {"BLPOP k 1",   true,  0,                    7,   7},
    {"XREAD STREAMS s 0", false, 0,              0,   50},
};
/* clang-format on */

static void test_how_long_a_command_may_take(void **state)
{
    int lease;

    (void)state;
    for (size_t i = 0; i < COUNT(waits); i++) {
        const struct wait_case *c = &waits[i];
        line_t line;
        shoal__request_t request;
        shoal__plan_t plan;

        parse(&line, c->command);
        const shoal__submission_t submission = {
            .commands = line.commands,
            .count = 1,
            .call = {.flags = c->flags,
                     .timeout_us = c->call_us,
                     .lease = c->is_on_lease ? (shoal_lease_t *)(void *)&lease : NULL}};
        assert_int_equal(
            shoal__plan_timeout_us(line.commands, &submission.call, &roomy),
            c->timeout_us);
        assert_int_equal(shoal__plan_make(&submission, &roomy, &plan), 0);
        shoal__plan_request(&plan, 0, NOW_US, &request);
        if (request.deadline_us != shoal__time_after(NOW_US, c->timeout_us))
            fail_msg("row %zu: %llu", i, (unsigned long long)request.deadline_us);
        shoal__extra_drop(plan.extra);
    }
}

static void test_requests_of_a_lease(void **state)
{
    int lease;
    line_t line;
    shoal__request_t request;
    shoal__plan_t plan;
    static const shoal__lease_effect_t effects[] = {
        SHOAL__LEASE_SELECT, SHOAL__LEASE_MULTI, SHOAL__LEASE_NONE, SHOAL__LEASE_EXEC};

    (void)state;
    parse(&line, "SELECT 1 ; MULTI ; GET k ; EXEC");
    shoal__submission_t submission = {
        .commands = line.commands,
        .count = line.count,
        .call = {.flags = TOGETHER, .lease = (shoal_lease_t *)(void *)&lease}};
    assert_int_equal(shoal__plan_make(&submission, &roomy, &plan), 0);
    assert_true(shoal__plan_is_leased(&plan));
    assert_int_equal(plan.leases, 0);
    assert_false(plan.is_unit); /* the submission does not begin with MULTI */
    for (size_t i = 0; i < line.count; i++) {
        shoal__plan_request(&plan, i, NOW_US, &request);
        assert_int_equal(request.flags, SHOAL__REQUEST_LEASED | SHOAL__REQUEST_ONCE);
        assert_int_equal(request.shape, effects[i]);
        assert_ptr_equal(SHOAL__REQUEST_LEASE(&request), &lease);
        shoal__extra_drop(plan.extra);
    }

    parse(&line, "MULTI ; GET k ; EXEC");
    submission.count = line.count;
    assert_int_equal(shoal__plan_make(&submission, &roomy, &plan), 0);
    assert_true(plan.is_unit);
    shoal__plan_request(&plan, 2, NOW_US, &request);
    assert_int_equal(request.shape, SHOAL__LEASE_EXEC);
    assert_int_equal(request.flags, SHOAL__REQUEST_LEASED | SHOAL__REQUEST_ONCE |
                                        SHOAL__REQUEST_UNIT | SHOAL__REQUEST_UNIT_LAST);
    for (size_t i = 0; i < line.count; i++)
        shoal__extra_drop(plan.extra);

    /* Between MULTI and EXEC nothing blocks: a unit has one deadline. */
    parse(&line, "MULTI ; BLPOP k 0 ; EXEC");
    assert_int_equal(shoal__plan_make(&submission, &roomy, &plan), 0);
    for (size_t i = 0; i < line.count; i++) {
        shoal__plan_request(&plan, i, NOW_US, &request);
        assert_int_equal(request.deadline_us, NOW_US + roomy.timeout_us);
        shoal__extra_drop(plan.extra);
    }

    parse(&line, "GET k ; QUIT");
    submission.count = line.count;
    assert_int_equal(shoal__plan_make(&submission, &roomy, &plan), SHOAL_EREFUSED);
}

/* ---- sinks ---- */

static const shoal_sink_t sink;

static void test_all_requests_share_one_sink(void **state)
{
    int data = 0;
    line_t line;
    shoal__request_t first, last;
    shoal__plan_t plan;

    (void)state;
    parse(&line, "PING ; PING ; PING");
    const shoal__submission_t submission = {.commands = line.commands,
                                            .count = line.count,
                                            .call.sink = &sink,
                                            .call.sink_data = &data};
    assert_int_equal(shoal__plan_make(&submission, &roomy, &plan), 0);
    shoal__plan_request(&plan, 0, NOW_US, &first);
    shoal__plan_request(&plan, 2, NOW_US, &last);
    assert_non_null(plan.extra);
    assert_ptr_equal(first.extra, plan.extra);
    assert_ptr_equal(last.extra, plan.extra);
    assert_ptr_equal(plan.extra->sink, &sink);
    assert_ptr_equal(plan.extra->sink_data, &data);
    assert_int_equal(plan.extra->owners, 3);
    for (size_t i = 0; i < line.count; i++)
        shoal__extra_drop(plan.extra);
}

static void test_a_sink_needs_memory(void **state)
{
    line_t line;
    shoal__plan_t plan = {.bytes = 1};

    (void)state;
    parse(&line, "PING");
    const shoal__submission_t submission = {
        .commands = line.commands, .count = 1, .call.sink = &sink};
    shoal__test_fail_alloc_after(0);
    int rc = shoal__plan_make(&submission, &roomy, &plan);
    shoal__test_fail_alloc_never();
    assert_int_equal(rc, SHOAL_ENOMEM);
    assert_int_equal(plan.bytes, 1); /* untouched */
    assert_null(plan.extra);
}

/* P2: a command without a sink needs no allocation, and a refused one needs none. */
static void test_nothing_else_allocates(void **state)
{
    uint64_t count = shoal__alloc_count();
    shoal__plan_t plan;
    line_t line;

    (void)state;
    parse(&line, "MULTI ; SET k v ; EXEC");
    const shoal__submission_t submission = {
        .commands = line.commands, .count = 3, .call.flags = TOGETHER};
    assert_int_equal(shoal__plan_make(&submission, &roomy, &plan), 0);
    parse(&line, "QUIT");
    const shoal__submission_t refused = {
        .commands = line.commands, .count = 1, .call.sink = &sink};
    assert_int_equal(shoal__plan_make(&refused, &roomy, &plan), SHOAL_EREFUSED);
    assert_int_equal(shoal__alloc_count(), count);
}

/* ---- the extras of a call ---- */

#define NOW_BYTES sizeof(shoal_call_t)

static void on_leaf(const shoal_reply_t *leaf, void *data)
{
    (void)leaf, (void)data;
}

static void on_begin(shoal_reply_type_t type, size_t count, void *data)
{
    (void)type, (void)count, (void)data;
}

static void on_end(void *data)
{
    (void)data;
}

/* clang-format off */
static const shoal_sink_t
    whole_sink = {on_leaf, on_begin, on_end, on_end},
    no_leaf    = {NULL,    on_begin, on_end, on_end},
    no_begin   = {on_leaf, NULL,     on_end, on_end},
    no_end     = {on_leaf, on_begin, NULL,   on_end},
    no_reset   = {on_leaf, on_begin, on_end, NULL};

static const struct call_case {
    const char *name;
    size_t size;
    uint32_t flags, reserved;
    uint64_t later;
    const shoal_sink_t *sink;
    bool is_read;
} call_cases[] = {
    {"this version's",            NOW_BYTES,     2,             0, 7, &whole_sink, true},
    {"without a sink",            NOW_BYTES,     2,             0, 7, NULL,        true},
    {"every flag there is",       NOW_BYTES,     ALL_FLAGS,     0, 7, NULL,        true},
    {"a newer version's, unused", NOW_BYTES + 8, 2,             0, 0, &whole_sink, true},
    {"a newer version's, in use", NOW_BYTES + 8, 2,             0, 7, NULL,       false},
    {"in use in the last byte",   NOW_BYTES + 8, 2, 0, UINT64_C(1) << 63, NULL,   false},
    {"of before there were sinks", offsetof(shoal_call_t, sink), 2, 0, 0, NULL,   false},
    {"that of 0.2",    SHOAL__CALL_BYTES_MIN,    2,             0, 0, &whole_sink, true},
    {"a byte short",   SHOAL__CALL_BYTES_MIN - 1, 2,            0, 0, NULL,       false},
    {"not initialised",           0,             2,             0, 0, NULL,       false},
    {"garbage as size",           SIZE_MAX,      2,             0, 0, NULL,       false},
    {"reserved is in use",        NOW_BYTES,     2,             1, 0, NULL,       false},
    {"a flag of the future",      NOW_BYTES,     ALL_FLAGS + 1, 0, 0, NULL,       false},
    {"the highest flag",          NOW_BYTES, UINT32_C(1) << 31, 0, 0, NULL,       false},
    {"a sink without leaves",     NOW_BYTES,     2,             0, 0, &no_leaf,   false},
    {"a sink without begin",      NOW_BYTES,     2,             0, 0, &no_begin,  false},
    {"a sink without end",        NOW_BYTES,     2,             0, 0, &no_end,    false},
    {"a sink without reset",      NOW_BYTES,     2,             0, 0, &no_reset,  false},
};
/* clang-format on */

static void test_which_extras_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(call_cases); i++) {
        const struct call_case *c = &call_cases[i];
        struct {
            shoal_call_t call;
            uint64_t later_field;
        } theirs = {SHOAL_CALL_INIT, c->later};
        shoal_call_t call;

        theirs.call.size = c->size;
        theirs.call.flags = c->flags;
        theirs.call.reserved = c->reserved;
        theirs.call.timeout_us = 9;
        theirs.call.sink = c->sink;
        theirs.call.on_release = free;
        memset(&call, 0x5a, sizeof call);
        bool is_read = shoal__call_read(&theirs.call, &call);
        if (is_read != c->is_read)
            fail_msg("%s", c->name);
        if (is_read &&
            (call.flags != c->flags || call.timeout_us != 9 || call.sink != c->sink ||
             call.sink_data || !call.on_release != (c->size < NOW_BYTES)))
            fail_msg("%s: fields", c->name);
    }
}

static void test_no_extras_are_the_defaults(void **state)
{
    shoal_call_t call;

    (void)state;
    memset(&call, 0x5a, sizeof call);
    assert_true(shoal__call_read(NULL, &call));
    assert_int_equal(call.flags, 0);
    assert_int_equal(call.timeout_us, 0);
    assert_null(call.sink);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_from_1_to_65536_commands),
        cmocka_unit_test(test_a_command_has_less_than_4_gib),
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_deadlines),
        cmocka_unit_test(test_how_long_a_command_may_take),
        cmocka_unit_test(test_requests_of_a_lease),
        cmocka_unit_test(test_all_requests_share_one_sink),
        cmocka_unit_test(test_a_sink_needs_memory),
        cmocka_unit_test(test_nothing_else_allocates),
        cmocka_unit_test(test_which_extras_are_read),
        cmocka_unit_test(test_no_extras_are_the_defaults),
    };
    return cmocka_run_group_tests_name("client/plan", tests, NULL, NULL);
}
