/* SPDX-License-Identifier: MIT */
#include "net/conn.h"

#include "base/time_us.h"
#include "core/pipe/pipe_succession.h"
#include "core/target_name.h"
#include "net/clock.h"
#include "net/tls_context.h"
#include <assert.h>
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

#define REJECTED_DELAY_US_MIN                                                          \
    1000000 /* before credentials or certificates that failed are tried again */
#define DIAL_SPACING_US 100000 /* at most ten connections a second */

static void handle(shoal__conn_t *conn, shoal__conn_event_t event, uint64_t now_us);
static const shoal__line_hooks_t line_hooks;

static shoal__pipe_verdict_t on_error(void *owner, shoal__pipe_t *pipe,
                                      const shoal__request_t *request,
                                      const char *bytes, shoal__bytes_t error)
{
    const shoal__refused_t refused = shoal__pipe_refused(pipe);

    (void)owner, (void)request, (void)bytes;
    /* The pipe is the connection's own. */
    return shoal__conn_send_again(
        (void *)((char *)pipe - offsetof(shoal__conn_t, pipe)), &refused, error);
}

shoal__pipe_verdict_t shoal__conn_send_again(shoal__conn_t *conn,
                                             const shoal__refused_t *refused,
                                             shoal__bytes_t error)
{
    shoal__pipe_verdict_t verdict = shoal__pipe_send_again(&conn->pipe, refused, error);
    shoal__redirect_t redirect;

    if (verdict == SHOAL__PIPE_TAKEN && shoal__redirect_read(error, &redirect))
        shoal__target_redirect(conn->target, &conn->line->reached, &redirect);
    return verdict;
}

int shoal__conn_init(shoal__conn_t *conn, const shoal__conn_plan_t *plan)
{
    const shoal__conn_config_t *config = plan->config;
    const shoal__pipe_parts_t parts = {
        .config = &config->pipe, .target = plan->target, .shared = &plan->set->shared};
    const shoal__pipe_hooks_t pipe_hooks = {
        .on_result = plan->hooks->on_result,
        .on_own = plan->hooks->on_own,
        .on_blocked = plan->hooks->on_blocked,
        .on_push = plan->hooks->on_push,
        .on_message = plan->hooks->on_message,
        .is_answered = plan->hooks->is_answered,
        .on_error = plan->hooks->on_error ? plan->hooks->on_error : on_error};

    *conn = (shoal__conn_t){.config = config,
                            .target = plan->target,
                            .server = plan->target->name,
                            .id = plan->id,
                            .set = plan->set,
                            .hooks = plan->hooks,
                            .owner = plan->owner,
                            .line_plan = {.dial = &config->dial,
                                          .target = plan->target,
                                          .turn_bytes_max = config->turn_bytes_max,
                                          .set = plan->set,
                                          .traffic = &conn->stats.traffic,
                                          .hooks = &line_hooks,
                                          .owner = conn},
                            .greeter_due_us = SHOAL__NEVER_US,
                            .due_us = SHOAL__NEVER_US};
    for (size_t i = 0; i < 2; i++)
        shoal__line_init(&conn->lines[i], &conn->line_plan, &conn->pipe);
    conn->line = conn->lines;
    shoal__list_init(&conn->touched);
    shoal__backoff_init(&conn->backoff, config->backoff_base_us,
                        config->backoff_us_max);
    if (shoal__due_times_join(&plan->set->due) < 0)
        return SHOAL_ENOMEM;
    if (shoal__pipe_init(&conn->pipe, &parts, &pipe_hooks, plan->owner) < 0) {
        shoal__due_times_leave(&plan->set->due);
        return SHOAL_ENOMEM;
    }
    return 0;
}

/* Its share leaves the account with it. */
static void leave_set(shoal__conn_t *conn)
{
    shoal__conn_set_t *set = conn->set;

    shoal__list_remove(&conn->touched);
    shoal__due_times_set(&set->due, &conn->due, SHOAL__NEVER_US);
    shoal__due_times_leave(&set->due);
    set->queued -= shoal__counter_get(&conn->pipe.stats.queued_now);
    set->inflight -= shoal__counter_get(&conn->pipe.stats.inflight_now);
    set->bytes -= shoal__counter_get(&conn->pipe.stats.bytes_now);
}

