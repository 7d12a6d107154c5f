/* SPDX-License-Identifier: MIT */
#include "route/subscriber/relay.h"

#include "base/time_us.h"
#include "route/errand.h"
#include <shoal/errors.h>
#include <string.h>

#define RELAY_US_MAX 2000000
#define BOTH 2 /* connections */

enum { PRESENT = 1, SUCCESSOR = 2 };

static shoal__bytes_t channel_of(const shoal__relay_t *relay)
{
    return (shoal__bytes_t){relay->channel, SHOAL__RELAY_CHANNEL_BYTES};
}

static bool is_ours(const shoal__relay_t *relay, const shoal__push_t *push)
{
    return push->name_kind == SHOAL_NAME_CHANNEL && push->name.data &&
           shoal__bytes_equal(push->name, channel_of(relay));
}

/* Patterns match the channel, too. */
static bool is_private(const shoal__relay_t *relay, const shoal__push_t *push)
{
    return is_ours(relay, push) ||
           (push->kind == SHOAL__PUSH_MESSAGE &&
            shoal__bytes_equal(push->channel, channel_of(relay)));
}

/* Nobody else could know it before it is published. */
static bool is_marker(const shoal__relay_t *relay, const shoal__push_t *push)
{
    return push->kind == SHOAL__PUSH_MESSAGE && is_ours(relay, push) &&
           shoal__bytes_equal(push->payload,
                              (shoal__bytes_t){relay->marker, SHOAL__HEX_DIGITS});
}

/* ---- the copy ---- */

/* The registry's hook: it is told of what receivers know already. */
static void on_mark(void *owner, shoal__listener_t *listener, shoal_item_t *mark)
{
    shoal__relay_t *relay = owner;

    (void)listener;
    if (mark->kind == SHOAL_ITEM_REJECTED)
        relay->facts.is_thwarted = true;
}

/* False: no memory. */
static bool fill_copy(shoal__relay_t *relay)
{
    const shoal__topics_t *topics = &relay->subscriptions->topics;

    for (uint32_t i = 0; i < topics->slots_count; i++) {
        const shoal__topic_t *topic = topics->slots[i];
        if (topic && topic->is_asked &&
            shoal__subscriptions_add(&relay->copy, &relay->all,
                                     (shoal_name_kind_t)topic->kind,
                                     shoal__topic_name(topic)) < 0)
            return false;
    }
    return true;
}

static void make_copy(shoal__relay_t *relay)
{
    shoal__conn_t *conn = relay->conn;

    shoal__subscriptions_init(&relay->copy, shoal__random_next(&conn->set->random),
                              on_mark, relay);
    relay->copy.goes_by_slot = relay->subscriptions->goes_by_slot;
    shoal__listener_init(&relay->all);
    shoal__subscriptions_join(&relay->copy, &relay->all);
    shoal__subscriptions_begin(&relay->copy);
    relay->asker = (shoal__asker_t){
        .conn = conn, .pipe = conn->greeter, .subscriptions = &relay->copy};
    if (!fill_copy(relay))
        relay->facts.is_thwarted = true;
}

static void drop_copy(shoal__relay_t *relay)
{
    if (relay->stage != SHOAL__RELAY_COPYING)
        return;
    shoal__subscriptions_leave(&relay->copy, &relay->all);
    shoal__listener_release(&relay->all);
    shoal__subscriptions_release(&relay->copy);
}

static bool is_copied(const shoal__relay_t *relay)
{
    return relay->copy.count == 0 && shoal__counter_get(&relay->copy.confirmed) ==
                                         shoal__counter_get(&relay->copy.wanted);
}

/* ---- what the server is asked ---- */

static void say(shoal__relay_t *relay, shoal__pipe_t *pipe, const char *const *argv,
                shoal_result_cb on_answer, uint64_t now_us)
{
    size_t count = 0;

    while (argv[count])
        count++;
    const shoal_command_t command = {.argc = count, .argv = argv};
    const shoal__errand_t errand = {
        .on_answer = on_answer,
        .data = relay,
        .tag = relay->number,
        .shape = strstr(argv[0], "SUBSCRIBE") ? SHOAL__SHAPE_PUSHES : SHOAL__SHAPE_ANY};

    if (!shoal__errand_send_over(relay->conn, pipe, &command, &errand, now_us))
        relay->facts.is_thwarted = true;
}
#define SAY(relay, pipe, on_answer, now_us, ...)                                       \
    say(relay, pipe, (const char *const[]){__VA_ARGS__, NULL}, on_answer, now_us)

