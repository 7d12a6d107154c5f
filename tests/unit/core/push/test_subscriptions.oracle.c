/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/random.h"
#include "base/time_us.h"
#include "core/push/subscriptions.h"
#include <shoal/errors.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * Random histories of listeners, a registry and a model server that knows nothing of it: the
 * server executes requests in order, answers later, drops names by itself, forbids some, and
 * loses the connection at any step.
 *
 * An oracle for each pair of listener and name checks the marks:
 *   - SUBSCRIBED once, before anything else; then GAP at each new confirmation, and only
 *     then;
 *   - SUSPENDED once for each loss, if the listener had a name that was confirmed, and no other
 *     mark between a loss and the next connection;
 *   - while the oracle holds a name for confirmed, the server sends it.
 * In the end what is wanted, what is confirmed and what the server has are the same, and each
 * forbidden name was refused to all who wanted it.
 */

#define LISTENERS 4
#define NAMES 24
#define FORBIDDEN(n) ((n) % 11 == 5)
#define WIRE_MAX 4096 /* answers under way */
#define ASKED_MAX 64  /* requests that the server has not executed */

/* What the oracle knows of a name and a listener. */
typedef struct pair {
    bool is_wanted;
    bool was_told; /* SUBSCRIBED came */
    bool is_live;  /* the last mark said that messages come */
} pair_t;

typedef struct answer {
    enum { CONFIRMED, DROPPED, ERROR, PONG } kind;
    unsigned name;
    uint64_t number, nonce;
    const char *error;
} answer_t;

/* A request, as it stands on the wire. */
typedef struct asked {
    uint64_t number, nonce;
    bool is_subscribe;
    unsigned count;
    unsigned char names[SHOAL__REQUEST_NAMES_MAX];
} asked_t;

typedef struct world {
    shoal__random_t random;
    shoal__subscriptions_t registry;
    shoal__listener_t listeners[LISTENERS];
    pair_t pairs[LISTENERS][NAMES];
    bool has_live[LISTENERS], was_suspended[LISTENERS];
    bool is_losing;
    bool has[NAMES]; /* the server sends it */
    bool is_down;    /* there is no connection */
    asked_t asked[ASKED_MAX];
    size_t asked_count;
    answer_t wire[WIRE_MAX];
    size_t wire_first, wire_count;
    uint64_t now_us;
    unsigned long marks[8];
} world_t;

static unsigned roll(world_t *world, unsigned bound)
{
    return (unsigned)shoal__random_below(&world->random, bound);
}

static shoal__bytes_t name_of(unsigned n)
{
    static char text[NAMES][8];

    snprintf(text[n], sizeof text[n], "n%u", n);
    return (shoal__bytes_t){text[n], strlen(text[n])};
}

static unsigned number_of(shoal__bytes_t name)
{
    return (unsigned)strtoul(name.data + 1, NULL, 10);
}

/* ---- the oracle ---- */

static void on_mark(void *owner, shoal__listener_t *listener, shoal_item_t *mark)
{
    world_t *world = owner;
    size_t l = (size_t)(listener - world->listeners);
    pair_t *pair;

    world->marks[mark->kind]++;
    if (mark->kind == SHOAL_ITEM_SUSPENDED) {
        assert_true(world->is_losing);
        assert_true(world->has_live[l]);
        assert_false(world->was_suspended[l]);
        world->was_suspended[l] = true;
        return;
    }
    assert_false(world->is_losing);
    pair = &world->pairs[l][number_of(mark->channel)];
    assert_true(pair->is_wanted);
    switch (mark->kind) {
    case SHOAL_ITEM_SUBSCRIBED:
        assert_false(pair->was_told);
        pair->was_told = pair->is_live = true;
        break;
    case SHOAL_ITEM_GAP:
        assert_true(pair->was_told);
        assert_false(pair->is_live);
        assert_int_not_equal(mark->reason, SHOAL_GAP_NONE);
        pair->is_live = true;
        break;
    case SHOAL_ITEM_REJECTED:
        assert_true(FORBIDDEN(number_of(mark->channel)));
        assert_string_equal(mark->detail, "NOPERM");
        *pair = (pair_t){false, false, false};
        break;
    case SHOAL_ITEM_MESSAGE:
    case SHOAL_ITEM_SUSPENDED:
    case SHOAL_ITEM_DROPPED:
    case SHOAL_ITEM_ENDED:
        fail();
    }
}

/* A name that the oracle holds for confirmed, and no listener else is to hear of, is sent, unless
 * the server has said since that it is not, which is under way. */
