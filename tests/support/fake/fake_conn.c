/* SPDX-License-Identifier: MIT */
#include "support/fake/fake_conn.h"

#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/waiting.h"

#define READ_BYTES 65536
#define RECORD_BYTES 16384
#define CHUNK_WAIT_US 20000
#define SHOWN_BYTES 200

static fake_act_t *act_new(fake_act_kind_t kind)
{
    fake_act_t *act = fake_must(calloc(1, sizeof *act));
    act->kind = kind;
    return act;
}

static void act_append(fake_conn_t *conn, fake_act_t *act)
{
    fake_act_t **last = &conn->acts;
    while (*last)
        last = &(*last)->next;
    *last = act;
}

static void act_drop(fake_conn_t *conn)
{
    fake_act_t *act = conn->acts;
    conn->acts = act->next;
    fake_bytes_release(&act->bytes);
    free(act);
}

static void send_later(fake_conn_t *conn, const char *data, size_t bytes)
{
    fake_act_t *last = conn->acts;

    if (bytes == 0)
        return;
    while (last && last->next)
        last = last->next;
    if (!last || last->kind != FAKE_ACT_SEND) {
        last = act_new(FAKE_ACT_SEND);
        act_append(conn, last);
    }
    fake_bytes_add(&last->bytes, data, bytes);
}

static void close_socket(fake_conn_t *conn, bool with_reset)
{
    struct linger at_once = {.l_onoff = 1, .l_linger = 0};

    if (conn->fd < 0)
        return;
    if (with_reset)
        setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(conn->fd);
    conn->fd = -1;
}

/* Queue the acts of a rule: wait, write the answer or the first part of it, do what
 * `then` says, write the rest. */
static void follow(fake_conn_t *conn, const fake_rule_t *rule,
                   const fake_bytes_t *answer)
{
    size_t cut = answer->size;

    if (rule->is_cut && rule->cut_bytes < cut)
        cut = rule->cut_bytes;
    if (rule->delay_us) {
        fake_act_t *wait = act_new(FAKE_ACT_WAIT);
        wait->due_us = waiting_now_us() + rule->delay_us;
        act_append(conn, wait);
    }
    send_later(conn, answer->data, cut);
    switch (rule->then) {
    case FAKE_STAY:
        break;
    case FAKE_HOLD:
        act_append(conn, act_new(FAKE_ACT_HOLD));
        break;
    case FAKE_STOP_READING:
        conn->is_reading = false;
        break;
    case FAKE_FIN:
        act_append(conn, act_new(FAKE_ACT_FIN));
        conn->is_deaf = true;
        return;
    case FAKE_RESET:
        act_append(conn, act_new(FAKE_ACT_RESET));
        conn->is_deaf = true;
        return;
    }
    if (cut < answer->size)
        send_later(conn, answer->data + cut, answer->size - cut);
}

/* Remember the commands that wait for EXEC.  Once the transaction is over, they count
 * as executed. */
static void settle_multi(fake_conn_t *conn, fake_verdict_t verdict, size_t index)
{
    fake_script_t *script = &conn->world->script;

    if (verdict == FAKE_QUEUED) {
        fake_bytes_add(&conn->multi, &index, sizeof index);
    } else if (!conn->session.in_multi && conn->multi.size > 0) {
        for (size_t at = 0; at < conn->multi.size; at += sizeof index) {
            memcpy(&index, conn->multi.data + at, sizeof index);
            script->entries[index].is_executed = verdict == FAKE_EXECUTED;
        }
        conn->multi.size = 0;
    }
}

static void execute(fake_conn_t *conn, const fake_request_t *request, const char *raw,
                    size_t raw_bytes)
{
    static const fake_rule_t nothing_special = {0};
    fake_world_t *world = conn->world;
    fake_bytes_t usual = {0}, answer = {0};
    fake_verdict_t verdict = FAKE_REJECTED;
    const fake_rule_t *rule =
        fake_script_match(&world->script, conn->session.connection, request);

    if (!rule)
        rule = &nothing_special;
    if (!rule->reply || rule->is_executed)
        verdict = fake_store_answer(world->store, &conn->session, request, raw,
                                    raw_bytes, &usual);
    else if (rule->reply[0] == '-')
        fake_store_refused(&conn->session, request);
    if (rule->is_executed && verdict == FAKE_REJECTED)
        verdict = FAKE_EXECUTED; /* the rule says so, although the store cannot */
    size_t index = fake_script_log(&world->script, conn->session.connection, request,
                                   verdict == FAKE_EXECUTED);
    settle_multi(conn, verdict, index);
    if (verdict == FAKE_HANG_UP) {
        act_append(conn, act_new(FAKE_ACT_FIN));
        conn->is_deaf = true;
    } else {
        if (rule->before)
            fake_bytes_text(&answer, rule->before);
        if (rule->reply)
            fake_bytes_text(&answer, rule->reply);
        else if (!rule->is_swallowed)
            fake_bytes_add(&answer, usual.data, usual.size);
        if (rule->after)
            fake_bytes_text(&answer, rule->after);
        follow(conn, rule, &answer);
    }
    fake_bytes_release(&usual);
    fake_bytes_release(&answer);
}