/* Is the answer one for the present relay? */
static bool is_present(const shoal__relay_t *relay, const shoal_result_t *result)
{
    return result->status == 0 && result->tag == relay->number;
}

static void on_published(shoal_client_t *client, const shoal_result_t *result,
                         void *data)
{
    shoal__relay_t *relay = data;

    (void)client;
    if (is_present(relay, result) &&
        shoal_reply_type(result->reply) == SHOAL_REPLY_ERROR)
        relay->facts.is_thwarted = true;
}

static void on_count(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    shoal__relay_t *relay = data;
    const shoal_reply_t *count;

    (void)client;
    if (!is_present(relay, result) || relay->stage != SHOAL__RELAY_COUNTING)
        return;
    count =
        shoal_reply_count(result->reply) == 2 ? shoal_reply_at(result->reply, 1) : NULL;
    relay->facts.is_done = true;
    relay->facts.is_alone = shoal_reply_type(count) != SHOAL_REPLY_INTEGER ||
                            shoal_reply_integer(count) != BOTH;
}

static void on_parted(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    shoal__relay_t *relay = data;

    (void)client;
    if (is_present(relay, result) && relay->stage == SHOAL__RELAY_PARTING)
        relay->facts.is_done = true;
}

/* The PING behind SUBSCRIBE is answered; perhaps in PARTING, if the successor has gone. */
static void joined(shoal__relay_t *relay, const shoal_result_t *result, uint8_t who)
{
    if (!is_present(relay, result))
        return;
    relay->answered |= who;
    if (relay->stage == SHOAL__RELAY_JOINING && !(relay->joined & who))
        relay->facts.is_thwarted = true;
}

static void on_present(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    (void)client;
    joined(data, result, PRESENT);
}

static void on_successor(shoal_client_t *client, const shoal_result_t *result,
                         void *data)
{
    (void)client;
    joined(data, result, SUCCESSOR);
}

static void join(shoal__relay_t *relay, shoal__pipe_t *pipe, shoal_result_cb on_joined,
                 uint64_t now_us)
{
    SAY(relay, pipe, NULL, now_us, "SUBSCRIBE", relay->channel);
    SAY(relay, pipe, on_joined, now_us, "PING");
}

/* ---- stages ---- */

static void enter(shoal__relay_t *relay, shoal__relay_stage_t stage, uint64_t now_us)
{
    shoal__conn_t *conn = relay->conn;
    shoal__pipe_t *pipe = &conn->pipe;

    drop_copy(relay);
    relay->stage = stage;
    relay->facts = (shoal__relay_facts_t){.is_done = false};
    switch (stage) {
    case SHOAL__RELAY_JOINING:
        join(relay, pipe, on_present, now_us);
        join(relay, conn->greeter, on_successor, now_us);
        break;
    case SHOAL__RELAY_COUNTING:
        SAY(relay, pipe, on_count, now_us, "PUBSUB", "NUMSUB", relay->channel);
        break;
    case SHOAL__RELAY_COPYING:
        make_copy(relay);
        break;
    case SHOAL__RELAY_MARKING:
        shoal__line_pause(shoal__successor_line(conn), true);
        SAY(relay, pipe, on_published, now_us, "PUBLISH", relay->channel,
            relay->marker);
        break;
    case SHOAL__RELAY_TAKING:
        shoal__successor_take(conn, now_us);
        break;
    case SHOAL__RELAY_SKIPPING:
        shoal__line_pause(conn->line, false);
        break;
    case SHOAL__RELAY_PARTING:
        relay->has_parted = false;
        SAY(relay, pipe, NULL, now_us, "UNSUBSCRIBE", relay->channel);
        SAY(relay, pipe, on_parted, now_us, "PING");
        break;
    case SHOAL__RELAY_NONE:
    case SHOAL__RELAY_WAITING:
    case SHOAL__RELAY_STAGE_COUNT:
        break;
    }
}

