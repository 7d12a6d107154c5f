/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/time_us.h"
#include "core/push/subscriptions.h"
#include <shoal/errors.h>
#include <stdio.h>

/* ---- a registry, and a transcript of the marks that its listeners get ---- */

typedef struct ear {
    shoal__listener_t listener; /* first */
    char name;
} ear_t;

static shoal__subscriptions_t registry;
static ear_t a, b;
static uint64_t now_us;
static char heard[4096];

static void hear(const char *text)
{
    size_t bytes = strlen(heard);

    assert_true(bytes + strlen(text) < sizeof heard);
    snprintf(heard + bytes, sizeof heard - bytes, "%s", text);
}

#define assert_heard(text)                                                             \
    do {                                                                               \
        assert_string_equal(heard, text);                                              \
        heard[0] = '\0';                                                               \
    } while (0)

static void on_mark(void *owner, shoal__listener_t *listener, shoal_item_t *mark)
{
    static const char *const kinds[] = {"message", "subscribed", "suspended", "gap",
                                        "dropped", "rejected",   "ended"};
    static const char *const reasons[] = {"", "/lost", "/moved"};
    char line[200];

    assert_ptr_equal(owner, &registry);
    snprintf(line, sizeof line, "%c:%s%s%s%.*s%s%s ", ((ear_t *)listener)->name,
             kinds[mark->kind],
             mark->kind == SHOAL_ITEM_GAP ? reasons[mark->reason] : "",
             mark->channel.data ? "=" : "", (int)mark->channel.bytes,
             mark->channel.data ? mark->channel.data : "", mark->detail ? "!" : "",
             mark->detail ? mark->detail : "");
    hear(line);
}

static int set_up(void **state)
{
    (void)state;
    shoal__subscriptions_init(&registry, 3, on_mark, &registry);
    shoal__listener_init(&a.listener);
    shoal__listener_init(&b.listener);
    a.name = 'a';
    b.name = 'b';
    shoal__subscriptions_join(&registry, &a.listener);
    shoal__subscriptions_join(&registry, &b.listener);
    now_us = 1000;
    heard[0] = '\0';
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    shoal__subscriptions_leave(&registry, &a.listener);
    shoal__subscriptions_leave(&registry, &b.listener);
    shoal__subscriptions_lost(&registry, "the end");
    shoal__subscriptions_release(&registry);
    shoal__listener_release(&a.listener);
    shoal__listener_release(&b.listener);
    return 0;
}

static shoal__bytes_t text(const char *name)
{
    return (shoal__bytes_t){name, strlen(name)};
}

static void add(ear_t *ear, const char *name)
{
    assert_int_equal(shoal__subscriptions_add(&registry, &ear->listener,
                                              SHOAL_NAME_CHANNEL, text(name)),
                     0);
}

static void drop(ear_t *ear, const char *name)
{
    shoal__subscriptions_remove(&registry, &ear->listener, SHOAL_NAME_CHANNEL,
                                text(name));
}

/* What is to be sent: its words in the transcript.  NULL: nothing. */
static const shoal__asking_t *next(void)
{
    static uint64_t nonce = 100;
    const shoal__asking_t *asking =
        shoal__subscriptions_next(&registry, ++nonce, now_us);

    if (!asking)
        return NULL;
    hear(asking->is_subscribe ? "+" : "-");
    for (uint32_t i = 0; i < asking->count; i++) {
        hear(i ? "," : "");
        hear(asking->topics[i]->data);
    }
    hear(" ");
    return asking;
}

static void server_says(shoal__push_kind_t kind, const char *name)
{
    const shoal__push_t push = {
        .kind = kind, .name_kind = SHOAL_NAME_CHANNEL, .name = text(name)};

    shoal__subscriptions_hear(&registry, &push);
}

static void confirms(const char *name)
{
    server_says(SHOAL__PUSH_CONFIRMED, name);
}

static bool fences(const shoal__asking_t *asking)
{
    return shoal__subscriptions_fenced(&registry, asking->number, asking->nonce);
}

/* Answer the request as a server does that knows no objection. */
static void answer(const shoal__asking_t *asking)
{
    for (uint32_t i = 0; i < asking->count; i++)
        server_says(asking->is_subscribe ? SHOAL__PUSH_CONFIRMED : SHOAL__PUSH_DROPPED,
                    asking->topics[i]->data);
    assert_true(fences(asking));
}

