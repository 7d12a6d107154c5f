/* SPDX-License-Identifier: MIT */
#include "matrix/load.h"

#include "fault_proxy/fake_bytes.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define BURST_MAX 64
#define RECENT 64 /* commands of which one is cancelled: queued, written or answered */

typedef struct submitter {
    load_t *load;
    uint64_t random;
    matrix_command_t *recent[RECENT]; /* round and round */
    uint64_t count;
    pthread_t thread;
} submitter_t;

struct load {
    matrix_t *m;
    load_plan_t plan;
    uint64_t begun_us, done_before;
    _Atomic uint64_t submitted;
    _Atomic bool is_over;
    unsigned threads; /* that were started */
    submitter_t submitters[LOAD_THREADS_MAX];
};

static uint64_t next_random(submitter_t *submitter)
{
    submitter->random ^= submitter->random << 13;
    submitter->random ^= submitter->random >> 7;
    submitter->random ^= submitter->random << 17;
    return submitter->random;
}

/* May one more be submitted?  If so it is counted. */
static bool take_turn(load_t *load)
{
    const load_plan_t *plan = &load->plan;
    uint64_t submitted = load->submitted;

    do {
        uint64_t done = load->m->completed + load->m->refused - load->done_before;
        uint64_t age_us = waiting_now_us() - load->begun_us;
        if (plan->commands > 0 && submitted >= plan->commands)
            return false;
        if (submitted >= done + plan->window)
            return false;
        if (plan->per_ms > 0 && submitted >= (age_us / 1000 + 1) * plan->per_ms)
            return false;
    } while (
        !atomic_compare_exchange_weak(&load->submitted, &submitted, submitted + 1));
    return true;
}

static void submit_one(submitter_t *submitter)
{
    load_t *load = submitter->load;
    const load_plan_t *plan = &load->plan;
    uint64_t random = next_random(submitter);
    matrix_spec_t spec = {.timeout_us = plan->timeout_us};

    if (random % 100 < plan->writes)
        spec.kind = MATRIX_WRITE;
    if ((random >> 8) % 100 < plan->hurries) /* 0 would be the client's own */
        spec.timeout_us = 1 + (random >> 24) % plan->hurry_us_max;
    submitter->recent[submitter->count++ % RECENT] = matrix_submit(load->m, &spec);
    if ((random >> 16) % 100 < plan->cancels) {
        uint64_t ago = (random >> 32) % RECENT;
        if (ago < submitter->count)
            (void)matrix_cancel(
                load->m, submitter->recent[(submitter->count - 1 - ago) % RECENT]);
    }
}

static void *submit_until_over(void *data)
{
    submitter_t *submitter = data;
    load_t *load = submitter->load;

    while (!load->is_over && !load_is_spent(load)) {
        if (take_turn(load))
            submit_one(submitter);
        else
            waiting_sleep_us(100);
    }
    return NULL;
}

load_t *load_start(matrix_t *m, const load_plan_t *plan)
{
    load_t *load = fake_must(calloc(1, sizeof *load));

    load->m = m;
    load->plan = *plan;
    if (m->mode->caller == MATRIX_BY_BLOCKING && load->plan.window > m->callers)
        load->plan.window = m->callers; /* more would only queue for a caller */
    load->begun_us = waiting_now_us();
    load->done_before = m->completed + m->refused;
    for (unsigned i = 0; i < LOAD_THREADS_MAX; i++)
        load->submitters[i] =
            (submitter_t){.load = load, .random = 88172645463325252u + i * 7919u};
    if (m->mode->caller == MATRIX_BY_STEPPING)
        return load;
    for (; load->threads < plan->threads; load->threads++) {
        submitter_t *submitter = &load->submitters[load->threads];
        if (pthread_create(&submitter->thread, NULL, submit_until_over, submitter) != 0)
            abort();
    }
    return load;
}

void load_turn(load_t *load)
{
    if (load->m->mode->caller == MATRIX_BY_STEPPING)
        for (unsigned i = 0; i < BURST_MAX && take_turn(load); i++)
            submit_one(&load->submitters[0]);
    matrix_idle(load->m);
}

bool load_is_spent(const load_t *load)
{
    return load->plan.commands > 0 && load->submitted >= load->plan.commands;
}

void load_stop(load_t *load)
{
    load->is_over = true;
    for (unsigned i = 0; i < load->threads; i++)
        pthread_join(load->submitters[i].thread, NULL);
    matrix_t *m = load->m;
    free(load);
    matrix_wait(m);
}

void load_run(matrix_t *m, const load_plan_t *plan)
{
    load_t *load = load_start(m, plan);

    while (!load_is_spent(load))
        load_turn(load);
    load_stop(load);
}

struct load_agent {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    load_job_fn job; /* NULL: nothing to do */
    void *data;
    bool is_over;
};

static void *serve(void *data)
{
    load_agent_t *agent = data;

    pthread_mutex_lock(&agent->lock);
    while (!agent->is_over) {
        if (agent->job) {
            pthread_mutex_unlock(&agent->lock);
            agent->job(agent->data);
            pthread_mutex_lock(&agent->lock);
            agent->job = NULL;
        } else {
            pthread_cond_wait(&agent->changed, &agent->lock);
        }
    }
    pthread_mutex_unlock(&agent->lock);
    return NULL;
}

static void end_agent(void *data)
{
    load_agent_t *agent = data;

    pthread_mutex_lock(&agent->lock);
    agent->is_over = true;
    pthread_cond_signal(&agent->changed);
    pthread_mutex_unlock(&agent->lock);
    pthread_join(agent->thread, NULL);
    pthread_cond_destroy(&agent->changed);
    pthread_mutex_destroy(&agent->lock);
    free(agent);
}

load_agent_t *load_agent_new(matrix_t *m)
{
    load_agent_t *agent = fake_must(calloc(1, sizeof *agent));

    pthread_mutex_init(&agent->lock, NULL);
    pthread_cond_init(&agent->changed, NULL);
    if (pthread_create(&agent->thread, NULL, serve, agent) != 0)
        abort();
    matrix_defer(m, end_agent, agent);
    return agent;
}

void load_agent_begin(load_agent_t *agent, load_job_fn job, void *data)
{
    pthread_mutex_lock(&agent->lock);
    if (agent->job)
        abort();
    agent->job = job;
    agent->data = data;
    pthread_cond_signal(&agent->changed);
    pthread_mutex_unlock(&agent->lock);
}

bool load_agent_is_idle(load_agent_t *agent)
{
    pthread_mutex_lock(&agent->lock);
    bool is_idle = agent->job == NULL;
    pthread_mutex_unlock(&agent->lock);
    return is_idle;
}
