# SPDX-License-Identifier: MIT
"""What the measurements ran on, and which CPU is whose."""

import os
import platform


def plan_cpus(allowed: set[int], client_count: int) -> tuple[set[int], set[int]]:
    """The client's CPUs and the server's: the first ones and the last; none of either
    where there are too few to keep the two apart."""
    if len(allowed) <= client_count:
        return set(), set()
    ordered = sorted(allowed)
    return set(ordered[:client_count]), {ordered[-1]}


def find_field(path: str, name: str, separator: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            for line in file:
                key, found, value = line.partition(separator)
                if found and key.strip() == name:
                    return value.strip().strip('"')
    except OSError:
        pass
    return "unknown"


def describe() -> dict[str, str | int]:
    system = platform.uname()
    return {
        "system": find_field("/etc/os-release", "PRETTY_NAME", "="),
        "kernel": f"{system.system} {system.release} {system.machine}",
        "cpu": find_field("/proc/cpuinfo", "model name", ":"),
        "cpus": len(os.sched_getaffinity(0)),
        "load_average": " ".join(f"{load:.2f}" for load in os.getloadavg()),
    }
