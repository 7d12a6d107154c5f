/* SPDX-License-Identifier: MIT */
/* Channels of shards at a high rate, while their slots move, and while an owner is killed and
 * its replica takes its place: the numbers of a channel ascend by 1, or a GAP stands between;
 * none comes twice; only names that moved, or were at the killed node, get one. */
#include "resp/key_slot.h"
#include "support/cluster_rig.h"
#include "support/live.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHANNELS 256u
#define NUMBERS_MAX (1u << 17) /* of a channel */
#define MOVES 2u               /* of a round */

typedef struct track {
    char name[8];
    unsigned owner, moves;
    _Atomic uint32_t sent;      /* the last number; the next one waits for its reply */
    _Atomic uint32_t heard;     /* the last one */
    _Atomic uint32_t gaps;      /* marks */
    bool has_hole;              /* a mark allows that numbers are skipped */
    uint64_t heard_us;          /* when the last one came */
    _Atomic uint64_t silent_us; /* the longest time between two */
    /* Bits of the numbers whose replies do not say whether they were published. */
    _Atomic uint8_t unclear[NUMBERS_MAX / 8];
} track_t;

static cluster_rig_t *rig;
static shoal_client_t *client;
static shoal_pubsub_t *pubsub;
static shoal_subscription_t *subscription;
static track_t *tracks;
static _Atomic bool is_over, has_failed;
static _Atomic unsigned under_way, suspensions;
static char failure[200];

/* ---- the publisher: each channel has one message under way ---- */

static void publish(track_t *track);

static void on_reply(shoal_client_t *from, const shoal_result_t *result, void *data)
{
    track_t *track = data;
    uint32_t number = track->sent;
    (void)from;

    if (shoal_result_status(result) < 0 || shoal_result_error(result))
        track->unclear[number / 8] |= (uint8_t)(1u << number % 8);
    if (is_over || number + 1 == NUMBERS_MAX)
        under_way--;
    else
        publish(track);
}

static void publish(track_t *track)
{
    char text[16];
    const char *argv[] = {"SPUBLISH", track->name, text};

    snprintf(text, sizeof text, "%u", ++track->sent);
    assert_int_equal(shoal_client_submit(client, 3, argv, NULL, on_reply, track, NULL),
                     0);
}

/* ---- the receiver ---- */

/* A number is sent when all before it are known: whether they are unclear does not change. */
static bool is_unclear(const track_t *track, uint32_t number)
{
    return track->unclear[number / 8] >> number % 8 & 1;
}

static void on_message(track_t *track, uint32_t number)
{
    uint64_t now_us = waiting_now_us();
    uint32_t due = track->heard + 1;

    while (due < number && (track->has_hole || is_unclear(track, due)))
        due++;
    if (due != number && !has_failed) {
        snprintf(failure, sizeof failure, "%s: %u instead of %u", track->name, number,
                 due);
        has_failed = true;
    }
    if (track->heard_us && now_us - track->heard_us > track->silent_us)
        track->silent_us = now_us - track->heard_us;
    track->heard_us = now_us;
    track->has_hole = false;
    track->heard = number;
}

static void on_item(const shoal_item_t *item, void *data)
{
    size_t bytes;
    const char *payload = shoal_item_payload(item, &bytes);
    const char *channel = shoal_item_channel(item, NULL);
    char number[16] = "";
    (void)data;

    if (shoal_item_kind(item) == SHOAL_ITEM_MESSAGE) {
        memcpy(number, payload, bytes < sizeof number ? bytes : sizeof number - 1);
        on_message(&tracks[atoi(channel + 1)], (uint32_t)strtoul(number, NULL, 10));
    } else if (shoal_item_kind(item) == SHOAL_ITEM_GAP) {
        tracks[atoi(channel + 1)].gaps++;
        tracks[atoi(channel + 1)].has_hole = true;
    }
    suspensions += shoal_item_kind(item) == SHOAL_ITEM_SUSPENDED;
}

/* ---- a run ---- */

