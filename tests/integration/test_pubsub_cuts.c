/* SPDX-License-Identifier: MIT */
/* The connection of a subscriber ends behind each byte that the server sends over it: of the
 * greeting, of the confirmations of all kinds of names and of the answers to the PINGs behind
 * them, of messages, of a name that goes and one that comes; then the same of the connection
 * that follows, and of the successor by which a connection is renewed.
 *
 * Whatever is cut, the numbers of a name ascend by 1 or a GAP stands between, none comes twice,
 * before SUBSCRIBED or while suspended; and in the end the server has the names that are wanted
 * and confirmed, and no other. */
#include "fault_proxy/fault_proxy.h"
#include "support/live.h"

#include "client/client.h"
#include "route/subscriber/state.h"
#include <shoal/pubsub.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBERS                                                                        \
    100u /* pubsubs at once, because each is dialed ten times a second at most */
#define MESSAGES 3u    /* of which each byte is cut */
#define AGAIN_US 20000 /* between messages that may be lost */
#define BEYOND 4u      /* cuts behind the last byte */
#define STRIDE                                                                         \
    3u /* in CI most runs cut each third byte; each with SHOAL_TEST_SCALE=3 */

typedef enum way {
    ONCE,    /* the first connection is cut */
    TWICE,   /* ... and the second one */
    RENEWED, /* the successor is */
    WAYS
} way_t;

typedef struct cuts {
    uint64_t first,
        stride;     /* behind so many bytes, and of the next member so many more */
    uint64_t bytes; /* of a connection without a cut */
} cuts_t;

/* Names of a member, and its lines.  The pattern matches the channel X. */
enum { X, PATTERN, SHARD, GOES, COMES, LINES };

typedef struct line {
    bool is_subscribed, is_suspended;
    bool has_hole; /* a mark allows that a number is skipped */
    unsigned next; /* the number that is due */
} line_t;

typedef struct member {
    unsigned number;
    shoal_pubsub_t *pubsub;
    shoal_subscription_t *subscription;
    line_t lines[LINES];
    unsigned gaps, published;
    unsigned last; /* the numbers from here on show that it works; 0: not yet */
    uint64_t published_us;
    enum { ASKS, LISTENS, CHANGES, IS_DONE } stage;
} member_t;

static struct {
    way_t way;
    fault_proxy_t *proxy;
    shoal_client_t *client; /* without the proxy */
    member_t members[MEMBERS];
    char failure[200]; /* "": none */
} yard;

static void note_failure(const member_t *member, const char *what, unsigned number)
{
    if (!*yard.failure)
        snprintf(yard.failure, sizeof yard.failure, "member %u: %s (%u)",
                 member->number, what, number);
}

/* ---- what a receiver gets ---- */

static const char letters[LINES + 1] = "xxsgc";

static line_t *line_of(member_t *member, const shoal_item_t *item)
{
    bool is_pattern = shoal_item_name_kind(item) == SHOAL_NAME_PATTERN;
    const char *name = shoal_item_channel(item, NULL);

    return is_pattern ? &member->lines[PATTERN]
                      : &member->lines[strchr(letters, name[0]) - letters];
}

static void on_message(member_t *member, line_t *line, const shoal_item_t *item)
{
    char text[16] = "";
    size_t bytes;
    const char *payload = shoal_item_payload(item, &bytes);

    memcpy(text, payload, bytes < sizeof text ? bytes : sizeof text - 1);
    unsigned number = (unsigned)strtoul(text, NULL, 10);
    if (!line->is_subscribed || line->is_suspended)
        note_failure(member, "a message of a name that is not confirmed", number);
    if (number < line->next || (number > line->next && !line->has_hole))
        note_failure(member, "another number was due", number);
    line->has_hole = false;
    line->next = number + 1;
}

