/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_LOAD_UV_ATTACH_H
#define SHOAL_BENCH_LOAD_UV_ATTACH_H

/*
 * Lets a libuv loop drive a hiredis connection, making the libuv calls that hiredis'
 * own adapters/libuv.h makes: one uv_poll_t, started anew whenever hiredis begins or
 * ceases to be interested in reading or writing.  The archive that the project
 * builds hiredis from is without the adapters.
 */

#include <hiredis/async.h>
#include <uv.h>

/* Returns -1 if the connection cannot be watched.  What it allocates is released
 * when hiredis lets go of the connection and the loop runs once more. */
int uv_attach(redisAsyncContext *connection, uv_loop_t *loop);

/* What is wrong with a connection: hiredis notes it in one of two places. */
const char *uv_attach_error(const redisAsyncContext *connection);

#endif