static void begin(void)
{
    shoal_receiver_t receiver = SHOAL_RECEIVER_INIT;
    shoal_name_t names[CHANNELS];
    shoal_options_t *options;

    rig = cluster_rig_start_patient();
    if (!rig)
        skip();
    options = cluster_rig_options(rig, 1);
    assert_int_equal(shoal_pubsub_open(options, &pubsub, NULL), 0);
    client = live_open(options);
    tracks = calloc(CHANNELS, sizeof *tracks);
    assert_non_null(tracks);
    for (unsigned i = 0; i < CHANNELS; i++) {
        snprintf(tracks[i].name, sizeof tracks[i].name, "c%u", i);
        names[i] =
            (shoal_name_t){SHOAL_NAME_SHARD, tracks[i].name, strlen(tracks[i].name)};
        tracks[i].owner = (unsigned)cluster_rig_first_owner(
            shoal__key_slot((shoal__bytes_t){names[i].data, names[i].bytes}));
    }
    receiver.on_item = on_item;
    assert_int_equal(
        shoal_pubsub_subscribe(pubsub, names, CHANNELS, &receiver, &subscription), 0);
    assert_int_equal(shoal_subscription_wait(subscription, WAITING_US_MAX), 0);
    under_way = CHANNELS;
    for (unsigned i = 0; i < CHANNELS; i++)
        publish(&tracks[i]);
}

/* A message came of each channel that was published after now; or a channel has sent all. */
static bool all_heard(const uint32_t *since)
{
    for (unsigned i = 0; i < CHANNELS && !has_failed; i++)
        if (tracks[i].heard <= since[i] && tracks[i].sent + 1 < NUMBERS_MAX)
            return false;
    return true;
}

static uint64_t await_delivery(void)
{
    uint64_t since_us = waiting_now_us();
    uint32_t since[CHANNELS];

    for (unsigned i = 0; i < CHANNELS; i++)
        since[i] = tracks[i].sent;
    WAIT_FOR(all_heard(since));
    return waiting_now_us() - since_us;
}

static uint64_t sent(void)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < CHANNELS; i++)
        sum += tracks[i].sent;
    return sum;
}

static void report(const char *what, uint64_t before, uint64_t since_us)
{
    uint64_t us = waiting_now_us() - since_us, longest_us = 0;

    for (unsigned i = 0; i < CHANNELS; i++) {
        if (tracks[i].silent_us > longest_us)
            longest_us = tracks[i].silent_us;
        tracks[i].silent_us = 0;
    }
    print_message("%s: %zu messages, %zu/s; a channel was silent for %zu us at most\n",
                  what, (size_t)(sent() - before),
                  (size_t)((sent() - before) * 1000000 / us), (size_t)longest_us);
}

static void move_slots(size_t rounds)
{
    uint64_t before = sent(), since_us = waiting_now_us();

    for (size_t move = 0; move < rounds * MOVES; move++) {
        track_t *track = &tracks[move % CHANNELS];
        unsigned slot =
            shoal__key_slot((shoal__bytes_t){track->name, strlen(track->name)});
        unsigned to = (track->owner + 1) % CLUSTER_PRIMARIES;
        cluster_rig_move(rig, slot, track->owner, to);
        track->owner = to;
        track->moves++;
    }
    await_delivery();
    report("moves", before, since_us);
    for (unsigned i = 0; i < CHANNELS; i++)
        assert_int_equal(tracks[i].gaps, tracks[i].moves);
    assert_int_equal(suspensions, 0);
}

static void kill_owner(void)
{
    uint64_t before = sent(), since_us = waiting_now_us(), back_us;

    redis_process_kill(rig->nodes[0].server);
    WAIT_FOR(suspensions > 0);
    cluster_rig_failover(rig, CLUSTER_PRIMARIES, " TAKEOVER");
    back_us = await_delivery();
    report("an owner is killed", before, since_us);
    print_message("all channels were back %zu us after its heir took over\n",
                  (size_t)back_us);
    for (unsigned i = 0; i < CHANNELS; i++)
        assert_int_equal(tracks[i].gaps, tracks[i].moves + (tracks[i].owner == 0));
    assert_int_equal(suspensions, 1);
}

static void channels_of_shards_at_a_high_rate(void **state)
{
    (void)state;
    begin();
    await_delivery();
    move_slots(live_scaled(1));
    kill_owner();
    await_delivery();
    is_over = true;
    WAIT_FOR(under_way == 0);
    if (has_failed)
        fail_msg("%s", failure);
    assert_int_equal(shoal_pubsub_close_and_wait(pubsub), 0);
    shoal_subscription_close(subscription);
    shoal_pubsub_release(pubsub);
    live_finish(client);
    cluster_rig_stop(rig);
    free(tracks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_of_shards_at_a_high_rate),
    };

    return cmocka_run_group_tests_name("cluster_pubsub_load", tests, NULL, NULL);
}
