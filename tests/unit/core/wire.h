/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_WIRE_H
#define SHOAL_TESTS_WIRE_H

/* A reply as its bytes come from a server. */

#include <shoal/reply.h>

typedef void (*wire_look_fn)(const shoal_reply_t *reply, void *data);

/* Look at the one reply that these bytes are. */
void wire_read(const char *wire, wire_look_fn look, void *data);

#endif
