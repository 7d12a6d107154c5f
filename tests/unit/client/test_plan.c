/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/time_us.h"
#include "unit/client/plan_rig.h"
#include <shoal/errors.h>
#include <stdlib.h>

#define COMMANDS_MAX 65536 /* of one submission */

/* ---- which submissions are accepted ---- */

#define ALL_FLAGS 0xfff

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
    int rc = shoal__plan_make(&submission, &options, NULL, &plan);
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
    assert_int_equal(shoal__plan_make(&submission, &roomy, NULL, &plan), SHOAL_EINVAL);
    submission.count = COMMANDS_MAX;
    assert_int_equal(shoal__plan_make(&submission, &roomy, NULL, &plan), 0);
    assert_int_equal(plan.bytes, COMMANDS_MAX * 14);
    submission.count = COMMANDS_MAX + 1;
    assert_int_equal(shoal__plan_make(&submission, &roomy, NULL, &plan), SHOAL_EINVAL);
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
    assert_int_equal(shoal__plan_make(&submission, &roomy, NULL, &plan), SHOAL_ETOOBIG);
    argvlen[1] -= 1000;
    assert_int_equal(shoal__plan_make(&submission, &roomy, NULL, &plan), 0);
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
    assert_int_equal(shoal__plan_make(&submission, &roomy, NULL, &plan), 0);
    for (size_t i = 0; i < line.count; i++) {
        shoal__request_t request;

        shoal__plan_request(&plan, i, NOW_US, &request);
        check_request(c->commands, &request, &c->wanted[i], &line.commands[i]);
        assert_int_equal(request.has_more, i + 1 < line.count);
        assert_ptr_equal(request.on_result, on_result);
        assert_ptr_equal(request.data, &data);
        assert_int_equal(request.tag, 70 + i);
        assert_int_equal(request.ticket, 0);
        assert_int_equal(request.submitted_us, NOW_US);
        assert_int_equal(request.attempts, 0);
        assert_null(request.extra);
    }
}

/* clang-format off */
static const struct together_case {
    unsigned connections;
    uint32_t flags;
    bool has_sink, has_chunks, is_together;
} together_cases[] = {
    {1, 0, false, false, true},
    {2, 0, false, false, false},
    {8, TOGETHER, false, false, true},
    {2, 0, true, false, true},
    {2, 0, false, true, true},
    {2, SHOAL_CALL_SINK_SHARED, true, false, false},
};
/* clang-format on */

/* Commands of one call take one connection, or may take several. */
static void test_together(void **state)
{
    static const shoal_chunk_sink_t no_chunks;
    static const shoal_sink_t no_leaves;
    (void)state;

    for (size_t i = 0; i < COUNT(together_cases); i++) {
        const struct together_case *c = &together_cases[i];
        shoal_options_t options = roomy;
        shoal__plan_t plan;
        shoal__request_t request;
        line_t line;
        parse(&line, "GET a ; GET b");
        const shoal__submission_t submission = {
            .commands = line.commands,
            .count = 2,
            .call = {.flags = c->flags,
                     .sink = c->has_sink ? &no_leaves : NULL,
                     .chunks = c->has_chunks ? &no_chunks : NULL}};
        options.connections = c->connections;
        assert_int_equal(shoal__plan_make(&submission, &options, NULL, &plan), 0);
        shoal__plan_request(&plan, 0, NOW_US, &request);
        assert_int_equal(request.has_more, c->is_together);
        shoal__plan_request(&plan, 1, NOW_US, &request);
        assert_int_equal(request.has_more, false);
        shoal__free(plan.extra);
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
        assert_int_equal(shoal__plan_make(&submission, &options, NULL, &plan), 0);
        shoal__plan_request(&plan, 0, NOW_US, &request);
        if (request.deadline_us != c->deadline_us)
            fail_msg("%s: %llu", c->name, (unsigned long long)request.deadline_us);
    }
}

/* ---- for the bulk lane ---- */

/* clang-format off */
static const struct apart_case {
    const char *commands;
    size_t large_bytes; /* of the last argument of the first command; 0: as it is */
    uint32_t flags;
    bool has_lane;
    bool is_apart[LINE_COMMANDS_MAX];
} apart_cases[] = {
    {"SET k v",               0,      0,                    true,  {false}},
    {"SET k v",               0,      SHOAL_CALL_BULK,      true,  {true}},
    {"SET k v",               0,      SHOAL_CALL_BULK,      false, {false}},
    {"SET k v",               65600,  0,                    true,  {true}},
    {"SET k v",               65600,  0,                    false, {false}},
    {"SET k v",               65000,  0,                    true,  {false}},
    {"SET k v ; GET k",       65600,  0,                    true,  {true, false}},
    {"SET k v ; GET k",       0,      SHOAL_CALL_BULK,      true,  {true, true}},
    {"WAIT 1 1",              0,      SHOAL_CALL_MAY_BLOCK, true,  {true}},
    {"GET k",                 0,      SHOAL_CALL_MAY_BLOCK, true,  {false}},
    {"WAIT 1 1",              0,      SHOAL_CALL_MAY_BLOCK, false, {false}},
};
/* clang-format on */

static void test_which_requests_are_apart(void **state)
{
    static char large[65600];
    shoal_options_t options = roomy;

    (void)state;
    options.bytes_max = SIZE_MAX;
    for (size_t i = 0; i < COUNT(apart_cases); i++) {
        const struct apart_case *c = &apart_cases[i];
        line_t line;
        shoal__plan_t plan;
        const char *argv[] = {"SET", "k", large};
        const size_t argvlen[] = {3, 1, c->large_bytes};

        parse(&line, c->commands);
        if (c->large_bytes > 0)
            line.commands[0] = (shoal_command_t){3, argv, argvlen};
        const shoal__submission_t submission = {
            .commands = line.commands, .count = line.count, .call.flags = c->flags};
        options.has_bulk_lane = c->has_lane;
        assert_int_equal(shoal__plan_make(&submission, &options, NULL, &plan), 0);
        for (size_t k = 0; k < line.count; k++) {
            shoal__request_t request;
            shoal__plan_request(&plan, k, NOW_US, &request);
            if (((request.flags & SHOAL__REQUEST_APART) != 0) != c->is_apart[k])
                fail_msg("row %zu, command %zu", i, k);
        }
    }
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
    assert_int_equal(shoal__plan_make(&submission, &roomy, NULL, &plan), 0);
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
    int rc = shoal__plan_make(&submission, &roomy, NULL, &plan);
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
    assert_int_equal(shoal__plan_make(&submission, &roomy, NULL, &plan), 0);
    parse(&line, "QUIT");
    const shoal__submission_t refused = {
        .commands = line.commands, .count = 1, .call.sink = &sink};
    assert_int_equal(shoal__plan_make(&refused, &roomy, NULL, &plan), SHOAL_EREFUSED);
    assert_int_equal(shoal__alloc_count(), count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_from_1_to_65536_commands),
        cmocka_unit_test(test_a_command_has_less_than_4_gib),
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_together),
        cmocka_unit_test(test_which_requests_are_apart),
        cmocka_unit_test(test_deadlines),
        cmocka_unit_test(test_all_requests_share_one_sink),
        cmocka_unit_test(test_a_sink_needs_memory),
        cmocka_unit_test(test_nothing_else_allocates),
    };
    return cmocka_run_group_tests_name("client/plan", tests, NULL, NULL);
}