static void on_item(const shoal_item_t *item, void *data)
{
    member_t *member = data;
    shoal_item_kind_t kind = shoal_item_kind(item);

    if (kind == SHOAL_ITEM_SUSPENDED)
        for (unsigned i = 0; i < LINES; i++)
            member->lines[i].is_suspended |= member->lines[i].is_subscribed;
    if (kind == SHOAL_ITEM_SUSPENDED || kind == SHOAL_ITEM_ENDED)
        return;
    line_t *line = line_of(member, item);
    if (kind == SHOAL_ITEM_MESSAGE)
        on_message(member, line, item);
    else if (kind == SHOAL_ITEM_SUBSCRIBED && !line->is_subscribed)
        *line = (line_t){.is_subscribed = true, .has_hole = true};
    else if (kind == SHOAL_ITEM_GAP && line->is_subscribed &&
             shoal_item_reason(item) == SHOAL_GAP_LOST) {
        line->is_suspended = false;
        line->has_hole = true;
        member->gaps++;
    } else
        note_failure(member, "a mark that is not due", (unsigned)kind);
}

/* ---- one member ---- */

static shoal_name_t name_of(const member_t *member, unsigned line, char text[16])
{
    static const shoal_name_kind_t kinds[LINES] = {
        [PATTERN] = SHOAL_NAME_PATTERN, [SHARD] = SHOAL_NAME_SHARD};
    int bytes = snprintf(text, 16, "%c%03u%s", letters[line], member->number,
                         line == PATTERN ? "*" : "");

    return (shoal_name_t){kinds[line], text, (size_t)bytes};
}

static shoal_pubsub_stats_t stats_of(const member_t *member)
{
    shoal_pubsub_stats_t stats = SHOAL_PUBSUB_STATS_INIT;

    assert_int_equal(shoal_pubsub_stats(member->pubsub, &stats), 0);
    return stats;
}

static bool is_confirmed(const member_t *member)
{
    return shoal_subscription_wait(member->subscription, 0) == 0;
}

static void publish(member_t *member)
{
    char name[16], text[16];
    const char *argv[] = {"PUBLISH", name, text};

    (void)name_of(member, X, name);
    snprintf(text, sizeof text, "%u", ++member->published);
    member->published_us = waiting_now_us();
    assert_int_equal(shoal_client_submit(yard.client, 3, argv, NULL, NULL, NULL, NULL),
                     0);
}

static void begin_member(member_t *member, const shoal_options_t *options)
{
    shoal_receiver_t receiver = SHOAL_RECEIVER_INIT;
    shoal_name_t names[COMES];
    char texts[COMES][16];

    for (unsigned i = 0; i < COMES; i++)
        names[i] = name_of(member, i, texts[i]);
    receiver.on_item = on_item;
    receiver.data = member;
    assert_int_equal(shoal_pubsub_open_borrowed(options, &member->pubsub, NULL), 0);
    assert_int_equal(shoal_pubsub_subscribe(member->pubsub, names, COMES, &receiver,
                                            &member->subscription),
                     0);
}

static shoal__subscriber_t *route_of(const member_t *member)
{
    /* A pubsub is a client with another route. */
    return (shoal__subscriber_t *)shoal__client_route((shoal_client_t *)member->pubsub);
}

static bool is_renewed(const member_t *member)
{
    shoal__subscriber_t *route = route_of(member);

    route->conn.pipe.renewal.start_us = 0; /* no second between attempts */
    return stats_of(member).connects > 1 && route->relay.stage == SHOAL__RELAY_NONE &&
           is_confirmed(member);
}

static void begin_listening(member_t *member)
{
    member->stage = LISTENS;
    if (yard.way == RENEWED) {
        route_of(member)->conn.pipe.renewal.spacing_us = 0;
        assert_int_equal(shoal_pubsub_reconnect(member->pubsub), 0);
    }
    for (unsigned i = 0; i < MESSAGES; i++)
        publish(member);
}

static void change(member_t *member)
{
    char text[16];
    shoal_name_t name = name_of(member, GOES, text);

    assert_int_equal(shoal_subscription_remove(member->subscription, &name, 1), 0);
    name = name_of(member, COMES, text);
    assert_int_equal(shoal_subscription_add(member->subscription, &name, 1), 0);
    member->stage = CHANGES;
}

