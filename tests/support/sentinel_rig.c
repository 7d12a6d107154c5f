/* SPDX-License-Identifier: MIT */
#include "support/sentinel_rig.h"

#include "fault_proxy/fake_bytes.h"
#include "support/waiting.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_BYTES 256
#define QUORUM "2"
#define DOWN_AFTER_MS 500
#define SENTINELS_HOST "127.0.2.1" /* of the connections that they make */

/* ---- asking ---- */

static bool ask(const redis_process_t *server, const char *command,
                char answer[ANSWER_BYTES])
{
    answer[0] = '\0';
    return redis_process_pid(server) > 0 &&
           redis_ask(redis_process_port(server), command, answer, ANSWER_BYTES);
}

void sentinel_rig_tell(const redis_process_t *server, const char *command,
                       const char *answer)
{
    char said[ANSWER_BYTES];

    assert_true(ask(server, command, said));
    if (strncmp(said, answer, strlen(answer)) != 0)
        fail_msg("%s: want '%s', got '%s'", command, answer, said);
}

/* ---- starting ---- */

/* Sentinels tell each other their addresses by the primary, every two seconds; these know
 * them from the beginning. */
static redis_process_t *start_sentinel(const sentinel_rig_t *rig)
{
    char config[1024];

    snprintf(config, sizeof config,
             "bind-source-addr " SENTINELS_HOST "\n"
             "sentinel announce-ip 127.0.0.1\n"
             "sentinel monitor " RIG_PRIMARY " %s %d " QUORUM "\n"
             "sentinel down-after-milliseconds " RIG_PRIMARY " %d\n"
             "sentinel failover-timeout " RIG_PRIMARY " 3000\n"
             "sentinel known-replica " RIG_PRIMARY " %s %d\n"
             "sentinel known-replica " RIG_PRIMARY " %s %d\n",
             rig->hosts[0], redis_process_port(rig->servers[0]),
             rig->is_patient ? 600000 : DOWN_AFTER_MS, rig->hosts[1],
             redis_process_port(rig->servers[1]), rig->hosts[2],
             redis_process_port(rig->servers[2]));
    return redis_process_start_sentinel(config, NULL);
}

static redis_process_t *start_server(sentinel_rig_t *rig, size_t server)
{
    const char *host = rig->hosts[server];
    const char *const common[] = {"--bind", "127.0.0.1",
                                  host,     "--bind-source-addr",
                                  host,     "--protected-mode",
                                  "no",     "--repl-diskless-sync",
                                  "yes",    "--repl-diskless-sync-delay",
                                  "0"};
    const char *const replica[] = {"--replicaof", rig->hosts[0], rig->first_port};
    const char **arguments = rig->arguments[server];

    memcpy(arguments, common, sizeof common);
    if (server > 0)
        memcpy(arguments + sizeof common / sizeof *common, replica, sizeof replica);
    return redis_process_start(arguments);
}

static bool start_all(sentinel_rig_t *rig)
{
    for (int i = 0; i < RIG_SERVERS; i++) {
        snprintf(rig->hosts[i], sizeof rig->hosts[i], "127.0.1.%d", i + 1);
        rig->servers[i] = start_server(rig, (size_t)i);
        if (!rig->servers[i])
            return false;
        if (i == 0)
            snprintf(rig->first_port, sizeof rig->first_port, "%d",
                     redis_process_port(rig->servers[0]));
    }
    for (size_t i = 0; i < RIG_SENTINELS; i++) {
        rig->sentinels[i] = start_sentinel(rig);
        if (!rig->sentinels[i])
            return false;
    }
    return true;
}

/* Without that each step of theirs takes a second or more.  A sentinel that has not heard of
 * a failover makes the new primary a replica again, behind four publish-periods; and a replica
 * that said nothing for five ping-periods is not promoted, although one is asked every second
 * then. */
