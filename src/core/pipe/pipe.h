/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_PIPE_H
#define SHOAL_CORE_PIPE_H

/*
 * One connection without the socket: commands in, bytes out; bytes in, results out.
 * It composes the units of this floor and decides nothing by itself.
 *
 * The owner calls, with the time:
 *
 *     push     take in a command                  output   bytes that may leave now
 *     begin    a transport is up                  written  so many of them left
 *     feed     bytes arrived                      tick     deadlines, retries, PING
 *     lost     the transport is gone              next_wake_us   when to tick again
 *
 * The bytes of all outstanding commands stand in one log, in the order of the registry.
 * The bytes of a command stay until its reply came, so that it can be sent again.
 *
 *     log:  [ written, unanswered ][ part | authorised to leave ][ queued ]
 *            ring head .. sent      ring sent ..
 *
 * Some streams take bytes before they leave: they are encrypted by then, and cannot be
 * withdrawn.  Such bytes are *committed*, the first of those that are authorised.  A command
 * of which a byte is committed cannot have run, but is partly written in every other way.
 *
 * The log refers to large values that stand in their callers' memory (extra.h).  The
 * bytes that the owner writes have them; request.bytes does not count them.
 *
 * The owner's hooks run inside feed, tick, lost, cancel and abandon.  From on_result
 * push and cancel may be called; from the other hooks nothing but what they name.
 */

#include "base/buffer.h"
#include "base/counter.h"
#include "base/random.h"
#include "core/fence/nonce.h"
#include "core/flush/flush_policy.h"
#include "core/greeting/greeting.h"
#include "core/hold_rule.h"
#include "core/maintenance.h"
#include "core/overdue.h"
#include "core/pipe/deadlines.h"
#include "core/pipe/pipe_shared.h"
#include "core/pipe/renewal.h"
#include "core/pipe/request_ring.h"
#include "core/pipe/retry_budget.h"
#include "core/pipe/stage_times.h"
#include "core/result.h"
#include "core/settle_rule.h"
#include "resp/decoder.h"
#include "resp/push.h"
#include "resp/scanner.h"
#include <stdbool.h>

typedef struct shoal__pipe_config {
    shoal__flush_config_t flush;
    shoal__decoder_limits_t reply;
    shoal__greeting_config_t greeting;
    size_t inflight_max;
    uint64_t stall_us;
    uint64_t ping_idle_us; /* 0: never */
    unsigned attempts_max;
    bool queue_offline;
    bool learns;      /* which commands have large replies; see heavy.h */
    bool is_ordinary; /* replies for a shared sink go to it; else they become trees */
    bool is_strict_order; /* what was overtaken is not sent again: overtaken.h */
    bool keeps_units;     /* a unit that the server refuses can go again: pipe_unit.h */
    bool loads_scripts;   /* of its client: pipe_scripts.h */
    bool
        is_subscriber; /* it has no commands but the library's own: pipe_subscriber.h */
} shoal__pipe_config_t;

/* What a pipe is made from, all of it borrowed. */
typedef struct shoal__pipe_parts {
    const shoal__pipe_config_t *config; /* how it behaves */
    const shoal__target_t *target;      /* as whom it greets */
    shoal__pipe_shared_t *shared;
} shoal__pipe_parts_t;

typedef enum shoal__pipe_verdict {
    SHOAL__PIPE_SURFACE, /* the error is the command's result */
    SHOAL__PIPE_TAKEN /* the owner keeps the command: it is popped, without a result */
} shoal__pipe_verdict_t;

typedef struct shoal__pipe shoal__pipe_t;

