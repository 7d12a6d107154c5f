/* SPDX-License-Identifier: MIT */
#include "sim/awake_world.h"

#include "base/time_us.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Medians in nanoseconds, measured: "Threads that block" in docs/FLUSHING.md. */
#define SWITCH_NS 1800 /* from thread to thread, by a yield or because one sleeps */
#define YIELD_NS 250   /* no other thread wants the CPU */
#define READ_NS 500    /* something */
#define READ_NOTHING_NS 260
#define WRITE_UNIX_NS 900 /* to one that is awake */
#define WRITE_TCP_NS 5600
#define WAKER_NS 11000     /* the CPU time that it costs to wake an idle core, */
#define WOKEN_CPU_NS 7000  /* and that the woken one needs for it */
#define WAKE_UNIX_NS 23000 /* it runs so long after the write began */
#define WAKE_TCP_NS 30000
#define SERVER_COMMAND_NS 250

/* Assumed, so that a call of a pool costs each core 5 us over a Unix socket. */
#define LOOK_NS 150       /* take the loop, ask, leave it */
#define CALL_NS 500       /* return a result, submit the next command */
#define RESULT_NS 100     /* decode a reply, deliver it */
#define POOL_CALL_NS 1400 /* return a result, encode the next command: plain hiredis */
#define READY_NS 1900     /* wake a thread whose core is busy */
#define SERVER_TURN_NS 1000
#define SERVER_CLIENT_NS 900 /* a connection that has something */

#define SERVER_READ_BYTES 16384

#define COMMAND_BYTES 40
#define TAIL_NS 30000 /* now and then a core does something else */
#define TAIL_ONE_IN 1024

static uint64_t about(awake_world_t *world, uint64_t ns)
{
    uint64_t varied_ns = sim_dice_about(&world->dice, ns);

    if (sim_dice_below(&world->dice, TAIL_ONE_IN) == 0)
        varied_ns += sim_dice_below(&world->dice, TAIL_NS);
    return varied_ns;
}

/* ---- between the cores ---- */

static void put(awake_line_t *line, uint64_t at_ns, uint64_t count)
{
    assert(line->end - line->first < AWAKE_THREADS_MAX);
    line->messages[line->end++ % AWAKE_THREADS_MAX] =
        (awake_message_t){at_ns, (uint32_t)count};
}

/* Take what has come until now, `max` at most. */
static uint64_t take(awake_line_t *line, uint64_t max, uint64_t now_ns)
{
    uint64_t taken = 0;

    while (line->first < line->end && taken < max) {
        awake_message_t *first = &line->messages[line->first % AWAKE_THREADS_MAX];
        uint64_t count = shoal__time_min(first->count, max - taken);
        if (first->at_ns > now_ns)
            break;
        taken += count;
        first->count -= (uint32_t)count;
        line->first += first->count == 0;
    }
    return taken;
}

/* The step of this core ends so much later. */
static void work(awake_world_t *world, awake_core_t *core, uint64_t ns)
{
    ns = about(world, ns);
    core->at_ns += ns;
    core->cpu_ns += ns;
}

/* Nothing is to be done until the next message comes. */
static void rest(awake_core_t *core)
{
    const awake_line_t *inbox = &core->inbox;

    core->at_ns = inbox->first < inbox->end
                      ? inbox->messages[inbox->first % AWAKE_THREADS_MAX].at_ns
                      : SHOAL__NEVER_US;
}

/* ready_ns: what it costs to wake a reader whose core is busy. */
static void write_to(awake_world_t *world, awake_core_t *writer, awake_core_t *reader,
                     uint64_t count, uint64_t ready_ns)
{
    bool is_tcp = world->load.is_tcp;
    uint64_t began_ns = writer->at_ns;

    work(world, writer, is_tcp ? WRITE_TCP_NS : WRITE_UNIX_NS);
    if (reader->at_ns != SHOAL__NEVER_US) {
        put(&reader->inbox, writer->at_ns, count);
        work(world, writer, ready_ns);
        return;
    }
    work(world, writer, WAKER_NS);
    reader->at_ns = began_ns + about(world, is_tcp ? WAKE_TCP_NS : WAKE_UNIX_NS);
    reader->cpu_ns += WOKEN_CPU_NS;
    put(&reader->inbox, reader->at_ns, count);
}