void shoal__conn_release(shoal__conn_t *conn)
{
    leave_set(conn);
    shoal__successor_drop(conn);
    shoal__pipe_release(&conn->pipe);
    shoal__line_close(conn->line, false);
}

/* Any thread may read where it leads to.  The name was written before. */
static void lead_to(shoal__conn_t *conn, const char *name)
{
    atomic_store_explicit(&conn->server, name, memory_order_release);
}

void shoal__conn_lead(shoal__conn_t *conn, shoal__target_t *target)
{
    assert(conn->state == SHOAL__CONN_CLOSED || conn->state == SHOAL__CONN_IDLE);
    conn->target = conn->line_plan.target = target;
    shoal__pipe_lead(&conn->pipe, target);
    conn->doubt = SHOAL__HELLO_TRUSTED;
    shoal__backoff_succeeded(&conn->backoff);
}

void shoal__conn_report(shoal__conn_t *conn, const shoal__line_t *line,
                        shoal_event_kind_t kind, int status, const char *detail,
                        uint64_t delay_us)
{
    const shoal_event_t event = {.kind = kind,
                                 .status = status,
                                 .detail = detail,
                                 .delay_us = delay_us,
                                 .epoch = line->epoch,
                                 .connection = conn->id,
                                 .server = line->server};

    conn->hooks->on_event(conn->owner, &event);
}

static void report(shoal__conn_t *conn, shoal_event_kind_t kind, int status,
                   const char *detail, uint64_t delay_us)
{
    shoal__conn_report(conn, conn->line, kind, status, detail, delay_us);
}

static void drop_lines(shoal__conn_t *conn, bool is_orderly)
{
    shoal__successor_drop(conn);
    shoal__line_close(conn->line, is_orderly);
}

/* ---- what the lines tell ---- */

static bool is_present(const shoal__conn_t *conn, const shoal__line_t *line)
{
    return line == conn->line;
}

static void on_waiting(void *owner, shoal__line_t *line, uint64_t due_us)
{
    shoal__conn_t *conn = owner;

    if (is_present(conn, line))
        conn->due_us = due_us;
    else
        conn->greeter_due_us = due_us;
    shoal__conn_touch(conn);
}

static void on_reached(void *owner, shoal__line_t *line)
{
    shoal__conn_t *conn = owner;
    const shoal__stream_kind_t *kind = line->stream->kind;

    if (line->reached.endpoint != conn->endpoint)
        conn->doubt = SHOAL__HELLO_TRUSTED; /* it was about another server */
    conn->endpoint = line->reached.endpoint;
    if (kind->is_resumed)
        shoal__counter_add(kind->is_resumed(line->stream) ? &conn->stats.tls_resumed
                                                          : &conn->stats.tls_full,
                           1);
    if (conn->config->dial.is_unverified)
        shoal__conn_report(conn, line, SHOAL_EVENT_TLS_UNVERIFIED, 0, line->server, 0);
    if (is_present(conn, line)) {
        lead_to(conn, line->server);
        handle(conn, SHOAL__CONN_ON_DIALED, shoal__clock_us());
    } else
        shoal__successor_reached(conn, shoal__clock_us());
    shoal__conn_touch(conn);
}

static void on_reading(void *owner, uint64_t now_us)
{
    shoal__conn_t *conn = owner;

    shoal__conn_touch(conn);
    conn->hooks->on_reading(conn->owner, now_us);
}

static void on_fed(void *owner, shoal__line_t *line, int rc, bool was_greeting,
                   uint64_t now_us)
{
    shoal__conn_t *conn = owner;

    conn->hooks->on_delivered(conn->owner);
    if (!is_present(conn, line))
        shoal__successor_fed(conn, rc, was_greeting, now_us);
    else if (rc < 0)
        shoal__conn_lose(conn, rc, conn->pipe.detail);
    else if (was_greeting && conn->pipe.phase == SHOAL__PIPE_READY)
        shoal__conn_greeted(conn, now_us);
}

static void on_writable(void *owner, shoal__line_t *line)
{
    (void)line;
    shoal__conn_touch(owner); /* the turn that follows writes */
}

