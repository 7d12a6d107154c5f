/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_SERVER_INFO_H
#define SHOAL_BENCH_SERVER_INFO_H

/* What the server says of itself, asked over a connection of its own; of a cluster, the sum
 * of what its nodes say. */

#include "server/controls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct server_info {
    bool has_cpu;
    bool has_reads;
    uint64_t cpu_ns; /* user and system, of the whole process, so far */
    uint64_t reads;  /* total_reads_processed; from redis 6 on */
} server_info_t;

/* Leaves everything unknown if the server has no INFO. */
void server_info_get(const controls_t *controls, server_info_t *ret_info);

/* "redis 7.0.15", "valkey 8.0.1" or "unknown"; of the first node. */
void server_info_version(const controls_t *controls, char *text, size_t text_bytes);

#endif
