/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_CONN_FSM_H
#define SHOAL_CORE_CONN_FSM_H

/*
 * The life of one connection as a table.  It names the next state and the work to do;
 * net/conn.c does the work.  An empty cell is illegal.
 *
 * Closing is no state of the table: while a drain time runs, the connection works as
 * usual, and dials again if it must.  The owner posts ON_CLOSE when no command is left
 * to drain, or when the drain time is over.
 */

typedef enum shoal__conn_state {
    SHOAL__CONN_IDLE,
    SHOAL__CONN_DIALING,  /* resolve, connect */
    SHOAL__CONN_GREETING, /* HELLO, AUTH, SELECT, CLIENT ... */
    SHOAL__CONN_READY,
    SHOAL__CONN_BACKOFF, /* waits before the next attempt */
    SHOAL__CONN_CLOSED,
    SHOAL__CONN_STATE_COUNT
} shoal__conn_state_t;

typedef enum shoal__conn_event {
    SHOAL__CONN_ON_OPEN,
    SHOAL__CONN_ON_DIALED,
    SHOAL__CONN_ON_GREETED,
    SHOAL__CONN_ON_LOST, /* any I/O, protocol or timeout failure */
    SHOAL__CONN_ON_RETRY_DUE,
    SHOAL__CONN_ON_RENEWED, /* its successor is to take its place */
    SHOAL__CONN_ON_CLOSE,   /* nothing is left to drain, or no time */
    SHOAL__CONN_EVENT_COUNT
} shoal__conn_event_t;

typedef enum shoal__conn_action {
    SHOAL__CONN_ILLEGAL, /* zero, so an empty cell is illegal */
    SHOAL__CONN_DO_DIAL,
    SHOAL__CONN_DO_GREET,
    SHOAL__CONN_DO_RESUME,  /* send what has queued up */
    SHOAL__CONN_DO_SUCCEED, /* go on over the successor */
    SHOAL__CONN_DO_RETRY,   /* nothing: the code that posts ON_LOST knows why, settles
                              the commands and arms the backoff */
    SHOAL__CONN_DO_SHUT,
} shoal__conn_action_t;

typedef struct shoal__conn_step {
    shoal__conn_state_t next;
    shoal__conn_action_t action;
} shoal__conn_step_t;

shoal__conn_step_t shoal__conn_fsm_step(shoal__conn_state_t state,
                                        shoal__conn_event_t event);

#endif