static void refuse(const shoal__asking_t *asking, const char *error)
{
    uint64_t number = asking->number, nonce = asking->nonce;

    shoal__subscriptions_refused(&registry, number, text(error), now_us);
    assert_true(shoal__subscriptions_fenced(&registry, number, nonce));
}

#define WANTED shoal__counter_get(&registry.wanted)
#define CONFIRMED shoal__counter_get(&registry.confirmed)

/* ---- what is asked, and when ---- */

static void test_only_the_difference_is_asked(void **state)
{
    (void)state;
    add(&a, "x");
    add(&a, "x");
    assert_null(next()); /* there is no connection */
    assert_int_equal(shoal__subscriptions_wake_us(&registry, now_us), SHOAL__NEVER_US);
    shoal__subscriptions_begin(&registry);
    add(&a, "y");
    add(&b, "z");
    drop(&b, "z"); /* in one turn: nothing is sent */
    drop(&b, "never");
    assert_int_equal(shoal__subscriptions_wake_us(&registry, now_us), now_us);
    answer(next());
    assert_heard("+x,y a:subscribed=x a:subscribed=y ");
    assert_null(next());
    assert_int_equal(shoal__subscriptions_wake_us(&registry, now_us), SHOAL__NEVER_US);
    assert_int_equal(registry.topics.count, 2);
    assert_int_equal(WANTED, 2);
    assert_int_equal(CONFIRMED, 2);
}

static void test_another_listener_of_a_confirmed_name_hears_at_once(void **state)
{
    (void)state;
    shoal__subscriptions_begin(&registry);
    add(&a, "x");
    answer(next());
    assert_heard("+x a:subscribed=x ");
    add(&b, "x");
    assert_heard("b:subscribed=x ");
    drop(&a, "x");
    assert_null(next());
    drop(&b, "x");
    assert_int_equal(CONFIRMED, 0);
    add(&b, "x"); /* it was not given up yet */
    assert_heard("b:subscribed=x ");
    assert_int_equal(CONFIRMED, 1);
    assert_null(next());
    drop(&b, "x");
    answer(next());
    assert_heard("-x ");
    assert_int_equal(registry.topics.count, 0);
}

static void test_a_name_that_is_wanted_again_is_asked_again(void **state)
{
    const shoal__asking_t *first, *second;

    (void)state;
    shoal__subscriptions_begin(&registry);
    add(&a, "x");
    answer(next());
    drop(&a, "x");
    first = next();
    add(&a, "x");
    second = next();
    assert_heard("+x a:subscribed=x -x +x ");
    answer(first);
    assert_heard(""); /* its own acknowledgement counts */
    assert_int_equal(CONFIRMED, 0);
    answer(second);
    assert_heard("a:subscribed=x ");
    /* An acknowledgement that is too late for what is wanted now. */
    drop(&a, "x");
    add(&b, "y");
    first = next();
    second = next();
    drop(&b, "y");
    answer(first);
    server_says(SHOAL__PUSH_CONFIRMED, "y");
    assert_true(fences(second));
    answer(next());
    assert_heard("-x +y -y ");
    assert_int_equal(registry.topics.count, 0);
}

static void test_kinds_have_requests_of_their_own(void **state)
{
    static const shoal_name_kind_t kinds[] = {SHOAL_NAME_SHARD, SHOAL_NAME_PATTERN,
                                              SHOAL_NAME_KEYSPACE};

    (void)state;
    shoal__subscriptions_begin(&registry);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(
            shoal__subscriptions_add(&registry, &a.listener, kinds[i], text("x")), 0);
    const shoal__asking_t *channel = next(), *pattern = next(), *shard = next();
    assert_null(next());
    assert_int_equal(channel->kind, SHOAL_NAME_CHANNEL);
    assert_int_equal(pattern->kind, SHOAL_NAME_PATTERN);
    assert_int_equal(shard->kind, SHOAL_NAME_SHARD);
    shoal__subscriptions_remove(&registry, &a.listener, SHOAL_NAME_SHARD, text("x"));
    const shoal__asking_t *gone = next();
    assert_int_equal(gone->kind, SHOAL_NAME_SHARD);
    assert_false(gone->is_subscribe);
}