/* What the owner hears of.  Requests and texts die with the call. */
typedef struct shoal__pipe_hooks {
    /* A command got its result; not called for the pipe's own PINGs and fences. */
    void (*on_result)(void *owner, const shoal__request_t *request,
                      const shoal_result_t *result);
    /* A command of our own was answered, or its connection was lost or closed.  NULL: nobody
     * wants to know. */
    void (*on_own)(void *owner, const shoal__request_t *request,
                   const shoal_result_t *result);
    /* The server is at a command that blocks, and its deadline passed or its caller
     * cancelled it.  True: the owner asks the server to let it go, for which the command
     * gets SHOAL__PIPE_GRACE_US; after them the pipe asks again.  NULL: false. */
    bool (*on_blocked)(void *owner, const shoal__request_t *request,
                       shoal__ending_t ending);
    /* A push came, perhaps during the greeting; or a line of MONITOR, which is a status.
     * NULL: it is dropped. */
    void (*on_push)(void *owner, const shoal_reply_t *push);
    /* A subscriber's: a message came, or a confirmation, or something else that is no reply.
     * NULL: it is dropped.  on_push is not called. */
    void (*on_message)(void *owner, const shoal__push_t *push);
    /* A subscriber's: did pushes answer all of the request that is at its turn?  An error that
     * comes now belongs to the next one then.  NULL: no. */
    bool (*is_answered)(void *owner);
    /* A command that is still wanted was answered with an error.  Its request->bytes
     * `bytes` are the first of the log.  TAKEN: the request's sink is the owner's as
     * well.  shoal__pipe_send_again() is the standard answer; nothing else may be
     * submitted to this pipe meanwhile.  NULL: SURFACE.
     * With keeps_units also: a unit was refused whole, and none of it was executed.  Then
     * this is its first part, and shoal__pipe_refused() tells of the others, which are
     * TAKEN as well. */
    shoal__pipe_verdict_t (*on_error)(void *owner, shoal__pipe_t *pipe,
                                      const shoal__request_t *request,
                                      const char *bytes, shoal__bytes_t error);
    /* Of a pen: the deadline passed of the request at `at`, whose bytes are `bytes` in the
     * log.  The facts say that it waits, and may say why.  NULL: nothing more is known. */
    void (*on_overdue)(void *owner, uint64_t at, const char *bytes,
                       shoal__overdue_t *facts);
} shoal__pipe_hooks_t;

typedef enum shoal__pipe_phase {
    SHOAL__PIPE_DOWN, /* no transport */
    SHOAL__PIPE_GREETING,
    SHOAL__PIPE_READY
} shoal__pipe_phase_t;

/* One writer, the loop thread; any thread may read. */
typedef struct shoal__pipe_stats {
    shoal__counter_t completed, replies, error_replies, timeouts, cancels, failures,
        retries, reordered, zombies_dropped, pushes, flushes, moved, asked;
    shoal__counter_t fences, fences_unclear, settled, unsettled;
    shoal__counter_t queued_now, inflight_now, bytes_now;
    shoal__counter_t batch_histogram[SHOAL_STATS_BATCH_BUCKETS];
    shoal__counter_t flush_reasons[SHOAL_FLUSH_REASONS];
    shoal__counter_t holds, probes, trials;
    shoal__counter_t bytes_copied; /* of large values, see shoal__pipe_copy_values() */
    shoal__counter_t callers_now, is_open_now, gap_ns_now, rtt_us_now, late_us_now;
} shoal__pipe_stats_t;

#define SHOAL__FENCE_BYTES 37 /* encoded */
#define SHOAL__PIPE_GRACE_US 1000000

/* Fences in the registry.  The flush policy, and the bounds of what callers may have
 * outstanding, do not count them. */
typedef struct shoal__fences {
    uint64_t queued, inflight;
    uint64_t put_us;           /* when the last one was put into the queue */
    uint64_t unclear_since_us; /* the first answer that proved nothing ... */
    unsigned unclear;          /* ... of so many since the last proof */
    unsigned forbidden;        /* the last so many were answered with NOPERM */
    bool has_doubt;            /* see fence_rule.h */
} shoal__fences_t;

/* INTEGRITY_STRICT: replies that no fence has proved yet, as bytes. */
typedef struct shoal__held {
    shoal__buffer_t bytes;
    shoal__scanner_t scanner;
    uint64_t replies; /* whole ones among them: of the requests from head on */
    uint64_t fences;  /* answers to fences among those */
    size_t log_bytes; /* of those requests */
} shoal__held_t;

/* keeps_units: replies to the first parts of the unit at the head of the registry. */
typedef struct shoal__kept {
    uint64_t replies; /* so many, of the requests from head on */
    shoal__buffer_t words;
    bool was_overtaken; /* a part of the unit, of those that have their replies */
} shoal__kept_t;

/* What a server refused: one command, or a unit. */
typedef struct shoal__refused {
    const shoal__request_ring_t *ring; /* where the requests are */
    uint64_t first, count;
    const char *bytes; /* of all of them, in the log */
    unsigned own;      /* so many of the library's own went ahead of it, as its unit */
    unsigned attempts; /* that it is charged */
    int hops;          /* ... and redirects; -1: the last one led nowhere */
} shoal__refused_t;

