/* SPDX-License-Identifier: MIT */

/* The mailbox's announced sleep (net/mailbox.c, net/driver_seat.c, net/loop.c): threads
 * push under the lock and signal after it, if the loop announced its sleep; the loop
 * announces it under the lock and with an empty mailbox, and wakes after `wake_after`
 * pushes or a time out at the latest.
 *
 * Holds: the loop takes every push, and where nothing was held back, without a time out.
 * What is left undone shows as an end state that is not one. */

#define PRODUCERS 2
#define PUSHES 2

bool lock, is_asleep, is_readable; /* is_readable: the notifier's descriptor */
byte queued, left, taken;          /* left: of the pushes until the loop is woken */
byte producers_done;

inline acquire() { atomic { !lock -> lock = true } }
inline release() { lock = false }

proctype producer()
{
    byte i;
    bool is_due;

    for (i : 1 .. PUSHES) {
        acquire();
        queued++;
        is_due = false;
        if
        :: is_asleep && left > 1 -> left--
        :: is_asleep && left <= 1 -> is_asleep = false; is_due = true
        :: else
        fi;
#ifdef BROKEN_SIGNAL_LOST
        is_due = false;
#endif
        release();
        if
        :: is_due -> is_readable = true
        :: else
        fi
    }
    producers_done++
}

proctype loop()
{
    byte wake_after;
    bool may_sleep;

    do
    :: taken == PRODUCERS * PUSHES -> break
    :: else ->
        acquire();
        taken = taken + queued;
        queued = 0;
        release();

        if
        :: wake_after = 1
        :: wake_after = 2 /* the flush policy holds a batch, until a time */
        fi;
#ifdef BROKEN_LOOK_BEFORE_LOCK
        may_sleep = (queued == 0);
        acquire();
#else
        acquire();
        may_sleep = (queued == 0);
#endif
        is_asleep = may_sleep;
        left = wake_after;
        release();
#ifdef BROKEN_CLEAR_BEFORE_POLL
        is_readable = false;
#endif

        if
        :: !may_sleep || taken == PRODUCERS * PUSHES
        :: else ->
            if
            :: is_readable
            :: wake_after > 1 && timeout ->
                assert(queued < wake_after) /* it was right not to wake it */
            fi
        fi;
        is_readable = false
    od;
    assert(queued == 0)
}

init {
    byte i;

    atomic {
        run loop();
        for (i : 1 .. PRODUCERS) { run producer() }
    }
}