static void test_requests_are_bounded(void **state)
{
    enum { NAMES = 5000 };
    const shoal__asking_t *askings[8];
    char name[64];
    unsigned asked = 0;

    (void)state;
    shoal__subscriptions_begin(&registry);
    for (unsigned i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "n%u", i);
        add(&a, name);
    }
    for (unsigned i = 0; i < 8; i++) {
        askings[i] = shoal__subscriptions_next(&registry, i, now_us);
        assert_non_null(askings[i]);
        assert_int_equal(askings[i]->count, 512);
    }
    assert_null(shoal__subscriptions_next(&registry, 0, now_us));
    assert_int_equal(shoal__subscriptions_wake_us(&registry, now_us), SHOAL__NEVER_US);
    for (unsigned i = 0; i < 8; i++) {
        heard[0] = '\0';
        for (uint32_t n = 0; n < askings[i]->count; n++) {
            heard[0] = '\0';
            confirms(askings[i]->topics[n]->data);
        }
        asked += askings[i]->count;
        assert_true(fences(askings[i]));
    }
    const shoal__asking_t *last = shoal__subscriptions_next(&registry, 0, now_us);
    assert_int_equal(last->count, 512);
    last = shoal__subscriptions_next(&registry, 0, now_us);
    assert_int_equal(asked + 512 + last->count, NAMES);
    heard[0] = '\0';
}

static void add_shard(const char *name)
{
    assert_int_equal(
        shoal__subscriptions_add(&registry, &a.listener, SHOAL_NAME_SHARD, text(name)),
        0);
}

static void test_in_a_cluster_slots_have_requests_of_their_own(void **state)
{
    (void)state;
    registry.goes_by_slot = true;
    shoal__subscriptions_begin(&registry);
    add_shard("{a}1");
    add_shard("{a}2");
    add_shard("{b}1");
    add_shard("{a}3");
    add(&a, "x"); /* other kinds may share one */
    add(&a, "y");
    assert_non_null(next());
    assert_non_null(next());
    assert_non_null(next());
    assert_non_null(next());
    assert_heard("+x,y +{a}1,{a}2 +{b}1 +{a}3 ");
    assert_int_equal(shoal__subscriptions_head(&registry)->count, 2);
}

static void test_long_names_share_no_request(void **state)
{
    static char name[40000 + 1];

    (void)state;
    shoal__subscriptions_begin(&registry);
    for (char c = 'p'; c < 's'; c++) {
        memset(name, c, sizeof name - 1);
        add(&a, name);
        const shoal__topic_t *topic =
            shoal__topics_find(&registry.topics, SHOAL_NAME_CHANNEL, text(name));
        assert_non_null(topic);
    }
    for (unsigned i = 0; i < 3; i++) {
        const shoal__asking_t *asking = shoal__subscriptions_next(&registry, i, now_us);
        assert_int_equal(asking->count, 1);
    }
}

/* ---- losses ---- */

static void test_a_loss_is_told_once_and_a_gap_stands_behind_each_name(void **state)
{
    (void)state;
    shoal__subscriptions_lost(&registry, "there was none");
    shoal__subscriptions_begin(&registry);
    add(&a, "x");
    add(&a, "y");
    add(&b, "y");
    answer(next());
    heard[0] = '\0';
    add(&b, "late");
    drop(&a, "x");
    next(); /* neither is acknowledged */
    next();
    heard[0] = '\0';
    shoal__subscriptions_lost(&registry, "cut");
    assert_heard("a:suspended!cut b:suspended!cut ");
    shoal__subscriptions_lost(&registry, "cut again");
    assert_heard("");
    assert_int_equal(CONFIRMED, 0);
    assert_int_equal(WANTED, 2);
    assert_int_equal(registry.topics.count, 2);
    add(&a, "new");
    shoal__subscriptions_begin(&registry);
    const shoal__asking_t *asking = next();
    heard[0] = '\0';
    confirms("y");
    assert_heard("a:gap/lost=y b:gap/lost=y ");
    confirms("late");
    assert_heard("b:subscribed=late ");
    /* The next loss, in the middle of that. */
    (void)asking;
    shoal__subscriptions_lost(&registry, "cut");
    assert_heard("a:suspended!cut b:suspended!cut ");
    shoal__subscriptions_begin(&registry);
    next();
    heard[0] = '\0';
    confirms("new");
    assert_heard("a:subscribed=new ");
    confirms("late");
    assert_heard("b:gap/lost=late ");
    confirms("late"); /* twice */
    assert_heard("");
    confirms("y");
    assert_heard("a:gap/lost=y b:gap/lost=y ");
    assert_int_equal(shoal__counter_get(&registry.gaps), 5);
    assert_int_equal(shoal__counter_get(&a.listener.confirmed), 2);
}

