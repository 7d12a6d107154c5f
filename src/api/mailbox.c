/* SPDX-License-Identifier: MIT */
#include <shoal/mailbox.h>

#include "base/time_us.h"
#include "client/item_queue.h"
#include "net/clock.h"
#include <shoal/errors.h>

#define MESSAGES_DEFAULT 65536
#define MESSAGES_MAX 16777216
#define BYTES_DEFAULT (UINT64_C(64) << 20)
#define BYTES_MAX (UINT64_C(1) << 40)
#define BLOCK_BYTES 65536

int shoal_mailbox_new(size_t messages_max, uint64_t bytes_max,
                      shoal_overflow_t overflow, shoal_mailbox_t **ret_mailbox)
{
    uint64_t bytes = bytes_max ? bytes_max : BYTES_DEFAULT;

    if (ret_mailbox)
        *ret_mailbox = NULL;
    if (!ret_mailbox || messages_max > MESSAGES_MAX || bytes_max > BYTES_MAX ||
        (unsigned)overflow > SHOAL_OVERFLOW_END)
        return SHOAL_EINVAL;
    bytes = (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
    return shoal__items_new(messages_max ? messages_max : MESSAGES_DEFAULT,
                            bytes > SIZE_MAX ? SIZE_MAX : (size_t)bytes, overflow,
                            ret_mailbox);
}

/* Is there one that this process may use? */
static bool is_usable(const shoal_mailbox_t *mailbox)
{
    return mailbox && !shoal__items_is_foreign(mailbox);
}

void shoal_mailbox_free(shoal_mailbox_t *mailbox)
{
    if (is_usable(mailbox))
        shoal__items_free(mailbox);
}

int shoal_mailbox_fd(shoal_mailbox_t *mailbox)
{
    return is_usable(mailbox) ? shoal__items_fd(mailbox) : -1;
}

size_t shoal_mailbox_take(shoal_mailbox_t *mailbox, const shoal_item_t **items,
                          size_t count_max)
{
    return is_usable(mailbox) && items ? shoal__items_take(mailbox, items, count_max)
                                       : 0;
}

int shoal_mailbox_wait(shoal_mailbox_t *mailbox, uint64_t timeout_us)
{
    if (!mailbox)
        return SHOAL_EINVAL;
    if (shoal__items_is_foreign(mailbox))
        return SHOAL_EFORK;
    return shoal__items_wait(mailbox, shoal__time_after(shoal__clock_us(), timeout_us));
}

size_t shoal_mailbox_count(shoal_mailbox_t *mailbox)
{
    return is_usable(mailbox) ? shoal__items_count(mailbox) : 0;
}

uint64_t shoal_mailbox_dropped(shoal_mailbox_t *mailbox)
{
    return is_usable(mailbox) ? shoal__items_dropped(mailbox) : 0;
}
