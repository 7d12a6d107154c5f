/* SPDX-License-Identifier: MIT */

/* The open sleep (client/relief.c, net/driver_seat.c): while the driver sleeps, a caller
 * that would wake it runs a turn in its place.  What the turn leaves undone wakes the
 * driver.  Nobody is saved by the time: no sleep ends by itself.
 *
 * Holds: one thread at a time has the loop, and every call returns with its result. */

#define CALLERS 2
#define CALLS 2
#define ALL (CALLERS * CALLS)

mtype = { DRIVER, OPEN, RELIEVED };
mtype post = DRIVER;
bool lock, is_asleep, is_awaited, is_signalled;
bool is_queued[CALLERS], is_answered[CALLERS], has_result[CALLERS];
byte queued, answered, users, finished;

inline acquire() { atomic { !lock -> lock = true } }
inline release() { lock = false }
/* Touch what only one thread may touch. */
inline use() { users++; assert(users == 1) }
inline leave() { users-- }

/* Take the mailbox over, and write: the server answers at once. */
inline turn(i)
{
    use();
    acquire();
    for (i : 0 .. CALLERS - 1) {
        if
        :: is_queued[i] ->
            is_queued[i] = false;
            queued--;
            d_step { is_answered[i] = true; answered++ }
        :: else
        fi
    }
    release();
    leave()
}

proctype driver()
{
    byte i;
    bool sleeps;

    do
    :: turn(i);
        acquire();
        if
        :: queued == 0 ->
            is_asleep = true;
            if
            :: post = OPEN
            :: true /* a callback is owed, for example: a closed sleep */
            fi
        :: else -> is_asleep = false
        fi;
        sleeps = is_asleep;
        release();
        if
        :: !sleeps || is_signalled || answered > 0
        :: finished == ALL -> break
        fi;
        acquire();
        is_awaited = true;
#ifndef BROKEN_COMES_BACK_AT_ONCE
        do
        :: post != RELIEVED -> break
        :: else -> release(); post != RELIEVED; acquire()
        od;
#endif
        is_awaited = false;
        post = DRIVER;
        release();
        use();
        is_signalled = false;
        for (i : 0 .. CALLERS - 1) {
            if
            :: is_answered[i] ->
                d_step { is_answered[i] = false; answered-- }
                has_result[i] = true
            :: else
            fi
        }
        leave()
    od
}

proctype caller(byte me)
{
    byte call, i;
    bool relieves;

    for (call : 1 .. CALLS) {
        relieves = false;
        acquire();
        is_queued[me] = true;
        queued++;
        if
        :: is_asleep ->
            is_asleep = false;
            if
            :: post == OPEN -> post = RELIEVED; relieves = true
            :: post != OPEN -> is_signalled = true
            fi
        :: else
        fi;
        release();
        if
        :: relieves ->
            if
            :: turn(i)
            :: true /* a callback's command is there too: all is left to the driver */
            fi;
            acquire();
            if
            :: queued == 0 -> is_asleep = true
            :: true -> /* something is left that the turn could not do */
#ifndef BROKEN_LEAVES_WITHOUT_SIGNAL
                is_signalled = true
#endif
            fi;
            if
            :: is_awaited -> post = DRIVER
            :: else -> post = OPEN
            fi;
            release()
        :: else
        fi;
        has_result[me]; /* sleep until it is there */
        has_result[me] = false;
        finished++
    }
}

init { atomic { run driver(); run caller(0); run caller(1) } }
