/* SPDX-License-Identifier: MIT */
/* Which arguments of a command are keys, and which slot a key has: what the library says is
 * what a real server says, of all its commands, with arguments at random. */
#include "base/alloc.h"
#include "resp/command_answer.h"
#include "resp/command_keys.h"
#include "resp/key_slot.h"
#include "support/live.h"
#include "support/redis_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define ARGUMENTS_MAX 12
#define ARGUMENT_BYTES 24 /* of a number, and one letter */
#define ROUNDS 300        /* for each command */

static const char *const words[] = {
    "1",        "2",     "3",      "0",      "",       "STORE", "StoreDist",
    "STREAMS",  "KEYS",  "BY",     "GET",    "LIMIT",  "COUNT", "copy",
    "BLOCK",    "GROUP", "AUTH",   "AUTH2",  "#",      "NOACK", "km",
    "ENCODING", "USAGE", "CREATE", "STREAM", "WEIGHTS"};

typedef struct keys {
    size_t count;
    shoal__bytes_t of[ARGUMENTS_MAX];
} keys_t;

typedef struct trial {
    const char *argv[2 + ARGUMENTS_MAX]; /* COMMAND GETKEYS, and a command */
    char text[2 + ARGUMENTS_MAX][ARGUMENT_BYTES];
    size_t argc;
} trial_t;

static void add(void *data, shoal__bytes_t key)
{
    keys_t *keys = data;

    assert_true(keys->count < ARGUMENTS_MAX);
    keys->of[keys->count++] = key;
}

