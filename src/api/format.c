/* SPDX-License-Identifier: MIT */
#include <shoal/format.h>

#include "resp/format.h"
#include <shoal/errors.h>

int shoal_client_vsubmitf(shoal_client_t *client, shoal_result_cb on_result, void *data,
                          const char *format, va_list args)
{
    shoal__formatted_t formatted;
    int rc;

    if (!format)
        return SHOAL_EINVAL;
    rc = shoal__format(&formatted, format, args);
    if (rc < 0)
        return rc;
    rc = shoal_client_submit(client, formatted.command.argc, formatted.command.argv,
                             formatted.command.argvlen, on_result, data, NULL);
    shoal__formatted_release(&formatted);
    return rc;
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

int shoal_client_vcallf(shoal_client_t *client, shoal_result_t **ret_result,
                        const char *format, va_list args)
{
    shoal__formatted_t formatted;
    int rc;

    if (!format || !ret_result)
        return SHOAL_EINVAL;
    rc = shoal__format(&formatted, format, args);
    if (rc < 0)
        return rc;
    rc = shoal_client_call_with(client, &formatted.command, NULL, ret_result);
    shoal__formatted_release(&formatted);
    return rc;
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