static void on_lost(void *owner, shoal__line_t *line, int status, const char *detail)
{
    shoal__conn_t *conn = owner;

    if (conn->target->is_untrusted) {
        shoal__counter_add(&conn->stats.redirects_refused, 1);
        shoal__conn_report(conn, line, SHOAL_EVENT_REDIRECT_REFUSED, 0, detail, 0);
    }
    conn->target->is_untrusted = false;
    if (is_present(conn, line))
        shoal__conn_lose(conn, status, detail);
    else
        shoal__successor_lost(conn, status, detail, shoal__clock_us());
}

static const shoal__line_hooks_t line_hooks = {.on_waiting = on_waiting,
                                               .on_reached = on_reached,
                                               .on_reading = on_reading,
                                               .on_fed = on_fed,
                                               .on_writable = on_writable,
                                               .on_lost = on_lost};

void shoal__conn_read_ahead(shoal__conn_t *conn)
{
    if (conn->state == SHOAL__CONN_READY)
        shoal__line_read(conn->line);
}

/* ---- the life of a connection ---- */

/* False: there are none to begin with, and the attempt has failed. */
static bool read_tls_files(shoal__conn_t *conn, shoal__line_t *line)
{
    shoal__tls_context_t *tls = conn->config->dial.tls;
    char why[SHOAL__TLS_WHY_BYTES], detail[sizeof conn->pipe.detail];
    bool has_last;
    int rc = tls ? shoal__tls_context_refresh(tls, &has_last, why) : 0;

    if (rc == 0)
        return true;
    if (has_last) {
        shoal__conn_report(conn, line, SHOAL_EVENT_TLS_FILES, rc, why, 0);
        return true;
    }
    snprintf(detail, sizeof detail, "connect %.100s: %.140s", conn->target->name, why);
    on_lost(conn, line, rc, detail);
    return false;
}

void shoal__conn_dial(shoal__conn_t *conn, shoal__line_t *line, uint64_t now_us)
{
    shoal__counter_add(&conn->stats.epoch, 1);
    conn->dialed_us = now_us;
    if (is_present(conn, line))
        lead_to(conn, conn->target->name);
    shoal__line_prepare(line, shoal__counter_get(&conn->stats.epoch), now_us);
    if (read_tls_files(conn, line))
        shoal__line_dial(line, now_us);
}

int shoal__conn_greet(shoal__conn_t *conn, const shoal__line_t *line,
                      shoal__pipe_t *pipe, uint64_t now_us)
{
    shoal__conn_report(conn, line, SHOAL_EVENT_CONNECTED, 0, line->server, 0);
    pipe->greeting.endpoint_type = shoal__maintenance_endpoint_type(
        &line->reached.address, conn->config->dial.tls != NULL);
    return shoal__pipe_begin(pipe, shoal__hello_style(conn->doubt), now_us);
}

static void greet(shoal__conn_t *conn, uint64_t now_us)
{
    int rc;

    conn->due_us = now_us + conn->config->handshake_us;
    rc = shoal__conn_greet(conn, conn->line, &conn->pipe, now_us);
    if (rc < 0)
        shoal__conn_lose(conn, rc, conn->pipe.detail);
}

/* A client of one server hears if the server is something else. */
static void report_ready(shoal__conn_t *conn)
{
    const char *server = conn->line->server;
    const char *advice = conn->config->pipe.is_ordinary
                             ? shoal__mode_advice(conn->pipe.greeting.mode)
                             : NULL;
    char detail[SHOAL__TARGET_NAME_BYTES + 128];

    if (conn->renewed_why || !advice) {
        report(conn, SHOAL_EVENT_READY, 0,
               conn->renewed_why ? conn->renewed_why : server, 0);
        return;
    }
    snprintf(detail, sizeof detail, "%s, %s", server, advice);
    report(conn, SHOAL_EVENT_READY, 0, detail, 0);
}

static void resume(shoal__conn_t *conn)
{
    conn->due_us = SHOAL__NEVER_US;
    if (conn->is_in_place) {
        shoal__conn_resume_in_place(conn);
        return;
    }
    shoal__backoff_succeeded(&conn->backoff);
    shoal__counter_add(&conn->stats.connects, 1);
    report_ready(conn);
    conn->renewed_why = NULL;
}

void shoal__conn_dial_at(shoal__conn_t *conn, uint64_t at_us)
{
    conn->due_us = shoal__time_max(at_us, conn->dialed_us + DIAL_SPACING_US);
}

