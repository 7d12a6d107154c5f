/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_PROCESS_STATE_H
#define SHOAL_TESTS_PROCESS_STATE_H

/* What this process holds, as /proc has it: descriptors, threads, memory. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Open descriptors, but the one that this look needs. */
size_t process_descriptors(void);
/* Those of them that are sockets. */
size_t process_sockets(void);
/* The first open descriptor of this process, from 3 and not in `before`, that an exec
 * would inherit; -1 if there is none.  `before` as of process_descriptor_set(). */
int process_inherited(uint64_t before);
/* Bit n: descriptor n is open, for n < 64. */
uint64_t process_descriptor_set(void);

size_t process_threads(void);
/* Ids of the threads, up to `room`; returns how many there are. */
size_t process_thread_ids(pid_t *ids, size_t room);
/* The mask of blocked signals of a thread: bit n - 1 for signal n. */
uint64_t process_blocked_signals(pid_t thread);

/* Wait until the thread is known (not 0), and sleeps in several looks in a row: it waits
 * for something, and not for a processor. */
void process_await_sleep(const _Atomic pid_t *thread);

/* Time and memory are not what they are otherwise: built with a sanitizer. */
bool process_is_sanitized(void);
bool process_is_thread_sanitized(void);

/* Resident bytes. */
size_t process_resident_bytes(void);

#endif
