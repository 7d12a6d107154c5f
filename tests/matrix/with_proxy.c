/* SPDX-License-Identifier: MIT */
#include "matrix/with_proxy.h"

static void stop_proxy(void *data)
{
    fault_proxy_stop(data);
}

fault_proxy_t *matrix_proxy(matrix_t *m, const fake_server_t *server,
                            fault_proxy_config_t config)
{
    config.server_port = fake_server_port(server);
    config.server_path = fake_server_path(server);
    fault_proxy_t *proxy = fault_proxy_start(&config);
    assert_non_null(proxy);
    matrix_defer(m, stop_proxy, proxy);
    if (fault_proxy_path(proxy))
        matrix_to_path(m, fault_proxy_path(proxy));
    else
        matrix_to_port(m, fault_proxy_port(proxy));
    return proxy;
}
