/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_INBOUND_H
#define SHOAL_CORE_INBOUND_H

/*
 * Decides what a frame from the server is: the answer to the greeting, the reply that
 * the head of the registry waits for, a push (a line of MONITOR is one as well), or a
 * breach of the protocol.
 *
 * Guarantee: anything unexpected is a VIOLATION, before another reply is delivered.
 * (I8)
 */

#include <stdbool.h>

typedef enum shoal__inbound_verdict {
    SHOAL__INBOUND_GREETING,
    SHOAL__INBOUND_REPLY,
    SHOAL__INBOUND_PUSH,
    SHOAL__INBOUND_VIOLATION
} shoal__inbound_verdict_t;

typedef struct shoal__inbound_frame {
    bool is_push;
    bool is_greeting;   /* the greeting is not finished */
    bool is_resp3;      /* agreed on; pushes exist only there */
    bool is_answer_due; /* greeting: an answer is due; else: a slot waits */
    bool is_line;       /* a status, over a connection that MONITOR was sent on */
} shoal__inbound_frame_t;

shoal__inbound_verdict_t shoal__inbound(const shoal__inbound_frame_t *frame);

#endif
