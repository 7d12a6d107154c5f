/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "core/push/topics.h"
#include <stdio.h>

#define NAMES 3000

static shoal__bytes_t name_of(unsigned i)
{
    static char text[16];

    snprintf(text, sizeof text, "name-%u", i);
    return (shoal__bytes_t){text, strlen(text)};
}

static void test_kinds(void **state)
{
    (void)state;
    static const struct {
        shoal_name_kind_t kind, expected;
        const char *name;
    } rows[] = {
        {SHOAL_NAME_CHANNEL, SHOAL_NAME_CHANNEL, "a*"},
        {SHOAL_NAME_PATTERN, SHOAL_NAME_PATTERN, "a"},
        {SHOAL_NAME_SHARD, SHOAL_NAME_SHARD, "a"},
        {SHOAL_NAME_KEYSPACE, SHOAL_NAME_CHANNEL, "__keyspace@0__:k"},
        {SHOAL_NAME_KEYSPACE, SHOAL_NAME_CHANNEL, ""},
        {SHOAL_NAME_KEYSPACE, SHOAL_NAME_PATTERN, "__keyspace@0__:*"},
        {SHOAL_NAME_KEYSPACE, SHOAL_NAME_PATTERN, "__keyspace@0__:k?"},
        {SHOAL_NAME_KEYSPACE, SHOAL_NAME_PATTERN, "__keyspace@0__:[ab]"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(
            shoal__topic_kind(rows[i].kind,
                              (shoal__bytes_t){rows[i].name, strlen(rows[i].name)}),
            rows[i].expected);
}

/* Against a plain array, with names that are taken out in any order. */
static void test_many_names(void **state)
{
    static bool is_there[NAMES];
    shoal__topics_t topics;
    unsigned count = 0, random = 1;

    (void)state;
    shoal__topics_init(&topics, 7);
    assert_null(shoal__topics_find(&topics, SHOAL_NAME_CHANNEL, name_of(1)));
    for (unsigned step = 0; step < 20 * NAMES; step++) {
        random = random * 1103515245 + 12345;
        unsigned i = (random >> 8) % NAMES;
        bool adds =
            step % 9000 < 5000 ? (random >> 5) % 4 != 0 : (random >> 5) % 4 == 0;
        shoal__topic_t *topic =
            shoal__topics_find(&topics, SHOAL_NAME_CHANNEL, name_of(i));
        assert_int_equal(topic != NULL, is_there[i]);
        if (adds) {
            shoal__topic_t *added =
                shoal__topics_add(&topics, SHOAL_NAME_CHANNEL, name_of(i));
            assert_non_null(added);
            assert_true(!topic || topic == added);
            assert_string_equal(added->data, name_of(i).data);
            count += !is_there[i];
            is_there[i] = true;
        } else if (topic) {
            shoal__topics_drop(&topics, topic);
            is_there[i] = false;
            count--;
        }
        assert_int_equal(topics.count, count);
        assert_true(topics.slots_count <= 16 || topics.slots_count <= 16 * (count + 1));
    }
    for (unsigned i = 0; i < NAMES; i++)
        assert_int_equal(shoal__topics_find(&topics, SHOAL_NAME_CHANNEL, name_of(i)) !=
                             NULL,
                         is_there[i]);
    shoal__topics_release(&topics);
}

static void test_kinds_are_apart(void **state)
{
    shoal__topics_t topics;
    shoal__topic_t *channel, *pattern, *empty;

    (void)state;
    shoal__topics_init(&topics, 0);
    channel = shoal__topics_add(&topics, SHOAL_NAME_CHANNEL, name_of(1));
    pattern = shoal__topics_add(&topics, SHOAL_NAME_PATTERN, name_of(1));
    empty = shoal__topics_add(&topics, SHOAL_NAME_SHARD, (shoal__bytes_t){"", 0});
    assert_ptr_not_equal(channel, pattern);
    assert_ptr_equal(shoal__topics_find(&topics, SHOAL_NAME_PATTERN, name_of(1)),
                     pattern);
    assert_ptr_equal(
        shoal__topics_find(&topics, SHOAL_NAME_SHARD, (shoal__bytes_t){"", 0}), empty);
    assert_null(
        shoal__topics_find(&topics, SHOAL_NAME_SHARD, (shoal__bytes_t){NULL, 0}));
    assert_int_equal(pattern->kind, SHOAL_NAME_PATTERN);
    shoal__topics_release(&topics);
}

static void test_listeners_come_and_go(void **state)
{
    shoal__listener_t listeners[5];
    shoal__topic_t *topic[20];
    shoal__topics_t topics;

    (void)state;
    shoal__topics_init(&topics, 0);
    for (unsigned l = 0; l < 5; l++)
        shoal__listener_init(&listeners[l]);
    for (unsigned t = 0; t < 20; t++) {
        topic[t] = shoal__topics_add(&topics, SHOAL_NAME_CHANNEL, name_of(t));
        for (unsigned l = 0; l < 5; l++)
            assert_non_null(shoal__topic_listen(topic[t], &listeners[l]));
    }
    /* Out of the middle, until nobody listens. */
    for (unsigned round = 0; round < 100; round++) {
        unsigned t = round * 7 % 20, l = (round / 20 + t) % 5;
        shoal__ear_t *ear = shoal__topic_ear(topic[t], &listeners[l]);
        assert_non_null(ear);
        shoal__topic_leave(topic[t], ear);
        assert_null(shoal__topic_ear(topic[t], &listeners[l]));
        for (unsigned other = 0; other < 5; other++)
            for (uint64_t at = 0; at < shoal__counter_get(&listeners[other].count);
                 at++) {
                ear = shoal__topic_ear(listeners[other].topics[at], &listeners[other]);
                assert_non_null(ear);
                assert_int_equal(ear->at, at);
            }
    }
    for (unsigned l = 0; l < 5; l++) {
        assert_int_equal(shoal__counter_get(&listeners[l].count), 0);
        shoal__listener_release(&listeners[l]);
    }
    shoal__topics_release(&topics);
}

/* ---- memory ---- */

static void test_without_memory_nothing_changes(void **state)
{
    shoal__listener_t listener, second;
    shoal__topics_t topics;
    shoal__topic_t *topic;

    (void)state;
    shoal__topics_init(&topics, 0);
    shoal__listener_init(&listener);
    shoal__listener_init(&second);
    shoal__test_fail_alloc_after(0); /* the table */
    assert_null(shoal__topics_add(&topics, SHOAL_NAME_CHANNEL, name_of(0)));
    shoal__test_fail_alloc_after(1); /* the topic */
    assert_null(shoal__topics_add(&topics, SHOAL_NAME_CHANNEL, name_of(0)));
    shoal__test_fail_alloc_never();
    assert_non_null(shoal__topics_add(&topics, SHOAL_NAME_CHANNEL, name_of(0)));
    for (unsigned i = 1; i < 12; i++)
        assert_non_null(shoal__topics_add(&topics, SHOAL_NAME_CHANNEL, name_of(i)));
    shoal__test_fail_alloc_after(0); /* a larger table */
    assert_null(shoal__topics_add(&topics, SHOAL_NAME_CHANNEL, name_of(12)));
    assert_int_equal(topics.count, 12);
    topic = shoal__topics_find(&topics, SHOAL_NAME_CHANNEL, name_of(3));
    assert_null(shoal__topic_listen(topic, &listener)); /* its list of topics */
    shoal__test_fail_alloc_after(1);
    assert_non_null(shoal__topic_listen(topic, &listener));
    shoal__test_fail_alloc_after(1); /* more ears than one */
    assert_null(shoal__topic_listen(topic, &second));
    shoal__test_fail_alloc_after(2);
    assert_non_null(shoal__topic_listen(topic, &second));
    shoal__topic_leave(topic, shoal__topic_ear(topic, &second));
    shoal__topic_leave(topic, shoal__topic_ear(topic, &listener));
    shoal__listener_release(&listener);
    shoal__listener_release(&second);
    shoal__topics_release(&topics);
    shoal__test_fail_alloc_never();
}

static void test_memory_of_many_topics(void **state)
{
    enum { MANY = 25000 }; /* just behind a growth: the worst case */
    shoal__listener_t listener;
    shoal__topics_t topics;
    size_t bytes = 0;

    (void)state;
    shoal__topics_init(&topics, 0);
    shoal__listener_init(&listener);
    for (unsigned i = 0; i < MANY; i++) {
        shoal__topic_t *topic =
            shoal__topics_add(&topics, SHOAL_NAME_CHANNEL, name_of(i));
        assert_non_null(shoal__topic_listen(topic, &listener));
        bytes += sizeof *topic + 16; /* what malloc() takes for itself */
    }
    bytes += topics.slots_count * sizeof(void *) + listener.room * sizeof(void *);
    assert_true(bytes / MANY <= 150);
    for (unsigned i = 0; i < MANY; i++) {
        shoal__topic_t *topic =
            shoal__topics_find(&topics, SHOAL_NAME_CHANNEL, name_of(i));
        shoal__topic_leave(topic, shoal__topic_ear(topic, &listener));
        shoal__topics_drop(&topics, topic);
    }
    assert_int_equal(topics.slots_count, 16);
    shoal__listener_release(&listener);
    shoal__topics_release(&topics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_many_names),
        cmocka_unit_test(test_kinds_are_apart),
        cmocka_unit_test(test_listeners_come_and_go),
        cmocka_unit_test(test_without_memory_nothing_changes),
        cmocka_unit_test(test_memory_of_many_topics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
