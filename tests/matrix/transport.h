/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_MATRIX_TRANSPORT_H
#define SHOAL_TESTS_MATRIX_TRANSPORT_H

/* Every send() and recv() of a matrix program, of the library and of the servers in the
 * test, goes through here, so that they can do less than they were asked for.  Nothing
 * is special until a hook is set. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef ssize_t (*matrix_send_fn)(int fd, const void *data, size_t bytes, int flags);
typedef ssize_t (*matrix_recv_fn)(int fd, void *data, size_t bytes, int flags);

/* NULL: the system's own. */
void matrix_transport_hook(matrix_send_fn on_send, matrix_recv_fn on_recv);
/* The system's own, for hooks. */
ssize_t matrix_system_send(int fd, const void *data, size_t bytes, int flags);
ssize_t matrix_system_recv(int fd, void *data, size_t bytes, int flags);
/* Is this the end of a TCP connection that was accepted on the port? */
bool matrix_transport_is_server(int fd, int port);

#endif
