/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_ERRAND_H
#define SHOAL_ROUTE_ERRAND_H

/*
 * Commands of the library's own, sent over a connection among the commands of users.
 *
 * Loop thread.
 */

#include "net/conn.h"

/* What becomes of the answer: on_answer is called with a client of NULL, the result, whose
 * tag is `tag`, and `data`; also if the connection is lost or closed before. */
typedef struct shoal__errand {
    shoal_result_cb on_answer;
    void *data;
    uint64_t tag;
    shoal__reply_shape_t shape; /* of the answer */
} shoal__errand_t;

/* The command leaves at once, also while the server refuses those of users for now.  False: no
 * memory. */
bool shoal__errand_send(shoal__conn_t *conn, const shoal_command_t *command,
                        const shoal__errand_t *errand, uint64_t now_us);
/* ... over this pipe of the connection: its own, or that of its successor, whose answers come
 * only as long as there is the successor. */
bool shoal__errand_send_over(shoal__conn_t *conn, shoal__pipe_t *pipe,
                             const shoal_command_t *command,
                             const shoal__errand_t *errand, uint64_t now_us);

/* The hook on_own of such a connection. */
void shoal__errand_on_own(void *owner, const shoal__request_t *request,
                          const shoal_result_t *result);

#endif
