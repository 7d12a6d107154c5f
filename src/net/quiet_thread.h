/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_QUIET_THREAD_H
#define SHOAL_NET_QUIET_THREAD_H

/* Starts the library's threads with every signal blocked but those of a thread's own
 * faults (SIGSEGV ...), so that the program's handlers run on the program's threads.
 * (I14) */

#include <pthread.h>

/* 0 or an errno, negated. */
int shoal__quiet_thread_start(pthread_t *ret_thread, void (*run)(void *data),
                              void *data);

/* The same, and nobody waits for its end. */
int shoal__quiet_thread_detached(void (*run)(void *data), void *data);

#endif