static void test_who_has_nothing_confirmed_is_not_suspended(void **state)
{
    (void)state;
    shoal__subscriptions_begin(&registry);
    add(&a, "x");
    add(&b, "y");
    next();
    confirms("x");
    heard[0] = '\0';
    shoal__subscriptions_lost(&registry, "cut");
    assert_heard("a:suspended!cut ");
}

/* ---- what the server refuses ---- */

static bool names_one(const shoal__asking_t *asking, const char *name)
{
    for (uint32_t i = 0; i < asking->count; i++)
        if (strcmp(asking->topics[i]->data, name) == 0)
            return true;
    return false;
}

/* The server has an objection to one name, and cannot answer the third request for now.  How many
 * requests it took until nothing is to be asked. */
static unsigned ask_all(const char *forbidden)
{
    const shoal__asking_t *asking;
    unsigned requests = 0;

    while ((asking = shoal__subscriptions_next(&registry, 1, now_us))) {
        heard[0] = '\0';
        if (++requests == 3)
            refuse(asking, "LOADING later");
        else if (names_one(asking, forbidden))
            refuse(asking, "NOPERM no");
        else {
            for (uint32_t i = 0; i < asking->count; i++) {
                heard[0] = '\0';
                confirms(asking->topics[i]->data);
            }
            assert_true(fences(asking));
        }
        now_us += 1000000;
    }
    return requests;
}

/* At each place among so many names, or at each that is so far from the one before. */
static void check_a_forbidden_name(unsigned count, unsigned step, unsigned requests_max)
{
    char name[16];

    for (unsigned forbidden = 0; forbidden < count; forbidden += step) {
        uint64_t rejected = shoal__counter_get(&a.listener.rejected);
        shoal__subscriptions_begin(&registry);
        for (unsigned i = 0; i < count; i++) {
            snprintf(name, sizeof name, "n%u", i);
            add(&a, name);
        }
        snprintf(name, sizeof name, "n%u", forbidden);
        assert_in_range(ask_all(name), 1, requests_max);
        assert_int_equal(shoal__counter_get(&a.listener.rejected), rejected + 1);
        assert_int_equal(shoal__counter_get(&a.listener.confirmed), count - 1);
        assert_int_equal(shoal__counter_get(&a.listener.count), count - 1);
        assert_null(
            shoal__topics_find(&registry.topics, SHOAL_NAME_CHANNEL, text(name)));
        for (unsigned i = 0; i < count; i++) {
            snprintf(name, sizeof name, "n%u", i);
            drop(&a, name);
        }
        shoal__subscriptions_lost(&registry, "");
        heard[0] = '\0';
    }
}

static void test_of_many_names_the_forbidden_is_rejected(void **state)
{
    (void)state;
    check_a_forbidden_name(1, 1, 1);
    check_a_forbidden_name(2, 1, 4);
    check_a_forbidden_name(511, 51, 2 * 9 + 2);
    check_a_forbidden_name(512, 73, 2 * 9 + 2);
    check_a_forbidden_name(513, 1, 2 * 9 + 3);
}

static void test_all_listeners_of_a_forbidden_name_hear_of_it(void **state)
{
    (void)state;
    shoal__subscriptions_begin(&registry);
    add(&a, "x");
    add(&b, "x");
    refuse(next(), "NOPERM no");
    assert_heard("+x b:rejected=x!NOPERM no a:rejected=x!NOPERM no ");
    assert_int_equal(WANTED, 0);
    assert_int_equal(registry.topics.count, 0);
    assert_null(next());
}

static void test_what_the_server_cannot_do_now_is_asked_again(void **state)
{
    static const char *const errors[] = {"LOADING x",   "MOVED 1 h:1",   "ASK 1 h:1",
                                         "TRYAGAIN x",  "CLUSTERDOWN x", "BUSY x",
                                         "MASTERDOWN x"};

    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        shoal__subscriptions_begin(&registry);
        add(&a, "x");
        for (unsigned times = 0; times <= SHOAL__ASKED_AGAIN_MAX; times++) {
            uint64_t wake_us = shoal__subscriptions_wake_us(&registry, now_us);
            assert_true(times == 0 || wake_us >= now_us + 50000);
            if (times > 0)
                assert_null(next());
            now_us = wake_us;
            const shoal__asking_t *asking = next();
            assert_non_null(asking);
            heard[0] = '\0';
            refuse(asking, errors[i]);
        }
        assert_int_equal(strncmp(heard, "a:rejected=x!", 13), 0);
        heard[0] = '\0';
        assert_null(next());
        shoal__subscriptions_lost(&registry, "");
    }
    /* A name that is confirmed in between begins anew. */
    shoal__subscriptions_begin(&registry);
    add(&a, "x");
    refuse(next(), "LOADING x");
    now_us += 1000000;
    answer(next());
    assert_heard("+x +x a:subscribed=x ");
}

