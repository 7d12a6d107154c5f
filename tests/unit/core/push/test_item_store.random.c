/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "core/push/item_store.h"
#include <string.h>

/*
 * Any sequence of puts, takes and closed sources, compared with a simple model: it keeps
 * what was put, in order.  Messages are numbered per source, marks have the number of the
 * last message before them.
 */

#define SOURCES 4
#define NAMES 3
#define KINDS 2 /* SUSPENDED and GAP */
#define STEPS 4000
#define SEEDS 40

typedef struct history {     /* of the marks of one kind and name */
    uint64_t numbers[STEPS]; /* each mark's own */
    uint64_t after[STEPS];   /* the messages that were put before it */
    size_t count;
    size_t passed; /* they stood in front of messages that were taken */
    uint64_t seen; /* the number of the last one that was taken */
} history_t;

typedef struct model {
    shoal__item_source_t *source;
    uint64_t sent, told; /* messages put; messages taken, or counted by DROPPED */
    uint64_t marks;      /* marks put */
    history_t histories[KINDS][NAMES];
} model_t;

typedef struct scene {
    shoal__item_store_t store;
    shoal__random_t random;
    model_t models[SOURCES];
    char payload[3000];
} scene_t;

static void put_message(scene_t *scene, model_t *model)
{
    shoal_item_t item = {.channel = {"channel", 7}, .epoch = ++model->sent};

    item.payload =
        (shoal__bytes_t){scene->payload, shoal__random_below(&scene->random, 3000)};
    shoal__item_source_put(model->source, &item);
}

static void put_mark(scene_t *scene, model_t *model)
{
    static const char names[] = "abc";
    size_t kind = shoal__random_below(&scene->random, KINDS),
           name = shoal__random_below(&scene->random, NAMES);
    const shoal_item_t item = {
        .kind = kind ? SHOAL_ITEM_GAP : SHOAL_ITEM_SUSPENDED,
        .channel = {names + name, 1},
        .epoch = ++model->marks,
        .count = model->sent, /* of a mark nobody reads it */
    };
    history_t *history;

    history = &model->histories[kind][name];
    history->numbers[history->count] = model->marks;
    history->after[history->count++] = model->sent;
    shoal__item_source_put(model->source, &item);
}

/* The last mark that was put in front of the message was taken, and none behind it. */
static void check_passed(history_t *history, uint64_t message)
{
    while (history->passed < history->count &&
           history->after[history->passed] < message)
        history->passed++;
    assert_int_equal(history->seen,
                     history->passed ? history->numbers[history->passed - 1] : 0);
}

static void check_message(model_t *model, const shoal_item_t *item)
{
    /* Every message before it was taken, or was counted. */
    assert_int_equal(item->epoch, model->told + 1);
    model->told++;
    for (size_t kind = 0; kind < KINDS; kind++)
        for (size_t name = 0; name < NAMES; name++)
            check_passed(&model->histories[kind][name], item->epoch);
}

static void check_mark(model_t *model, const shoal_item_t *item)
{
    size_t kind = item->kind == SHOAL_ITEM_GAP;
    history_t *history = &model->histories[kind][item->channel.data[0] - 'a'];

    assert_true(item->epoch > history->seen);
    history->seen = item->epoch;
    /* What is missing behind it was not counted before it. */
    assert_true(model->told <= item->count);
}

static size_t take(scene_t *scene, size_t count_max)
{
    const shoal_item_t *items[16];
    size_t count = shoal__item_store_take(&scene->store, items, count_max);

    for (size_t i = 0; i < count; i++) {
        model_t *model = items[i]->data;
        if (items[i]->kind == SHOAL_ITEM_MESSAGE)
            check_message(model, items[i]);
        else if (items[i]->kind == SHOAL_ITEM_DROPPED)
            model->told += items[i]->count;
        else
            check_mark(model, items[i]);
        assert_true(model->told <= model->sent);
    }
    return count;
}

static void open_source(scene_t *scene, model_t *model)
{
    memset(model, 0, sizeof *model);
    model->source = shoal__item_source_new(&scene->store, model);
    assert_non_null(model->source);
}

static void check_bounds(const scene_t *scene)
{
    const shoal__item_store_t *store = &scene->store;
    size_t rest = store->bytes_max > store->marks.memory_bytes
                      ? store->bytes_max - store->marks.memory_bytes
                      : 0;

    assert_true(store->log.count <= store->messages_max);
    assert_true(store->log.memory_bytes <=
                (rest > SHOAL__ITEM_BLOCK_BYTES ? rest : SHOAL__ITEM_BLOCK_BYTES));
    /* Each message has at most its source's marks in front of it, and each source some
     * behind its last one; in front, an equal one waits to be replaced. */
    assert_true(store->marks.count <=
                (store->log.count + 2 * SOURCES) * (KINDS * NAMES + 2));
}

static void play(uint64_t seed, shoal_overflow_t overflow)
{
    static scene_t scene;

    shoal__random_init(&scene.random, seed);
    shoal__item_store_init(&scene.store, 1 + shoal__random_below(&scene.random, 100),
                           (1 + shoal__random_below(&scene.random, 2)) *
                               SHOAL__ITEM_BLOCK_BYTES,
                           overflow);
    for (int i = 0; i < SOURCES; i++)
        open_source(&scene, &scene.models[i]);
    for (int i = 0; i < STEPS; i++) {
        model_t *model = &scene.models[shoal__random_below(&scene.random, SOURCES)];
        /* The consumer sleeps from time to time. */
        uint64_t choice =
            shoal__random_below(&scene.random, i % 1000 < 500 ? 100 : 160);
        if (choice < 70)
            put_message(&scene, model);
        else if (choice < 99)
            put_mark(&scene, model);
        else if (choice > 99)
            take(&scene, 1 + shoal__random_below(&scene.random, 16));
        else if (shoal__random_below(&scene.random, 10) == 0) {
            shoal__item_source_free(model->source);
            open_source(&scene, model);
        }
        check_bounds(&scene);
    }
    while (take(&scene, 16))
        continue;
    for (int i = 0; i < SOURCES; i++) {
        model_t *model = &scene.models[i];
        assert_int_equal(model->told, model->sent);
        for (size_t kind = 0; kind < KINDS; kind++)
            for (size_t name = 0; name < NAMES; name++)
                check_passed(&model->histories[kind][name], UINT64_MAX);
        shoal__item_source_free(model->source);
    }
    assert_int_equal(shoal__item_store_count(&scene.store), 0);
    shoal__item_store_release(&scene.store);
}

static void test_delivered_and_dropped_are_what_was_sent(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play(seed, SHOAL_OVERFLOW_NEWEST);
        play(seed, SHOAL_OVERFLOW_OLDEST);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delivered_and_dropped_are_what_was_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