struct shoal__pipe {
    const shoal__pipe_config_t *config; /* borrowed */
    shoal__pipe_hooks_t hooks;
    void *owner;                  /* handed to the hooks */
    shoal__pipe_shared_t *shared; /* borrowed */

    shoal__request_ring_t ring;
    shoal__buffer_t log;
    size_t referred_bytes;   /* of the requests in the ring, but not in the log */
    size_t sent_bytes;       /* of the log, whole requests only */
    size_t part_bytes;       /* of the request at ring.sent, as they were sent */
    size_t authorised_bytes; /* may leave beyond those, values included */
    uint64_t authorised;     /* requests that these bytes end */
    size_t committed_bytes;  /* of the authorised, the first: taken, and not left yet */
    uint64_t committed_end;  /* behind the last request of which a byte is committed */
    uint64_t wake_after;     /* see shoal__pipe_wake_after() */
    uint64_t settled;        /* while a loss is settled: so many requests from the head
                                on are judged; they count as queued */

    shoal__decoder_t *decoder;
    shoal__greeting_t greeting;
    shoal__flush_policy_t flush;
    shoal__deadlines_t deadlines;
    shoal__stage_times_t times;
    shoal__retry_budget_t budget;
    shoal__hold_t hold;
    uint64_t hold_room; /* commands that may leave, as the hold says; of this output */
    shoal__pipe_t *pen; /* of held commands; NULL: there were none lately */
    shoal__fences_t fences;
    shoal__held_t held;
    shoal__kept_t kept;

    shoal__pipe_phase_t phase;
    bool is_pen; /* it never has a transport: its commands wait for another pipe */
    shoal__pipe_t *holder;      /* the pipe whose held commands are here; or NULL */
    const shoal__pipe_t *giver; /* a hand-over waits for it before the commands here go
                                    on; or NULL */
    bool is_warm;               /* it may hold memory that it does not need at rest */
    uint64_t scripts_loaded;    /* on this connection: those up to this number */
    bool is_resp3;
    bool is_settled;         /* of this connection; see former.h */
    bool are_others_settled; /* what other pipes doubt matters not: pipe_doubt.c ... */
    uint64_t doubts_seen;    /* ... when shared->doubts_changed was this */
    uint64_t process; /* of this connection: a number for the server's; former.h */
    struct shoal__pipe *next_doubtful; /* in the list at shared->doubtful */
    bool is_offline;           /* an attempt has failed and none has worked since */
    uint64_t offline_since_us; /* not READY: since then */
    uint64_t attempts_failed;  /* not READY: attempts to connect that failed since */
    uint64_t fresh;            /* pushed here, and not noted yet */
    uint64_t looked_at;        /* where the ring ended at the end of the last tick */
    char turned_away[96];      /* the last error after which a command was held */
    bool is_sifted;            /* held commands may be younger than queued ones */
    bool was_refused; /* the error under way says that the server refuses for now */
    uint64_t now_us;  /* of the call that is running */
    bool is_unit_rejected; /* the MULTI that was answered last got an error */
    bool is_torn;          /* the rest of a command that is partly written is lost */
    bool is_silent;        /* the server stopped answering on this connection */
    bool is_demoted;   /* the server refuses to write, and the connection is renewed */
    bool is_misshapen; /* the reply under way is of a type that its command never has */
    uint64_t answered; /* requests that this call's bytes answered */
    uint64_t heard_us; /* when bytes last arrived */
    size_t reply_bytes;        /* that were read since a command was answered */
    uint64_t waiting_since_us; /* when the present silence of the server began */
    shoal__renewal_t renewal;  /* see pipe_succession.h */
    shoal__maintenance_t *maintenance; /* what the server said of it */
    bool is_bound;     /* the commands rely on the connection's state: see _bind() */
    bool is_broken;    /* the state that bound commands rely on is lost */
    uint64_t bound_at; /* where the ring began when it was bound */
    bool is_monitor;   /* of the bound: statuses come unasked, lines of MONITOR */
    int fault;         /* why begin, feed or tick failed */
    char detail[SHOAL__GREETING_DETAIL_BYTES]; /* why the last connection, or attempt,
                                                  ended; "": none */
    bool is_part_refused;  /* ... because of the command that is partly written */
    bool is_reply_refused; /* ... because of the reply under way, which is over a
                                  bound */