static void write_words(shoal__relay_t *relay)
{
    shoal__random_t *random = &relay->conn->set->random;

    memcpy(relay->channel, SHOAL__RELAY_PREFIX, sizeof SHOAL__RELAY_PREFIX - 1);
    shoal__write_hex(shoal__random_next(random),
                     relay->channel + sizeof SHOAL__RELAY_PREFIX - 1);
    shoal__write_hex(shoal__random_next(random), relay->marker);
}

/* RESP2 knows no PUBLISH while it subscribes.  A server that is no primary any more may not
 * answer, and another one takes its place: nobody waits for it. */
bool shoal__relay_begin(shoal__relay_t *relay, uint64_t now_us)
{
    const shoal__conn_t *conn = relay->conn;

    if (relay->stage != SHOAL__RELAY_NONE || relay->is_barred ||
        conn->pipe.renewal.is_deposed || !conn->pipe.is_resp3 ||
        !conn->greeter->is_resp3 ||
        shoal__counter_get(&relay->subscriptions->confirmed) == 0)
        return false;
    relay->number++;
    relay->joined = relay->answered = 0;
    relay->end_us = now_us + RELAY_US_MAX;
    write_words(relay);
    enter(relay, SHOAL__RELAY_WAITING, now_us);
    return true;
}

/* Answers may still come; they are those of a former relay. */
void shoal__relay_end(shoal__relay_t *relay)
{
    shoal__line_t *line = relay->conn->line;

    drop_copy(relay);
    if (line->is_paused) /* it has taken over, and is no successor any more */
        shoal__line_pause(line, false);
    relay->stage = SHOAL__RELAY_NONE;
    relay->number++;
}

void shoal__relay_gone(shoal__relay_t *relay)
{
    if (!shoal__relay_holds(relay->stage) || relay->stage == SHOAL__RELAY_SKIPPING)
        return; /* in SKIPPING it was that of another renewal */
    if (relay->stage == SHOAL__RELAY_COPYING) {
        drop_copy(relay); /* its requests have gone */
        relay->stage = SHOAL__RELAY_COUNTING;
    }
    relay->facts.is_gone = true;
}

/* ---- what comes ---- */

/* From JOINING to PARTING the registry asks for nothing, or behind the relay, whose SUBSCRIBE
 * stands before its UNSUBSCRIBE. */
bool shoal__relay_is_answered(const shoal__relay_t *relay)
{
    if (relay->stage >= SHOAL__RELAY_JOINING && !(relay->answered & PRESENT))
        return relay->joined & PRESENT;
    if (relay->stage == SHOAL__RELAY_PARTING && !relay->facts.is_done)
        return relay->has_parted;
    return shoal__subscriptions_is_answered(relay->subscriptions);
}

bool shoal__relay_is_copy_answered(const shoal__relay_t *relay)
{
    if (relay->stage == SHOAL__RELAY_JOINING)
        return relay->joined & SUCCESSOR;
    return relay->stage == SHOAL__RELAY_COPYING &&
           shoal__subscriptions_is_answered(&relay->copy);
}

void shoal__relay_hear_successor(shoal__relay_t *relay, const shoal__push_t *push)
{
    if (push->kind == SHOAL__PUSH_CONFIRMED && is_ours(relay, push))
        relay->joined |= SUCCESSOR;
    else if (relay->stage == SHOAL__RELAY_COPYING &&
             (push->kind == SHOAL__PUSH_CONFIRMED || push->kind == SHOAL__PUSH_DROPPED))
        shoal__subscriptions_hear(&relay->copy, push);
}

/* Over the connection that the successor is to follow. */
static bool takes_before(shoal__relay_t *relay, const shoal__push_t *push)
{
    if (relay->stage == SHOAL__RELAY_MARKING && is_marker(relay, push))
        relay->facts.is_done = true;
    if (relay->facts.is_done && relay->stage == SHOAL__RELAY_MARKING)
        return true; /* and so is all behind it */
    /* Nobody asked for that since the stage WAITING. */
    if (push->kind == SHOAL__PUSH_DROPPED && relay->stage != SHOAL__RELAY_WAITING)
        relay->facts.is_thwarted = true;
    if (push->kind == SHOAL__PUSH_CONFIRMED && is_ours(relay, push))
        relay->joined |= PRESENT;
    return is_private(relay, push);
}

