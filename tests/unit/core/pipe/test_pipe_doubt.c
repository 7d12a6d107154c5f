/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/pipe/pipe_doubt.h"
#include "unit/core/pipe/pipe_rig.h"

/* Two pipes of one loop.  A pipe's connections to process "p" have the id that is given. */
static shoal__pipe_t other;

static int set_up(void **state)
{
    const shoal__pipe_parts_t parts = {&rig.config, &rig.target, &rig.shared};

    return rig_set_up(state) < 0 ? -1
                                 : shoal__pipe_init(&other, &parts, &rig_hooks, &rig);
}

static int tear_down(void **state)
{
    shoal__pipe_release(&other);
    return rig_tear_down(state);
}

static void be_greeted(shoal__pipe_t *pipe, int64_t id, const char *process)
{
    const char *pong = "+PONG\r\n";
    uint64_t wake_us;

    assert_int_equal(shoal__pipe_begin(pipe, SHOAL__GREETING_BARE, rig.now_us), 0);
    if (pipe->phase == SHOAL__PIPE_GREETING) {
        shoal__bytes_t out = shoal__pipe_output(pipe, rig.now_us, &wake_us);
        shoal__pipe_written(pipe, out.bytes, rig.now_us);
        assert_int_equal(shoal__pipe_feed(pipe, pong, strlen(pong), rig.now_us), 0);
    }
    pipe->greeting.identity = (shoal__identity_t){.id = id, .address = "a:1"};
    snprintf(pipe->greeting.identity.process, sizeof pipe->greeting.identity.process,
             "%s", process);
}

static void lose_with(shoal__command_class_t command_class)
{
    rig_submit('a', 0, command_class);
    rig_write_all();
    rig_lose();
}

static void test_a_loss_matters_to_other_pipes(void **state)
{
    (void)state;
    be_greeted(&rig.pipe, 1, "p");
    be_greeted(&other, 2, "p");
    assert_true(shoal__pipe_is_settled(&rig.pipe));
    assert_true(shoal__pipe_is_settled(&other));
    lose_with(RO);
    assert_true(shoal__pipe_is_settled(&other));
    be_greeted(&rig.pipe, 3, "p");
    rig_write_all();
    rig_feed("+a\r\n");
    lose_with(WRITE);
    assert_false(shoal__pipe_is_settled(&other));

    rig.pipe.greeting.former.entries[0].elsewhere = SHOAL__FORMER_ASKED;
    shoal__former_ended(&rig.pipe.greeting.former, 3, 1);
    shoal__pipe_doubt_changed(&rig.pipe);
    assert_true(shoal__pipe_is_settled(&other));
    assert_null(rig.shared.doubtful);
}

/* The commands of another process can not. */
static void test_a_loss_elsewhere_does_not(void **state)
{
    (void)state;
    be_greeted(&rig.pipe, 1, "q");
    be_greeted(&other, 2, "p");
    lose_with(WRITE);
    assert_ptr_equal(rig.shared.doubtful, &rig.pipe);
    assert_true(shoal__pipe_is_settled(&other));
    shoal__pipe_lost(&other, SHOAL_ECONN, "cut", rig.now_us);
    be_greeted(&other, 3, "q");
    assert_false(shoal__pipe_is_settled(&other));
}

static void test_a_pipe_that_is_released_is_forgotten(void **state)
{
    const shoal__pipe_parts_t parts = {&rig.config, &rig.target, &rig.shared};
    (void)state;

    be_greeted(&rig.pipe, 1, "p");
    be_greeted(&other, 0, "p"); /* nobody knows which connection this is */
    shoal__greeting_left_writes(&other.greeting);
    shoal__pipe_doubt_changed(&other);
    lose_with(WRITE);
    assert_int_equal(rig.pipe.greeting.former.count, 1);
    be_greeted(&rig.pipe, 2, "p");
    assert_false(shoal__pipe_is_settled(&rig.pipe));
    assert_ptr_equal(rig.shared.doubtful->next_doubtful, &other);
    shoal__pipe_release(&other);
    assert_null(rig.shared.doubtful->next_doubtful);
    assert_int_equal(shoal__pipe_init(&other, &parts, &rig_hooks, &rig), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_loss_matters_to_other_pipes),
        TEST(test_a_loss_elsewhere_does_not),
        TEST(test_a_pipe_that_is_released_is_forgotten),
    };
    return cmocka_run_group_tests_name("core/pipe/pipe_doubt", tests, NULL, NULL);
}