    shoal__pipe_stats_t stats;
};

/* 0 or SHOAL_ENOMEM; on failure nothing needs to be released.  `parts` and `hooks` are
 * copied. */
int shoal__pipe_init(shoal__pipe_t *pipe, const shoal__pipe_parts_t *parts,
                     const shoal__pipe_hooks_t *hooks, void *owner);
/* Nothing may be outstanding. */
void shoal__pipe_release(shoal__pipe_t *pipe);
/* Give back what an idle pipe does not need.  Nothing is outstanding. */
void shoal__pipe_rest(shoal__pipe_t *pipe);

/* It has no transport: the next one leads to another target. */
static inline void shoal__pipe_lead(shoal__pipe_t *pipe, const shoal__target_t *target)
{
    pipe->greeting.target = target;
    if (pipe->pen)
        pipe->pen->greeting.target = target;
}

/* The owner begins to connect, for the first time. */
static inline void shoal__pipe_open(shoal__pipe_t *pipe, uint64_t now_us)
{
    pipe->offline_since_us = now_us;
    pipe->attempts_failed = 0;
    pipe->is_offline = false;
}

/* Nothing is outstanding.  From now on (is_bound) the commands belong to one holder, and
 * rely on what those before did to the connection: after a loss of a connection that
 * carried a byte of them none is sent again, and none waits for the next connection; the
 * pipe is then broken. */
static inline void shoal__pipe_bind(shoal__pipe_t *pipe, bool is_bound)
{
    pipe->is_bound = is_bound;
    pipe->is_broken = false;
    pipe->is_monitor = false;
    pipe->bound_at = pipe->ring.sent;
}

/* Take in commands in three steps: reserve room for their bytes (NULL: no memory) and
 * write them there; claim a request and fill it; push it. */
static inline char *shoal__pipe_reserve(shoal__pipe_t *pipe, size_t bytes,
                                        size_t commands)
{
    pipe->is_warm = true;
    /* With room for a fence, so that none makes them grow.  (P2) */
    if (shoal__request_ring_reserve(&pipe->ring, commands + 1) < 0)
        return NULL;
    return shoal__buffer_reserve(&pipe->log, bytes + SHOAL__FENCE_BYTES);
}

static inline shoal__request_t *shoal__pipe_claim(shoal__pipe_t *pipe)
{
    return shoal__request_ring_push(&pipe->ring);
}
/* What the next claim will return: it may be filled before. */
static inline shoal__request_t *shoal__pipe_next(const shoal__pipe_t *pipe)
{
    return shoal__request_ring_at(&pipe->ring, pipe->ring.tail);
}

/* So many bytes of the requests that are claimed next stand in their callers' memory;
 * shoal__pipe_push() knows by itself. */
static inline void shoal__pipe_refer(shoal__pipe_t *pipe, size_t bytes)
{
    pipe->referred_bytes += bytes;
    shoal__flush_policy_refer(&pipe->flush, bytes);
}

/* The request is queued: its bytes are in the log, and it is in the registry. */
static inline void shoal__pipe_queue(shoal__pipe_t *pipe,
                                     const shoal__request_t *request)
{
    /* A command that blocks on the server keeps those behind it waiting in any case. */
    shoal__flush_policy_add(&pipe->flush, request->bytes,
                            (request->flags & SHOAL__REQUEST_URGENT) ||
                                request->command_class == SHOAL__CLASS_BLOCK,
                            request->submitted_us);
    shoal__deadlines_add(&pipe->deadlines, request->deadline_us);
}

static inline void shoal__pipe_pushed(shoal__pipe_t *pipe,
                                      const shoal__request_t *request)
{
    shoal__buffer_commit(&pipe->log, request->bytes);
    shoal__pipe_queue(pipe, request);
}

/* A command of the loop thread, in the slot that is next.  It waited for no intake: noted
 * with all others by the next tick, or for a pen by its owner. */
static inline void shoal__pipe_pushed_here(shoal__pipe_t *pipe)
{
    pipe->fresh++;
    shoal__pipe_pushed(pipe, shoal__pipe_claim(pipe));
}

void shoal__pipe_note_fresh(shoal__pipe_t *pipe, uint64_t now_us);