static bool takes_behind(shoal__relay_t *relay, const shoal__push_t *push)
{
    if (relay->stage == SHOAL__RELAY_SKIPPING && !relay->facts.is_done) {
        relay->facts.is_done = is_marker(relay, push);
        return push->kind == SHOAL__PUSH_MESSAGE;
    }
    if (push->kind == SHOAL__PUSH_DROPPED && is_ours(relay, push))
        relay->has_parted = true;
    if (push->kind == SHOAL__PUSH_CONFIRMED && is_ours(relay, push))
        relay->joined |= PRESENT;
    return is_private(relay, push);
}

bool shoal__relay_takes_push(shoal__relay_t *relay, const shoal__push_t *push)
{
    if (relay->stage == SHOAL__RELAY_TAKING)
        return true;
    return relay->stage < SHOAL__RELAY_TAKING ? takes_before(relay, push)
                                              : takes_behind(relay, push);
}

/* ---- the turn ---- */

static void look(shoal__relay_t *relay, uint64_t now_us)
{
    shoal__relay_facts_t *facts = &relay->facts;

    facts->is_late = now_us >= relay->end_us;
    if (relay->stage == SHOAL__RELAY_WAITING)
        facts->is_done = relay->subscriptions->count == 0;
    else if (relay->stage == SHOAL__RELAY_JOINING)
        facts->is_done = relay->answered == (PRESENT | SUCCESSOR);
    else if (relay->stage == SHOAL__RELAY_COPYING) {
        if (!shoal__asker_ask(&relay->asker, now_us))
            facts->is_thwarted = true;
        facts->is_done = is_copied(relay);
    }
}

static void part(shoal__relay_t *relay, uint64_t now_us)
{
    if (relay->stage == SHOAL__RELAY_WAITING)
        shoal__relay_end(relay); /* nobody asked for the channel yet */
    else
        enter(relay, SHOAL__RELAY_PARTING, now_us);
}

/* True: look again. */
static bool step(shoal__relay_t *relay, uint64_t now_us)
{
    shoal__conn_t *conn = relay->conn;
    shoal__relay_stage_t next = relay->stage + 1;

    look(relay, now_us);
    switch (shoal__relay_rule(relay->stage, &relay->facts)) {
    case SHOAL__RELAY_STAY:
        return false;
    case SHOAL__RELAY_GO_ON:
        enter(relay, next == SHOAL__RELAY_STAGE_COUNT ? SHOAL__RELAY_NONE : next,
              now_us);
        return true;
    case SHOAL__RELAY_GIVE_UP:
        shoal__relay_end(relay);
        shoal__successor_take(conn, now_us);
        return false;
    case SHOAL__RELAY_ANEW:
        part(relay, now_us);
        relay->is_barred = true;
        shoal__conn_renew(conn, conn->pipe.renewal.reason, now_us);
        return false;
    case SHOAL__RELAY_PART:
        part(relay, now_us);
        return false;
    case SHOAL__RELAY_LOSE:
        shoal__conn_lose(conn, SHOAL_ECONN,
                         "renewed, and messages between the connections were lost");
        return false;
    }
    return false;
}

bool shoal__relay_succeeds(shoal__relay_t *relay)
{
    relay->is_barred = false;
    if (relay->stage != SHOAL__RELAY_TAKING)
        return false;
    relay->facts.is_done = true;
    step(relay, relay->conn->pipe.now_us);
    return true;
}

void shoal__relay_turn(shoal__relay_t *relay, shoal__asker_t *asker, uint64_t now_us)
{
    while (step(relay, now_us))
        continue;
    if (!shoal__relay_holds(relay->stage) && !shoal__asker_ask(asker, now_us))
        shoal__conn_lose(asker->conn, SHOAL_ENOMEM, "no memory to ask for names");
}

uint64_t shoal__relay_wake_us(const shoal__relay_t *relay, uint64_t now_us)
{
    uint64_t wake_us = SHOAL__NEVER_US;

    if (!shoal__relay_holds(relay->stage))
        return shoal__subscriptions_wake_us(relay->subscriptions, now_us);
    if (relay->stage == SHOAL__RELAY_COPYING)
        wake_us = shoal__subscriptions_wake_us(&relay->copy, now_us);
    if (relay->facts.is_gone) /* in the connection's turn, behind ours */
        wake_us = now_us;
    return shoal__time_min(wake_us, relay->end_us);
}
