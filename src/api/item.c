/* SPDX-License-Identifier: MIT */
#include <shoal/item.h>

#include "core/push/item.h"

static const char *read_bytes(const shoal__bytes_t *view, size_t *ret_bytes)
{
    if (ret_bytes)
        *ret_bytes = view && view->data ? view->bytes : 0;
    return view ? view->data : NULL;
}

shoal_item_kind_t shoal_item_kind(const shoal_item_t *item)
{
    return item ? item->kind : SHOAL_ITEM_ENDED;
}

shoal_name_kind_t shoal_item_name_kind(const shoal_item_t *item)
{
    return item ? item->name_kind : SHOAL_NAME_CHANNEL;
}

const char *shoal_item_channel(const shoal_item_t *item, size_t *ret_bytes)
{
    return read_bytes(item ? &item->channel : NULL, ret_bytes);
}

const char *shoal_item_pattern(const shoal_item_t *item, size_t *ret_bytes)
{
    return read_bytes(item ? &item->pattern : NULL, ret_bytes);
}

const char *shoal_item_payload(const shoal_item_t *item, size_t *ret_bytes)
{
    return read_bytes(item ? &item->payload : NULL, ret_bytes);
}

uint64_t shoal_item_count(const shoal_item_t *item)
{
    return item ? item->count : 0;
}

shoal_gap_reason_t shoal_item_reason(const shoal_item_t *item)
{
    return item ? item->reason : SHOAL_GAP_NONE;
}

const char *shoal_item_detail(const shoal_item_t *item)
{
    return item && item->detail ? item->detail : "";
}

uint64_t shoal_item_epoch(const shoal_item_t *item)
{
    return item ? item->epoch : 0;
}

void *shoal_item_data(const shoal_item_t *item)
{
    return item ? item->data : NULL;
}
