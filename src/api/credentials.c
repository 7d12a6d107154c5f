/* SPDX-License-Identifier: MIT */
#include <shoal/credentials.h>

#include "base/alloc.h"
#include "base/escape.h"
#include "client/connections.h"
#include "net/provider.h"
#include <shoal/errors.h>
#include <string.h>

int shoal_client_set_credentials(shoal_client_t *client, const char *user,
                                 const char *password)
{
    shoal__secret_t *secret;
    int rc = shoal__client_check(client);

    if (rc < 0)
        return rc;
    secret = shoal__calloc(1, sizeof *secret);
    if (!secret)
        return SHOAL_ENOMEM;
    rc = shoal__secret_set(secret, user, password);
    if (rc == 0)
        rc = shoal__connections_authenticate(client, &secret);
    shoal__secret_free(secret);
    return rc;
}

int shoal_credentials_give(shoal_credentials_request_t *request, const char *user,
                           const char *password, uint64_t refresh_after_ms)
{
    shoal__provider_answer_t answer = {.refresh_us = UINT64_MAX};
    int rc;

    if (!request || !password)
        return SHOAL_EINVAL;
    rc = shoal__secret_set(&answer.secret, user, password);
    if (rc < 0)
        return rc;
    if (refresh_after_ms <= UINT64_MAX / 1000)
        answer.refresh_us = refresh_after_ms * 1000;
    return shoal__provider_answer(request, &answer);
}

int shoal_credentials_fail(shoal_credentials_request_t *request, const char *reason)
{
    shoal__provider_answer_t answer = {.is_failure = true};

    if (!request)
        return SHOAL_EINVAL;
    if (!reason)
        reason = "it told no reason";
    shoal__escape(answer.text, sizeof answer.text,
                  (shoal__bytes_t){reason, strlen(reason)});
    return shoal__provider_answer(request, &answer);
}
