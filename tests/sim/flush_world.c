/* SPDX-License-Identifier: MIT */
#include "sim/flush_world.h"

#include "base/time_us.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Medians in nanoseconds, measured. */
#define WRITE_NS 3900             /* to a peer that is awake */
#define WRITE_WAKES_NS 13800      /* to one that sleeps, on the same machine */
#define READ_NS 1500              /* one read, whatever it brings */
#define RESULT_NS 100             /* decode a reply, deliver it */
#define ENCODE_NS 100             /* a command into the log */
#define POLL_NS 300               /* a turn of a loop that does not sleep */
#define WAKE_NS 13000             /* until a thread that sleeps runs */
#define WAKE_CPU_NS 12500         /* what that costs it */
#define SIGNAL_CPU_NS 8500        /* what it costs the thread that wakes the loop */
#define ARM_NS 4500               /* the waker */
#define LATE_NS 19000             /* how late it is */
#define TIMER_CPU_NS 10500        /* a wake-up by it */
#define ROW_NS 3000               /* threads are woken so far apart */
#define SERVER_WOKEN_NS 13000     /* a batch, once it is awake */
#define SERVER_WOKEN_CPU_NS 26000 /* with the wake-up */
#define SERVER_BUSY_NS 4000       /* a batch that was there already */
#define SERVER_COMMAND_NS 250
#define SERVER_READ_BYTES 16384

#define COMMAND_BYTES 40
#define START_NS 20000 /* callers appear within it */
#define TAIL_NS 30000  /* latencies have a tail */
#define TAIL_ONE_IN 64
#define BURST_NS 200000 /* of every BURST_NS * BURST_SHARE */
#define BURST_SHARE 10

typedef enum event_kind {
    EVENT_TURN,         /* the loop runs */
    EVENT_PAUSE,        /* a turn is over: sleep? */
    EVENT_WAKER,        /* the timer fires */
    EVENT_SUBMIT,       /* value: the caller of the present crew */
    EVENT_ARRIVAL,      /* the open loop's next */
    EVENT_AT_SERVER,    /* value: commands */
    EVENT_SERVER_READS, /* value: was it woken? */
    EVENT_SERVER_DONE,
    EVENT_AT_CLIENT, /* value: replies */
} event_kind_t;

/* ---- the order of events ---- */

static void schedule(flush_world_t *world, uint64_t at_ns, event_kind_t kind,
                     uint64_t value)
{
    size_t at = world->event_count++;

    assert(world->event_count <= FLUSH_EVENTS_MAX);
    for (; at > 0 && world->events[(at - 1) / 2].at_ns > at_ns; at = (at - 1) / 2)
        world->events[at] = world->events[(at - 1) / 2];
    world->events[at] = (flush_event_t){at_ns, kind, (uint32_t)value};
}

static flush_event_t next_event(flush_world_t *world)
{
    flush_event_t first = world->events[0];
    flush_event_t last = world->events[--world->event_count];
    size_t at = 0, child;

    while ((child = 2 * at + 1) < world->event_count) {
        if (child + 1 < world->event_count &&
            world->events[child + 1].at_ns < world->events[child].at_ns)
            child++;
        if (world->events[child].at_ns >= last.at_ns)
            break;
        world->events[at] = world->events[child];
        at = child;
    }
    world->events[at] = last;
    return first;
}

static uint64_t about(flush_world_t *world, uint64_t ns)
{
    uint64_t varied_ns = sim_dice_about(&world->dice, ns);

    if (sim_dice_below(&world->dice, TAIL_ONE_IN) == 0)
        varied_ns += sim_dice_below(&world->dice, TAIL_NS);
    return varied_ns;
}

/* Exponential with this mean, by comparisons alone (von Neumann). */
static uint64_t exponential(flush_world_t *world, uint64_t mean_ns)
{
    for (uint64_t whole = 0;; whole++) {
        uint32_t first = (uint32_t)sim_dice_next(&world->dice), last = first, next;
        unsigned falling = 1;

        while ((next = (uint32_t)sim_dice_next(&world->dice)) <= last) {
            last = next;
            falling++;
        }
        if (falling % 2)
            return whole * mean_ns +
                   (uint64_t)((double)first / 4294967296.0 * (double)mean_ns);
    }
}

/* ---- callers ---- */

static void wake_loop(flush_world_t *world, uint64_t at_ns)
{
    if (at_ns >= world->turn_ns)
        return;
    world->turn_ns = at_ns;
    schedule(world, at_ns, EVENT_TURN, 0);
}