static void test_a_name_cannot_be_given_up_that_is_not_there(void **state)
{
    (void)state;
    shoal__subscriptions_begin(&registry);
    add(&a, "x");
    answer(next());
    drop(&a, "x");
    refuse(next(), "ERR whatever");
    assert_heard("+x a:subscribed=x -x ");
    assert_int_equal(registry.topics.count, 0);
}

static void test_names_that_the_server_drops_are_asked_again(void **state)
{
    (void)state;
    shoal__subscriptions_begin(&registry);
    add(&a, "x");
    server_says(SHOAL__PUSH_DROPPED, "x"); /* before it was asked */
    server_says(SHOAL__PUSH_DROPPED, "foreign");
    const shoal__asking_t *asking = next();
    server_says(SHOAL__PUSH_DROPPED, "x"); /* before it was acknowledged */
    answer(asking);
    assert_heard("+x a:subscribed=x ");
    server_says(SHOAL__PUSH_DROPPED, "x");
    assert_int_equal(CONFIRMED, 0);
    assert_int_equal(shoal__counter_get(&a.listener.confirmed), 0);
    answer(next());
    assert_heard("+x a:gap/lost=x ");
    /* Of a shard: its slot moved. */
    assert_int_equal(
        shoal__subscriptions_add(&registry, &b.listener, SHOAL_NAME_SHARD, text("s")),
        0);
    for (unsigned i = 0; i < 2; i++) {
        asking = next();
        const shoal__push_t push = {
            SHOAL__PUSH_CONFIRMED, SHOAL_NAME_SHARD, text("s"), {NULL, 0}, {NULL, 0}};
        shoal__subscriptions_hear(&registry, &push);
        assert_true(fences(asking));
        const shoal__push_t gone = {
            SHOAL__PUSH_DROPPED, SHOAL_NAME_SHARD, text("s"), {NULL, 0}, {NULL, 0}};
        shoal__subscriptions_hear(&registry, &gone);
    }
    assert_heard("+s b:subscribed=s +s b:gap/moved=s ");
}

/* Where the server's own and the answer to ours look alike (valkey#1066). */
static void test_a_name_is_dropped_while_we_give_it_up(void **state)
{
    (void)state;
    shoal__subscriptions_begin(&registry);
    add(&a, "x");
    answer(next());
    drop(&a, "x");
    const shoal__asking_t *asking = next();
    server_says(SHOAL__PUSH_DROPPED, "x"); /* unasked */
    server_says(SHOAL__PUSH_DROPPED, "x");
    assert_true(fences(asking));
    assert_int_equal(registry.topics.count, 0);
    assert_heard("+x a:subscribed=x -x ");
}

/* ---- out of step ---- */

static void test_a_server_out_of_step_is_found(void **state)
{
    (void)state;
    shoal__subscriptions_begin(&registry);
    add(&a, "x");
    add(&a, "y");
    const shoal__asking_t *asking = next();
    confirms("x");
    assert_false(fences(asking)); /* y has no answer */
    confirms("y");
    assert_false(
        shoal__subscriptions_fenced(&registry, asking->number + 1, asking->nonce));
    assert_false(
        shoal__subscriptions_fenced(&registry, asking->number, asking->nonce + 1));
    assert_true(fences(asking));
    assert_false(shoal__subscriptions_fenced(&registry, 1, 1));
    shoal__subscriptions_refused(&registry, 1, text("ERR late"), now_us);
    heard[0] = '\0';
}

