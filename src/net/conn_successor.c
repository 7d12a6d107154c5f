/* SPDX-License-Identifier: MIT */

/* Renews a connection that works, and makes before it breaks: the successor is dialed and
 * greeted while commands use the present line.  core/pipe/renewal.h says when,
 * core/pipe/pipe_succession.h what the pipe does.
 *
 * A successor that fails changes nothing for the commands: an event tells it, and another
 * one is dialed later.  If the present line is lost meanwhile, the successor is dropped and
 * the connection dials anew: the greeting of that attempt ends the lost one first. */

#include "base/time_us.h"
#include "core/pipe/pipe_succession.h"
#include "core/sentinel/follow_rule.h"
#include "net/clock.h"
#include "net/conn.h"
#include <assert.h>
#include <shoal/errors.h>
#include <stdio.h>

void shoal__successor_drop(shoal__conn_t *conn)
{
    if (!conn->greeter)
        return;
    shoal__line_close(shoal__successor_line(conn), false);
    shoal__pipe_free_greeter(&conn->pipe, conn->greeter);
    conn->greeter = NULL;
    conn->greeter_due_us = SHOAL__NEVER_US;
    if (conn->hooks->on_successor)
        conn->hooks->on_successor_gone(conn->owner);
}

/* What the failure of its greeting says of the server. */
static void note_failure(shoal__conn_t *conn, const shoal__line_t *line, int status)
{
    shoal__conn_doubt(conn, &conn->greeter->greeting, status);
    if (conn->doubt == SHOAL__HELLO_TRUSTED)
        shoal__target_failed(conn->target, &line->reached,
                             conn->greeter->greeting.role);
}

void shoal__successor_lost(shoal__conn_t *conn, int status, const char *detail,
                           uint64_t now_us)
{
    shoal__line_t *line = shoal__successor_line(conn);
    shoal__renewal_t *renewal = &conn->pipe.renewal;

    if (conn->greeter->phase == SHOAL__PIPE_GREETING) {
        note_failure(conn, line, status);
        if (status == SHOAL_EAUTH)
            shoal__target_refused(conn->target);
    }
    if (conn->greeter->greeting.role == SHOAL__ROLE_REPLICA)
        shoal__renewal_elsewhere(renewal, now_us);
    else
        shoal__renewal_failed(renewal, now_us);
    shoal__counter_add(&conn->stats.attempts_failed, 1);
    shoal__conn_report(conn, line, SHOAL_EVENT_ATTEMPT_FAILED, status, detail, 0);
    shoal__conn_report(conn, line, SHOAL_EVENT_RETRYING, 0, detail,
                       shoal__time_since(now_us, renewal->start_us));
    shoal__successor_drop(conn); /* `detail` may be the greeter's */
    shoal__conn_touch(conn);
}

/* Bound commands rely on the state of their connection: there it has no successor. */
static void begin(shoal__conn_t *conn, uint64_t now_us)
{
    if (conn->pipe.is_bound || conn->pipe.renewal.is_in_place) {
        shoal__pipe_drain(&conn->pipe, now_us);
        return;
    }
    conn->greeter = shoal__pipe_new_greeter(&conn->pipe);
    if (!conn->greeter) {
        shoal__renewal_failed(&conn->pipe.renewal, now_us);
        return;
    }
    conn->greeter->hooks.on_message = conn->hooks->on_successor_message;
    conn->greeter->hooks.is_answered = conn->hooks->is_successor_answered;
    shoal__successor_line(conn)->pipe = conn->greeter;
    if (conn->pipe.is_demoted)
        shoal__target_leave(conn->target, &conn->line->reached);
    conn->pipe.is_demoted = false;
    shoal__conn_dial(conn, shoal__successor_line(conn), now_us);
}

void shoal__successor_reached(shoal__conn_t *conn, uint64_t now_us)
{
    int rc;

    conn->greeter_due_us = now_us + conn->config->handshake_us;
    rc = shoal__conn_greet(conn, shoal__successor_line(conn), conn->greeter, now_us);
    if (rc < 0)
        shoal__successor_lost(conn, rc, conn->greeter->detail, now_us);
}

void shoal__successor_fed(shoal__conn_t *conn, int rc, bool was_greeting,
                          uint64_t now_us)
{
    if (rc < 0) {
        shoal__successor_lost(conn, rc, conn->greeter->detail, now_us);
    } else if (was_greeting && conn->greeter &&
               conn->greeter->phase == SHOAL__PIPE_READY) {
        conn->greeter_due_us = SHOAL__NEVER_US;
        if (!conn->hooks->on_successor ||
            !conn->hooks->on_successor(conn->owner, now_us))
            shoal__successor_take(conn, now_us);
    }
}

void shoal__successor_take(shoal__conn_t *conn, uint64_t now_us)
{
    shoal__pipe_drain(&conn->pipe, now_us);
    shoal__conn_touch(conn);
}

static void time_out(shoal__conn_t *conn, uint64_t now_us)
{
    char detail[sizeof conn->pipe.detail];

    if (conn->greeter->phase == SHOAL__PIPE_DOWN) {
        shoal__line_timed_out(shoal__successor_line(conn));
        return;
    }
    snprintf(detail, sizeof detail, "greeting %.127s: not answered in time",
             shoal__successor_line(conn)->server);
    shoal__successor_lost(conn, SHOAL_ETIMEOUT, detail, now_us);
}

