/* SPDX-License-Identifier: MIT */
#include "support/sleeper.h"

#include "support/waiting.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NAP_US 1000u
/* The last naps, of 17 minutes and more.  Only the younger half is looked at: the
 * thread may be writing over the oldest. */
#define NAPS_KEPT 1048576u

/* The end of a nap by the clock, and the sum of what counts up to that end. */
typedef struct nap {
    _Atomic uint64_t end_us, counted_us;
} nap_t;

static nap_t kept[NAPS_KEPT]; /* nap n, counted from 0, is at n % NAPS_KEPT */
static _Atomic uint64_t naps;
static _Atomic uint64_t late_us_max;
static _Atomic bool is_over;
static pthread_t thread;
static int loadavg; /* it stays open, because tests count descriptors */
static long processors;

/* Threads of the whole machine that run, or wait for a processor. */
static long count_running(void)
{
    char line[128] = "";
    long count = 0;

    if (loadavg < 0 || pread(loadavg, line, sizeof line - 1, 0) <= 0 ||
        sscanf(line, "%*s %*s %*s %ld/", &count) != 1)
        return 1;
    return count;
}

static uint64_t share_of_nap(void)
{
    long running = count_running();

    return running <= processors ? NAP_US
                                 : NAP_US * (uint64_t)processors / (uint64_t)running;
}

static void *sleep_and_look(void *data)
{
    uint64_t counted_us = 0;

    (void)data;
    while (!is_over) {
        uint64_t begun_us = waiting_now_us();
        waiting_sleep_us(NAP_US);
        uint64_t now_us = waiting_now_us();
        uint64_t late_us = now_us - begun_us - NAP_US;
        if (late_us > late_us_max)
            late_us_max = late_us;
        counted_us += share_of_nap();
        kept[naps % NAPS_KEPT].end_us = now_us;
        kept[naps % NAPS_KEPT].counted_us = counted_us;
        naps++;
    }
    return NULL;
}

void sleeper_start(void)
{
    sigset_t every, before;

    is_over = false;
    late_us_max = 0;
    naps = 0;
    processors = sysconf(_SC_NPROCESSORS_ONLN);
    loadavg = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    if (pthread_create(&thread, NULL, sleep_and_look, NULL) != 0)
        abort();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void sleeper_stop(void)
{
    is_over = true;
    pthread_join(thread, NULL);
    if (loadavg >= 0)
        close(loadavg);
}

uint64_t sleeper_late_us_max(void)
{
    return late_us_max;
}

/* The sum up to the last nap that ended at this moment or before. */
static uint64_t counted_at(uint64_t moment_us)
{
    uint64_t last = naps;
    uint64_t first = last > NAPS_KEPT / 2 ? last - NAPS_KEPT / 2 : 0;

    while (first < last) {
        uint64_t middle = first + (last - first) / 2;
        if (kept[middle % NAPS_KEPT].end_us > moment_us)
            last = middle;
        else
            first = middle + 1;
    }
    return first == 0 ? 0 : kept[(first - 1) % NAPS_KEPT].counted_us;
}

uint64_t sleeper_us(uint64_t from_us, uint64_t to_us)
{
    return to_us <= from_us ? 0 : counted_at(to_us) - counted_at(from_us);
}

bool sleeper_is_prompt(uint64_t due_us, uint64_t then_us, uint64_t late_us)
{
    return then_us <= due_us + late_us || sleeper_us(due_us, then_us) <= late_us;
}