static void retry_later(shoal__conn_t *conn, int status, uint64_t now_us)
{
    uint64_t delay_us_min =
        status == SHOAL_EAUTH || status == SHOAL_ETLS ? REJECTED_DELAY_US_MIN : 0;
    uint64_t delay_us =
        shoal__backoff_next(&conn->backoff, &conn->set->random, delay_us_min);

    shoal__conn_dial_at(conn, now_us + delay_us);
    report(conn, SHOAL_EVENT_RETRYING, 0, conn->pipe.detail, conn->due_us - now_us);
}

void shoal__conn_doubt(shoal__conn_t *conn, const shoal__greeting_t *greeting,
                       int status)
{
    conn->doubt = shoal__hello_next(conn->doubt, shoal__hello_failed(greeting, status));
}

/* Should another endpoint be tried first?  A server that hung up may be back at once; and one
 * that is asked about HELLO has not failed yet. */
static bool has_failed(const shoal__conn_t *conn, int status)
{
    if (conn->state == SHOAL__CONN_GREETING)
        return conn->doubt == SHOAL__HELLO_TRUSTED;
    return conn->state == SHOAL__CONN_READY &&
           (conn->pipe.is_silent || status == SHOAL_EDESYNC);
}

/* A provider is asked for other credentials: commands wait for them. */
static int status_of_commands(const shoal__conn_t *conn, int status)
{
    return status == SHOAL_EAUTH && conn->target->keeper ? SHOAL_ECONN : status;
}

void shoal__conn_lose(shoal__conn_t *conn, int status, const char *detail)
{
    uint64_t now_us = shoal__clock_us();
    bool was_ready = conn->state == SHOAL__CONN_READY || conn->is_in_place;
    bool was_demoted = conn->pipe.is_demoted, is_server_bad;

    shoal__conn_touch(conn); /* callbacks may ask for room */
    shoal__conn_doubt(conn,
                      conn->state == SHOAL__CONN_GREETING ? &conn->pipe.greeting : NULL,
                      status);
    if (detail != conn->pipe.detail)
        snprintf(conn->pipe.detail, sizeof conn->pipe.detail, "%s", detail);
    drop_lines(conn, false);
    conn->renewed_why = NULL;
    conn->is_in_place = false;
    shoal__counter_add(was_ready ? &conn->stats.losses : &conn->stats.attempts_failed,
                       1);
    if (status == SHOAL_EDESYNC)
        shoal__counter_add(&conn->stats.desyncs, 1);
    is_server_bad = has_failed(conn, status);
    /* Before it is greeted no server has refused: there were no credentials. */
    if (status == SHOAL_EAUTH && conn->state == SHOAL__CONN_GREETING)
        shoal__target_refused(conn->target);
    shoal__pipe_lost(&conn->pipe, status_of_commands(conn, status), conn->pipe.detail,
                     now_us);
    handle(conn, SHOAL__CONN_ON_LOST, now_us);
    if (was_demoted)
        shoal__target_leave(conn->target, &conn->line->reached);
    else if (is_server_bad)
        shoal__target_failed(conn->target, &conn->line->reached,
                             conn->pipe.greeting.role);
    report(conn, was_ready ? SHOAL_EVENT_LOST : SHOAL_EVENT_ATTEMPT_FAILED, status,
           conn->pipe.detail, 0);
    retry_later(conn, status, now_us);
    conn->hooks->on_delivered(conn->owner);
}

void shoal__conn_mistrust(shoal__conn_t *conn, const char *detail)
{
    conn->pipe.is_silent = true;
    shoal__conn_lose(conn, SHOAL_ECONN, detail);
}

/* Does the way to the server and back take less than commands may wait? */
static bool is_near(const shoal__conn_t *conn)
{
    const shoal__stream_t *stream = conn->line->stream;
    const shoal__flush_config_t *flush = &conn->config->pipe.flush;

    return flush->has_company && stream->kind->rtt_us &&
           stream->kind->rtt_us(stream) <= flush->pause_us;
}

