/* SPDX-License-Identifier: MIT */
#include "route/cluster/log_slot.h"

#include "core/overtaken.h"

unsigned shoal__log_slot(const shoal__request_t *request, const char *bytes)
{
    return shoal__request_slot(request, bytes);
}
