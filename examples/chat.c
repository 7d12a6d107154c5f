/* SPDX-License-Identifier: MIT */

/* A room where people write to one another.
 *
 *     chat [URL [NAME [ROOM]]]                   default redis://127.0.0.1:6379
 *
 * Each line is kept in a list, and its number is published.  Members read the list on from where
 * they are, at each message and at each mark: so they see each line once and in order, whatever
 * happens to the connection.  Without a name two members talk, and the program checks that both
 * have seen the same. */

#include <poll.h>
#include <shoal/shoal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINES 40 /* of each member of the demonstration */

typedef struct member {
    shoal_client_t *client;
    const char *name;
    char key[64];   /* of the room's list, and its channel */
    unsigned heard; /* lines so far */
    unsigned said;
    char seen[8192]; /* these lines; empty: they are printed instead */
    size_t seen_bytes;
    bool is_demonstration;
} member_t;

/* A command that must succeed.  The caller releases the result. */
static shoal_result_t *ask(shoal_client_t *client, size_t argc, const char **argv)
{
    shoal_result_t *result;
    int rc = shoal_client_call(client, argc, argv, NULL, &result);

    if (rc == 0 && shoal_result_status(result) == 0 && !shoal_result_error(result))
        return result;
    fprintf(stderr, "%s: %s\n", argv[0],
            rc < 0 ? shoal_strerror(rc)
                   : (shoal_result_error(result) ? shoal_result_error(result)
                                                 : shoal_result_detail(result)));
    _Exit(1);
}

static void say(member_t *member, const char *text)
{
    char line[1024], number[32];
    const char *push[] = {"RPUSH", member->key, line};
    const char *publish[] = {"PUBLISH", member->key, number};
    shoal_result_t *result;

    snprintf(line, sizeof line, "%s: %s", member->name, text);
    result = ask(member->client, 3, push);
    snprintf(number, sizeof number, "%lld",
             (long long)shoal_reply_integer(shoal_result_reply(result)));
    shoal_result_release(result);
    shoal_result_release(ask(member->client, 3, publish));
    member->said++;
}

static void hear_line(member_t *member, const char *line)
{
    member->heard++;
    if (!member->is_demonstration) {
        puts(line);
        return;
    }
    member->seen_bytes +=
        (size_t)snprintf(member->seen + member->seen_bytes,
                         sizeof member->seen - member->seen_bytes, "%s\n", line);
    if (member->heard % 2 == 0 && member->said < LINES) {
        char text[64];
        snprintf(text, sizeof text, "I have heard %u lines", member->heard);
        say(member, text);
    }
}

/* Read what the member has not heard. */
static void hear(member_t *member)
{
    char first[32];
    const char *argv[] = {"LRANGE", member->key, first, "-1"};
    shoal_result_t *result;
    const shoal_reply_t *lines;

    snprintf(first, sizeof first, "%u", member->heard);
    result = ask(member->client, 4, argv);
    lines = shoal_result_reply(result);
    for (size_t i = 0; i < shoal_reply_count(lines); i++)
        hear_line(member, shoal_reply_string(shoal_reply_at(lines, i), NULL));
    shoal_result_release(result);
}

static void take_all(shoal_mailbox_t *mailbox)
{
    const shoal_item_t *items[64];
    size_t count = shoal_mailbox_take(mailbox, items, 64);

    for (size_t i = 0; i < count; i++) {
        if (shoal_item_kind(items[i]) == SHOAL_ITEM_REJECTED) {
            fprintf(stderr, "%s\n", shoal_item_detail(items[i]));
            _Exit(1);
        }
        /* A message, or a mark that says: now is the time to read what was before. */
        if (shoal_item_kind(items[i]) != SHOAL_ITEM_SUSPENDED)
            hear(shoal_item_data(items[i]));
    }
}

static shoal_subscription_t *join(shoal_pubsub_t *pubsub, shoal_mailbox_t *mailbox,
                                  member_t *member, const char *name, const char *room)
{
    shoal_name_t channel = {SHOAL_NAME_CHANNEL, member->key, 0};
    shoal_receiver_t receiver = SHOAL_RECEIVER_INIT;
    shoal_subscription_t *subscription;

    member->name = name;
    channel.bytes =
        (size_t)snprintf(member->key, sizeof member->key, "chat:{%.40s}", room);
    receiver.mailbox = mailbox;
    receiver.data = member;
    if (shoal_pubsub_subscribe(pubsub, &channel, 1, &receiver, &subscription) < 0)
        _Exit(1);
    return subscription;
}

/* Lines of the keyboard go to the room, and lines of the room to the screen. */
static void take_part(shoal_mailbox_t *mailbox, member_t *member)
{
    struct pollfd fds[] = {{STDIN_FILENO, POLLIN, 0},
                           {shoal_mailbox_fd(mailbox), POLLIN, 0}};
    char text[900];

    while (poll(fds, 2, -1) >= 0) {
        if (fds[1].revents)
            take_all(mailbox);
        if (!fds[0].revents)
            continue;
        if (!fgets(text, sizeof text, stdin))
            return;
        text[strcspn(text, "\n")] = '\0';
        say(member, text);
    }
}

static int demonstrate(shoal_mailbox_t *mailbox, member_t *ann, member_t *ben)
{
    const char *del[] = {"DEL", ann->key};

    ann->is_demonstration = ben->is_demonstration = true;
    say(ann, "hello");
    say(ben, "hello");
    while (ann->heard < 2 * LINES || ben->heard < 2 * LINES) {
        if (shoal_mailbox_wait(mailbox, SHOAL_TIMEOUT_NEVER) < 0)
            return 1;
        take_all(mailbox);
    }
    shoal_result_release(ask(ann->client, 2, del));
    if (strcmp(ann->seen, ben->seen) != 0) {
        fprintf(stderr, "the members heard different lines\n");
        return 1;
    }
    printf("both members heard the same %u lines\n", ann->heard);
    return 0;
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : "redis://127.0.0.1:6379";
    const char *name = argc > 2 ? argv[2] : NULL;
    static member_t one, other;
    shoal_subscription_t *first, *second = NULL;
    shoal_error_t error = SHOAL_ERROR_INIT;
    shoal_options_t *options;
    shoal_mailbox_t *mailbox;
    shoal_pubsub_t *pubsub;
    char room[40];
    int rc = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    snprintf(room, sizeof room, "demonstration-%d", (int)getpid());
    if (shoal_options_from_url(url, &options, &error) < 0 ||
        shoal_client_open(options, &one.client, &error) < 0 ||
        shoal_pubsub_open(options, &pubsub, &error) < 0) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    other.client = one.client;
    if (shoal_mailbox_new(0, 0, SHOAL_OVERFLOW_OLDEST, &mailbox) < 0)
        return 1;
    if (name) {
        first = join(pubsub, mailbox, &one, name, argc > 3 ? argv[3] : "lobby");
        take_part(mailbox, &one);
    } else {
        first = join(pubsub, mailbox, &one, "ann", room);
        second = join(pubsub, mailbox, &other, "ben", room);
        rc = demonstrate(mailbox, &one, &other);
    }
    shoal_subscription_close(first);
    shoal_subscription_close(second);
    shoal_pubsub_close_and_wait(pubsub);
    shoal_pubsub_release(pubsub);
    shoal_mailbox_free(mailbox);
    shoal_client_close_and_wait(one.client, 1000000);
    shoal_client_release(one.client);
    shoal_options_free(options);
    return rc;
}
