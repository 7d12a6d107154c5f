/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_PROCESS_STATE_H
#define SHOAL_TESTS_PROCESS_STATE_H

/* What this process holds, as /proc has it: descriptors, threads, memory. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How many descriptors are open, without the one that this function opens. */
size_t process_descriptors(void);
/* How many of them are sockets. */
size_t process_sockets(void);
/* The first open descriptor, from 3 on, that a program started by exec would inherit
 * and that is not in `before`; -1: there is none.  process_descriptor_set() gave
 * `before`. */
int process_inherited(uint64_t before);
/* Bit n: descriptor n is open, for n < 64. */
uint64_t process_descriptor_set(void);

size_t process_threads(void);
/* Write the ids of up to `room` threads.  Returns how many threads there are. */
size_t process_thread_ids(pid_t *ids, size_t room);
/* The mask of blocked signals of a thread: bit n - 1 for signal n. */
uint64_t process_blocked_signals(pid_t thread);

/* Wait until *thread is not 0 and that thread has been asleep at several looks in a
 * row: then it waits for something other than a processor. */
void process_await_sleep(const _Atomic pid_t *thread);

/* True in a build with a sanitizer, which needs more time and memory. */
bool process_is_sanitized(void);
bool process_is_thread_sanitized(void);

/* Resident bytes. */
size_t process_resident_bytes(void);

#endif
