/* SPDX-License-Identifier: MIT */

/* The credentials have changed: a connection is renewed (net/conn_successor.c); or it stays, and
 * says AUTH with the new ones when everything was answered. */

#include "core/pipe/pipe_succession.h"
#include "net/clock.h"
#include "net/conn.h"
#include <shoal/errors.h>

void shoal__conn_authenticate(shoal__conn_t *conn, uint64_t now_us)
{
    static const char why[] = "renewed, because the credentials changed";
    bool is_ready = conn->state == SHOAL__CONN_READY || conn->is_in_place;
    /* No command takes credentials away again. */
    bool may_stay = conn->config->is_in_place && shoal__target_password(conn->target);

    if (conn->state == SHOAL__CONN_DIALING)
        return;
    if (!is_ready || !may_stay || shoal__conn_is_elsewhere(conn)) {
        shoal__conn_renew(conn, why, now_us);
        return;
    }
    shoal__conn_touch(conn);
    shoal__successor_drop(conn);
    shoal__renewal_anew(&conn->pipe.renewal);
    shoal__renewal_want_in_place(&conn->pipe.renewal, why, now_us);
}

void shoal__conn_say_auth(shoal__conn_t *conn, uint64_t now_us)
{
    int rc;

    conn->due_us = now_us + conn->config->handshake_us;
    conn->is_in_place = true;
    rc = shoal__pipe_authenticate(&conn->pipe, now_us);
    if (rc < 0)
        shoal__conn_lose(conn, rc, conn->pipe.detail);
    else if (conn->pipe.phase == SHOAL__PIPE_READY)
        shoal__conn_greeted(conn, now_us);
}

void shoal__conn_resume_in_place(shoal__conn_t *conn)
{
    bool is_refused = conn->pipe.greeting.is_refused;

    conn->is_in_place = false;
    if (is_refused) {
        shoal__target_refused(conn->target);
        /* Unless others were given meanwhile, which are said next. */
        if (conn->pipe.renewal.state == SHOAL__RENEWAL_NONE)
            shoal__renewal_failed(&conn->pipe.renewal, shoal__clock_us());
    }
    shoal__conn_report(
        conn, conn->line, SHOAL_EVENT_CREDENTIALS, is_refused ? SHOAL_EAUTH : 0,
        is_refused ? "the server refused the new credentials: the connection goes on "
                     "with the former ones"
                   : "the connection goes on with the new credentials",
        0);
}
