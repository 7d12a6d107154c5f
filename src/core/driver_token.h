/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_DRIVER_TOKEN_H
#define SHOAL_CORE_DRIVER_TOKEN_H

/*
 * Who may run a client's loop now.
 *
 *   BACKGROUND  the library's thread; it polls
 *   PARKED      no thread; the library's thread naps, and looks in from time to time
 *   DIRECT      a thread in a blocking call drives; when it leaves, the next one may
 *
 * The token takes events and answers with verdicts.  It knows no lock, no clock and no
 * thread: the owner serialises the events and does what the verdict says.
 *
 * Guarantees:
 *   - One driver at most.  DIRECT begins in PARKED only, and only the driver's own
 *     events end it; BACKGROUND ends by the background thread's own event only.
 *   - No command waits without a driver.  ON_PUSH while no thread drives calls the
 *     background thread in the same step; a caller that is awake pushes without it, and
 *     drives.  A direct driver that finds work that is not for it hands over in the step in
 *     which it finds that work.
 *   - The loop is parked only after LONE_CALLS times in a row in which nothing but
 *     blocking calls got results.  The background thread polls again when
 *     no thread made a blocking call for LOOKS_MAX naps.
 */

#include <stdbool.h>

#define SHOAL__DRIVER_LONE_CALLS 16
#define SHOAL__DRIVER_LOOKS_MAX 50

typedef enum shoal__driver {
    SHOAL__DRIVER_BACKGROUND,
    SHOAL__DRIVER_PARKED,
    SHOAL__DRIVER_DIRECT,
    SHOAL__DRIVER_COUNT
} shoal__driver_t;

/* "Quiet" is a fact that comes with each event. */
typedef enum shoal__driver_event {
    /* A thread in a blocking call would drive.  Quiet: it may, because nothing is owed to
     * anybody but such threads. */
    SHOAL__DRIVER_ON_CALL,
    /* Something was left in the mailbox. */
    SHOAL__DRIVER_ON_PUSH,
    /* The driver ran one iteration.  Quiet: the connection is ready, and nothing is owed
     * to anybody but threads in blocking calls. */
    SHOAL__DRIVER_ON_TURNED,
    /* The direct caller leaves the loop.  Quiet: nothing is outstanding, or other callers
     * are awake and will drive. */
    SHOAL__DRIVER_ON_LEFT,
    /* The background thread's nap is over.  Quiet: others drove meanwhile, and nothing
     * is due. */
    SHOAL__DRIVER_ON_NAPPED,
    /* Results came, of one blocking call that was alone, or of calls whose threads may
     * drive together. */
    SHOAL__DRIVER_ON_LONE,
    /* Anything else completed. */
    SHOAL__DRIVER_ON_COMPANY,
    SHOAL__DRIVER_EVENT_COUNT
} shoal__driver_event_t;

typedef enum shoal__driver_verdict {
    SHOAL__DRIVER_ILLEGAL,   /* zero, so an empty cell is illegal */
    SHOAL__DRIVER_KEEP,      /* go on as before */
    SHOAL__DRIVER_QUEUE,     /* the caller goes through the mailbox and waits */
    SHOAL__DRIVER_DRIVE,     /* the caller drives */
    SHOAL__DRIVER_SIGNAL,    /* wake the driver, if it sleeps in the poll */
    SHOAL__DRIVER_WAKE,      /* wake the background thread: it is to drive */
    SHOAL__DRIVER_HAND_OVER, /* the same; the driver drives no more */
    SHOAL__DRIVER_PARK,      /* the driver drives no more, and no thread does */
    SHOAL__DRIVER_LOOK       /* the background thread drives, to see what there is */
} shoal__driver_verdict_t;

typedef struct shoal__driver_token {
    shoal__driver_t driver;
    unsigned lone;  /* ON_LONE in a row */
    unsigned looks; /* LOOK verdicts since the last direct call */
} shoal__driver_token_t;

/* BACKGROUND. */
void shoal__driver_token_init(shoal__driver_token_t *token);

shoal__driver_verdict_t shoal__driver_token_step(shoal__driver_token_t *token,
                                                 shoal__driver_event_t event,
                                                 bool is_quiet);

/* Would ON_TURNED park the loop, if it is quiet? */
bool shoal__driver_token_may_park(const shoal__driver_token_t *token);

#endif
