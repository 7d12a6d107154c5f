/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "core/push/audience.h"
#include "core/push/item.h"
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

/* ---- an audience, and a transcript of what its owner and its listeners hear ---- */

typedef struct ear {
    shoal__listener_t listener; /* first */
    char name;
} ear_t;

static shoal__audience_t audience;
static ear_t a, b;
static char heard[1024];

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
    static const char signs[] = "=+~?#!.";
    static const char *const reasons[] = {"", "lost", "moved", "probe", "node"};
    char line[100];

    assert_ptr_equal(owner, &audience);
    snprintf(line, sizeof line, "%c:%c%.*s%s%s%s ", ((ear_t *)listener)->name,
             signs[mark->kind], (int)mark->channel.bytes,
             mark->channel.data ? mark->channel.data : "",
             mark->kind == SHOAL_ITEM_GAP ? "/" : "",
             mark->kind == SHOAL_ITEM_GAP ? reasons[mark->reason] : "",
             mark->detail ? mark->detail : "");
    hear(line);
}

static void note(const char *sign, const shoal__topic_t *topic)
{
    char line[100];

    snprintf(line, sizeof line, "%s%s ", sign, topic->data);
    hear(line);
}

static void on_wanted(void *owner, shoal__topic_t *topic)
{
    assert_ptr_equal(owner, &audience);
    note("wanted:", topic);
}

static void on_unwanted(void *owner, shoal__topic_t *topic)
{
    assert_ptr_equal(owner, &audience);
    note("unwanted:", topic);
}

static const shoal__audience_hooks_t hooks = {
    .on_mark = on_mark, .on_wanted = on_wanted, .on_unwanted = on_unwanted};

static int set_up(void **state)
{
    (void)state;
    shoal__audience_init(&audience, 3, &hooks, &audience);
    shoal__listener_init(&a.listener);
    shoal__listener_init(&b.listener);
    a.name = 'a';
    b.name = 'b';
    shoal__audience_join(&audience, &a.listener);
    shoal__audience_join(&audience, &b.listener);
    heard[0] = '\0';
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    shoal__audience_leave(&audience, &a.listener);
    shoal__audience_leave(&audience, &b.listener);
    assert_int_equal(shoal__counter_get(&audience.wanted), 0);
    assert_int_equal(shoal__counter_get(&audience.confirmed), 0);
    assert_int_equal(shoal__counter_get(&a.listener.confirmed), 0);
    assert_int_equal(audience.keyspaces, 0);
    shoal__audience_release(&audience);
    shoal__listener_release(&a.listener);
    shoal__listener_release(&b.listener);
    return 0;
}

static shoal__bytes_t text(const char *name)
{
    return (shoal__bytes_t){name, strlen(name)};
}

static int add(ear_t *ear, const char *name)
{
    return shoal__audience_add(&audience, &ear->listener, SHOAL_NAME_KEYSPACE,
                               text(name));
}

static void drop(ear_t *ear, const char *name)
{
    shoal__audience_remove(&audience, &ear->listener, SHOAL_NAME_KEYSPACE, text(name));
}

static shoal__topic_t *topic(const char *name)
{
    return shoal__topics_find(&audience.topics, SHOAL_NAME_KEYSPACE, text(name));
}

#define CONFIRMED(ear) shoal__counter_get(&(ear).listener.confirmed)

/* ---- tests ---- */

static void test_subscribed_comes_once_when_it_is_whole(void **state)
{
    (void)state;
    assert_int_equal(add(&a, "x"), 0);
    assert_int_equal(add(&a, "x"), 0);
    assert_heard("wanted:x ");
    assert_int_equal(audience.keyspaces, 1);
    shoal__audience_confirm(&audience, topic("x"), SHOAL_GAP_NODE, false);
    assert_heard("");
    assert_int_equal(add(&b, "x"), 0);
    assert_heard("");
    shoal__audience_confirm(&audience, topic("x"), SHOAL_GAP_NODE, true);
    assert_heard("a:+x b:+x ");
    assert_int_equal(CONFIRMED(a), 1);
    drop(&b, "x");
    assert_int_equal(CONFIRMED(b), 0);
    assert_int_equal(add(&b, "x"), 0);
    assert_heard("b:+x ");
    assert_int_equal(shoal__counter_get(&audience.confirmed), 1);
}

