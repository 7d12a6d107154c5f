/* SPDX-License-Identifier: MIT */

/* Callers that stay awake until their results come, and run the loop in turns
 * (client/awake.c, client/driver.c).  A caller may go to sleep at any moment.  Naps never
 * end by themselves here, so nobody is saved by the time; therefore the background thread
 * parks the loop only when nothing is outstanding.
 *
 * Holds: one driver at a time, the seat's count of callers that are awake is exact while the
 * loop is parked, and every call returns with its result. */

#define CALLERS 2
#define CALLS 2
#define ALL (CALLERS * CALLS)

mtype = { BACKGROUND, PARKED, DIRECT };
mtype driver = PARKED;
bool lock, is_asleep, is_readable, is_called;
bool is_queued[CALLERS], is_sent[CALLERS], is_answered[CALLERS]; /* the loop knows */
bool has_result[CALLERS];                                        /* the caller does */
bool is_awake[CALLERS];
byte awake, queued, outstanding, drivers, finished;

inline acquire() { atomic { !lock -> lock = true } }
inline release() {
    assert(driver != PARKED || awake == is_awake[0] + is_awake[1]);
    lock = false
}
inline drive() { drivers++; assert(drivers == 1) }
inline stop() { drivers-- }

/* With the lock: from now on the background thread drives, and those that are awake are to
 * see it. */
inline to_background()
{
    driver = BACKGROUND;
    awake = 0;
    is_awake[0] = false;
    is_awake[1] = false;
    is_called = true
}

/* The driver takes the mailbox over, writes, and reads replies, perhaps not all. */
inline turn()
{
    acquire();
    for (i : 0 .. CALLERS - 1) {
        if
        :: is_queued[i] -> is_queued[i] = false; queued--; is_sent[i] = true
        :: else
        fi
    }
    release();
    for (i : 0 .. CALLERS - 1) {
        if
        :: is_sent[i] -> is_sent[i] = false; is_answered[i] = true; outstanding--
        :: true
        fi
    }
}

/* With the lock: take the answered callers out.  Then wake them, without it. */
inline take_answered()
{
    for (i : 0 .. CALLERS - 1) {
        taken[i] = is_answered[i] && !has_result[i] && !is_taken[i];
        if
        :: taken[i] ->
            is_taken[i] = true;
#ifndef BROKEN_ANSWERED_COUNTS
            if
            :: is_awake[i] -> is_awake[i] = false; awake--
            :: else
            fi
#endif
        :: else
        fi
    }
}
inline wake_taken()
{
    for (i : 0 .. CALLERS - 1) {
        if
        :: taken[i] -> has_result[i] = true
        :: else
        fi
    }
}

bool is_taken[CALLERS];

proctype background()
{
    byte i;
    bool is_parked, taken[CALLERS];

    do
    :: finished == ALL -> break
    :: else ->
        acquire();
        do
        :: driver == BACKGROUND -> break
        :: driver != BACKGROUND ->
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
        :: turn();
            acquire();
            take_answered();
            if
            :: queued == 0 && outstanding == 0 ->
                driver = PARKED; stop(); is_parked = true
            :: queued == 0 -> is_asleep = true
            :: else
            fi;
            release();
            wake_taken();
            if
            :: is_parked -> is_parked = false; break
            :: else
            fi;
            if
            :: !is_asleep || is_readable || outstanding > queued
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
    byte call, i;
    bool has_loop, may_go;
    bool taken[CALLERS];

    for (call : 1 .. CALLS) {
        acquire();
        outstanding++;
        is_queued[me] = true;
        queued++;
        has_loop = false;
        if
        :: driver == PARKED ->
            driver = DIRECT; drive(); has_loop = true; is_awake[me] = true; awake++
        :: driver == DIRECT && awake > 0 -> is_awake[me] = true; awake++
        :: driver == PARKED && awake > 0 -> is_awake[me] = true; awake++
        :: true -> /* also a callback's command, or one for a caller that sleeps */
            if
            :: driver == PARKED -> to_background()
            :: driver != PARKED && is_asleep -> is_asleep = false; is_readable = true
            :: else
            fi;
            release();
            goto asleep
        fi;
        release();
        do
        :: has_loop ->
            turn();
            acquire();
            may_go = is_answered[me];
            take_answered();
            has_loop = false;
            stop();
            if
#ifdef BROKEN_LEAVES_UNLOOKED
            :: true -> driver = PARKED
#else
            :: awake > 0 || (queued == 0 && outstanding == 0) -> driver = PARKED
            :: else -> to_background()
#endif
            fi;
            release();
            wake_taken();
            if
            :: may_go -> break
            :: else
            fi
        :: !has_loop && has_result[me] -> break
        :: !has_loop && driver == BACKGROUND -> break
        :: !has_loop && driver == PARKED ->
            acquire();
            if
#ifndef BROKEN_TAKES_AGAIN
            :: driver == PARKED && !is_answered[me] ->
#else
            :: driver == PARKED ->
#endif
                driver = DIRECT; drive(); has_loop = true;
                if
                :: !is_awake[me] -> is_awake[me] = true; awake++
                :: else
                fi
            :: else
            fi;
            release()
        :: !has_loop -> /* idle for too long */
            acquire();
            if
            :: is_awake[me] ->
                is_awake[me] = false;
                awake--;
                if
#ifndef BROKEN_LAST_ASLEEP
                :: awake == 0 && driver == PARKED -> to_background()
#endif
                :: else
                fi
            :: else
            fi;
            release();
            break
        od;
asleep: has_result[me]; /* sleep until it is there */
        atomic { has_result[me] = false; is_answered[me] = false; is_taken[me] = false };
        finished++
    }
}

init { atomic { run background(); run caller(0); run caller(1) } }