/* Claim, copy, push. */
void shoal__pipe_push(shoal__pipe_t *pipe, const shoal__request_t *request);

/* A transport is up: begin the greeting.  0, or SHOAL_ENOMEM: treat as lost. */
int shoal__pipe_begin(shoal__pipe_t *pipe, shoal__greeting_style_t style,
                      uint64_t now_us);

/* Bytes that may leave now; none: ask again at ret_wake_us or when something happens.
 * Valid until the next call. */
shoal__bytes_t shoal__pipe_output(shoal__pipe_t *pipe, uint64_t now_us,
                                  uint64_t *ret_wake_us);

/* parts[0] is what output has just returned.  Add the bytes that may leave behind it;
 * there are any only if large values are on the way.  Returns the number of parts. */
#define SHOAL__PIPE_PARTS_MAX 16
size_t shoal__pipe_gather(const shoal__pipe_t *pipe,
                          shoal__bytes_t parts[SHOAL__PIPE_PARTS_MAX]);

/* How many more commands must be queued before it is worth asking for output sooner
 * than at the time that the last output gave. */
static inline uint64_t shoal__pipe_wake_after(const shoal__pipe_t *pipe)
{
    return pipe->wake_after;
}

/* The first `bytes` of them left. */
void shoal__pipe_written(shoal__pipe_t *pipe, size_t bytes, uint64_t now_us);

/* The next `bytes` of them were taken, and will leave before all others; _left() tells when
 * that was.  Nothing is committed yet, and there is no output until all of them left. */
void shoal__pipe_commit(shoal__pipe_t *pipe, size_t bytes, uint64_t now_us);
void shoal__pipe_left(shoal__pipe_t *pipe, size_t bytes, uint64_t now_us);

/* Behind the last command of which a byte was handed over. */
static inline uint64_t shoal__pipe_begun(const shoal__pipe_t *pipe)
{
    return pipe->committed_bytes > 0 ? pipe->committed_end
                                     : pipe->ring.sent + (pipe->part_bytes > 0);
}

/* Where the next bytes can be put before they are fed, so that they are not copied:
 * *ret_bytes at most.  NULL: nowhere in particular.  Valid until the next call. */
char *shoal__pipe_room(shoal__pipe_t *pipe, size_t *ret_bytes);

/* The server is not silent: something arrived, although perhaps nothing that can be fed. */
void shoal__pipe_heard(shoal__pipe_t *pipe, uint64_t now_us);

/* Bytes arrived.  Below 0: the connection must be given up, call lost with
 * pipe->fault and pipe->detail. */
int shoal__pipe_feed(shoal__pipe_t *pipe, const char *data, size_t bytes,
                     uint64_t now_us);

/* Time passed.  Below 0 as for feed: the server is silent for too long, or no fence proves
 * its replies. */
int shoal__pipe_tick(shoal__pipe_t *pipe, uint64_t now_us);

/* When to tick again, for whatever reason but the flush policy's. */
uint64_t shoal__pipe_next_wake_us(const shoal__pipe_t *pipe);

/* The transport is gone: settle what was under way; what is left waits for begin. */
void shoal__pipe_lost(shoal__pipe_t *pipe, int status, const char *detail,
                      uint64_t now_us);

/* Give up on one command.  False if no such command is outstanding. */
bool shoal__pipe_cancel(shoal__pipe_t *pipe, uint64_t ticket, uint64_t now_us);

/* Close: settle everything that is outstanding, with SHOAL_ESHUTDOWN. */
void shoal__pipe_abandon(shoal__pipe_t *pipe, uint64_t now_us);

/* For on_error: what was refused, the command or the unit. */
shoal__refused_t shoal__pipe_refused(const shoal__pipe_t *pipe);

/* For on_error: does the error prove that this was not executed, and may it be sent again?
 * Then it is TAKEN: the pipe itself holds it and sends it again after a while, or on the
 * next connection, which it asks for if this one leads to the wrong server. */
shoal__pipe_verdict_t shoal__pipe_send_again(shoal__pipe_t *pipe,
                                             const shoal__refused_t *refused,
                                             shoal__bytes_t error);

/* Do its commands wait for a connection?  Those of a pen do if its owner says so. */
static inline bool shoal__pipe_is_offline(const shoal__pipe_t *pipe)
{
    return pipe->is_pen ? pipe->is_offline : pipe->phase != SHOAL__PIPE_READY;
}