static bool may_read(const fake_conn_t *conn)
{
    return conn->fd >= 0 && conn->is_reading && !conn->world->is_frozen &&
           !(conn->world->config.is_stubborn && conn->acts);
}

/* Print the bytes that the parser did not accept, and those before them. */
static void show_broken(const fake_conn_t *conn, size_t at)
{
    size_t from = at > SHOWN_BYTES ? at - SHOWN_BYTES : 0;

    fprintf(stderr, "a broken request: ");
    for (size_t i = from; i < conn->in.size && i < at + SHOWN_BYTES; i++) {
        unsigned char byte = (unsigned char)conn->in.data[i];
        if (i == at)
            fprintf(stderr, " >>> ");
        if (byte >= ' ' && byte < 127)
            fputc(byte, stderr);
        else
            fprintf(stderr, "\\x%02x", byte);
    }
    fputc('\n', stderr);
}

static void serve(fake_conn_t *conn)
{
    fake_request_t request = {0};
    size_t at = 0, used;

    while (conn->in.size > at && may_read(conn) && !conn->is_deaf) {
        if (!fake_request_parse(&request, conn->in.data + at, conn->in.size - at,
                                &used)) {
            conn->world->broken++;
            show_broken(conn, at);
            conn->is_deaf = true;
            close_socket(conn, true);
            break;
        }
        if (used == 0)
            break;
        execute(conn, &request, conn->in.data + at, used);
        at += used;
    }
    if (conn->is_deaf)
        at = conn->in.size;
    fake_bytes_consume(&conn->in, at);
    fake_request_release(&request);
}

static ssize_t receive_encrypted(fake_conn_t *conn)
{
    char data[READ_BYTES];
    ssize_t count = recv(conn->fd, data, sizeof data, 0);

    if (count > 0)
        fake_tls_receive(conn->tls, data, (size_t)count, &conn->in);
    return count;
}

static ssize_t receive_plain(fake_conn_t *conn)
{
    fake_bytes_reserve(&conn->in, READ_BYTES);
    ssize_t count = recv(conn->fd, conn->in.data + conn->in.size, READ_BYTES, 0);

    if (count > 0)
        conn->in.size += (size_t)count;
    return count;
}

static void receive(fake_conn_t *conn)
{
    ssize_t count = conn->tls ? receive_encrypted(conn) : receive_plain(conn);

    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
        close_socket(conn, false);
}

/* Wait until the peer has received what was written, or for CHUNK_WAIT_US. */
static void await_delivery(const fake_conn_t *conn)
{
    uint64_t give_up_us = waiting_now_us() + CHUNK_WAIT_US;
    int pending = 0;

    while (ioctl(conn->fd, SIOCOUTQ, &pending) == 0 && pending > 0 &&
           waiting_now_us() < give_up_us)
        sched_yield();
}

/* Returns how many bytes the socket took; 0: none now, or it is closed. */
static size_t send_chunk(fake_conn_t *conn, const char *data, size_t bytes)
{
    size_t chunk = conn->world->config.chunk_bytes;

    if (chunk && bytes > chunk)
        bytes = chunk;
    ssize_t count = send(conn->fd, data, bytes, MSG_NOSIGNAL);
    if (count < 0) {
        if (errno != EAGAIN && errno != EINTR)
            close_socket(conn, false);
        return 0;
    }
    if (chunk)
        await_delivery(conn);
    return (size_t)count;
}

/* Write what TLS has to say; false: some of it is left. */
static bool flush(fake_conn_t *conn)
{
    fake_bytes_t *out;
    size_t count;

    if (!conn->tls)
        return true;
    out = fake_tls_out(conn->tls);
    while (conn->fd >= 0 && out->size > 0 &&
           (count = send_chunk(conn, out->data, out->size)) > 0)
        fake_bytes_consume(out, count);
    return out->size == 0;
}

/* False: the socket takes no more bytes now, or is closed. */
static bool send_some(fake_conn_t *conn, fake_act_t *act)
{
    size_t bytes = act->bytes.size - act->sent;

    if (conn->tls && !fake_tls_is_open(conn->tls))
        return false;
    if (conn->tls) {
        bytes = bytes < RECORD_BYTES ? bytes : RECORD_BYTES;
        fake_tls_send(conn->tls, act->bytes.data + act->sent, bytes);
        act->sent += bytes;
        if (!flush(conn))
            return false;
    } else {
        size_t count = send_chunk(conn, act->bytes.data + act->sent, bytes);
        if (count == 0)
            return false;
        act->sent += count;
    }
    if (act->sent == act->bytes.size)
        act_drop(conn);
    return true;
}

/* Returns whether it was said; it is not before everything else is written. */
static bool say_end(fake_conn_t *conn)
{
    if (conn->tls && !conn->world->config.is_rude)
        fake_tls_say_end(conn->tls);
    if (!flush(conn))
        return false;
    shutdown(conn->fd, SHUT_WR);
    conn->is_over = true;
    act_drop(conn);
    return true;
}