static void test_who_was_told_hears_of_gaps(void **state)
{
    (void)state;
    assert_int_equal(add(&a, "x"), 0);
    shoal__audience_confirm(&audience, topic("x"), SHOAL_GAP_NONE, true);
    assert_heard("wanted:x a:+x ");
    shoal__audience_unconfirm(&audience, topic("x"), SHOAL_GAP_NODE);
    shoal__audience_unconfirm(&audience, topic("x"), SHOAL_GAP_MOVED); /* is already */
    assert_int_equal(CONFIRMED(a), 0);
    assert_int_equal(shoal__counter_get(&audience.confirmed), 0);
    assert_int_equal(add(&b, "x"), 0);
    assert_heard("");
    shoal__audience_confirm(&audience, topic("x"), SHOAL_GAP_LOST, false);
    assert_heard("a:?x/node ");
    shoal__audience_confirm(&audience, topic("x"), SHOAL_GAP_MOVED, true);
    assert_heard("a:?x/node b:+x ");
    /* Again, and nothing was unconfirmed. */
    shoal__audience_confirm(&audience, topic("x"), SHOAL_GAP_MOVED, true);
    assert_heard("a:?x/moved b:?x/moved ");
    /* It is whole without a confirmation: nothing is missing. */
    shoal__audience_confirm(&audience, topic("x"), SHOAL_GAP_NONE, true);
    assert_heard("");
    assert_int_equal(CONFIRMED(a), 1);
    assert_int_equal(shoal__counter_get(&audience.gaps), 4);
}

static void test_a_loss_suspends_who_had_a_name_there(void **state)
{
    (void)state;
    assert_int_equal(add(&a, "x"), 0);
    assert_int_equal(add(&a, "y"), 0);
    assert_int_equal(add(&b, "z"), 0);
    shoal__audience_confirm(&audience, topic("x"), SHOAL_GAP_NONE, true);
    shoal__audience_confirm(&audience, topic("y"), SHOAL_GAP_NONE, true);
    assert_heard("wanted:x wanted:y wanted:z a:+x a:+y ");
    shoal__audience_lose(&audience, topic("x"), SHOAL_GAP_LOST);
    shoal__audience_lose(&audience, topic("y"), SHOAL_GAP_LOST);
    shoal__audience_lose(&audience, topic("z"), SHOAL_GAP_LOST); /* not confirmed */
    shoal__audience_suspend(&audience, SHOAL_GAP_LOST, "why");
    shoal__audience_suspend(&audience, SHOAL_GAP_LOST, "again");
    assert_heard("a:~why ");
    shoal__audience_confirm(&audience, topic("x"), SHOAL_GAP_MOVED, true);
    assert_heard("a:?x/lost ");
}

static void test_a_refusal_reaches_all(void **state)
{
    (void)state;
    assert_int_equal(add(&a, "x"), 0);
    assert_int_equal(add(&b, "x"), 0);
    shoal__audience_confirm(&audience, topic("x"), SHOAL_GAP_NONE, true);
    assert_heard("wanted:x a:+x b:+x ");
    shoal__audience_reject(&audience, topic("x"), "no");
    assert_heard("b:!xno a:!xno unwanted:x ");
    assert_null(topic("x"));
    assert_int_equal(shoal__counter_get(&audience.rejected), 2);
    assert_int_equal(shoal__counter_get(&a.listener.rejected), 1);
}

static void test_names_are_given_up(void **state)
{
    (void)state;
    assert_int_equal(add(&a, "x"), 0);
    assert_int_equal(add(&b, "x"), 0);
    drop(&a, "y");
    drop(&a, "x");
    drop(&a, "x");
    assert_heard("wanted:x ");
    drop(&b, "x");
    assert_heard("unwanted:x ");
    assert_int_equal(
        shoal__audience_add(&audience, &a.listener, SHOAL_NAME_SHARD, text("s")), 0);
    assert_int_equal(audience.keyspaces, 0);
}

static void test_without_memory(void **state)
{
    static const size_t after[] = {0, 1,
                                   1}; /* the table, the topic, its listener's list */
    (void)state;

    for (size_t i = 0; i < 3; i++) {
        shoal__test_fail_alloc_after(after[i]);
        assert_int_equal(add(&a, "x"), SHOAL_ENOMEM);
        assert_int_equal(audience.topics.count, 0);
    }
    shoal__test_fail_alloc_never();
    assert_heard("");
    assert_int_equal(add(&a, "x"), 0);
    shoal__test_fail_alloc_after(0);
    assert_int_equal(add(&b, "x"), SHOAL_ENOMEM); /* its list; others listen */
    shoal__test_fail_alloc_never();
    assert_int_equal(audience.topics.count, 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_subscribed_comes_once_when_it_is_whole),
        CASE(test_who_was_told_hears_of_gaps),
        CASE(test_a_loss_suspends_who_had_a_name_there),
        CASE(test_a_refusal_reaches_all),
        CASE(test_names_are_given_up),
        CASE(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