static void hurry(const redis_process_t *sentinel)
{
    sentinel_rig_tell(
        sentinel,
        "SENTINEL DEBUG info-period 200 ping-period 300 publish-period 1000 "
        "ask-period 100 slave-reconf-timeout 1000 election-timeout 1000 "
        "default-failover-timeout 3000 tilt-trigger 20000 tilt-period 100",
        "+OK");
}

/* Of SENTINEL CKQUORUM: the sentinels that are usable. */
static bool has_met_all(const redis_process_t *sentinel)
{
    char answer[ANSWER_BYTES];

    return ask(sentinel, "SENTINEL CKQUORUM " RIG_PRIMARY, answer) &&
           strncmp(answer, "+OK 3 usable", 12) == 0;
}

static sentinel_rig_t *start(bool is_patient)
{
    sentinel_rig_t *rig = fake_must(calloc(1, sizeof *rig));

    rig->is_patient = is_patient;
    if (!start_all(rig)) {
        sentinel_rig_stop(rig);
        return NULL;
    }
    for (size_t i = 0; i < RIG_SENTINELS; i++)
        hurry(rig->sentinels[i]);
    for (size_t i = 0; i < RIG_SENTINELS; i++)
        WAIT_FOR(has_met_all(rig->sentinels[i]));
    sentinel_rig_await_primary(rig);
    return rig;
}

sentinel_rig_t *sentinel_rig_start(void)
{
    return start(false);
}

sentinel_rig_t *sentinel_rig_start_patient(void)
{
    return start(true);
}

void sentinel_rig_stop(sentinel_rig_t *rig)
{
    if (!rig)
        return;
    for (size_t i = 0; i < RIG_SENTINELS; i++)
        redis_process_stop(rig->sentinels[i]);
    for (size_t i = 0; i < RIG_SERVERS; i++)
        redis_process_stop(rig->servers[i]);
    free(rig);
}

void sentinel_rig_name(const sentinel_rig_t *rig, size_t server,
                       char name[RIG_NAME_BYTES])
{
    snprintf(name, RIG_NAME_BYTES, "%s:%d", rig->hosts[server],
             redis_process_port(rig->servers[server]));
}

shoal_options_t *sentinel_rig_options(const sentinel_rig_t *rig, size_t sentinels)
{
    shoal_options_t *options = NULL;

    assert_int_equal(shoal_options_new(&options), 0);
    assert_int_equal(shoal_options_set_sentinel(options, RIG_PRIMARY), 0);
    for (size_t i = 0; i < sentinels; i++)
        assert_int_equal(
            shoal_options_add_sentinel(options, "127.0.0.1",
                                       redis_process_port(rig->sentinels[i])),
            0);
    return options;
}

/* ---- looking ---- */

/* The answer of this sentinel to a command: this line of it.  "": none. */
static void ask_line(const sentinel_rig_t *rig, size_t sentinel, const char *command,
                     unsigned line, char answer[ANSWER_BYTES])
{
    answer[0] = '\0';
    if (redis_process_pid(rig->sentinels[sentinel]) > 0)
        (void)redis_ask_line(redis_process_port(rig->sentinels[sentinel]), command,
                             line, answer, ANSWER_BYTES);
}

static size_t server_of(const sentinel_rig_t *rig, const char *port)
{
    for (size_t i = 0; i < RIG_SERVERS; i++)
        if (atoi(port) == redis_process_port(rig->servers[i]))
            return i;
    return RIG_SERVERS;
}

/* The answer to SENTINEL MASTER is an array of names and values, each of two lines. */
#define MASTER "SENTINEL MASTER " RIG_PRIMARY
#define PORT_LINE 13 /* the value of the third name */
#define FLAGS_LINE 21

size_t sentinel_rig_primary(const sentinel_rig_t *rig, size_t sentinel)
{
    char port[ANSWER_BYTES];

    ask_line(rig, sentinel, MASTER, PORT_LINE, port);
    return server_of(rig, port);
}