/* Is a command outstanding that was submitted at until_us or before?  Our own, and those
 * given up before they were written, do not count. */
bool shoal__pipe_has_since(const shoal__pipe_t *pipe, uint64_t until_us);

/* The list of former connections (former.h) has changed: see pipe_doubt.h. */
void shoal__pipe_doubt_changed(shoal__pipe_t *pipe);

/* Commands that wait to be written, and those written and unanswered. */
static inline uint64_t shoal__pipe_queued(const shoal__pipe_t *pipe)
{
    return shoal__request_ring_queued(&pipe->ring) - pipe->fences.queued;
}
static inline uint64_t shoal__pipe_inflight(const shoal__pipe_t *pipe)
{
    return shoal__request_ring_inflight(&pipe->ring) - pipe->fences.inflight -
           pipe->kept.replies;
}

/* The place of the first request whose reply has not come; INTEGRITY_STRICT: nor is
 * held. */
static inline uint64_t shoal__pipe_due(const shoal__pipe_t *pipe)
{
    return pipe->ring.head + pipe->kept.replies;
}

/* Held commands that are not in the registry. */
static inline uint64_t shoal__pipe_held(const shoal__pipe_t *pipe)
{
    return pipe->pen ? shoal__request_ring_queued(&pipe->pen->ring) : 0;
}

/* ---- for the other files of the pipe ---- */

/* Each batch must prove itself, and its replies are held until it has. */
static inline bool shoal__pipe_is_strict(const shoal__pipe_t *pipe)
{
    return shoal__greeting_is_strict(&pipe->config->greeting);
}

/* A connection begins: nothing was heard on it yet, and the pipe is GREETING. */
void shoal__pipe_reset(shoal__pipe_t *pipe);
/* The greeting goes on, is done, or has failed.  0 or pipe->fault. */
int shoal__pipe_go_on(shoal__pipe_t *pipe, shoal__greeting_verdict_t verdict);
/* The connection makes way for another one, which is there: settle what is unanswered. */
void shoal__pipe_leave(shoal__pipe_t *pipe, const char *why, uint64_t now_us);
/* What the decoder calls, with the pipe for its owner. */
extern const shoal__decoder_hooks_t shoal__pipe_decoder_hooks;
/* ... and of a subscriber's: pipe_subscriber.h. */
extern const shoal__decoder_hooks_t shoal__pipe_subscriber_hooks;
/* An answer to the greeting.  False: see pipe->fault. */
bool shoal__pipe_greeting_answered(shoal__pipe_t *pipe, const shoal_reply_t *reply);
/* The head of the registry leaves it, with its bytes in the log, and so many of large
 * values. */
shoal__request_t shoal__pipe_pop(shoal__pipe_t *pipe, size_t referred_bytes);
/* ... and gets this reply.  `bytes` were its in the log, and nothing was written there since.
 * Returns whether it was overtaken. */
bool shoal__pipe_finish(shoal__pipe_t *pipe, const shoal__request_t *request,
                        const char *bytes, const shoal_reply_t *reply);
/* Hand `request` its result, of which all but what the request knows is filled in; or with
 * these fields alone. */
void shoal__pipe_deliver_result(shoal__pipe_t *pipe, const shoal__request_t *request,
                                shoal_result_t *result);
void shoal__pipe_deliver(shoal__pipe_t *pipe, const shoal__request_t *request,
                         int status, shoal_fate_t fate, const shoal_reply_t *reply,
                         uint32_t attempts, const char *detail);
/* Large values, which the log refers to.
 * How many bytes of them the `count` requests from `sent` on have. */
size_t shoal__pipe_referred(const shoal__pipe_t *pipe, uint64_t count);
/* The ranges that are authorised to leave, in their order, up to so many bytes. */
size_t shoal__pipe_ranges(const shoal__pipe_t *pipe, size_t bytes_max,
                          shoal__bytes_t *ret_parts, size_t parts_max);
/* The request at `at` is given up, but what was not written of it must still leave:
 * copy that into the log.  Without memory the connection is given up (is_torn).  Its
 * extra must be taken at once. */
