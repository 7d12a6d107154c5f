/* SPDX-License-Identifier: MIT */
#include "client/scripts.h"

#include "client/client.h"

static void note_change(shoal_client_t *client)
{
    atomic_fetch_add_explicit(&client->scripts.changes, 1, memory_order_release);
}

int shoal__client_add_script(shoal_client_t *client, shoal__bytes_t text,
                             shoal__script_t **ret_script)
{
    shoal__script_t *script = shoal__script_new(text);
    int rc = 0;

    if (!script)
        return text.bytes > SHOAL__SCRIPTS_BYTES_MAX ? SHOAL_EFULL : SHOAL_ENOMEM;
    shoal__client_lock(client);
    *ret_script = shoal__scripts_add(&client->scripts.registered, script, &rc);
    note_change(client);
    shoal__client_unlock(client);
    return rc;
}

void shoal__client_drop_script(shoal_client_t *client, shoal__script_t *script)
{
    shoal__client_lock(client);
    shoal__scripts_drop(&client->scripts.registered, script);
    note_change(client);
    shoal__client_unlock(client);
    shoal__script_release(script);
}

void shoal__client_take_scripts(shoal_client_t *client)
{
    uint64_t changes =
        atomic_load_explicit(&client->scripts.changes, memory_order_acquire);

    if (changes == client->scripts.taken)
        return;
    shoal__client_lock(client);
    if (shoal__scripts_copy(&client->scripts.loop, &client->scripts.registered))
        client->scripts.taken = changes;
    shoal__client_unlock(client);
}