/* A server that loads its data: it takes names, and refuses PING. */
static void test_an_error_that_may_pass_is_as_good_as_a_nonce(void **state)
{
    const shoal__asking_t *asking;

    (void)state;
    assert_false(shoal__subscriptions_is_answered(&registry));
    assert_false(shoal__subscriptions_turned_away(&registry, 1, text("LOADING x")));
    shoal__subscriptions_begin(&registry);
    add(&a, "x");
    add(&a, "y");
    asking = next();
    confirms("x");
    assert_false(shoal__subscriptions_is_answered(&registry));
    assert_false(
        shoal__subscriptions_turned_away(&registry, asking->number, text("LOADING x")));
    confirms("y");
    assert_true(shoal__subscriptions_is_answered(&registry));
    assert_false(
        shoal__subscriptions_turned_away(&registry, asking->number, text("NOPERM x")));
    assert_true(
        shoal__subscriptions_turned_away(&registry, asking->number, text("LOADING x")));
    assert_null(shoal__subscriptions_head(&registry));
    heard[0] = '\0';
    /* Of a name that is given up meanwhile the answer is not known. */
    add(&a, "z");
    asking = next();
    confirms("z");
    drop(&a, "z");
    next();
    assert_false(shoal__subscriptions_is_answered(&registry));
    assert_true(
        shoal__subscriptions_turned_away(&registry, asking->number, text("LOADING x")));
    assert_heard("+z a:subscribed=z -z ");
    server_says(SHOAL__PUSH_DROPPED, "z");
    assert_true(shoal__subscriptions_is_answered(&registry));
}

/* A slot that leaves drops its names unasked, and refuses the request then. */
static void test_of_shards_that_are_given_up_the_answer_is_not_known(void **state)
{
    shoal__push_t push = {
        SHOAL__PUSH_CONFIRMED, SHOAL_NAME_SHARD, text("s"), {NULL, 0}, {NULL, 0}};
    const shoal__asking_t *asking;

    (void)state;
    shoal__subscriptions_begin(&registry);
    assert_int_equal(
        shoal__subscriptions_add(&registry, &a.listener, push.name_kind, push.name), 0);
    asking = next();
    shoal__subscriptions_hear(&registry, &push);
    assert_true(shoal__subscriptions_is_answered(&registry));
    assert_true(fences(asking));
    shoal__subscriptions_remove(&registry, &a.listener, push.name_kind, push.name);
    asking = next();
    push.kind = SHOAL__PUSH_DROPPED;
    shoal__subscriptions_hear(&registry, &push);
    assert_false(shoal__subscriptions_is_answered(&registry));
    refuse(asking, "MOVED 1 h:1");
    assert_heard("+s a:subscribed=s -s ");
}

/* ---- memory ---- */

static void test_without_memory(void **state)
{
    (void)state;
    shoal__subscriptions_begin(&registry);
    for (size_t i = 0; i < 3; i++) { /* the table, the topic, the listener's list */
        shoal__test_fail_alloc_after(i > 0);
        assert_int_equal(shoal__subscriptions_add(&registry, &a.listener,
                                                  SHOAL_NAME_CHANNEL, text("x")),
                         SHOAL_ENOMEM);
        assert_int_equal(registry.topics.count, 0);
    }
    shoal__test_fail_alloc_never();
    add(&a, "x");
    shoal__test_fail_alloc_after(0);
    assert_null(next());
    shoal__test_fail_alloc_never();
    assert_null(next());
    now_us = shoal__subscriptions_wake_us(&registry, now_us);
    answer(next());
    assert_heard("+x a:subscribed=x ");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_only_the_difference_is_asked),
        CASE(test_another_listener_of_a_confirmed_name_hears_at_once),
        CASE(test_a_name_that_is_wanted_again_is_asked_again),
        CASE(test_kinds_have_requests_of_their_own),
        CASE(test_requests_are_bounded),
        CASE(test_in_a_cluster_slots_have_requests_of_their_own),
        CASE(test_long_names_share_no_request),
        CASE(test_a_loss_is_told_once_and_a_gap_stands_behind_each_name),
        CASE(test_who_has_nothing_confirmed_is_not_suspended),
        CASE(test_of_many_names_the_forbidden_is_rejected),
        CASE(test_all_listeners_of_a_forbidden_name_hear_of_it),
        CASE(test_what_the_server_cannot_do_now_is_asked_again),
        CASE(test_a_name_cannot_be_given_up_that_is_not_there),
        CASE(test_names_that_the_server_drops_are_asked_again),
        CASE(test_a_name_is_dropped_while_we_give_it_up),
        CASE(test_a_server_out_of_step_is_found),
        CASE(test_an_error_that_may_pass_is_as_good_as_a_nonce),
        CASE(test_of_shards_that_are_given_up_the_answer_is_not_known),
        CASE(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
