/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_FAULT_RIG_H
#define SHOAL_TESTS_FAULT_RIG_H

/*
 * A proxy with raw sockets at both ends, both in the hands of the test, so that every
 * byte and every end can be looked at where it arrives.  Receiving waits, with a bound
 * that only a bug reaches.  On the test's own thread only.
 */

#include "fault_proxy/fault_proxy.h"

typedef struct fault_rig {
    fault_proxy_t *proxy;
    int listener; /* of the server */
    char path[80];
    int buffer_bytes;
    size_t descriptors, threads; /* of the process, before */
    int client, server;          /* the latest connection; -1: closed */
} fault_rig_t;

/* How a stream came to its end. */
typedef enum fault_sight {
    FAULT_SIGHT_BYTES, /* it did not: there are more bytes */
    FAULT_SIGHT_FIN,
    FAULT_SIGHT_RESET
} fault_sight_t;

/* For cmocka: `*state` is a rig.  Afterwards it is stopped, and must have left neither a
 * descriptor nor a thread behind, whatever was done to it. */
int fault_rig_set_up(void **state);
int fault_rig_tear_down(void **state);
#define FAULT_RIG_TEST(function)                                                       \
    cmocka_unit_test_setup_teardown(function, fault_rig_set_up, fault_rig_tear_down)

/* A server, and a proxy before it; `config` NULL: TCP and no faults.  The server's
 * address is filled in; with any server_path it is a Unix socket, as with is_unix. */
void fault_rig_start(fault_rig_t *rig, const fault_proxy_config_t *config);
/* Another connection; those before stay open, and the caller's. */
void fault_rig_connect(fault_rig_t *rig);
/* Only to the proxy; the server accepts nothing. */
void fault_rig_connect_client(fault_rig_t *rig);
void fault_rig_stop(fault_rig_t *rig);

void fault_rig_send(int fd, const char *data, size_t bytes);
void fault_rig_send_text(int fd, const char *text);
/* The next bytes are these; `bytes` 0: nothing is looked at. */
void fault_rig_expect(int fd, const char *data, size_t bytes);
void fault_rig_expect_text(int fd, const char *text);
/* What comes next, for which it waits. */
fault_sight_t fault_rig_sight(int fd);
/* Has something come? */
bool fault_rig_has_come(int fd);
/* Has the proxy read all that was sent?  Only Unix sockets know. */
bool fault_rig_is_read(int fd);
/* Pairwise different for a long time, and the same for the same positions. */
unsigned char fault_rig_pattern(uint64_t position);

#endif
