/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_MATRIX_WITH_PROXY_H
#define SHOAL_TESTS_MATRIX_WITH_PROXY_H

/* A fault proxy that ends with the rig. */

#include "matrix/rig.h"
#include "support/fault_proxy.h"

static inline void matrix_stop_proxy(void *data)
{
    fault_proxy_stop(data);
}

/* Between the client and a scripted server; the client is to connect to it. */
static inline fault_proxy_t *matrix_proxy(matrix_t *m, const fake_server_t *server,
                                          fault_proxy_config_t config)
{
    config.server_port = fake_server_port(server);
    config.server_path = fake_server_path(server);
    fault_proxy_t *proxy = fault_proxy_start(&config);
    assert_non_null(proxy);
    matrix_defer(m, matrix_stop_proxy, proxy);
    if (fault_proxy_path(proxy))
        matrix_to_path(m, fault_proxy_path(proxy));
    else
        matrix_to_port(m, fault_proxy_port(proxy));
    return proxy;
}

#endif