/* One connection or the next one carries a number, as often as it takes. */
static void try_again(member_t *member)
{
    if (waiting_now_us() - member->published_us >= AGAIN_US)
        publish(member);
}

static void go_on(member_t *member)
{
    const line_t *by_channel = &member->lines[X], *by_pattern = &member->lines[PATTERN];

    assert_int_equal(shoal_pubsub_step(member->pubsub, 0), 0);
    switch (member->stage) {
    case ASKS:
        if (is_confirmed(member))
            begin_listening(member);
        break;
    case LISTENS:
        if (yard.way == RENEWED)
            try_again(member);
        if (yard.way == RENEWED ? is_renewed(member)
                                : by_channel->next > MESSAGES || member->gaps > 0)
            change(member);
        break;
    case CHANGES:
        if (!is_confirmed(member))
            break;
        try_again(member);
        if (member->last == 0)
            member->last = member->published;
        if (by_channel->next > member->last && by_pattern->next > member->last)
            member->stage = IS_DONE;
        break;
    case IS_DONE:
        break;
    }
}

/* ---- all of them ---- */

static void step_all(unsigned count, const char *until, uint64_t since_us)
{
    for (unsigned i = 0; i < count; i++)
        go_on(&yard.members[i]);
    if (*yard.failure)
        fail_msg("%s", yard.failure);
    waiting_pause(since_us, until, __FILE__, __LINE__);
    waiting_sleep_us(1000); /* others compute, too */
}

static bool are_done(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (yard.members[i].stage != IS_DONE)
            return false;
    return true;
}

/* The number, or how many names there are. */
static int64_t ask(const char *question)
{
    shoal_result_t *result;
    const shoal_reply_t *reply;

    assert_int_equal(shoal_client_callf(yard.client, &result, question), 0);
    reply = shoal_result_reply(result);
    int64_t number = shoal_reply_type(reply) == SHOAL_REPLY_INTEGER
                         ? shoal_reply_integer(reply)
                         : (int64_t)shoal_reply_count(reply);
    shoal_result_release(result);
    return number;
}

/* How many subscriptions there are to a name, or 0. */
static int64_t subscribers_of(const char *question, const member_t *member,
                              unsigned line)
{
    char text[80], name[16];
    shoal_result_t *result;

    (void)name_of(member, line, name);
    snprintf(text, sizeof text, "%s %s", question, name);
    assert_int_equal(shoal_client_callf(yard.client, &result, text), 0);
    int64_t number = shoal_reply_integer(shoal_reply_at(shoal_result_reply(result), 1));
    shoal_result_release(result);
    return number;
}

static bool is_known(const member_t *member)
{
    return stats_of(member).names_confirmed_now == COMES &&
           subscribers_of("PUBSUB NUMSUB", member, X) == 1 &&
           subscribers_of("PUBSUB NUMSUB", member, COMES) == 1 &&
           subscribers_of("PUBSUB SHARDNUMSUB", member, SHARD) == 1;
}

/* The server has what each of them wants, and nothing else.  It may not know yet that a former
 * connection has ended. */
static void check_server(unsigned count)
{
    uint64_t since_us = waiting_now_us();

    while (ask("PUBSUB CHANNELS") != 2 * count || ask("PUBSUB NUMPAT") != count ||
           ask("PUBSUB SHARDCHANNELS") != count)
        step_all(count, "the server has the names", since_us);
    for (unsigned i = 0; i < count; i++)
        while (!is_known(&yard.members[i]))
            step_all(count, "the server has each name once", since_us);
}

/* Returns how many connections were lost, of whichever kind. */
static uint64_t end_member(member_t *member)
{
    shoal_pubsub_stats_t stats = stats_of(member);

    assert_int_equal(stats.names_wanted_now, COMES);
    assert_int_equal(stats.desyncs, 0);
    shoal_subscription_close(member->subscription);
    assert_int_equal(shoal_pubsub_close_and_wait(member->pubsub), 0);
    shoal_pubsub_release(member->pubsub);
    return stats.losses + stats.attempts_failed;
}