static void check_live(world_t *world)
{
    for (unsigned n = 0; n < NAMES; n++) {
        bool is_live = false, is_leaving = false;
        for (size_t l = 0; l < LISTENERS; l++)
            is_live = is_live || world->pairs[l][n].is_live;
        for (size_t i = 0; i < world->wire_count; i++) {
            const answer_t *answer = &world->wire[(world->wire_first + i) % WIRE_MAX];
            is_leaving = is_leaving || (answer->kind == DROPPED && answer->name == n);
        }
        assert_true(!is_live || world->has[n] || is_leaving);
    }
}

/* ---- the server ---- */

static void say(world_t *world, answer_t answer)
{
    assert_true(world->wire_count < WIRE_MAX);
    world->wire[(world->wire_first + world->wire_count++) % WIRE_MAX] = answer;
}

/* Execute the oldest request. */
static void serve(world_t *world)
{
    asked_t *asked = &world->asked[0];
    bool is_forbidden = false, is_busy = roll(world, 40) == 0;

    if (world->asked_count == 0)
        return;
    for (unsigned i = 0; i < asked->count; i++)
        is_forbidden = is_forbidden || FORBIDDEN(asked->names[i]);
    if (asked->is_subscribe && (is_forbidden || is_busy)) {
        say(world, (answer_t){.kind = ERROR,
                              .number = asked->number,
                              .error = is_busy ? "LOADING x" : "NOPERM"});
    } else {
        for (unsigned i = 0; i < asked->count; i++) {
            world->has[asked->names[i]] = asked->is_subscribe;
            say(world, (answer_t){.kind = asked->is_subscribe ? CONFIRMED : DROPPED,
                                  .name = asked->names[i]});
        }
    }
    say(world,
        (answer_t){.kind = PONG, .number = asked->number, .nonce = asked->nonce});
    world->asked_count--;
    memmove(asked, asked + 1, world->asked_count * sizeof *asked);
}

/* It gives a name up by itself. */
static void drop_unasked(world_t *world, unsigned n)
{
    if (!world->has[n])
        return;
    world->has[n] = false;
    say(world, (answer_t){.kind = DROPPED, .name = n});
}

/* ---- the wire ---- */

static void hear(world_t *world)
{
    answer_t answer = world->wire[world->wire_first];
    shoal__push_t push = {.name_kind = SHOAL_NAME_CHANNEL,
                          .name = name_of(answer.name)};

    if (world->wire_count == 0)
        return;
    world->wire_first = (world->wire_first + 1) % WIRE_MAX;
    world->wire_count--;
    switch (answer.kind) {
    case CONFIRMED:
        push.kind = SHOAL__PUSH_CONFIRMED;
        shoal__subscriptions_hear(&world->registry, &push);
        break;
    case DROPPED:
        /* Whoever was told of the name may hear a GAP later. */
        for (size_t l = 0; l < LISTENERS; l++)
            world->pairs[l][answer.name].is_live = false;
        push.kind = SHOAL__PUSH_DROPPED;
        shoal__subscriptions_hear(&world->registry, &push);
        break;
    case ERROR:
        shoal__subscriptions_refused(
            &world->registry, answer.number,
            (shoal__bytes_t){answer.error, strlen(answer.error)}, world->now_us);
        break;
    case PONG:
        assert_true(
            shoal__subscriptions_fenced(&world->registry, answer.number, answer.nonce));
        break;
    }
}

static void ask_server(world_t *world)
{
    const shoal__asking_t *asking = shoal__subscriptions_next(
        &world->registry, shoal__random_next(&world->random), world->now_us);
    asked_t *asked = &world->asked[world->asked_count];

    if (!asking)
        return;
    assert_true(world->asked_count < SHOAL__REQUESTS_MAX);
    world->asked_count++;
    *asked = (asked_t){.number = asking->number,
                       .nonce = asking->nonce,
                       .is_subscribe = asking->is_subscribe,
                       .count = asking->count};
    assert_true(asking->count > 0);
    for (uint32_t i = 0; i < asking->count; i++)
        asked->names[i] =
            (unsigned char)number_of(shoal__topic_name(asking->topics[i]));
}

static void lose(world_t *world)
{
    for (size_t l = 0; l < LISTENERS; l++) {
        world->was_suspended[l] = world->has_live[l] = false;
        for (unsigned n = 0; n < NAMES; n++) {
            world->has_live[l] = world->has_live[l] || world->pairs[l][n].is_live;
            world->pairs[l][n].is_live = false;
        }
    }
    world->is_losing = true;
    shoal__subscriptions_lost(&world->registry, "cut");
    world->is_losing = false;
    for (size_t l = 0; l < LISTENERS; l++)
        assert_int_equal(world->was_suspended[l], world->has_live[l]);
    memset(world->has, 0, sizeof world->has);
    world->asked_count = world->wire_count = 0;
    world->is_down = true;
}

/* ---- the listeners ---- */