/* How many replicas does this server have, that have its data?  -1: it is one, or silent. */
static int replicas_of(const redis_process_t *server)
{
    char answer[ANSWER_BYTES];

    if (!ask(server,
             "EVAL return(select(2,string.gsub(string.match(redis.call([[info]],"
             "[[replication]]),[[role:master.*]]),[[state=online]],[[]]))) 0",
             answer) ||
        answer[0] != ':') /* an error: it is no primary, and nothing matches */
        return -1;
    return atoi(answer + 1);
}

/* Of a replica: the port of its primary, and if it is connected. */
#define REPLICA_OF                                                                     \
    "EVAL return{ok=string.gsub(string.match(redis.call([[info]],[[replication]]),"    \
    "[[master_port:.-master_sync]]),[[%s+]],[[,]])} 0"

static size_t agreed_on(const sentinel_rig_t *rig)
{
    size_t agreed = RIG_SERVERS;

    for (size_t i = 0; i < RIG_SENTINELS; i++) {
        size_t primary = sentinel_rig_primary(rig, i);
        if (redis_process_pid(rig->sentinels[i]) <= 0)
            continue;
        if (primary == RIG_SERVERS || (agreed != RIG_SERVERS && agreed != primary))
            return RIG_SERVERS;
        agreed = primary;
    }
    return agreed;
}

static bool is_whole(const sentinel_rig_t *rig, size_t primary)
{
    int running = -1;

    for (size_t i = 0; i < RIG_SERVERS; i++)
        running += redis_process_pid(rig->servers[i]) > 0;
    return replicas_of(rig->servers[primary]) == running;
}

/* For whoever reads why a wait was in vain. */
static void describe(const sentinel_rig_t *rig)
{
    char flags[ANSWER_BYTES];

    for (size_t i = 0; i < RIG_SENTINELS; i++) {
        ask_line(rig, i, MASTER, FLAGS_LINE, flags);
        print_message("sentinel %zu names server %zu: %s\n", i,
                      sentinel_rig_primary(rig, i), flags);
    }
    for (size_t i = 0; i < RIG_SERVERS; i++) {
        print_message("server %zu, port %d: %d replicas\n", i,
                      redis_process_port(rig->servers[i]),
                      replicas_of(rig->servers[i]));
        if (ask(rig->servers[i], REPLICA_OF, flags) && flags[0] == '+')
            print_message("  a replica of port %s\n", flags + 1);
    }
}

size_t sentinel_rig_await_primary(const sentinel_rig_t *rig)
{
    const uint64_t since_us = waiting_now_us();
    bool is_described = false;
    size_t primary;

    while ((primary = agreed_on(rig)) == RIG_SERVERS || !is_whole(rig, primary)) {
        bool is_late = waiting_now_us() - since_us > WAITING_US_MAX / 2;
        if (is_late && !is_described)
            describe(rig);
        is_described |= is_late;
        waiting_pause(since_us, "the sentinels agree, and all follow", __FILE__,
                      __LINE__);
    }
    return primary;
}

bool sentinel_rig_is_primary(const sentinel_rig_t *rig, size_t server)
{
    return server < RIG_SERVERS && replicas_of(rig->servers[server]) >= 0;
}

/* ---- silence ---- */

static bool has_listeners(const redis_process_t *server)
{
    char count[ANSWER_BYTES];

    return redis_process_pid(server) > 0 &&
           redis_ask_line(redis_process_port(server),
                          "PUBSUB NUMSUB __sentinel__:hello", 4, count, sizeof count) &&
           strcmp(count, ":0") != 0;
}

/* A server has read all that a sentinel sent before it finds it gone.  What it passes on to
 * its replicas has arrived there when what followed has. */
