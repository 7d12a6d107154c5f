/* SPDX-License-Identifier: MIT */

/* The checked longjmp takes a jump between two stacks for a mistake. */
#undef _FORTIFY_SOURCE

#include "interleave/explore_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 1000 /* a schedule with more steps does not end */
#define SCHEDULES_MAX UINT64_C(20000000)

static struct {
    const explore_scenario_t *scenario;
    explore_report_t report;
    explore_thread_t threads[EXPLORE_THREADS_MAX];
    unsigned count, running;
    bool is_inside; /* a thread runs, not `begin` or `end` */
    bool is_start;  /* ... up to its first point */
    explore_choice_t choices[DEPTH_MAX];
    unsigned depth, length; /* at present; of the schedule that is repeated */
    uint64_t now_us;
    unsigned spurious_left, preemptions;
    jmp_buf given_up;
} world;

/* ---- for threads ---- */

static void enter(void *data)
{
    explore_thread_t *thread = data;

    thread->body(thread->data);
    thread->has_ended = true;
}

unsigned explore_start(const char *name, void (*body)(void *data), void *data)
{
    unsigned number = world.count++, starter = world.running;
    bool was_inside = world.is_inside;
    explore_thread_t *thread = &world.threads[number];

    if (number == EXPLORE_THREADS_MAX)
        abort();
    thread->name = name;
    thread->body = body;
    thread->data = data;
    thread->has_ended = false;
    if (!coroutine_start(&thread->coroutine, enter, thread))
        abort();
    world.running = number;
    world.is_inside = world.is_start = true;
    coroutine_resume(&thread->coroutine); /* up to its first point */
    world.is_inside = was_inside;
    world.is_start = false;
    world.running = starter;
    return number;
}

unsigned explore_self(void)
{
    return world.is_inside ? world.running : EXPLORE_THREADS_MAX;
}

bool explore_has_ended(unsigned thread)
{
    return world.threads[thread].has_ended;
}

uint64_t explore_now_us(void)
{
    if (world.scenario->ticks)
        explore_touch("clock", &world.now_us, false);
    return world.now_us;
}

uint64_t explore_peek_us(void)
{
    return world.now_us;
}

bool explore_may_be_spurious(void)
{
    return world.spurious_left > 0;
}

/* With no preemption left, the running thread goes on as long as it can.  True: the step
 * was taken so, without a look at the others.  (Without this, the explorer takes twice as
 * long.) */
static bool went_on(const explore_step_t *step)
{
    const uint32_t move = world.running * EXPLORE_WAY_BITS + EXPLORE_DONE;
    explore_choice_t *choice = &world.choices[world.depth];

    if (!world.scenario->is_bounded || world.is_start || step->is_yield ||
        world.preemptions < world.scenario->preemptions_max ||
        world.depth == DEPTH_MAX ||
        (step->ways && step->ways(step) != 1U << EXPLORE_DONE))
        return false;
    if (world.depth == world.length) {
        *choice = (explore_choice_t){.open = (explore_moves_t)1 << move, .taken = move};
        world.length++;
    } else if (choice->taken != move) {
        explore_fail("not the same when repeated");
    }
    choice->what = step->what;
    world.depth++;
    world.report.steps++;
    return true;
}

unsigned explore_point(const explore_step_t *step)
{
    explore_thread_t *self = &world.threads[world.running];

    if (!world.is_inside) { /* nobody is beside it */
        if (step->ways && !(step->ways(step) & 1U << EXPLORE_DONE))
            explore_fail("it blocks outside of every thread: %s", step->what);
        return EXPLORE_DONE;
    }
    if (went_on(step))
        return EXPLORE_DONE;
    self->step = *step;
    coroutine_yield(&self->coroutine);
    return self->way;
}

void explore_touch(const char *what, const void *object, bool is_write)
{
    explore_point(
        &(explore_step_t){.what = what, .objects = {object}, .is_write = is_write});
}

void explore_yield(void)
{
    explore_point(&(explore_step_t){.what = "yield", .is_yield = true});
    world.now_us += world.scenario->yield_us;
}

void explore_fail_at(const char *file, int line, const char *format, ...)
{
    explore_report_t *report = &world.report;
    const char *name = strrchr(file, '/');
    int at;
    va_list values;

    world.is_inside = false;
    at = snprintf(report->failure, sizeof report->failure,
                  "%s:%d: ", name ? name + 1 : file, line);
    va_start(values, format);
    vsnprintf(report->failure + at, sizeof report->failure - (size_t)at, format,
              values);
    va_end(values);
    report->has_failed = true;
    _longjmp(world.given_up, 1);
}