void shoal__conn_greeted(shoal__conn_t *conn, uint64_t now_us)
{
    const shoal__greeting_t *greeting = &conn->pipe.greeting;

    conn->pipe.flush.is_near = is_near(conn);

    shoal__counter_set(&conn->stats.protocol, (uint64_t)greeting->protocol);
    shoal__counter_set(&conn->stats.server_id, (uint64_t)greeting->identity.id);
    conn->doubt = shoal__hello_next(conn->doubt, SHOAL__HELLO_ANSWERED);
    shoal__target_worked(conn->target, &conn->line->reached, greeting->role);
    handle(conn, SHOAL__CONN_ON_GREETED, now_us);
}

/* The successor takes the place of the present line.  Its reason is told with READY. */
static void succeed(shoal__conn_t *conn, uint64_t now_us)
{
    shoal__line_t *former = conn->line;
    bool is_loss = shoal__pipe_owes_replies(&conn->pipe);
    int rc;

    shoal__line_close(former, !is_loss);
    conn->line = shoal__successor_line(conn);
    conn->line->pipe = &conn->pipe;
    lead_to(conn, conn->line->server);
    conn->due_us = now_us + conn->config->handshake_us;
    conn->renewed_why = conn->pipe.renewal.reason;
    rc = shoal__pipe_succeed(&conn->pipe, conn->greeter, now_us);
    shoal__pipe_free_greeter(&conn->pipe, conn->greeter);
    conn->greeter = NULL;
    if (is_loss) {
        shoal__counter_add(&conn->stats.losses, 1);
        shoal__conn_report(conn, former, SHOAL_EVENT_LOST, SHOAL_ECONN,
                           conn->renewed_why, 0);
    }
    if (rc < 0)
        shoal__conn_lose(conn, rc, conn->pipe.detail);
    else if (conn->pipe.phase == SHOAL__PIPE_READY)
        shoal__conn_greeted(conn, now_us);
    conn->hooks->on_delivered(conn->owner);
}

static void shut(shoal__conn_t *conn, uint64_t now_us)
{
    conn->is_in_place = false;
    conn->due_us = SHOAL__NEVER_US;
    /* With commands under way it is no end that the server should take for one. */
    drop_lines(conn, shoal__pipe_inflight(&conn->pipe) == 0 &&
                         conn->pipe.phase == SHOAL__PIPE_READY);
    shoal__pipe_abandon(&conn->pipe, now_us);
    conn->hooks->on_delivered(conn->owner);
}

#define DIALS_KEPT 2           /* for connections that commands wait for */
#define DIAL_PATIENCE_US 10000 /* before it is looked again whether one may dial */

bool shoal__conn_may_dial(const shoal__conn_t *conn)
{
    const shoal__conn_set_t *set = conn->set;
    bool is_awaited = shoal__pipe_queued(&conn->pipe) > 0;

    return shoal__places_have_room(&set->places, conn->comes_first) &&
           (set->dialing_max == 0 ||
            set->dialing + (is_awaited ? 0 : DIALS_KEPT) < set->dialing_max);
}

static unsigned is_on_its_way(const shoal__conn_t *conn)
{
    return conn->state == SHOAL__CONN_DIALING || conn->state == SHOAL__CONN_GREETING;
}

static bool has_place(const shoal__conn_t *conn)
{
    return is_on_its_way(conn) || conn->state == SHOAL__CONN_READY;
}

void shoal__conn_rank(shoal__conn_t *conn, bool comes_first)
{
    if (conn->comes_first != comes_first)
        shoal__places_rank(&conn->set->places, comes_first, has_place(conn));
    conn->comes_first = comes_first;
}

/* The only place where a connection changes its state. */
static void handle(shoal__conn_t *conn, shoal__conn_event_t event, uint64_t now_us)
{
    shoal__conn_step_t step = shoal__conn_fsm_step(conn->state, event);
    bool had_place = has_place(conn);

    assert(step.action != SHOAL__CONN_ILLEGAL);
    conn->target->ready -= conn->state == SHOAL__CONN_READY;
    conn->set->dialing -= is_on_its_way(conn);
    conn->state = step.next;
    conn->target->ready += conn->state == SHOAL__CONN_READY;
    conn->set->dialing += is_on_its_way(conn);
    if (has_place(conn) != had_place)
        shoal__places_change(&conn->set->places, conn->comes_first, !had_place);
    /* A thread that sees READY also sees what was agreed on. */
    atomic_store_explicit(&conn->stats.state, conn->state, memory_order_release);
    shoal__conn_touch(conn);

    /* clang-format off */
    switch (step.action) {
    case SHOAL__CONN_DO_DIAL:   shoal__conn_dial(conn, conn->line, now_us); break;
    case SHOAL__CONN_DO_GREET:  greet(conn, now_us); break;
    case SHOAL__CONN_DO_RESUME: resume(conn);        break;
    case SHOAL__CONN_DO_SUCCEED:
        if (conn->greeter)
            succeed(conn, now_us);
        else
            shoal__conn_say_auth(conn, now_us);
        break;
    case SHOAL__CONN_DO_SHUT:   shut(conn, now_us);  break;
    case SHOAL__CONN_DO_RETRY: /* shoal__conn_lose() arms the delay: it knows the cause */
    case SHOAL__CONN_ILLEGAL:
        break;
    }
    /* clang-format on */
}