static void change(world_t *world, size_t l, unsigned n)
{
    pair_t *pair = &world->pairs[l][n];

    if (roll(world, 2)) {
        pair->is_wanted = true;
        assert_int_equal(shoal__subscriptions_add(&world->registry,
                                                  &world->listeners[l],
                                                  SHOAL_NAME_CHANNEL, name_of(n)),
                         0);
    } else {
        *pair = (pair_t){false, false, false};
        shoal__subscriptions_remove(&world->registry, &world->listeners[l],
                                    SHOAL_NAME_CHANNEL, name_of(n));
    }
}

static void step(world_t *world)
{
    unsigned what = roll(world, 100);

    world->now_us += 1000;
    if (what < 20)
        change(world, roll(world, LISTENERS), roll(world, NAMES));
    else if (what < 21)
        lose(world);
    else if (what < 25 && world->is_down) {
        world->is_down = false;
        shoal__subscriptions_begin(&world->registry);
    } else if (what < 26 && !world->is_down)
        drop_unasked(world, roll(world, NAMES));
    else if (what < 45)
        ask_server(world);
    else if (what < 60)
        serve(world);
    else
        hear(world);
    check_live(world);
}

/* Nothing more is changed or lost: all comes to rest, in few steps. */
static void settle(world_t *world)
{
    if (world->is_down)
        shoal__subscriptions_begin(&world->registry);
    world->is_down = false;
    for (unsigned i = 0; i < 4000; i++) {
        world->now_us += 10000;
        ask_server(world);
        serve(world);
        hear(world);
    }
    assert_int_equal(world->wire_count, 0);
    assert_int_equal(world->asked_count, 0);
    assert_int_equal(world->registry.count, 0);
}

static void check_rest(world_t *world)
{
    unsigned wanted = 0;

    for (unsigned n = 0; n < NAMES; n++) {
        const shoal__topic_t *topic =
            shoal__topics_find(&world->registry.topics, SHOAL_NAME_CHANNEL, name_of(n));
        bool is_wanted = false;
        for (size_t l = 0; l < LISTENERS; l++) {
            assert_int_equal(world->pairs[l][n].is_live, world->pairs[l][n].is_wanted);
            is_wanted = is_wanted || world->pairs[l][n].is_wanted;
        }
        assert_true(!is_wanted || !FORBIDDEN(n));
        assert_int_equal(world->has[n], is_wanted);
        assert_int_equal(topic != NULL, is_wanted);
        wanted += is_wanted;
    }
    assert_int_equal(shoal__counter_get(&world->registry.wanted), wanted);
    assert_int_equal(shoal__counter_get(&world->registry.confirmed), wanted);
    for (size_t l = 0; l < LISTENERS; l++)
        assert_int_equal(shoal__counter_get(&world->listeners[l].confirmed),
                         shoal__counter_get(&world->listeners[l].count));
}

static unsigned long marks_seen[8];

static void run(uint64_t seed, unsigned steps)
{
    static world_t world;

    memset(&world, 0, sizeof world);
    shoal__random_init(&world.random, seed);
    shoal__subscriptions_init(&world.registry, seed, on_mark, &world);
    world.is_down = true;
    for (size_t l = 0; l < LISTENERS; l++) {
        shoal__listener_init(&world.listeners[l]);
        shoal__subscriptions_join(&world.registry, &world.listeners[l]);
    }
    for (unsigned i = 0; i < steps; i++)
        step(&world);
    settle(&world);
    check_rest(&world);
    for (size_t l = 0; l < LISTENERS; l++) {
        memset(world.pairs[l], 0, sizeof world.pairs[l]);
        shoal__subscriptions_leave(&world.registry, &world.listeners[l]);
        assert_int_equal(shoal__counter_get(&world.listeners[l].confirmed), 0);
    }
    settle(&world);
    assert_int_equal(world.registry.topics.count, 0);
    for (size_t l = 0; l < LISTENERS; l++)
        shoal__listener_release(&world.listeners[l]);
    shoal__subscriptions_release(&world.registry);
    for (size_t i = 0; i < 8; i++)
        marks_seen[i] += world.marks[i];
}

static void test_random_histories(void **state)
{
    const char *scale = getenv("SHOAL_TEST_SCALE");
    unsigned seeds = (unsigned)(300 * (scale ? strtod(scale, NULL) : 1)) + 1;

    (void)state;
    for (unsigned seed = 1; seed <= seeds; seed++)
        run(seed, 1 + seed * 7 % 900);
    /* They were worth it. */
    assert_true(marks_seen[SHOAL_ITEM_SUBSCRIBED] > 1000);
    assert_true(marks_seen[SHOAL_ITEM_GAP] > 1000);
    assert_true(marks_seen[SHOAL_ITEM_SUSPENDED] > 300);
    assert_true(marks_seen[SHOAL_ITEM_REJECTED] > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_histories),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
