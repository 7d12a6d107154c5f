/* SPDX-License-Identifier: MIT */
#include <shoal/format.h>

#include "base/error.h"
#include "client/plan.h"
#include "resp/format.h"
#include <shoal/errors.h>

/* The call is refused for its format: its caller is told why. */
static int refuse(const shoal_call_t *call, int code)
{
    shoal_call_t known;

    if (!shoal__call_read(call, &known))
        return SHOAL_EINVAL;
    if (code != SHOAL_EINVAL)
        return shoal__error_plain(known.error, code);
    return shoal__error_say(known.error, code,
                            "the format is NULL, empty, or has a conversion that "
                            "shoal/format.h does not name");
}

/* ---- submitting ---- */

int shoal_client_vsubmitf_with(shoal_client_t *client, const shoal_call_t *call,
                               shoal_result_cb on_result, void *data,
                               uint64_t *ret_ticket, const char *format, va_list args)
{
    shoal__formatted_t formatted;
    int rc;

    if (ret_ticket)
        *ret_ticket = 0;
    rc = format ? shoal__format(&formatted, format, args) : SHOAL_EINVAL;
    if (rc < 0)
        return refuse(call, rc);
    rc = shoal_client_submit_many(client, &formatted.command, 1, call, on_result, data,
                                  ret_ticket);
    shoal__formatted_release(&formatted);
    return rc;
}

int shoal_client_submitf_with(shoal_client_t *client, const shoal_call_t *call,
                              shoal_result_cb on_result, void *data,
                              uint64_t *ret_ticket, const char *format, ...)
{
    va_list args;
    int rc;

    va_start(args, format);
    rc = shoal_client_vsubmitf_with(client, call, on_result, data, ret_ticket, format,
                                    args);
    va_end(args);
    return rc;
}

int shoal_client_vsubmitf(shoal_client_t *client, shoal_result_cb on_result, void *data,
                          const char *format, va_list args)
{
    return shoal_client_vsubmitf_with(client, NULL, on_result, data, NULL, format,
                                      args);
}

int shoal_client_submitf(shoal_client_t *client, shoal_result_cb on_result, void *data,
                         const char *format, ...)
{
    va_list args;
    int rc;

    va_start(args, format);
    rc = shoal_client_vsubmitf(client, on_result, data, format, args);
    va_end(args);
    return rc;
}

/* ---- calling ---- */

int shoal_client_vcallf_with(shoal_client_t *client, const shoal_call_t *call,
                             shoal_result_t **ret_result, const char *format,
                             va_list args)
{
    shoal__formatted_t formatted;
    int rc;

    if (ret_result)
        *ret_result = NULL;
    rc = format ? shoal__format(&formatted, format, args) : SHOAL_EINVAL;
    if (rc < 0)
        return refuse(call, rc);
    rc = shoal_client_call_with(client, &formatted.command, call, ret_result);
    shoal__formatted_release(&formatted);
    return rc;
}

int shoal_client_callf_with(shoal_client_t *client, const shoal_call_t *call,
                            shoal_result_t **ret_result, const char *format, ...)
{
    va_list args;
    int rc;

    va_start(args, format);
    rc = shoal_client_vcallf_with(client, call, ret_result, format, args);
    va_end(args);
    return rc;
}

int shoal_client_vcallf(shoal_client_t *client, shoal_result_t **ret_result,
                        const char *format, va_list args)
{
    return shoal_client_vcallf_with(client, NULL, ret_result, format, args);
}

int shoal_client_callf(shoal_client_t *client, shoal_result_t **ret_result,
                       const char *format, ...)
{
    va_list args;
    int rc;

    va_start(args, format);
    rc = shoal_client_vcallf(client, ret_result, format, args);
    va_end(args);
    return rc;
}