static void perform(fake_conn_t *conn, uint64_t now_us)
{
    bool goes_on = flush(conn);

    while (goes_on && conn->fd >= 0 && conn->acts) {
        switch (conn->acts->kind) {
        case FAKE_ACT_SEND:
            goes_on = send_some(conn, conn->acts);
            break;
        case FAKE_ACT_WAIT:
            goes_on = conn->acts->due_us <= now_us;
            if (goes_on)
                act_drop(conn);
            break;
        case FAKE_ACT_HOLD:
            goes_on = false;
            break;
        case FAKE_ACT_FIN:
            goes_on = say_end(conn);
            break;
        case FAKE_ACT_RESET:
            close_socket(conn, true);
            break;
        }
    }
}

fake_conn_t *fake_conn_new(fake_world_t *world, int fd, unsigned number)
{
    fake_conn_t *conn = fake_must(calloc(1, sizeof *conn));

    conn->world = world;
    conn->fd = fd;
    conn->tls = world->tls ? fake_tls_begin(world->tls) : NULL;
    conn->is_reading = true;
    fake_session_init(&conn->session, world->store, number);
    const fake_rule_t *rule = fake_script_match(&world->script, number, NULL);
    if (rule) {
        fake_bytes_t greeting = {0};
        if (rule->reply)
            fake_bytes_text(&greeting, rule->reply);
        follow(conn, rule, &greeting);
        fake_bytes_release(&greeting);
    }
    return conn;
}

void fake_conn_free(fake_conn_t *conn)
{
    while (conn->acts)
        act_drop(conn);
    close_socket(conn, true);
    fake_tls_end(conn->tls);
    fake_bytes_release(&conn->in);
    fake_bytes_release(&conn->multi);
    fake_session_release(&conn->session);
    free(conn);
}

/* Does the first act wait for the socket alone, or for a time that has come? */
static bool has_work(const fake_conn_t *conn, uint64_t now_us)
{
    if (conn->tls && fake_tls_out(conn->tls)->size > 0)
        return true;
    if (!conn->acts)
        return false;
    if (conn->acts->kind == FAKE_ACT_WAIT)
        return conn->acts->due_us <= now_us;
    return conn->acts->kind == FAKE_ACT_SEND &&
           (!conn->tls || fake_tls_is_open(conn->tls));
}

short fake_conn_events(const fake_conn_t *conn, uint64_t now_us)
{
    short events = 0;

    if (may_read(conn))
        events |= POLLIN;
    if (conn->fd >= 0 && !conn->world->is_frozen && has_work(conn, now_us))
        events |= POLLOUT;
    return events;
}

uint64_t fake_conn_due_us(const fake_conn_t *conn)
{
    if (conn->acts && conn->acts->kind == FAKE_ACT_WAIT)
        return conn->acts->due_us;
    return UINT64_MAX;
}

void fake_conn_work(fake_conn_t *conn, bool is_readable, uint64_t now_us)
{
    bool was_busy;
    size_t before;

    if (is_readable && may_read(conn))
        receive(conn);
    if (conn->fd >= 0 && conn->tls && fake_tls_is_over(conn->tls) && !conn->is_deaf)
        fake_conn_cut(conn, FAKE_CUT_FIN); /* behind an alert */
    do { /* more than once, because a stubborn server takes its commands one by one */
        before = conn->in.size;
        was_busy = conn->acts != NULL;
        serve(conn);
        if (!conn->world->is_frozen)
            perform(conn, now_us);
    } while ((conn->in.size < before || (was_busy && !conn->acts)) &&
             conn->in.size > 0 && may_read(conn));
}

void fake_conn_release(fake_conn_t *conn)
{
    conn->is_reading = true;
    for (fake_act_t **link = &conn->acts; *link;) {
        fake_act_t *act = *link;
        if (act->kind == FAKE_ACT_HOLD) {
            *link = act->next;
            free(act);
        } else {
            link = &act->next;
        }
    }
}

void fake_conn_cut(fake_conn_t *conn, fake_cut_t how)
{
    conn->is_deaf = true;
    while (conn->acts)
        act_drop(conn);
    if (how == FAKE_CUT_RESET)
        close_socket(conn, true);
    else
        act_append(conn, act_new(FAKE_ACT_FIN));
}

void fake_conn_send(fake_conn_t *conn, const char *text)
{
    fake_act_t *act = act_new(FAKE_ACT_SEND);

    fake_bytes_text(&act->bytes, text);
    act->next = conn->acts;
    conn->acts = act;
}

bool fake_conn_holds(fake_conn_t *conn, const char *text)
{
    char held[4096];
    ssize_t bytes = -1;

    if (conn->fd >= 0 && conn->tls) { /* only what was read can be understood */
        (void)receive_encrypted(conn);
        return conn->in.size > 0 &&
               memmem(conn->in.data, conn->in.size, text, strlen(text));
    }
    if (conn->fd >= 0)
        bytes = recv(conn->fd, held, sizeof held, MSG_PEEK | MSG_DONTWAIT);
    return bytes > 0 && memmem(held, (size_t)bytes, text, strlen(text));
}
