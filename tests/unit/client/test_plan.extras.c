/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/sized.h"
#include "unit/client/plan_rig.h"
#include <stdlib.h>

#define ALL_FLAGS 0xfff

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
        cmocka_unit_test(test_which_extras_are_read),
        cmocka_unit_test(test_no_extras_are_the_defaults),
    };
    return cmocka_run_group_tests_name("client/plan.extras", tests, NULL, NULL);
}