/* ---- the tree of choices ---- */

static explore_moves_t bit_of(uint32_t move)
{
    return (explore_moves_t)1 << move;
}

static explore_moves_t moves_of(unsigned thread)
{
    return (((explore_moves_t)1 << EXPLORE_WAYS) - 1) << thread * EXPLORE_WAY_BITS;
}

static explore_moves_t open_moves(void)
{
    explore_moves_t open = 0;

    for (unsigned i = 0; i < world.count; i++) {
        const explore_step_t *step = &world.threads[i].step;
        if (!world.threads[i].has_ended)
            open |= (step->ways ? step->ways(step) : 1U << EXPLORE_DONE)
                    << i * EXPLORE_WAY_BITS;
    }
    return open;
}

static bool touches(uint32_t move, const void *object)
{
    const explore_step_t *step = &world.threads[move / EXPLORE_WAY_BITS].step;

    for (unsigned i = 0; i < EXPLORE_OBJECTS_MAX; i++) {
        if (step->objects[i] == object)
            return true;
    }
    return false;
}

/* Does it matter which of the two is made first? */
static bool is_dependent(uint32_t a, uint32_t b)
{
    const explore_step_t *one = &world.threads[a / EXPLORE_WAY_BITS].step;
    const explore_step_t *other = &world.threads[b / EXPLORE_WAY_BITS].step;

    if (a / EXPLORE_WAY_BITS == b / EXPLORE_WAY_BITS)
        return true;
    /* Time passes, and any step may have looked at the clock. */
    if (one->is_yield || other->is_yield)
        return true;
    /* They share how often that may happen. */
    if (a % EXPLORE_WAY_BITS == EXPLORE_SPURIOUS &&
        b % EXPLORE_WAY_BITS == EXPLORE_SPURIOUS)
        return true;
    /* What was too late may be in time. */
    if ((one->until_us && touches(b, &world.now_us)) ||
        (other->until_us && touches(a, &world.now_us)))
        return true;
    if (!one->is_write && !other->is_write)
        return false;
    for (unsigned i = 0; i < EXPLORE_OBJECTS_MAX; i++) {
        if (one->objects[i] && touches(b, one->objects[i]))
            return true;
    }
    return false;
}

/* Of `asleep`, what still need not be tried after this move. */
static explore_moves_t still_asleep(explore_moves_t asleep, uint32_t taken)
{
    explore_moves_t left = asleep;

    while (asleep) {
        uint32_t move = (uint32_t)__builtin_ctz(asleep);
        asleep &= asleep - 1;
        if (is_dependent(move, taken))
            left &= ~bit_of(move);
    }
    return left;
}

/* The thread that ran goes on if it may: others first means a preemption. */
static uint32_t first_of(explore_moves_t moves)
{
    explore_moves_t own = world.count ? moves & moves_of(world.running) : 0;

    return (uint32_t)__builtin_ctz(own ? own : moves);
}

/* Would it be a preemption to make this move now? */
static bool is_preemption(explore_moves_t open, uint32_t move)
{
    explore_moves_t own = moves_of(world.running);
    bool is_own = (bit_of(move) & own) != 0;

    if (world.depth == 0 || !(open & own))
        return false;
    if (world.threads[world.running].step.is_yield)
        return is_own && (open & ~own);
    return !is_own;
}

/* What may be tried here, of what is open. */
static explore_moves_t allowed_moves(explore_moves_t open, explore_moves_t asleep)
{
    explore_moves_t allowed = open;

    if (world.scenario->is_raw)
        return open;
    if (!world.scenario->is_bounded)
        return open & ~asleep;
    if (world.preemptions < world.scenario->preemptions_max)
        return open;
    for (explore_moves_t left = open; left; left &= left - 1) {
        uint32_t move = (uint32_t)__builtin_ctz(left);
        if (is_preemption(open, move))
            allowed &= ~bit_of(move);
    }
    return allowed;
}

/* ---- one run ---- */

/* Nobody can go on: let time pass, if that helps. */
static bool rest(void)
{
    uint64_t next_us = EXPLORE_NEVER_US;

    for (unsigned i = 0; i < world.count; i++) {
        const explore_thread_t *thread = &world.threads[i];
        if (!thread->has_ended && thread->step.until_us > world.now_us &&
            thread->step.until_us < next_us)
            next_us = thread->step.until_us;
    }
    if (!world.scenario->may_rest || next_us == EXPLORE_NEVER_US ||
        (world.scenario->rest_us_max &&
         next_us - world.now_us > world.scenario->rest_us_max))
        return false;
    world.now_us = next_us;
    return true;
}