static int compare(const void *one, const void *other)
{
    const shoal__bytes_t *a = one, *b = other;
    int order = memcmp(a->data, b->data, a->bytes < b->bytes ? a->bytes : b->bytes);

    return order ? order : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

static bool are_equal(keys_t *ours, keys_t *theirs)
{
    qsort(ours->of, ours->count, sizeof *ours->of, compare);
    qsort(theirs->of, theirs->count, sizeof *theirs->of, compare);
    for (size_t i = 0; i < ours->count && i < theirs->count; i++)
        if (!shoal__bytes_equal(ours->of[i], theirs->of[i]))
            return false;
    return ours->count == theirs->count;
}

static void print(const char *whose, const keys_t *keys)
{
    print_message("%s:", whose);
    for (size_t i = 0; i < keys->count; i++)
        print_message(" '%.*s'", (int)keys->of[i].bytes, keys->of[i].data);
    print_message("\n");
}

/* Words that mean something here and there, and a key at each place.  One STORE at most: of
 * several each command counts others. */
static void choose(trial_t *trial, const char *name, unsigned *random)
{
    size_t count = 1 + live_roll(random) % (ARGUMENTS_MAX - 1);
    bool has_store = false;

    trial->argv[0] = "COMMAND";
    trial->argv[1] = "GETKEYS";
    trial->argv[2] = name;
    trial->argc = 2 + count;
    for (size_t i = 3; i < trial->argc; i++) {
        unsigned roll = live_roll(random) % (2 * sizeof words / sizeof *words);
        const char *word = roll < sizeof words / sizeof *words ? words[roll] : NULL;
        bool is_store = word && strncasecmp(word, "STORE", 5) == 0;

        snprintf(trial->text[i], ARGUMENT_BYTES, "k%zu", i);
        trial->argv[i] = word && !(is_store && has_store) ? word : trial->text[i];
        has_store |= is_store;
    }
}

static shoal__command_keys_t find(const trial_t *trial, keys_t *keys, char *room)
{
    const shoal_command_t command = {trial->argc - 2, trial->argv + 2, NULL};
    size_t bytes = 0;

    bytes += (size_t)sprintf(room, "*%zu\r\n", command.argc);
    for (size_t i = 0; i < command.argc; i++)
        bytes += (size_t)sprintf(room + bytes, "$%zu\r\n%s\r\n",
                                 strlen(command.argv[i]), command.argv[i]);
    return shoal__command_keys((shoal__bytes_t){room, bytes}, add, keys);
}

static void read_keys(const shoal_reply_t *reply, keys_t *keys)
{
    for (size_t i = 0; i < shoal_reply_count(reply); i++) {
        shoal__bytes_t key;
        key.data = shoal_reply_string(shoal_reply_at(reply, i), &key.bytes);
        add(keys, key);
    }
}

typedef struct tally {
    size_t known, unknown; /* of the answers with keys */
} tally_t;

static void check(shoal_client_t *client, const trial_t *trial, tally_t *tally)
{
    char room[(ARGUMENTS_MAX + 1) * (ARGUMENT_BYTES + 8)];
    shoal_result_t *result = NULL;
    const char *error;
    keys_t ours = {0}, theirs = {0};
    shoal__command_keys_t found = find(trial, &ours, room);
    /* Channels of a shard have a slot, but are no keys. */
    bool is_known =
        found.kind != SHOAL__KEYS_ANY && !(found.info->flags & SHOAL__COMMAND_PUBSUB);

    assert_int_equal(shoal_client_call(client, trial->argc, trial->argv, NULL, &result),
                     0);
    assert_int_equal(shoal_result_status(result), 0);
    error = shoal_result_error(result);
    if (!error)
        read_keys(shoal_result_reply(result), &theirs);
    tally->known += theirs.count > 0 && is_known;
    tally->unknown += theirs.count > 0 && !is_known;
    /* Other errors say that it is no command. */
    if (is_known && (!error || strstr(error, "no key arguments")) &&
        !are_equal(&ours, &theirs)) {
        print("ours", &ours);
        print("theirs", &theirs);
        fail_msg("%s", room);
    }
    shoal_result_release(result);
}

static shoal_client_t *open_cluster(redis_process_t **ret_redis)
{
    static const char *const arguments[] = {"--cluster-enabled", "yes", NULL};

    *ret_redis = redis_process_start(arguments);
    if (!*ret_redis)
        skip();
    return live_open(live_options_of_port(redis_process_port(*ret_redis)));
}

/* Has the command keys?  Servers list commands in any order: each has its own dice. */
static bool is_known(shoal_client_t *client, const char *name)
{
    tally_t tally = {0};
    unsigned random = 1;

    for (const char *at = name; *at; at++)
        random = random * 31 + (unsigned char)*at;
    for (unsigned round = 0; round < ROUNDS; round++) {
        trial_t trial;
        choose(&trial, name, &random);
        check(client, &trial, &tally);
    }
    if (tally.known == 0 && tally.unknown > 0)
        fail_msg("%s: its keys are not known", name);
    return tally.known > 0;
}

static void test_keys_of_all_commands(void **state)
{
    redis_process_t *redis;
    shoal_client_t *client = open_cluster(&redis);
    shoal_result_t *names = NULL;
    size_t commands = 0;

    (void)state;
    assert_int_equal(shoal_client_callf(client, &names, "COMMAND LIST"), 0);
    assert_int_equal(shoal_result_status(names), 0);
    for (size_t i = 0; i < shoal_reply_count(shoal_result_reply(names)); i++) {
        shoal__bytes_t name;
        name.data = shoal_reply_string(shoal_reply_at(shoal_result_reply(names), i),
                                       &name.bytes);
        /* Servers of other versions have others, too. */
        if (shoal__command_info_find(name))
            commands += is_known(client, name.data);
    }
    print_message("%zu commands with keys\n", commands);
    assert_true(commands > 150);
    shoal_result_release(names);
    live_finish(client);
    redis_process_stop(redis);
}

/* ---- what COMMAND INFO tells ---- */

static shoal__learned_t *ask(shoal_client_t *client, const char *name)
{
    const char *const argv[] = {"COMMAND", "INFO", name};
    shoal_result_t *result = NULL;
    shoal__learned_t *learned;

    assert_int_equal(shoal_client_call(client, 3, argv, NULL, &result), 0);
    assert_int_equal(shoal_result_status(result), 0);
    learned = shoal__command_answer_read(shoal_reply_at(shoal_result_reply(result), 0));
    shoal_result_release(result);
    if (!learned)
        fail_msg("%s: no answer", name);
    return learned;
}

/* The answer says where their keys stand in most cases only, or in commands that are right. */
static bool is_rough(const char *name)
{
    static const char *const names[] = {"sort",      "sort_ro",           "migrate",
                                        "georadius", "georadiusbymember", "xreadgroup"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool has_arity(const shoal__command_info_t *info, size_t count)
{
    return info->arity < 0 ? count >= (size_t)-info->arity
                           : count == (size_t)info->arity;
}

/* As long as the table has no doubt about the arguments. */
static bool has_keys_by_answer(shoal_client_t *client, const char *name)
{
    shoal__learned_t *learned = ask(client, name);
    unsigned random = 1;
    bool has_keys = false;

    for (unsigned round = 0; round < ROUNDS; round++) {
        char room[(ARGUMENTS_MAX + 1) * (ARGUMENT_BYTES + 8)];
        keys_t ours = {0}, theirs = {0};
        shoal__command_keys_t found;
        shoal__arguments_t arguments;
        trial_t trial;
        choose(&trial, name, &random);
        found = find(&trial, &ours, room);
        if (found.kind == SHOAL__KEYS_ANY || is_rough(name) ||
            !has_arity(found.info, trial.argc - 2))
            continue;
        assert_true(shoal__arguments_of_encoded(&arguments,
                                                (shoal__bytes_t){room, strlen(room)}));
        shoal__learned_keys(learned, arguments, add, &theirs);
        has_keys |= theirs.count > 0;
        if (learned->count > 1 && theirs.count == 0)
            continue; /* the table does not know which subcommands there are */
        if (!are_equal(&ours, &theirs)) {
            print("table", &ours);
            print("answer", &theirs);
            fail_msg("%s", room);
        }
    }
    shoal__free(learned);
    return has_keys;
}

static void test_answers_agree_with_the_table(void **state)
{
    redis_process_t *redis;
    shoal_client_t *client = open_cluster(&redis);
    shoal_result_t *names = NULL;
    size_t commands = 0;

    (void)state;
    assert_int_equal(shoal_client_callf(client, &names, "COMMAND LIST"), 0);
    assert_int_equal(shoal_result_status(names), 0);
    for (size_t i = 0; i < shoal_reply_count(shoal_result_reply(names)); i++) {
        shoal__bytes_t name;
        name.data = shoal_reply_string(shoal_reply_at(shoal_result_reply(names), i),
                                       &name.bytes);
        if (shoal__command_info_find(name))
            commands += has_keys_by_answer(client, name.data);
    }
    print_message("%zu commands with keys\n", commands);
    assert_true(commands > 150);
    shoal_result_release(names);
    live_finish(client);
    redis_process_stop(redis);
}

/* ---- slots ---- */

static void test_slots_of_keys(void **state)
{
    static const char letters[] = "{}ab";
    redis_process_t *redis;
    shoal_client_t *client = open_cluster(&redis);
    unsigned random = 1;

    (void)state;
    for (unsigned round = 0; round < 2000; round++) {
        size_t bytes = live_roll(&random) % 24;
        char key[24];
        const char *const argv[] = {"CLUSTER", "KEYSLOT", key};
        const size_t lengths[] = {7, 7, bytes};
        shoal_result_t *result = NULL;

        for (size_t i = 0; i < bytes; i++)
            key[i] = round % 2 ? (char)live_roll(&random)
                               : letters[live_roll(&random) % (sizeof letters - 1)];
        assert_int_equal(shoal_client_call(client, 3, argv, lengths, &result), 0);
        assert_int_equal(shoal_result_status(result), 0);
        assert_int_equal(shoal_reply_integer(shoal_result_reply(result)),
                         shoal__key_slot((shoal__bytes_t){key, bytes}));
        shoal_result_release(result);
    }
    live_finish(client);
    redis_process_stop(redis);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_of_all_commands),
        cmocka_unit_test(test_answers_agree_with_the_table),
        cmocka_unit_test(test_slots_of_keys),
    };
    return cmocka_run_group_tests_name("integration/server_keys", tests, NULL, NULL);
}
