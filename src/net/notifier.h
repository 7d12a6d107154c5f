/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_NOTIFIER_H
#define SHOAL_NET_NOTIFIER_H

/*
 * A descriptor that becomes readable when a thread signals it: an eventfd where the
 * system has one, else a pipe.  The library does not use uv_async, because a wake-up
 * through it costs twice as much in the libuv that stable distributions ship.
 */

typedef struct shoal__notifier {
    int read_fd, write_fd; /* the same for an eventfd; -1: none */
} shoal__notifier_t;

/* 0 or an errno, negated.  Descriptors are non-blocking and close on exec. */
int shoal__notifier_init(shoal__notifier_t *notifier);
void shoal__notifier_release(shoal__notifier_t *notifier);

/* Make it readable.  Any thread; never blocks. */
void shoal__notifier_signal(const shoal__notifier_t *notifier);

/* Make it unreadable. */
void shoal__notifier_clear(const shoal__notifier_t *notifier);

#endif