static void take(uint32_t move)
{
    explore_thread_t *thread = &world.threads[move / EXPLORE_WAY_BITS];

    if (is_preemption(world.choices[world.depth].open, move))
        world.preemptions++;
    if (move % EXPLORE_WAY_BITS == EXPLORE_SPURIOUS)
        world.spurious_left--;
    thread->way = move % EXPLORE_WAY_BITS;
    world.choices[world.depth].what = thread->step.what;
    world.running = move / EXPLORE_WAY_BITS;
    world.depth++;
    world.report.steps++;
    world.is_inside = true;
    coroutine_resume(&thread->coroutine);
    world.is_inside = false;
}

static void fail_stuck(void)
{
    char who[120] = "";

    for (unsigned i = 0; i < world.count; i++) {
        const explore_thread_t *thread = &world.threads[i];
        size_t at = strlen(who);
        if (!thread->has_ended)
            snprintf(who + at, sizeof who - at, " %s (%s)", thread->name,
                     thread->step.what);
    }
    if (who[0])
        explore_fail("nobody can go on:%s", who);
}

static void tick(void *data)
{
    (void)data;
    for (unsigned i = 0; i < world.scenario->ticks; i++) {
        explore_touch("tick", &world.now_us, true);
        world.now_us += world.scenario->tick_us;
    }
}

/* Make the choice of this depth, or repeat it; false: all that follows was seen. */
static bool choose(explore_moves_t open, explore_moves_t asleep)
{
    explore_choice_t *choice = &world.choices[world.depth];
    explore_moves_t allowed;

    if (world.depth < world.length) {
        if (choice->open != open)
            explore_fail("not the same when repeated");
        return true;
    }
    allowed = allowed_moves(open, asleep);
    if (allowed == 0)
        return false;
    /* What may not be tried is done with. */
    *choice = (explore_choice_t){.open = open, .done = open & ~allowed};
    choice->taken = first_of(allowed);
    world.length++;
    return true;
}

/* Follow the schedule, and go on from its end.  False: it was cut. */
static bool run_once(void)
{
    explore_moves_t asleep = 0, open;

    world.depth = world.count = world.preemptions = world.running = 0;
    world.is_inside = false;
    world.now_us = EXPLORE_START_US;
    world.spurious_left = world.scenario->spurious;
    world.scenario->begin(world.scenario->data);
    if (world.scenario->ticks)
        explore_start("clock", tick, NULL);
    for (;;) {
        open = open_moves();
        if (open == 0) {
            if (!rest())
                break;
            asleep = 0;
            continue;
        }
        if (world.depth == DEPTH_MAX)
            explore_fail("it does not end");
        if (!choose(open, asleep))
            return false;
        const explore_choice_t *choice = &world.choices[world.depth];
        asleep = still_asleep(asleep | choice->done, choice->taken);
        take(choice->taken);
    }
    fail_stuck();
    world.scenario->end();
    return true;
}

/* The next schedule in depth first order; false: there is none. */
static bool advance(void)
{
    while (world.length > 0) {
        explore_choice_t *choice = &world.choices[world.length - 1];
        explore_moves_t left;
        choice->done |= bit_of(choice->taken);
        left = choice->open & ~choice->done;
        if (left) {
            choice->taken = (uint32_t)__builtin_ctz(left);
            return true;
        }
        world.length--;
    }
    return false;
}

/* ---- the exploration ---- */

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text ? strtoull(text, NULL, 10) : otherwise;
}

/* Until a failure, the end, or so many schedules. */
static void explore_all(void)
{
    const uint64_t schedules_max =
        from_environment("SHOAL_INTERLEAVE_SCHEDULES", SCHEDULES_MAX);

    do {
        if (run_once())
            world.report.schedules++;
        else
            world.report.cut++;
        if (world.depth > world.report.depth)
            world.report.depth = world.depth;
        world.report.is_complete = !advance();
    } while (!world.report.is_complete && world.report.schedules < schedules_max);
}

explore_report_t explore(const explore_scenario_t *scenario)
{
    explore_scenario_t wider = *scenario;

    wider.preemptions_max += (unsigned)from_environment("SHOAL_INTERLEAVE_MORE", 0);
    world.scenario = &wider;
    world.report = (explore_report_t){0};
    world.length = 0;
    if (_setjmp(world.given_up) == 0)
        explore_all();
    else
        explore_print_failure(&wider, &world.report, world.threads, world.choices,
                              world.depth);
    explore_print_report(&wider, &world.report);
    return world.report;
}
