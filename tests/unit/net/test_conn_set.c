/* SPDX-License-Identifier: MIT */
/* The set alone: its connections are played here, and do what a test says when the turn
 * looks at them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time_us.h"
#include "net/conn.h"
#include "net/conn_set.h"

#define NOW_US 1000
#define NONE SHOAL__NEVER_US

typedef struct rig rig_t;

/* A connection, and its part in the play. */
typedef struct actor {
    shoal__conn_t conn; /* first: what the set holds */
    rig_t *rig;
    uint64_t queued, inflight, bytes;     /* its share, in truth */
    void (*on_look)(struct actor *actor); /* NULL: nothing happens */
    uint64_t wake_us;                     /* what a look returns */
    unsigned looks;
} actor_t;

#define ACTORS 3

struct rig {
    shoal__account_t account;
    shoal__conn_set_t set;
    actor_t actors[ACTORS];
};

uint64_t shoal__conn_turn(shoal__conn_t *conn, uint64_t now_us)
{
    actor_t *actor = (actor_t *)(void *)conn;

    assert_int_equal(now_us, NOW_US);
    actor->looks++;
    if (actor->on_look)
        actor->on_look(actor);
    return actor->wake_us;
}

void shoal__pipe_publish(shoal__pipe_t *pipe)
{
    actor_t *actor = (actor_t *)(void *)((char *)pipe - offsetof(shoal__conn_t, pipe));

    shoal__counter_set(&pipe->stats.queued_now, actor->queued);
    shoal__counter_set(&pipe->stats.inflight_now, actor->inflight);
    shoal__counter_set(&pipe->stats.bytes_now, actor->bytes);
}

static int setup(void **state)
{
    static rig_t rig;

    *state = &rig;
    rig = (rig_t){0};
    if (shoal__conn_set_init(&rig.set, 1, &rig.account) < 0)
        return -1;
    for (size_t i = 0; i < ACTORS; i++) {
        actor_t *actor = &rig.actors[i];
        actor->rig = &rig;
        actor->wake_us = NONE;
        actor->conn.set = &rig.set;
        shoal__list_init(&actor->conn.touched);
        if (shoal__due_times_join(&rig.set.due) < 0)
            return -1;
    }
    return 0;
}

static int teardown(void **state)
{
    rig_t *rig = *state;

    for (size_t i = 0; i < ACTORS; i++) {
        shoal__due_times_set(&rig->set.due, &rig->actors[i].conn.due, NONE);
        shoal__due_times_leave(&rig->set.due);
    }
    shoal__conn_set_release(&rig->set);
    return 0;
}

static void touch(actor_t *actor)
{
    shoal__conn_touch(&actor->conn);
}

static uint64_t turn(rig_t *rig)
{
    return shoal__conn_set_turn(&rig->set, NOW_US);
}

static void check_looks(const rig_t *rig, unsigned first, unsigned second,
                        unsigned third)
{
    assert_int_equal(rig->actors[0].looks, first);
    assert_int_equal(rig->actors[1].looks, second);
    assert_int_equal(rig->actors[2].looks, third);
}

static void check_account(const rig_t *rig, uint64_t queued, uint64_t inflight,
                          uint64_t bytes)
{
    assert_int_equal(shoal__counter_get(&rig->account.queued), queued);
    assert_int_equal(shoal__counter_get(&rig->account.inflight), inflight);
    assert_int_equal(shoal__counter_get(&rig->account.bytes), bytes);
}

/* ---- which of them a turn looks at ---- */

static void test_those_touched_are_looked_at_once(void **state)
{
    rig_t *rig = *state;

    touch(&rig->actors[2]);
    touch(&rig->actors[0]);
    touch(&rig->actors[2]);
    assert_int_equal(turn(rig), NONE);
    check_looks(rig, 1, 0, 1);
    assert_int_equal(turn(rig), NONE);
    check_looks(rig, 1, 0, 1);
}

static void test_those_due_are_looked_at(void **state)
{
    rig_t *rig = *state;

    shoal__due_times_set(&rig->set.due, &rig->actors[0].conn.due, NOW_US + 1);
    shoal__due_times_set(&rig->set.due, &rig->actors[1].conn.due, NOW_US);
    shoal__due_times_set(&rig->set.due, &rig->actors[2].conn.due, NOW_US);
    touch(&rig->actors[2]); /* and due: once all the same */
    assert_int_equal(turn(rig), NOW_US + 1);
    check_looks(rig, 0, 1, 1);
}

static void test_a_look_says_when_the_next_is_due(void **state)
{
    rig_t *rig = *state;

    rig->actors[0].wake_us = NOW_US + 30;
    rig->actors[1].wake_us = NOW_US + 20;
    for (size_t i = 0; i < ACTORS; i++)
        touch(&rig->actors[i]);
    assert_int_equal(turn(rig), NOW_US + 20);
    rig->actors[1].wake_us = NONE;
    touch(&rig->actors[1]);
    assert_int_equal(turn(rig), NOW_US + 30);
    check_looks(rig, 1, 2, 1);
}

static void touch_itself(actor_t *actor)
{
    touch(actor);
}