static void submit(flush_world_t *world, uint32_t caller)
{
    assert(world->submitted - world->replied < FLUSH_RING);
    world->ring[world->submitted++ % FLUSH_RING] =
        (flush_command_t){world->now_ns, caller, world->crew};
    if (!world->is_asleep || world->turn_ns != SHOAL__NEVER_US ||
        world->submitted - world->taken < world->wake_after)
        return;
    world->figures.signals++;
    world->figures.client_cpu_ns += SIGNAL_CPU_NS;
    wake_loop(world, world->now_ns + about(world, WAKE_NS));
}

/* From one moment within a burst to another, as much later in real time. */
static uint64_t burst_gap_ns(flush_world_t *world, uint64_t active_ns)
{
    uint64_t before = world->burst_ns / BURST_NS;

    world->burst_ns += active_ns;
    return active_ns +
           (world->burst_ns / BURST_NS - before) * BURST_NS * (BURST_SHARE - 1);
}

static uint64_t gap_ns(flush_world_t *world)
{
    const flush_load_t *load = &world->load;

    switch (load->kind) {
    case FLUSH_LOAD_RANDOM:
        return exponential(world, 1000000000 / load->rate);
    case FLUSH_LOAD_BURSTS:
        return burst_gap_ns(world,
                            exponential(world, 1000000000 / load->rate / BURST_SHARE));
    case FLUSH_LOAD_RECORDED:
        return (uint64_t)load->gaps[world->next_gap++ % load->gap_count] * 1000;
    case FLUSH_LOAD_EVEN:
    case FLUSH_LOAD_NONE: /* these have no arrivals of their own */
    case FLUSH_LOAD_CALLBACKS:
    case FLUSH_LOAD_THREADS:
        break;
    }
    return 1000000000 / load->rate;
}

static void arrive(flush_world_t *world, uint32_t crew)
{
    if (crew != world->crew)
        return;
    submit(world, 0);
    schedule(world, world->now_ns + gap_ns(world), EVENT_ARRIVAL, crew);
}

static uint64_t think_ns(flush_world_t *world)
{
    uint64_t mean_ns = world->load.think_us * 1000;

    return world->load.is_think_random ? exponential(world, mean_ns) : mean_ns;
}

static uint64_t come_ns(flush_world_t *world)
{
    return world->now_ns + think_ns(world) + sim_dice_below(&world->dice, START_NS);
}

/* ---- the loop ---- */

static size_t bucket_of(uint64_t ns)
{
    unsigned octave = 0;

    while (ns >> octave >= 2 * FLUSH_STEPS)
        octave++;
    return octave * FLUSH_STEPS + (size_t)(ns >> octave);
}

static void record(flush_world_t *world, const flush_command_t *command, uint64_t at_ns)
{
    flush_figures_t *figures = &world->figures;
    uint64_t latency_ns = at_ns - command->submitted_ns;

    figures->completed++;
    figures->latencies[bucket_of(latency_ns)]++;
    if (figures->first_latency_ns == 0 && command->submitted_ns >= figures->since_ns)
        figures->first_latency_ns = latency_ns;
}

static void add_to_policy(flush_world_t *world)
{
    const flush_command_t *command = &world->ring[world->taken++ % FLUSH_RING];

    shoal__flush_policy_add(&world->policy, COMMAND_BYTES, false,
                            command->submitted_ns / 1000);
}

/* Read all replies.  Callbacks submit at once; threads are woken later. */
static uint64_t read_replies(flush_world_t *world, uint64_t at_ns)
{
    uint64_t replies = world->readable;

    if (replies == 0)
        return at_ns;
    at_ns += READ_NS;
    shoal__flush_policy_read_begin(&world->policy, at_ns / 1000);
    for (uint64_t i = 0; i < replies; i++) {
        const flush_command_t *command = &world->ring[world->replied++ % FLUSH_RING];
        at_ns += RESULT_NS;
        record(world, command, at_ns);
        shoal__flush_policy_answered(&world->policy);
        /* The inbox is empty or goes first. */
        if (world->load.kind != FLUSH_LOAD_CALLBACKS || command->crew != world->crew)
            continue;
        while (world->taken < world->submitted)
            add_to_policy(world);
        world->ring[world->submitted++ % FLUSH_RING] =
            (flush_command_t){at_ns, command->caller, world->crew};
        add_to_policy(world);
        at_ns += ENCODE_NS;
    }
    shoal__flush_policy_read_end(&world->policy, at_ns / 1000);
    world->readable = 0;
    return at_ns;
}