/* ---- threads ---- */

static void record(awake_world_t *world, const awake_thread_t *thread)
{
    if (thread->submitted_ns == 0)
        return;
    assert(world->result_count < AWAKE_LATENCIES_MAX);
    world->latencies[world->result_count++] =
        (uint32_t)(world->client.at_ns - thread->submitted_ns);
}

/* The running thread returns from a call, and begins the next one. */
static void call_again(awake_world_t *world, uint64_t call_ns)
{
    awake_thread_t *thread = &world->threads[world->running];

    record(world, thread);
    work(world, &world->client, call_ns);
    thread->has_result = false;
    thread->submitted_ns = world->client.at_ns;
    thread->seen = 0;
    world->callers[world->submitted++ % AWAKE_THREADS_MAX] = world->running;
    world->done++;
}

static bool is_held(const awake_world_t *world, unsigned thread)
{
    return world->threads[thread].held_until_ns > world->client.at_ns;
}

/* The next one that may run; if none may, the core waits for the first. */
static void yield(awake_world_t *world)
{
    unsigned threads = world->load.threads, next = world->running;
    uint64_t until_ns = SHOAL__NEVER_US;

    world->threads[world->running].seen = world->done;
    for (unsigned i = 0; i < threads; i++) {
        next = (next + 1) % threads;
        until_ns = shoal__time_min(until_ns, world->threads[next].held_until_ns);
        if (!is_held(world, next))
            break;
    }
    if (is_held(world, next))
        world->client.at_ns = until_ns;
    work(world, &world->client, next == world->running ? YIELD_NS : SWITCH_NS);
    world->running = next;
}

static void read_for_all(awake_world_t *world)
{
    awake_core_t *client = &world->client;
    uint64_t replies = take(&client->inbox, AWAKE_THREADS_MAX, client->at_ns);

    world->look_us = client->at_ns / 1000 + world->load.threads / 4;
    work(world, client, replies ? READ_NS + replies * RESULT_NS : READ_NOTHING_NS);
    if (replies == 0)
        return;
    for (uint64_t i = 0; i < replies; i++) {
        uint32_t caller = world->callers[world->replied++ % AWAKE_THREADS_MAX];
        awake_thread_t *thread = &world->threads[caller];
        thread->has_result = true;
        if (caller < world->load.held)
            thread->held_until_ns = client->at_ns + world->load.held_us * 1000;
    }
    shoal__flush_policy_completed(&world->policy, replies, client->at_ns / 1000);
    world->done += replies;
}

/* Ask what is to be written: that is a step of its own, because the server may go idle
 * until then.  If nothing is, another thread runs. */
static void ask(awake_world_t *world)
{
    shoal__flush_policy_t *policy = &world->policy;
    shoal__flush_answer_t answer =
        shoal__flush_policy_ask(policy, SHOAL__NEVER_US, world->client.at_ns / 1000);

    if (answer.verdict == SHOAL__FLUSH_NOW)
        world->client.to_write = answer.commands ? answer.commands : policy->queued;
    else if (!world->threads[world->running].has_result ||
             is_held(world, world->running))
        yield(world);
}

static void write_commands(awake_world_t *world)
{
    uint64_t commands = world->client.to_write;

    world->client.to_write = 0;
    world->writes++;
    world->written += commands;
    write_to(world, &world->client, &world->server, commands, 0);
}

