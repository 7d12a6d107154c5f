/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_MATRIX_WITH_PROXY_H
#define SHOAL_TESTS_MATRIX_WITH_PROXY_H

/* A fault proxy that ends with the rig. */

#include "fault_proxy/fault_proxy.h"
#include "matrix/rig.h"

/* Start a proxy in front of a scripted server, and have the client connect to the proxy. */
fault_proxy_t *matrix_proxy(matrix_t *m, const fake_server_t *server,
                            fault_proxy_config_t config);

#endif
