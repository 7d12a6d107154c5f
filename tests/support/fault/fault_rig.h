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
    int listener; /* the server's listening socket */
    char path[80];
    int buffer_bytes;
    size_t descriptors, threads; /* how many the process had before the test */
    int client, server;          /* the latest connection; -1: closed */
} fault_rig_t;

/* What comes next on a stream. */
typedef enum fault_sight {
    FAULT_SIGHT_BYTES, /* more bytes: the stream has not ended */
    FAULT_SIGHT_FIN,
    FAULT_SIGHT_RESET
} fault_sight_t;

/* For cmocka: `*state` is a rig.  The teardown stops it, and fails the test if a
 * descriptor or a thread is left behind. */
int fault_rig_set_up(void **state);
int fault_rig_tear_down(void **state);
#define FAULT_RIG_TEST(function)                                                       \
    cmocka_unit_test_setup_teardown(function, fault_rig_set_up, fault_rig_tear_down)

/* Start a server, and a proxy before it.  `config` NULL: TCP and no faults.  The rig
 * fills in the server's address.  The server is on a Unix socket if `config` has a
 * server_path or is_unix. */
void fault_rig_start(fault_rig_t *rig, const fault_proxy_config_t *config);
/* Open another connection through the proxy.  Earlier connections stay open, and the
 * caller closes them. */
void fault_rig_connect(fault_rig_t *rig);
/* Connect to the proxy, while the server accepts nothing. */
void fault_rig_connect_client(fault_rig_t *rig);
void fault_rig_stop(fault_rig_t *rig);

void fault_rig_send(int fd, const char *data, size_t bytes);
void fault_rig_send_text(int fd, const char *text);
/* Receive `bytes` bytes, and fail the test unless they are these. */
void fault_rig_expect(int fd, const char *data, size_t bytes);
void fault_rig_expect_text(int fd, const char *text);
/* Wait until something comes, and say what it is. */
fault_sight_t fault_rig_sight(int fd);
/* True if bytes, or the end of the stream, can be read now. */
bool fault_rig_has_come(int fd);
/* True if the proxy has read all that was sent.  Works on Unix sockets only. */
bool fault_rig_is_read(int fd);
/* The byte of a test pattern at this position. */
unsigned char fault_rig_pattern(uint64_t position);

#endif
