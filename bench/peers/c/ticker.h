/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PEER_TICKER_H
#define SHOAL_PEER_TICKER_H

/* What peer-pacer says on standard input: when the schedule of an open loop begins, and
 * whenever a command of it is due. */

#include <stdint.h>
#include <uv.h>

/* The begin; ends the program if there is none. */
uint64_t ticker_read_start(void);

/* Waits for the next moment. */
void ticker_wait(void);

/* Calls back on a loop at each moment. */
typedef struct ticker {
    uv_poll_t poll;
    void (*on_tick)(void *data);
    void *data;
} ticker_t;

void ticker_start(ticker_t *ticker, uv_loop_t *loop, void (*on_tick)(void *data),
                  void *data);

/* The loop has to run once more. */
void ticker_stop(ticker_t *ticker);

#endif
