/* SPDX-License-Identifier: MIT */
#include "pubsub/receipts.h"

#include <sys/socket.h>

/* The clock and the histogram cost as much as a quick receiver. */
#define TIMED_SHARE 64u
#define TIMED_SHARE_AT_A_RATE 8u

void receipts_init(receipts_t *receipts, run_t *run, int credits)
{
    *receipts =
        (receipts_t){.run = run,
                     .credits = credits,
                     .credit_due = MESSAGE_CREDIT - 1,
                     .untimed = run->options->rate == 0 ? TIMED_SHARE - 1
                                                        : TIMED_SHARE_AT_A_RATE - 1};
    run->sampling = receipts->untimed + 1;
}

void receipts_refuse(receipts_t *receipts)
{
    static const char text[] = "a message that the bench did not publish";

    run_note_error(receipts->run, text, sizeof text - 1);
}

void receipts_jump(receipts_t *receipts, uint32_t number)
{
    static const char text[] = "a message came twice, or behind a later one";

    if (number > receipts->next)
        atomic_fetch_add_explicit(&receipts->lost, number - receipts->next,
                                  memory_order_relaxed);
    else
        run_note_error(receipts->run, text, sizeof text - 1);
}

/* A publisher that has ended is noticed elsewhere. */
void receipts_tell(receipts_t *receipts, uint32_t number)
{
    static const char credits[64];
    size_t due = (number - receipts->credit_due) / MESSAGE_CREDIT + 1;

    receipts->credit_due += (uint32_t)due * MESSAGE_CREDIT;
    while (due > 0) {
        size_t now = due < sizeof credits ? due : sizeof credits;
        if (send(receipts->credits, credits, now, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            return;
        due -= now;
    }
}
