/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_REDISPP_H
#define SHOAL_BENCH_REDISPP_H

/*
 * redis-plus-plus, as C programs see it: one client with a pool of connections, which any
 * thread may use.  It speaks RESP2, its default: not every hiredis knows another.  Its hiredis is another copy than the bench's, so none of hiredis' types
 * are here.
 *
 * All of it is weak: where redis-plus-plus was not installed when the bench was built,
 * redispp_open is NULL.
 */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct redispp redispp_t;
typedef struct redispp_reply redispp_reply_t;

typedef struct redispp_address {
    const char *host; /* for TCP; NULL with a socket path */
    int port;
    const char *socket_path; /* NULL for TCP */
    const char *user;        /* NULL: the default user */
    const char *password;    /* NULL: no authentication */
    int database;
} redispp_address_t;

/* NULL with a line in `problem`. */
__attribute__((weak)) redispp_t *redispp_open(const redispp_address_t *address,
                                              size_t connections, char *problem,
                                              size_t problem_bytes);
__attribute__((weak)) void redispp_close(redispp_t *client);

/* One command.  Returns NULL when the connection is lost or the like, with a line in
 * `problem`; an error reply is a reply. */
__attribute__((weak)) redispp_reply_t *
redispp_call(redispp_t *client, size_t argc, const char *const *argv,
             const size_t *argvlen, char *problem, size_t problem_bytes);

/* The text of a reply, NULL for one that has none; whether it is an error. */
__attribute__((weak)) const char *redispp_text(const redispp_reply_t *reply,
                                               size_t *ret_bytes, int *ret_is_error);
__attribute__((weak)) void redispp_free(redispp_reply_t *reply);

#ifdef __cplusplus
}
#endif

#endif
