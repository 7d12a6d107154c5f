/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_LOAD_HIREDIS_ASYNC_H
#define SHOAL_BENCH_LOAD_HIREDIS_ASYNC_H

/* A connection of hiredis' asynchronous interface to the server of a run. */

#include "load/run.h"

#include <hiredis/async.h>
#include <uv.h>

/* `flags` are hiredis' own, of redisOptions.  Without `keeps_protocol` the connection is asked
 * for the run's protocol.  Returns NULL after run_fail(). */
redisAsyncContext *hiredis_async_open(run_t *run, uv_loop_t *loop, int flags,
                                      bool keeps_protocol);

/* Ends what the loop still has, and the loop, when no thread runs it any more. */
void hiredis_async_close_loop(uv_loop_t *loop);

#endif