static void step_awake(awake_world_t *world)
{
    awake_core_t *client = &world->client;
    uint64_t began_us = client->at_ns / 1000, commands = client->to_write;
    awake_thread_t *thread = &world->threads[world->running];

    if (commands) {
        write_commands(world);
        shoal__flush_policy_flushed(&world->policy, commands, commands * COMMAND_BYTES,
                                    client->at_ns / 1000);
        ask(world);
        return;
    }
    if (thread->has_result) {
        call_again(world, CALL_NS);
        shoal__flush_policy_add(&world->policy, COMMAND_BYTES, false,
                                client->at_ns / 1000);
    }
    work(world, client, LOOK_NS);
    world->policy.awake = world->load.threads;
    world->policy.is_still = thread->seen == world->done;
    if (world->policy.is_still || began_us >= world->look_us)
        read_for_all(world);
    ask(world);
}

static void step_pool(awake_world_t *world)
{
    awake_core_t *client = &world->client;

    if (client->to_write) {
        write_commands(world);
        work(world, client, READ_NOTHING_NS);
    } else if (take(&client->inbox, 1, client->at_ns)) {
        work(world, client, SWITCH_NS + READ_NS);
        world->running = world->callers[world->replied++ % AWAKE_THREADS_MAX];
        call_again(world, POOL_CALL_NS);
        client->to_write = 1;
    } else {
        rest(client);
    }
}

/* ---- the server ---- */

static void step_server(awake_world_t *world)
{
    awake_core_t *server = &world->server;
    bool is_pool = world->load.is_pool;
    uint64_t commands;

    if (server->to_write) {
        commands = is_pool ? 1 : server->to_write;
        server->to_write -= commands;
        write_to(world, server, &world->client, commands, is_pool ? READY_NS : 0);
        return;
    }
    commands = take(&server->inbox, SERVER_READ_BYTES / COMMAND_BYTES, server->at_ns);
    if (commands == 0) {
        rest(server);
        return;
    }
    server->to_write = commands;
    work(world, server,
         SERVER_TURN_NS + (is_pool ? commands : 1) * (READ_NS + SERVER_CLIENT_NS) +
             commands * SERVER_COMMAND_NS);
}

/* ---- the world ---- */

void awake_world_begin(awake_world_t *world, const awake_load_t *load,
                       shoal_flush_mode_t mode, uint64_t pause_us, uint64_t seed)
{
    const shoal__flush_config_t config = {.mode = mode,
                                          .pause_us = pause_us,
                                          .bytes_max = 262144,
                                          .commands_max = 65536,
                                          .has_fine_waker = true};

    assert(load->threads <= AWAKE_THREADS_MAX);
    memset(world, 0, sizeof *world);
    shoal__flush_policy_init(&world->policy, &config);
    world->load = *load;
    world->dice.state = seed;
    world->client.at_ns = 1000000000;
    world->server.at_ns = SHOAL__NEVER_US;
    for (unsigned i = 0; i < load->threads; i++) {
        world->threads[i].has_result = true;
        world->callers[i] = i;
    }
    if (load->is_pool) {
        world->submitted = load->threads;
        put(&world->client.inbox, world->client.at_ns, load->threads);
    }
}

static int compare(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

awake_figures_t awake_world_run(awake_world_t *world, uint64_t span_us)
{
    awake_core_t *client = &world->client, *server = &world->server;
    uint64_t from_ns = shoal__time_min(client->at_ns, server->at_ns);
    uint64_t until_ns = from_ns + span_us * 1000;

    client->cpu_ns = server->cpu_ns = 0;
    world->writes = world->written = world->result_count = 0;
    while (shoal__time_min(client->at_ns, server->at_ns) < until_ns) {
        if (server->at_ns <= client->at_ns)
            step_server(world);
        else if (world->load.is_pool)
            step_pool(world);
        else
            step_awake(world);
    }
    size_t count = world->result_count;
    qsort(world->latencies, count, sizeof *world->latencies, compare);
    return (awake_figures_t){
        .rate = (double)count * 1e6 / (double)span_us,
        .cpu_us = (double)(client->cpu_ns + server->cpu_ns) / 1000 /
                  (double)(count ? count : 1),
        .p50_us = (double)world->latencies[count / 2] / 1000,
        .p99_us = (double)world->latencies[count * 99 / 100] / 1000,
        .batch = (double)world->written / (double)(world->writes ? world->writes : 1)};
}
