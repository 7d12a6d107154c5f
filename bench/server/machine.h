/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_SERVER_MACHINE_H
#define SHOAL_BENCH_SERVER_MACHINE_H

/* What is asked of the operating system: CPUs, limits, memory, names. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MACHINE_NO_CPU UINT64_MAX

/* The CPU of each part; MACHINE_NO_CPU: the system chooses. */
typedef struct cpu_plan {
    uint64_t server;
    uint64_t client;
    uint64_t generator; /* of an open loop; the client's if there is none to spare */
} cpu_plan_t;

/* The first CPU that this process may use for the client, the last for the server,
 * and one between for the generator; nothing with fewer than two. */
cpu_plan_t machine_plan_cpus(void);

/* Pins the calling thread and those that it starts.  Returns -1 with errno set. */
int machine_pin(uint64_t cpu);

/* Lets the calling thread sleep with the precision of the clock. */
void machine_sleep_precisely(void);

/* As many descriptors as the system allows. */
void machine_raise_descriptors(void);

/* How many that are. */
uint64_t machine_descriptors(void);

/* User and system time of this process so far. */
uint64_t machine_cpu_ns(void);

/* Context switches of this process so far, of all its threads. */
typedef struct machine_switches {
    uint64_t voluntary;   /* a thread went to sleep */
    uint64_t involuntary; /* a thread lost its CPU to another one */
} machine_switches_t;

machine_switches_t machine_switches(void);

/* Starts a new peak of resident memory, where the system can. */
void machine_reset_peak_rss(void);
uint64_t machine_peak_rss_bytes(void);

typedef struct machine {
    char system[200]; /* "Linux 6.1.0 x86_64" */
    char cpu[128];    /* its name */
    size_t cpus;      /* that this process may use */
    bool is_virtual;  /* a hypervisor runs below */
} machine_t;

machine_t machine_describe(void);

#endif
