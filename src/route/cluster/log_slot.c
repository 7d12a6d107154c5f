/* SPDX-License-Identifier: MIT */
#include "route/cluster/log_slot.h"

#include "resp/command_slot.h"

unsigned shoal__log_slot(const shoal__request_t *request, const char *bytes)
{
    const shoal__values_t *values = shoal__request_values(request);
    size_t readable =
        values && values->count > 0 ? values->references[0].at : request->bytes;

    return shoal__encoded_slot((shoal__bytes_t){bytes, readable});
}