void shoal__pipe_copy_values(shoal__pipe_t *pipe, uint64_t at);
/* The request at `at` does not need its extra any more.  The caller drops it. */
static inline shoal__extra_t *shoal__pipe_take_extra(shoal__pipe_t *pipe, uint64_t at)
{
    shoal__request_t *request = shoal__request_ring_at(&pipe->ring, at);

    shoal__extra_t *extra = request->extra;

    pipe->referred_bytes -= shoal__request_referred_bytes(request);
    request->extra = NULL;
    return extra;
}
/* The connection must be given up, and why.  Returns false. */
bool shoal__pipe_refuse(shoal__pipe_t *pipe, int fault, const char *detail);
/* ... because of a reply that no command waits for. */
bool shoal__pipe_refuse_unasked(shoal__pipe_t *pipe);
/* ... which is an error that says this. */
bool shoal__pipe_refuse_unasked_error(shoal__pipe_t *pipe, shoal__bytes_t text);
/* Fail the commands whose deadline has passed: those that are held, too; not those. */
void shoal__pipe_expire(shoal__pipe_t *pipe);
void shoal__pipe_expire_due(shoal__pipe_t *pipe);
/* Only requests that were begun stay authorised: bytes behind them change. */
void shoal__pipe_withdraw(shoal__pipe_t *pipe);
/* Drop the gone from ring and log, so that the log can be written again. */
void shoal__pipe_sweep(shoal__pipe_t *pipe);
/* Held commands: a command was answered, and not refused; a command will have no reply,
 * and may have been executed; put them back if it is time; when to do so; how many
 * commands may leave at most; and give the pen back. */
void shoal__pipe_hold_answered(shoal__pipe_t *pipe, const shoal__request_t *request,
                               const char *bytes, bool is_error);
void shoal__pipe_hold_unanswered(shoal__pipe_t *pipe, uint64_t at, const char *bytes);
void shoal__pipe_hold_turn(shoal__pipe_t *pipe);
uint64_t shoal__pipe_hold_wake_us(const shoal__pipe_t *pipe);
uint64_t shoal__pipe_hold_room(shoal__pipe_t *pipe);
void shoal__pipe_free_pen(shoal__pipe_t *pipe);
/* Strict order: those of the held commands fail that were overtaken. */
void shoal__pipe_end_overtaken(shoal__pipe_t *pipe);
/* A queued command, or the unit that it is of, fails before it is sent. */
void shoal__pipe_fail_queued(shoal__pipe_t *pipe, uint64_t at, int status,
                             const char *detail);
/* Publish the momentary figures. */
void shoal__pipe_publish(shoal__pipe_t *pipe);
/* The pipe is released: other pipes need not doubt because of it. */
void shoal__pipe_doubt_forget(shoal__pipe_t *pipe);
/* Hand bytes of the server to the decoder.  0 or pipe->fault. */
int shoal__pipe_decode(shoal__pipe_t *pipe, const char *data, size_t bytes);

/* The `count` requests from `sent` on are to leave: put the fence that is due before or
 * behind them, and count it.  Behind them it parts no unit: count then changes.  False:
 * nothing may leave for now, for want of memory or (count 0) before more replies
 * came. */
bool shoal__pipe_fence_batch(shoal__pipe_t *pipe, uint64_t *count);
/* INTEGRITY_STRICT: is a fence owed?  The last request that was written is no fence,
 * because the rest of its batch was withdrawn.  _debt() puts a fence behind the rest of
 * the unit that is under way, and returns how many requests may leave, whatever else
 * waits; 0: no memory. */
bool shoal__pipe_fence_is_owed(const shoal__pipe_t *pipe);
uint64_t shoal__pipe_fence_debt(shoal__pipe_t *pipe);
/* The head of the registry is a fence, and this is its answer.  False: see
 * pipe->fault. */
bool shoal__pipe_fence_answered(shoal__pipe_t *pipe, const shoal_reply_t *reply);
/* INTEGRITY_STRICT: take bytes in, and hand to the decoder what is proved.  0 or
 * pipe->fault. */
int shoal__pipe_hold(shoal__pipe_t *pipe, const char *data, size_t bytes);
/* Put the fence that must follow one that proved nothing; and when.  False: see
 * pipe->fault. */
bool shoal__pipe_fence_tick(shoal__pipe_t *pipe);
uint64_t shoal__pipe_fence_wake_us(const shoal__pipe_t *pipe);
/* A connection begins or is gone: there are no fences, and no held replies. */
void shoal__pipe_fence_reset(shoal__pipe_t *pipe);

#endif