static uint64_t write_batch(flush_world_t *world, uint64_t commands, uint64_t at_ns)
{
    bool wakes = world->rtt_ns == 0 && world->is_server_asleep;

    world->written += commands;
    world->figures.flushes++;
    world->figures.flushed += commands;
    schedule(world, at_ns + WRITE_NS + world->rtt_ns / 2, EVENT_AT_SERVER, commands);
    at_ns += wakes ? WRITE_WAKES_NS : WRITE_NS;
    shoal__flush_policy_flushed(&world->policy, commands, commands * COMMAND_BYTES,
                                at_ns / 1000);
    return at_ns;
}

static uint64_t arm(flush_world_t *world, uint64_t wake_us, uint64_t at_ns)
{
    uint64_t due_ns = wake_us * 1000;

    world->armed_us = wake_us;
    at_ns += ARM_NS;
    due_ns = due_ns > at_ns ? due_ns : at_ns;
    schedule(world, due_ns + about(world, LATE_NS), EVENT_WAKER, 0);
    return at_ns;
}

static uint64_t write_all(flush_world_t *world, uint64_t at_ns)
{
    for (;;) {
        shoal__flush_answer_t answer =
            shoal__flush_policy_ask(&world->policy, SHOAL__NEVER_US, at_ns / 1000);
        if (answer.verdict == SHOAL__FLUSH_NOW) {
            at_ns = write_batch(
                world, answer.commands ? answer.commands : world->policy.queued, at_ns);
            continue;
        }
        world->wake_after = answer.wake_after;
        return answer.wake_us < world->armed_us ? arm(world, answer.wake_us, at_ns)
                                                : at_ns;
    }
}

/* Wake the threads whose results were read, one after the other. */
static uint64_t wake_threads(flush_world_t *world, uint64_t from, uint64_t at_ns)
{
    if (world->load.kind != FLUSH_LOAD_THREADS)
        return at_ns;
    for (uint64_t i = from; i < world->replied; i++) {
        const flush_command_t *command = &world->ring[i % FLUSH_RING];
        if (command->crew != world->crew)
            continue;
        at_ns += ROW_NS;
        uint64_t next_ns = at_ns + about(world, WAKE_NS) + think_ns(world);
        schedule(world, next_ns, EVENT_SUBMIT, command->caller | world->crew << 16);
    }
    return at_ns;
}

static void take_turn(flush_world_t *world)
{
    uint64_t at_ns = world->now_ns, first_reply = world->replied;

    world->is_asleep = false;
    world->is_waker_due = false;
    at_ns = read_replies(world, at_ns + POLL_NS);
    while (world->taken < world->submitted) {
        add_to_policy(world);
        at_ns += ENCODE_NS;
    }
    at_ns = write_all(world, at_ns);
    at_ns = wake_threads(world, first_reply, at_ns);
    world->figures.client_cpu_ns += at_ns - world->now_ns;
    schedule(world, at_ns, EVENT_PAUSE, 0);
}

/* Sleep unless there is something to do. */
static void pause_or_go_on(flush_world_t *world)
{
    if (world->submitted > world->taken || world->readable || world->is_waker_due) {
        take_turn(world);
        return;
    }
    world->is_asleep = true;
    world->turn_ns = SHOAL__NEVER_US;
}

static void waker_fires(flush_world_t *world)
{
    if (world->armed_us == SHOAL__NEVER_US || world->now_ns < world->armed_us * 1000)
        return; /* it was set to another time */
    world->armed_us = SHOAL__NEVER_US;
    world->figures.timers++;
    world->figures.client_cpu_ns += TIMER_CPU_NS;
    world->is_waker_due = true;
    if (world->is_asleep)
        wake_loop(world, world->now_ns);
}

/* ---- the server ---- */

static void server_reads(flush_world_t *world, bool is_woken)
{
    uint64_t commands =
        shoal__time_min(world->server_pending, SERVER_READ_BYTES / COMMAND_BYTES);
    uint64_t batch_ns = is_woken ? SERVER_WOKEN_NS : SERVER_BUSY_NS;
    uint64_t work_ns = commands * SERVER_COMMAND_NS;

    world->server_pending -= commands;
    world->server_batch = commands;
    world->figures.server_cpu_ns +=
        work_ns + (is_woken ? SERVER_WOKEN_CPU_NS : SERVER_BUSY_NS);
    schedule(world, world->now_ns + batch_ns + work_ns, EVENT_SERVER_DONE, 0);
}