void shoal__conn_open(shoal__conn_t *conn)
{
    uint64_t now_us = shoal__clock_us();

    shoal__pipe_open(&conn->pipe, now_us);
    handle(conn, SHOAL__CONN_ON_OPEN, now_us);
}

static void look_at_the_time(shoal__conn_t *conn, uint64_t now_us)
{
    if (now_us < conn->due_us)
        return;
    switch (conn->state) {
    case SHOAL__CONN_DIALING:
        shoal__line_timed_out(conn->line);
        break;
    case SHOAL__CONN_GREETING:
        snprintf(conn->pipe.detail, sizeof conn->pipe.detail,
                 "greeting %.127s: not answered in time", conn->line->server);
        shoal__conn_lose(conn, SHOAL_ETIMEOUT, conn->pipe.detail);
        break;
    case SHOAL__CONN_BACKOFF:
        if (shoal__conn_may_dial(conn))
            handle(conn, SHOAL__CONN_ON_RETRY_DUE, now_us);
        else
            conn->due_us = now_us + DIAL_PATIENCE_US;
        break;
    case SHOAL__CONN_IDLE:
    case SHOAL__CONN_READY:
    case SHOAL__CONN_CLOSED:
    case SHOAL__CONN_STATE_COUNT:
        break;
    }
}

static void make_way(shoal__conn_t *conn, uint64_t now_us)
{
    if (conn->greeter || conn->pipe.renewal.is_in_place)
        handle(conn, SHOAL__CONN_ON_RENEWED, now_us);
    else
        shoal__conn_lose(conn, SHOAL_ECONN, conn->pipe.renewal.reason);
}

uint64_t shoal__conn_turn(shoal__conn_t *conn, uint64_t now_us)
{
    uint64_t wake_us = SHOAL__NEVER_US;

    look_at_the_time(conn, now_us);
    if (shoal__pipe_tick(&conn->pipe, now_us) < 0)
        shoal__conn_lose(conn, conn->pipe.fault, conn->pipe.detail);
    if (conn->state == SHOAL__CONN_READY) {
        shoal__conn_heed(conn, now_us);
        if (shoal__successor_turn(conn, now_us))
            make_way(conn, now_us);
    }
    shoal__line_write(conn->line, &wake_us);
    wake_us = shoal__time_min(wake_us, conn->due_us);
    wake_us = shoal__time_min(wake_us, conn->greeter_due_us);
    wake_us = shoal__time_min(wake_us, shoal__conn_heed_us(conn));
    return shoal__time_min(wake_us, shoal__pipe_next_wake_us(&conn->pipe));
}

void shoal__conn_give_up(shoal__conn_t *conn, const char *why, uint64_t now_us)
{
    if (conn->state == SHOAL__CONN_DIALING || conn->state == SHOAL__CONN_GREETING ||
        conn->state == SHOAL__CONN_READY) {
        drop_lines(conn, false);
        shoal__pipe_lost(&conn->pipe, SHOAL_ECONN, why, now_us);
    }
    shoal__conn_close(conn, now_us);
}

void shoal__conn_close(shoal__conn_t *conn, uint64_t now_us)
{
    if (conn->state != SHOAL__CONN_CLOSED)
        handle(conn, SHOAL__CONN_ON_CLOSE, now_us);
}

void shoal__conn_forget(shoal__conn_t *conn)
{
    for (size_t i = 0; i < 2; i++)
        shoal__line_forget(&conn->lines[i]);
}
