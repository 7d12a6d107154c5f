/* SPDX-License-Identifier: MIT */
#include <shoal/script.h>

#include "base/alloc.h"
#include "client/client.h"
#include "client/life.h"
#include "client/scripts.h"
#include <shoal/errors.h>

_Static_assert(SHOAL_SCRIPTS_MAX == SHOAL__SCRIPTS_MAX &&
                   SHOAL_SCRIPT_BYTES_MAX == SHOAL__SCRIPTS_BYTES_MAX,
               "the bounds are those of the list");

struct shoal_script {
    shoal_client_t *client;
    shoal__script_t *registered;
};

int shoal_script_new(shoal_client_t *client, const char *text, size_t bytes,
                     shoal_script_t **ret_script)
{
    shoal_script_t *script;
    int rc;

    if (!ret_script)
        return SHOAL_EINVAL;
    *ret_script = NULL;
    rc = shoal__client_check(client);
    if (rc < 0)
        return rc;
    if (!text || bytes == 0)
        return SHOAL_EINVAL;
    script = shoal__malloc(sizeof *script);
    if (!script)
        return SHOAL_ENOMEM;
    rc = shoal__client_add_script(client, (shoal__bytes_t){text, bytes},
                                  &script->registered);
    if (rc < 0) {
        shoal__free(script);
        return rc;
    }
    shoal__client_retain(client);
    script->client = client;
    *ret_script = script;
    return 0;
}

const char *shoal_script_sha1(const shoal_script_t *script)
{
    return script ? script->registered->sha1 : "";
}

void shoal_script_free(shoal_script_t *script)
{
    shoal_client_t *client;

    if (!script)
        return;
    client = script->client;
    /* In the child of a fork the lock may be held for ever. */
    if (shoal__client_is_foreign(client))
        shoal__script_release(script->registered);
    else
        shoal__client_drop_script(client, script->registered);
    shoal__free(script);
    shoal__client_release(client);
}