static void at_server(flush_world_t *world, uint64_t commands)
{
    world->server_pending += commands;
    if (!world->is_server_asleep)
        return;
    world->is_server_asleep = false;
    schedule(world, world->now_ns + about(world, WAKE_NS), EVENT_SERVER_READS, true);
}

static void server_done(flush_world_t *world)
{
    schedule(world, world->now_ns + world->rtt_ns / 2, EVENT_AT_CLIENT,
             world->server_batch);
    if (world->server_pending)
        server_reads(world, false);
    else
        world->is_server_asleep = true;
}

static void at_client(flush_world_t *world, uint64_t replies)
{
    world->readable += replies;
    if (world->is_asleep)
        wake_loop(world, world->now_ns + about(world, WAKE_NS));
}

/* ---- the world ---- */

static void happen(flush_world_t *world, const flush_event_t *event)
{
    switch ((event_kind_t)event->kind) {
    case EVENT_TURN:
        if (event->at_ns != world->turn_ns || !world->is_asleep)
            return; /* it was woken earlier than that */
        if (!world->is_waker_due)
            world->figures.client_cpu_ns += WAKE_CPU_NS;
        take_turn(world);
        break;
    case EVENT_PAUSE:
        pause_or_go_on(world);
        break;
    case EVENT_WAKER:
        waker_fires(world);
        break;
    case EVENT_SUBMIT:
        if (event->value >> 16 == world->crew)
            submit(world, event->value & 0xffff);
        break;
    case EVENT_ARRIVAL:
        arrive(world, event->value);
        break;
    case EVENT_AT_SERVER:
        at_server(world, event->value);
        break;
    case EVENT_SERVER_READS:
        server_reads(world, event->value);
        break;
    case EVENT_SERVER_DONE:
        server_done(world);
        break;
    case EVENT_AT_CLIENT:
        at_client(world, event->value);
        break;
    }
}

flush_world_t *flush_world_new(void)
{
    return calloc(1, sizeof(flush_world_t));
}

void flush_world_begin(flush_world_t *world, shoal_flush_mode_t mode, uint64_t pause_us,
                       uint64_t rtt_us, uint64_t seed)
{
    shoal__flush_config_t config = {.mode = mode,
                                    .pause_us = pause_us,
                                    .bytes_max = 262144,
                                    .commands_max = 65536,
                                    .has_fine_waker = true};

    memset(world, 0, sizeof *world);
    shoal__flush_policy_init(&world->policy, &config);
    world->rtt_ns = rtt_us * 1000;
    world->dice.state = seed;
    world->now_ns = 1000000000;
    world->is_asleep = world->is_server_asleep = true;
    world->turn_ns = world->armed_us = SHOAL__NEVER_US;
    world->wake_after = 1;
    flush_world_count(world);
}

void flush_world_load(flush_world_t *world, const flush_load_t *load)
{
    world->load = *load;
    world->crew++;
    if (load->rate)
        schedule(world, world->now_ns + gap_ns(world), EVENT_ARRIVAL, world->crew);
    if (load->kind == FLUSH_LOAD_RECORDED)
        schedule(world, world->now_ns, EVENT_ARRIVAL, world->crew);
    for (uint32_t i = 0; i < load->callers; i++)
        schedule(world, come_ns(world), EVENT_SUBMIT, i | world->crew << 16);
}

void flush_world_run(flush_world_t *world, uint64_t span_us)
{
    uint64_t until_ns = world->now_ns + span_us * 1000;

    while (world->event_count && world->events[0].at_ns < until_ns) {
        flush_event_t event = next_event(world);
        world->now_ns = event.at_ns;
        happen(world, &event);
    }
    world->now_ns = until_ns;
}

void flush_world_count(flush_world_t *world)
{
    memset(&world->figures, 0, sizeof world->figures);
    world->figures.since_ns = world->now_ns;
}

double flush_figures_latency_us(const flush_world_t *world, unsigned permille)
{
    const flush_figures_t *figures = &world->figures;
    uint64_t left = figures->completed * permille / 1000;

    for (size_t i = 0; i < FLUSH_BUCKETS; i++) {
        if (figures->latencies[i] > left) {
            size_t octave = i < 2 * FLUSH_STEPS ? 0 : i / FLUSH_STEPS - 1;
            return (double)((uint64_t)(i - octave * FLUSH_STEPS) << octave) / 1000;
        }
        left -= figures->latencies[i];
    }
    return 0;
}
