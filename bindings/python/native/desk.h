/* SPDX-License-Identifier: MIT */
#ifndef SHOALPY_DESK_H
#define SHOALPY_DESK_H

/*
 * Where the library leaves its questions for credentials, and a thread of Python's takes them
 * and answers.  So no thread of the library needs the interpreter.
 *
 * A desk is never freed: the library may come to it after its client is gone.  Python opens it
 * again for another client; a question of the former one is then answered by the wrong
 * provider, and the library drops the answer.
 */

#include <shoal/shoal.h>

typedef struct shoalpy_desk shoalpy_desk_t;

/* NULL: no memory. */
shoalpy_desk_t *shoalpy_desk_new(void);
/* From now on the last question waits, and fails when the next one comes; after a close each
 * fails at once, also that which waits. */
void shoalpy_desk_open(shoalpy_desk_t *desk);
void shoalpy_desk_close(shoalpy_desk_t *desk);
/* The options' clients ask here.  0 or SHOAL_E*. */
int shoalpy_desk_serve(shoalpy_desk_t *desk, shoal_options_t *options);
/* Wait for a question, until the desk is closed: then NULL. */
shoal_credentials_request_t *shoalpy_desk_take(shoalpy_desk_t *desk);
/* May somebody still wait for the answer to the question that was taken last? */
bool shoalpy_desk_is_awaited(shoalpy_desk_t *desk);

#endif
