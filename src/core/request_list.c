/* SPDX-License-Identifier: MIT */
#include "core/request_list.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include <shoal/errors.h>
#include <string.h>

#define MANY 1024
#define WALK_SPACING_US 10000

#define LISTED_AT(at) SHOAL__LIST_ENTRY(at, shoal__listed_request_t, node)

void shoal__request_list_init(shoal__request_list_t *list)
{
    *list = (shoal__request_list_t){.earliest_us = SHOAL__NEVER_US};
    shoal__list_init(&list->waiting);
}

void shoal__request_list_release(shoal__request_list_t *list)
{
    shoal__listed_request_t *listed;

    if (!list->waiting.next)
        return;
    while ((listed = shoal__request_list_take_first(list)) != NULL) {
        shoal__extra_drop(listed->request.extra);
        shoal__free(listed);
    }
}

void shoal__request_list_put(shoal__request_list_t *list,
                             shoal__listed_request_t *listed)
{
    shoal__list_append(&list->waiting, &listed->node);
    list->count++;
    list->earliest_us = shoal__time_min(list->earliest_us, listed->request.deadline_us);
}

int shoal__request_list_add(shoal__request_list_t *list,
                            const shoal__request_t *request, const char *bytes)
{
    shoal__listed_request_t *listed = shoal__malloc(sizeof *listed + request->bytes);

    if (!listed)
        return SHOAL_ENOMEM;
    listed->request = *request;
    memcpy(listed->bytes, bytes, request->bytes);
    shoal__request_list_put(list, listed);
    return 0;
}

shoal__listed_request_t *shoal__request_list_take(shoal__request_list_t *list,
                                                  shoal__listed_request_t *listed)
{
    shoal__list_remove(&listed->node);
    if (--list->count == 0)
        list->earliest_us = SHOAL__NEVER_US;
    return listed;
}

shoal__listed_request_t *shoal__request_list_take_first(shoal__request_list_t *list)
{
    return shoal__list_is_empty(&list->waiting)
               ? NULL
               : shoal__request_list_take(list, LISTED_AT(list->waiting.next));
}

shoal__listed_request_t *shoal__request_list_take_expired(shoal__request_list_t *list,
                                                          uint64_t now_us)
{
    shoal__list_t *node = list->waiting.next;
    uint64_t earliest_us = SHOAL__NEVER_US;

    if (now_us < list->earliest_us)
        return NULL;
    for (; node != &list->waiting; node = node->next) {
        uint64_t deadline_us = LISTED_AT(node)->request.deadline_us;
        if (deadline_us <= now_us)
            return shoal__request_list_take(list, LISTED_AT(node));
        earliest_us = shoal__time_min(earliest_us, deadline_us);
    }
    /* Many commands, each with a deadline of its own, are not walked again for each. */
    if (list->count > MANY)
        earliest_us = shoal__time_max(earliest_us, now_us + WALK_SPACING_US);
    list->earliest_us = earliest_us;
    return NULL;
}
