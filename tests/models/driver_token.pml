/* SPDX-License-Identifier: MIT */

/* Who runs the loop (core/driver_token.c, client/driver.c): the background thread, or a
 * thread in a blocking call, or nobody.  Callers that do not drive push into the mailbox
 * and sleep until the loop answers them.  Naps never end by themselves here, so nobody
 * is saved by the time.
 *
 * Holds: one driver at a time, and every call returns with its result. */

#define CALLERS 2
#define CALLS 2
#define ALL (CALLERS * CALLS)

mtype = { BACKGROUND, PARKED, DIRECT };
mtype driver = PARKED;
bool lock, is_asleep, is_readable, is_called;
bool is_queued[CALLERS], is_sent[CALLERS], has_result[CALLERS];
byte queued, drivers, finished;

inline acquire() { atomic { !lock -> lock = true } }
inline release() { lock = false }
inline drive() { drivers++; assert(drivers == 1) }
inline stop() { drivers-- }

proctype background()
{
    byte i;

    do
    :: finished == ALL -> break
    :: else ->
        acquire();
        do
        :: driver == BACKGROUND -> break
        :: driver != BACKGROUND ->
            /* The nap gives the lock away in the same step. */
            atomic { is_called = false; lock = false };
            if
            :: is_called
            :: finished == ALL -> goto over
            fi;
            acquire()
        od;
        release();
        drive();
        do
        :: acquire();
            for (i : 0 .. CALLERS - 1) {
                if
                :: is_queued[i] -> is_queued[i] = false; queued--; is_sent[i] = true
                :: else
                fi
            }
            release();
            for (i : 0 .. CALLERS - 1) {
                if
                :: is_sent[i] -> is_sent[i] = false; has_result[i] = true
                :: else
                fi
            }
            acquire();
            if
            :: queued == 0 -> /* enough lone calls: it may park */
                driver = PARKED; stop(); release(); break
            :: queued == 0 -> is_asleep = true
            :: else
            fi;
            release();
            if
            :: !is_asleep || is_readable
            :: finished == ALL -> stop(); goto over
            fi;
            is_readable = false;
            is_asleep = false
        od
    od;
over: skip
}

proctype caller(byte me)
{
    byte call;
    bool is_over;

    for (call : 1 .. CALLS) {
        acquire();
        if
        :: driver == PARKED && queued == 0 -> driver = DIRECT; drive()
        :: true -> /* also a call with a sink, which never drives */
            is_queued[me] = true;
            queued++;
            if
            :: driver == PARKED ->
                driver = BACKGROUND;
#ifndef BROKEN_PUSH_WITHOUT_CALL
                is_called = true
#endif
            :: driver != PARKED && is_asleep -> is_asleep = false; is_readable = true
            :: else
            fi
        fi;
        is_over = is_queued[me];
        release();
        do
        :: is_over -> break
        :: else -> /* one turn */
            acquire(); is_asleep = (queued == 0); release();
            if
            :: has_result[me] = true /* its reply came in the poll */
            :: !is_asleep || is_readable -> is_readable = false
            fi;
            acquire();
            is_asleep = false;
            is_over = has_result[me] || queued > 0;
            if
            :: queued > 0 ->
                driver = BACKGROUND; is_sent[me] = !has_result[me]; stop();
#ifndef BROKEN_HAND_OVER_WITHOUT_CALL
                is_called = true
#endif
            :: queued == 0 && is_over -> driver = PARKED; stop()
            :: else
            fi;
            release()
        od;
        has_result[me]; /* sleep until it is there */
        has_result[me] = false;
        finished++
    }
}

init { atomic { run background(); run caller(0); run caller(1) } }
