# SPDX-License-Identifier: MIT
"""Results as the worker and the server's counters give them."""


def one_round(ops, cpu=1.0, p50=100.0):
    return {
        "ops_per_s": ops,
        "client_cpu_us_per_op": cpu,
        "client_cpu_percent": 50.0,
        "latency_us": {"p50": p50, "p99": 2 * p50},
        "server_cpu_us_per_op": 0.5,
        "commands_per_server_read": 7.0,
        "connections": 1,
        "errors": 0,
        "config": {"versions": {"python": "3.11", "absent": None}},
    }