bool shoal__successor_turn(shoal__conn_t *conn, uint64_t now_us)
{
    uint64_t wake_us;

    /* A holder's commands would lose the state of the connection that they rely on. */
    assert(!conn->greeter || !conn->pipe.is_bound);
    if (conn->greeter && now_us >= conn->greeter_due_us)
        time_out(conn, now_us);
    if (shoal__renewal_begins(&conn->pipe.renewal, now_us))
        begin(conn, now_us);
    if (conn->greeter)
        shoal__line_write(shoal__successor_line(conn), &wake_us);
    /* Callbacks took the time, and what the server has answered lies unread. */
    if (shoal__pipe_makes_way(&conn->pipe, now_us) &&
        shoal__pipe_owes_replies(&conn->pipe))
        shoal__line_read(conn->line);
    /* A successor that has ended meanwhile must not get the commands. */
    if (conn->greeter && shoal__pipe_makes_way(&conn->pipe, now_us))
        shoal__line_read(shoal__successor_line(conn));
    return shoal__pipe_makes_way(&conn->pipe, now_us);
}

/* ---- what the server says of its maintenance ---- */

uint64_t shoal__conn_heed_us(const shoal__conn_t *conn)
{
    /* A holder's commands stay where their state is, as long as that exists. */
    return conn->pipe.is_bound ? SHOAL__NEVER_US
                               : shoal__maintenance_moves_us(conn->pipe.maintenance);
}

void shoal__conn_heed(shoal__conn_t *conn, uint64_t now_us)
{
    shoal__maintenance_t *maintenance = conn->pipe.maintenance;

    if (!maintenance)
        return;
    if (maintenance->news)
        shoal__conn_report(conn, conn->line, SHOAL_EVENT_MAINTENANCE, 0,
                           maintenance->news, 0);
    maintenance->news = NULL;
    if (now_us < shoal__conn_heed_us(conn))
        return;
    maintenance->is_moving = false;
    if (maintenance->is_named)
        shoal__target_redirect(conn->target, &conn->line->reached, &maintenance->to);
    else
        shoal__target_vacate(conn->target, &conn->line->reached);
    shoal__conn_renew(conn, "renewed, because the server is maintained", now_us);
}

/* ---- what others ask for ---- */

void shoal__conn_reconnect(shoal__conn_t *conn, const char *why, uint64_t now_us)
{
    shoal__conn_touch(conn);
    if (conn->state == SHOAL__CONN_BACKOFF)
        shoal__conn_dial_at(conn, now_us);
    else if (conn->state == SHOAL__CONN_READY) {
        shoal__renewal_anew(&conn->pipe.renewal);
        shoal__renewal_ask(&conn->pipe.renewal, why, false, now_us);
    }
}

void shoal__conn_renew(shoal__conn_t *conn, const char *why, uint64_t now_us)
{
    shoal__hello_doubt_t doubt = conn->doubt;

    shoal__conn_touch(conn);
    if (conn->state == SHOAL__CONN_DIALING || conn->state == SHOAL__CONN_GREETING) {
        shoal__conn_lose(conn, SHOAL_ECONN, why);
        conn->doubt = doubt; /* it was not the server that hung up */
    }
    if (conn->state == SHOAL__CONN_BACKOFF)
        shoal__conn_dial_at(conn, now_us);
    if (conn->state == SHOAL__CONN_READY) {
        shoal__successor_drop(conn);
        shoal__renewal_anew(&conn->pipe.renewal);
        shoal__renewal_want(&conn->pipe.renewal, why, now_us);
    }
}

bool shoal__conn_is_elsewhere(const shoal__conn_t *conn)
{
    if (!conn->target->finder)
        return false;
    switch (conn->state) {
    case SHOAL__CONN_DIALING:
        return shoal__dialer_is_outdated(&conn->line->dialer);
    case SHOAL__CONN_GREETING:
    case SHOAL__CONN_READY:
        return conn->server != conn->target->name;
    case SHOAL__CONN_IDLE:
    case SHOAL__CONN_BACKOFF:
    case SHOAL__CONN_CLOSED:
    case SHOAL__CONN_STATE_COUNT:
        break;
    }
    return false;
}

static void stay(shoal__conn_t *conn)
{
    shoal__successor_drop(conn);
    shoal__renewal_over(&conn->pipe.renewal);
    shoal__conn_touch(conn);
}

void shoal__conn_follow(shoal__conn_t *conn, bool is_news, uint64_t now_us)
{
    static const char following[] =
        "renewed, because the sentinels name another primary";
    shoal__renewal_t *renewal = &conn->pipe.renewal;
    shoal__follow_t what;
    const shoal__follow_facts_t facts = {
        .is_elsewhere = shoal__conn_is_elsewhere(conn),
        .is_news = is_news,
        .is_waiting = conn->state == SHOAL__CONN_BACKOFF,
        .is_renewed = renewal->state != SHOAL__RENEWAL_NONE,
        .is_following = renewal->reason == following};

    what = shoal__follow_rule(&facts);
    switch (what) {
    case SHOAL__FOLLOW_NOTHING:
        break;
    case SHOAL__FOLLOW_RENEW:
    case SHOAL__FOLLOW_LEAVE:
        shoal__conn_renew(conn, facts.is_renewed ? renewal->reason : following, now_us);
        if (what == SHOAL__FOLLOW_LEAVE)
            shoal__renewal_depose(renewal);
        break;
    case SHOAL__FOLLOW_STAY:
        stay(conn);
        break;
    }
}
