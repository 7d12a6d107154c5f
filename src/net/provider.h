/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_PROVIDER_H
#define SHOAL_NET_PROVIDER_H

/*
 * Asks the program's provider for credentials, off the loop: on a thread that belongs to the
 * question alone.  The answer may come from any thread, also after the provider's function
 * has returned, and after nobody wants it any more.
 */

#include "core/secret.h"
#include <shoal/credentials.h>
#include <stdint.h>
#include <uv.h>

#define SHOAL__PROVIDER_TEXT_BYTES 160

/* What the program said. */
typedef struct shoal__provider_answer {
    shoal__secret_t secret; /* the receiver moves it out, or it is wiped */
    uint64_t refresh_us;    /* 0: never */
    bool is_failure;        /* there is no secret */
    char text[SHOAL__PROVIDER_TEXT_BYTES]; /* of a failure */
} shoal__provider_answer_t;

typedef struct shoal__question shoal__question_t;

/* Runs once from the loop, unless abandoned; the question is gone afterwards. */
typedef void (*shoal__answer_cb)(void *owner, shoal__provider_answer_t *answer);

/* Begin to ask.  NULL if there is no memory, thread or descriptor. */
shoal__question_t *shoal__provider_ask(uv_loop_t *loop, shoal_credentials_fn fn,
                                       void *data, shoal__answer_cb on_answer,
                                       void *owner);

/* Take the answer if it is there, without the loop's word.  NULL is allowed. */
void shoal__provider_look(shoal__question_t *question);

/* Nobody wants the answer any more.  NULL is allowed. */
void shoal__provider_abandon(shoal__question_t *question);

/* In the child of a fork, where its thread is not: close the descriptor only.  NULL is
 * allowed. */
void shoal__provider_forget(shoal__question_t *question);

/* Any thread: the answer, which is emptied.  0; SHOAL_EINVAL: it was answered before;
 * SHOAL_ECANCELLED: nobody wants it; SHOAL_EFORK. */
int shoal__provider_answer(shoal_credentials_request_t *request,
                           shoal__provider_answer_t *answer);

#endif
