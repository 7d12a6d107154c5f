/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_API_CLIENT_H
#define SHOAL_API_CLIENT_H

/* What is behind shoal_client_t: a route, the loop that drives it, and the inbox
 * through which other threads reach it. */

#include "api/options.h"
#include "base/list.h"
#include "net/fork_guard.h"
#include "net/inbox.h"
#include "net/loop.h"
#include "net/parker.h"
#include "route/standalone.h"
#include <pthread.h>
#include <shoal/completions.h>
#include <stdatomic.h>

typedef enum shoal__drive {
    SHOAL__DRIVE_THREAD, /* a thread of our own runs our loop */
    SHOAL__DRIVE_STEPS,  /* the caller steps our loop */
    SHOAL__DRIVE_CALLER  /* the caller runs a loop of theirs */
} shoal__drive_t;

/* An event that is told later, on another thread. */
typedef struct shoal__held_event {
    shoal_event_kind_t kind;
    int status;
    uint64_t delay_us, epoch;
    char detail[256];
} shoal__held_event_t;

/* A direct driver holds no more: a loss, and what becomes of it. */
#define SHOAL__HELD_EVENTS_MAX 2

struct shoal_client {
    shoal_options_t *options;
    shoal__conn_config_t config; /* points into options */
    shoal__drive_t drive;
    shoal__loop_t loop;
    shoal__standalone_t route;
    shoal__inbox_t inbox;

    uint64_t fork_generation; /* of the process that opened it */
    _Atomic uintptr_t loop_thread;
    pthread_t thread; /* DRIVE_THREAD */
    bool is_joined;   /* somebody waits for the thread's end; set
                                         under the inbox's lock, before it closes */

    /* Loop thread only, whichever thread that is. */
    shoal__inbox_side_t taken; /* the inbox's other side */
    uint64_t tickets;          /* given out here */
    uint64_t pushed;           /* commands that went into a pipe */
    uint64_t fresh;            /* of them, submitted here since the last turn */
    uint64_t drain_until_us;
    unsigned depth;   /* of calls that may run callbacks; the pipe's time holds */
    bool is_open;     /* the route was opened */
    bool is_closing;  /* no new commands */
    bool is_shut;     /* everything is settled, the loop closes */
    bool is_gone;     /* every handle is closed */
    bool is_stepping; /* inside shoal_client_step */
    shoal_closed_cb on_closed;
    void *closed_data;
    uint64_t wake_us;    /* the next turn must come by then */
    uint64_t seen;       /* completed, when results were last announced */
    bool had_company;    /* since the last turn: others completed than lone callers */
    bool is_direct;      /* the loop thread is in a blocking call of its own */
    bool is_answered;    /* then: its result is there */
    bool was_parked;     /* nobody has looked at the connection for a while */
    uint64_t seen_turns; /* when the background thread last napped */
    shoal__held_event_t held[SHOAL__HELD_EVENTS_MAX];
    unsigned held_count;
    shoal__list_t parked;                 /* callers whose result is there */
    unsigned parked_count, drivers_count; /* of them; and who could drive */
    shoal_completions_t *touched[8];      /* queues that got results in this batch */
    unsigned touched_count;

    shoal__counter_t commands, turns, direct_calls, caller_wakeups;
    shoal__counter_t refused;      /* any thread */
    shoal__counter_t refused_here; /* loop thread */
};

/* Extras of a submission, checked and with the defaults put in. */
typedef struct shoal__submission {
    const shoal_command_t *commands;
    size_t count;
    shoal_call_t call;
    shoal_result_cb on_result;
    void *data;
    uint64_t first_tag;
    bool is_blocking; /* the thread parks for its one result */
    bool *is_driving; /* of a blocking call that may drive: does it?  Else NULL */
} shoal__submission_t;

/* The caller's extras, or none; false if they make no sense. */
bool shoal__call_read(const shoal_call_t *call, shoal_call_t *ret_call);

/* The one way in: any thread.  0 or a refusal.  If *is_driving is true afterwards, the
 * thread is the loop thread, and shoal__driver_drive() must follow. */
int shoal__client_submit(shoal_client_t *client, const shoal__submission_t *submission,
                         uint64_t *ret_ticket);

/* Loop thread: what was submitted on it is now to be written. */
void shoal__client_note_fresh(shoal_client_t *client, uint64_t now_us);
/* Loop thread: take over what other threads left. */
void shoal__client_take_over(shoal_client_t *client, uint64_t now_us);

/* Loop thread: results were delivered; wake those who wait for them. */
void shoal__client_delivered(shoal_client_t *client);

/* ---- who runs the loop (api/driver.c) ---- */

/* The background thread: run the loop while it is to, until the client is gone. */
void shoal__driver_run(shoal_client_t *client);
/* A blocking call begins: may this thread drive?  It is the loop thread then. */
bool shoal__driver_take(shoal_client_t *client);
/* It has nothing to drive for. */
void shoal__driver_release(shoal_client_t *client);
/* Run the loop until the caller's result is there, until_us at most.  False: the background
 * thread took over, and delivers it. */
bool shoal__driver_drive(shoal_client_t *client, uint64_t until_us);
/* The end of a turn: may the loop sleep until wake_us? */
bool shoal__driver_may_sleep(shoal_client_t *client, uint64_t wake_us);
/* Results were delivered.  True: the loop stops, to be parked, and those in
 * client->parked are woken after that; else they would come too soon to drive. */
bool shoal__driver_parks_next(shoal_client_t *client);
/* Wake those callers; the list is empty then. */
void shoal__client_wake_callers(shoal_client_t *client, shoal__list_t *callers);

static inline bool shoal__client_is_loop_thread(const shoal_client_t *client)
{
    return atomic_load_explicit(&client->loop_thread, memory_order_relaxed) ==
           (uintptr_t)pthread_self();
}

/* Opened by a process that this one was forked from? */
static inline bool shoal__client_is_foreign(const shoal_client_t *client)
{
    return client->fork_generation != shoal__fork_generation();
}

int shoal__client_open(shoal__drive_t drive, uv_loop_t *uv,
                       const shoal_options_t *options, shoal_client_t **ret_client);

/* Loop thread: a queue got a result; tell its consumer after the batch. */
void shoal__client_touch(shoal_client_t *client, shoal_completions_t *completions);

/* Completions: tell the consumer, and give up one reference. */
void shoal__completions_announce(shoal_completions_t *completions);
/* Completions: one more reference. */
void shoal__completions_retain(shoal_completions_t *completions);

/* Events. */
void shoal__client_on_event(void *owner, shoal_event_kind_t kind, int status,
                            const char *detail, uint64_t delay_us);
/* Loop thread, not in a direct call: tell what was held. */
void shoal__client_tell_held(shoal_client_t *client);

#endif