/* Which member has which connection is left to chance. */
static void arm(const cuts_t *cuts)
{
    unsigned ahead = yard.way == RENEWED ? MEMBERS : 0;

    for (unsigned i = 0; i < MEMBERS; i++) {
        uint64_t at = cuts->first + (uint64_t)i * cuts->stride;
        fault_end_t how = at % 2 == 0 ? FAULT_END_FIN : FAULT_END_RESET;
        fault_proxy_cut_after(yard.proxy, ahead + i + 1, FAULT_TO_CLIENT, at, how);
        if (yard.way == TWICE) /* ... elsewhere than the first one */
            fault_proxy_cut_after(yard.proxy, MEMBERS + i + 1, FAULT_TO_CLIENT,
                                  at * 7 % cuts->bytes, how);
    }
}

/* Returns the number of connections that ended; cuts NULL: there is one member, and no cut. */
static uint64_t run(const shoal_options_t *options, const cuts_t *cuts)
{
    uint64_t since_us = waiting_now_us(), ended = 0;
    unsigned count = cuts ? MEMBERS : 1;

    memset(yard.members, 0, sizeof yard.members);
    if (cuts)
        arm(cuts);
    for (unsigned i = 0; i < count; i++) {
        yard.members[i].number = i;
        begin_member(&yard.members[i], options);
    }
    while (!are_done(count))
        step_all(count, "all of them go on", since_us);
    check_server(count);
    for (unsigned i = 0; i < count; i++)
        ended += end_member(&yard.members[i]);
    return ended;
}

static shoal_options_t *start_proxy(int protocol)
{
    fault_proxy_config_t config = {.server_path = live_socket()};
    shoal_options_t *options;

    yard.proxy = fault_proxy_start(&config);
    assert_non_null(yard.proxy);
    options = live_options_of_port(fault_proxy_port(yard.proxy));
    assert_int_equal(shoal_options_set_backoff_us(options, 1000, 1000), 0);
    assert_int_equal(shoal_options_set_protocol(options, protocol), 0);
    return options;
}

static uint64_t run_through_proxy(int protocol, const cuts_t *cuts,
                                  uint64_t *ret_carried)
{
    shoal_options_t *options = start_proxy(protocol);
    uint64_t ended = run(options, cuts);

    *ret_carried = fault_proxy_counts(yard.proxy).bytes[FAULT_TO_CLIENT];
    shoal_options_free(options);
    fault_proxy_stop(yard.proxy);
    return ended;
}

static void check(way_t way, int protocol, uint64_t stride)
{
    cuts_t cuts = {.stride = stride};
    uint64_t ended = 0, carried;

    yard.way = way;
    yard.client = live_open(live_options());
    assert_int_equal(run_through_proxy(protocol, NULL, &cuts.bytes), 0);
    if (way == RENEWED) /* of two connections */
        cuts.bytes /= 2;
    for (; cuts.first < cuts.bytes + BEYOND; cuts.first += MEMBERS * stride)
        ended += run_through_proxy(protocol, &cuts, &carried);
    print_message("RESP%d: %llu bytes, cut at each %llu: %llu connections ended\n",
                  protocol, (unsigned long long)cuts.bytes, (unsigned long long)stride,
                  (unsigned long long)ended);
    assert_true(ended >= cuts.bytes / stride / 2);
    live_finish(yard.client);
}

static uint64_t stride_of(void)
{
    size_t scale = live_scaled(1);

    return scale >= STRIDE ? 1 : STRIDE / scale;
}

static void test_the_first_connection(void **state)
{
    (void)state;
    check(ONCE, 3, 1);
}

static void test_the_first_connection_in_resp2(void **state)
{
    (void)state;
    check(ONCE, 2, stride_of());
}

static void test_the_second_connection_as_well(void **state)
{
    (void)state;
    check(TWICE, 3, stride_of());
}

static void test_the_successor(void **state)
{
    (void)state;
    check(RENEWED, 3, stride_of());
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_connection),
        cmocka_unit_test(test_the_first_connection_in_resp2),
        cmocka_unit_test(test_the_second_connection_as_well),
        cmocka_unit_test(test_the_successor),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("integration/pubsub_cuts", tests, NULL, NULL);
}