void sentinel_rig_await_silence(const sentinel_rig_t *rig, size_t primary)
{
    char answer[ANSWER_BYTES];

    for (size_t i = 0; i < RIG_SERVERS; i++)
        WAIT_FOR(!has_listeners(rig->servers[i]));
    sentinel_rig_tell(rig->servers[primary], "SET silence 1", "+OK");
    for (size_t i = 0; i < RIG_SERVERS; i++)
        WAIT_FOR(ask(rig->servers[i], "EXISTS silence", answer) &&
                 strcmp(answer, ":1") == 0);
    sentinel_rig_tell(rig->servers[primary], "DEL silence", ":1");
    for (size_t i = 0; i < RIG_SERVERS; i++)
        WAIT_FOR(ask(rig->servers[i], "EXISTS silence", answer) &&
                 strcmp(answer, ":0") == 0);
}

/* ---- what a person does ---- */

static bool is_exchanging(const sentinel_rig_t *rig)
{
    char flags[ANSWER_BYTES];

    ask_line(rig, 0, MASTER, FLAGS_LINE, flags);
    return strstr(flags, "failover_in_progress") != NULL;
}

/* The next primary, as soon as it is chosen and promoted. */
static size_t next_primary(const sentinel_rig_t *rig)
{
    char port[ANSWER_BYTES];

    ask_line(rig, 0, "SENTINEL GET-MASTER-ADDR-BY-NAME " RIG_PRIMARY, 5, port);
    return server_of(rig, port);
}

void sentinel_rig_failover(const sentinel_rig_t *rig)
{
    size_t former = next_primary(rig);
    char answer[ANSWER_BYTES] = "";

    do {
        WAIT_FOR(ask(rig->sentinels[0], "SENTINEL FAILOVER " RIG_PRIMARY, answer) &&
                 strcmp(answer, "+OK") == 0);
        WAIT_FOR(next_primary(rig) != former || !is_exchanging(rig));
    } while (next_primary(rig) == former);
}

void sentinel_rig_restart_sentinel(const sentinel_rig_t *rig, size_t sentinel)
{
    assert_true(redis_process_restart(rig->sentinels[sentinel]));
    hurry(rig->sentinels[sentinel]);
}

void sentinel_rig_monitor(const sentinel_rig_t *rig, size_t server)
{
    char command[128];

    snprintf(command, sizeof command, "SENTINEL MONITOR " RIG_PRIMARY " %s %d " QUORUM,
             rig->hosts[server], redis_process_port(rig->servers[server]));
    for (size_t i = 0; i < RIG_SENTINELS; i++) {
        sentinel_rig_tell(rig->sentinels[i], "SENTINEL REMOVE " RIG_PRIMARY, "+OK");
        sentinel_rig_tell(rig->sentinels[i], command, "+OK");
        sentinel_rig_tell(rig->sentinels[i],
                          "SENTINEL SET " RIG_PRIMARY " down-after-milliseconds 500",
                          "+OK");
    }
}

/* ---- cuts ---- */

static bool run(const char *command)
{
    char line[160];

    snprintf(line, sizeof line, "{ %s; } >/dev/null 2>&1", command);
    return system(line) == 0;
}

bool sentinel_rig_isolate(void)
{
    /* The rule that finds local addresses comes first of all, unless it is moved. */
    return unshare(CLONE_NEWNET) == 0 &&
           run("ip link set lo up && ip rule add pref 100 lookup local && "
               "ip rule del pref 0");
}

static void cut_between(const char *one, const char *other)
{
    char command[128];

    snprintf(command, sizeof command,
             "ip rule add pref 10 from %s to %s blackhole && "
             "ip rule add pref 10 from %s to %s blackhole",
             one, other, other, one);
    assert_true(run(command));
}

void sentinel_rig_cut(const sentinel_rig_t *rig, size_t server, bool is_without_clients)
{
    for (size_t i = 0; i < RIG_SERVERS; i++)
        if (i != server)
            cut_between(rig->hosts[server], rig->hosts[i]);
    cut_between(rig->hosts[server], SENTINELS_HOST);
    if (is_without_clients)
        cut_between(rig->hosts[server], "127.0.0.1");
}

void sentinel_rig_join(void)
{
    (void)run("while ip rule del pref 10; do :; done");
}