/* What was left for it while it was looked at is in the time that the look returns. */
static void test_one_that_touches_itself_needs_no_other_turn(void **state)
{
    rig_t *rig = *state;

    rig->actors[0].on_look = touch_itself;
    rig->actors[0].wake_us = NOW_US + 7;
    touch(&rig->actors[0]);
    assert_int_equal(turn(rig), NOW_US + 7);
    assert_int_equal(turn(rig), NOW_US + 7);
    check_looks(rig, 1, 0, 0);
}

static void touch_the_first(actor_t *actor)
{
    touch(&actor->rig->actors[0]);
}

static void touch_the_last(actor_t *actor)
{
    touch(&actor->rig->actors[2]);
}

/* Of two that touch each other without end, each turn looks at each once at most. */
static void test_one_that_touches_another_asks_for_a_turn_now(void **state)
{
    rig_t *rig = *state;

    rig->actors[0].on_look = touch_the_last;
    rig->actors[2].on_look = touch_the_first;
    touch(&rig->actors[0]);
    assert_int_equal(turn(rig), NOW_US);
    check_looks(rig, 1, 0, 0);
    assert_int_equal(turn(rig), NOW_US);
    check_looks(rig, 1, 0, 1);
    rig->actors[0].on_look = NULL;
    assert_int_equal(turn(rig), NONE);
    check_looks(rig, 2, 0, 1);
}

/* The other one's look is still to come in this turn. */
static void test_one_that_is_still_to_be_looked_at_needs_no_other_turn(void **state)
{
    rig_t *rig = *state;

    rig->actors[0].on_look = touch_the_last;
    touch(&rig->actors[0]);
    touch(&rig->actors[2]);
    assert_int_equal(turn(rig), NONE);
    check_looks(rig, 1, 0, 1);
}

static void test_the_next_turn_is_now_if_one_was_touched(void **state)
{
    rig_t *rig = *state;

    assert_int_equal(shoal__conn_set_next_us(&rig->set, NOW_US), NONE);
    shoal__due_times_set(&rig->set.due, &rig->actors[1].conn.due, NOW_US + 5);
    assert_int_equal(shoal__conn_set_next_us(&rig->set, NOW_US), NOW_US + 5);
    touch(&rig->actors[0]);
    assert_int_equal(shoal__conn_set_next_us(&rig->set, NOW_US), NOW_US);
}

/* ---- the account ---- */

static void have(actor_t *actor, uint64_t queued, uint64_t inflight, uint64_t bytes)
{
    actor->queued = queued;
    actor->inflight = inflight;
    actor->bytes = bytes;
    touch(actor);
}

static void test_the_account_is_the_sum_of_the_shares(void **state)
{
    rig_t *rig = *state;

    have(&rig->actors[0], 3, 0, 300);
    have(&rig->actors[1], 1, 2, 30);
    shoal__conn_set_publish(&rig->set); /* nobody was looked at yet */
    check_account(rig, 4, 2, 330);
    turn(rig);
    shoal__conn_set_publish(&rig->set);
    check_account(rig, 4, 2, 330);
    have(&rig->actors[0], 0, 3, 300);
    have(&rig->actors[2], 9, 0, 9);
    turn(rig);
    check_account(rig, 4, 2, 330); /* until it is published */
    shoal__conn_set_publish(&rig->set);
    check_account(rig, 10, 5, 339);
    for (size_t i = 0; i < ACTORS; i++)
        have(&rig->actors[i], 0, 0, 0);
    turn(rig);
    shoal__conn_set_publish(&rig->set);
    check_account(rig, 0, 0, 0);
}

/* In the middle of a turn: the first was looked at, the second is being looked at, and
 * what it does is half done; the third is still to be looked at. */
static void publish_amid(actor_t *actor)
{
    actor->queued = 1;
    shoal__conn_set_publish(&actor->rig->set);
    check_account(actor->rig, 8 + 1 + 5, 0, 800 + 20 + 50);
    actor->queued = 0;
    actor->bytes = 0;
    shoal__conn_set_publish(&actor->rig->set);
    check_account(actor->rig, 8 + 5, 0, 800 + 50);
}

static void test_published_amid_a_turn_it_counts_those_still_to_come(void **state)
{
    rig_t *rig = *state;

    rig->actors[1].on_look = publish_amid;
    have(&rig->actors[0], 8, 0, 800);
    have(&rig->actors[1], 2, 0, 20);
    have(&rig->actors[2], 5, 0, 50);
    turn(rig);
    check_looks(rig, 1, 1, 1);
    shoal__conn_set_publish(&rig->set);
    check_account(rig, 13, 0, 850);
}

#define RIG_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(test_those_touched_are_looked_at_once),
        RIG_TEST(test_those_due_are_looked_at),
        RIG_TEST(test_a_look_says_when_the_next_is_due),
        RIG_TEST(test_one_that_touches_itself_needs_no_other_turn),
        RIG_TEST(test_one_that_touches_another_asks_for_a_turn_now),
        RIG_TEST(test_one_that_is_still_to_be_looked_at_needs_no_other_turn),
        RIG_TEST(test_the_next_turn_is_now_if_one_was_touched),
        RIG_TEST(test_the_account_is_the_sum_of_the_shares),
        RIG_TEST(test_published_amid_a_turn_it_counts_those_still_to_come),
    };
    return cmocka_run_group_tests_name("net/conn_set", tests, NULL, NULL);
}
