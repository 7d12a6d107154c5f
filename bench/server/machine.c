/* SPDX-License-Identifier: MIT */
#include "server/machine.h"

#include <malloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#define LINE_BYTES 4096 /* the flags of a CPU take half of it */

/* The CPU with the index `index` among those that are allowed. */
static uint64_t allowed_cpu(const cpu_set_t *allowed, size_t index)
{
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, allowed) && index-- == 0)
            return cpu;
    }
    return MACHINE_NO_CPU;
}

cpu_plan_t machine_plan_cpus(void)
{
    cpu_set_t allowed;
    cpu_plan_t plan = {MACHINE_NO_CPU, MACHINE_NO_CPU, MACHINE_NO_CPU};

    if (sched_getaffinity(0, sizeof allowed, &allowed) < 0)
        return plan;
    size_t count = (size_t)CPU_COUNT(&allowed);
    if (count < 2)
        return plan;
    plan.server = allowed_cpu(&allowed, count - 1);
    plan.client = allowed_cpu(&allowed, 0);
    plan.generator = count > 2 ? allowed_cpu(&allowed, 1) : plan.client;
    return plan;
}

int machine_pin(uint64_t cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    return sched_setaffinity(0, sizeof set, &set);
}

void machine_sleep_precisely(void)
{
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
}

void machine_raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

uint64_t machine_descriptors(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) < 0 ? 0 : (uint64_t)limit.rlim_max;
}

static uint64_t to_ns(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_usec * 1000u;
}

uint64_t machine_cpu_ns(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return to_ns(&usage.ru_utime) + to_ns(&usage.ru_stime);
}

machine_switches_t machine_switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (machine_switches_t){
        .voluntary = (uint64_t)usage.ru_nvcsw,
        .involuntary = (uint64_t)usage.ru_nivcsw,
    };
}

void machine_reset_peak_rss(void)
{
    malloc_trim(0);
    FILE *file = fopen("/proc/self/clear_refs", "we");
    if (!file)
        return;
    fputs("5", file);
    fclose(file);
}

/* The text behind `name` in a file of lines "name: text". */
static bool find_line(const char *path, const char *name, char *text, size_t bytes)
{
    char line[LINE_BYTES];
    bool found = false;
    FILE *file = fopen(path, "re");

    while (file && !found && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, name, strlen(name)) != 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(text, bytes, "%s", colon + 1 + strspn(colon + 1, " \t"));
        found = true;
    }
    if (file)
        fclose(file);
    return found;
}

uint64_t machine_peak_rss_bytes(void)
{
    char text[64];
    struct rusage usage;

    if (find_line("/proc/self/status", "VmHWM", text, sizeof text))
        return strtoull(text, NULL, 10) * 1024; /* in kB */
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_maxrss * 1024;
}

machine_t machine_describe(void)
{
    machine_t machine = {.cpu = "unknown", .cpus = 1};
    char flags[LINE_BYTES];
    struct utsname name;
    cpu_set_t allowed;

    uname(&name);
    snprintf(machine.system, sizeof machine.system, "%s %s %s", name.sysname,
             name.release, name.machine);
    find_line("/proc/cpuinfo", "model name", machine.cpu, sizeof machine.cpu);
    if (find_line("/proc/cpuinfo", "flags", flags, sizeof flags))
        machine.is_virtual = strstr(flags, " hypervisor") != NULL;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        machine.cpus = (size_t)CPU_COUNT(&allowed);
    return machine;
}
