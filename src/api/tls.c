/* SPDX-License-Identifier: MIT */
#include <shoal/tls.h>

#include "base/error.h"
#include "client/client.h"
#include "net/tls_context.h"
#include <shoal/errors.h>

/* Also for a route that has not begun. */
static int reload(const shoal_client_t *client, char why[SHOAL__TLS_WHY_BYTES])
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < 2; i++)
        if (client->routes[i])
            rc = shoal__tls_context_reload(client->routes[i]->tls, why);
    return rc;
}

int shoal_client_reload_tls(shoal_client_t *client, shoal_error_t *ret_error)
{
    char why[SHOAL__TLS_WHY_BYTES] = "the client has no TLS";
    bool is_closed;
    int rc;

    if (!shoal__error_begin(ret_error))
        return SHOAL_EINVAL;
    rc = shoal__client_check(client);
    if (rc < 0)
        return shoal__error_plain(ret_error, rc);
    shoal__client_lock(client);
    is_closed = client->gate.is_closed;
    shoal__client_unlock(client);
    if (is_closed)
        return shoal__error_plain(ret_error, SHOAL_ECLOSED);
    if (!shoal__client_route(client)->tls)
        return shoal__error_say(ret_error, SHOAL_EINVAL, "%s", why);
    rc = reload(client, why);
    return rc < 0 ? shoal__error_say(ret_error, rc, "%s", why) : 0;
}
