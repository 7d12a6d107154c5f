/* SPDX-License-Identifier: MIT */
#include "script.h"

int shoalpy_script_new(shoalpy_core_t *core, const char *text, size_t bytes,
                       shoal_script_t **ret_script)
{
    int rc = shoalpy_core_enter(core);

    if (rc < 0)
        return rc;
    rc = shoal_script_new(core->client, text, bytes, ret_script);
    shoalpy_core_leave(core);
    return rc;
}
