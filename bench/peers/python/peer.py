# SPDX-License-Identifier: MIT
"""The workload of shoal-bench on a Python client; see ../README.md."""

import importlib
import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from workload import parse_options

# Which module knows a client. It is imported only then, so that a package that is not
# installed stops its own clients only.
MODULES = {
    "shoal-threads": "client_shoal",
    "shoal-asyncio": "client_shoal",
    "shoal-asyncio-thread": "client_shoal",
    "shoal-uvloop": "client_shoal",
    "shoal-redis-threads": "client_shoal_redis",
    "shoal-redis-asyncio": "client_shoal_redis",
    "shoal-redis-uvloop": "client_shoal_redis",
    "redis-py-threads": "client_redis_py",
    "redis-py-threads-16": "client_redis_py",
    "redis-py-asyncio": "client_redis_py",
    "redis-py-asyncio-16": "client_redis_py",
    "redis-py-uvloop": "client_redis_py",
    "redis-py-uvloop-16": "client_redis_py",
    "coredis": "client_coredis",
    "coredis-one": "client_coredis",
    "coredis-one-uvloop": "client_coredis",
    "valkey-glide": "client_glide",
    "valkey-glide-uvloop": "client_glide",
    "valkey-glide-sync": "client_glide_sync",
    # These receive messages.
    "shoal-take": "receive_shoal",
    "shoal-iterate": "receive_shoal",
    "shoal-on-message": "receive_shoal",
    "shoal-take-thread": "receive_shoal",
    "shoal-iterate-thread": "receive_shoal",
    "shoal-redis-listen": "receive_shoal_redis",
    "shoal-redis-get-message": "receive_shoal_redis",
    "redis-py-listen": "receive_redis_py",
    "redis-py-get-message": "receive_redis_py",
    "coredis-iterate": "receive_coredis",
    "valkey-glide-get": "receive_glide",
}


def versions_of(distributions: dict[str, str]) -> dict[str, str | None]:
    versions: dict[str, str | None] = {"python": platform.python_version()}
    for name, distribution in distributions.items():
        try:
            versions[name] = version(distribution)
        except PackageNotFoundError:
            versions[name] = None
    return versions


def main(arguments: list[str]) -> None:
    options = parse_options(arguments, MODULES)
    module = importlib.import_module(MODULES[options.client])
    if "-uvloop" in options.client:
        importlib.import_module("uvloop")
    if options.check:
        return
    measurement = module.CLIENTS[options.client](options)
    json.dump(measurement.result(versions_of(module.DISTRIBUTIONS)), sys.stdout)
    print()


if __name__ == "__main__":
    main(sys.argv[1:])
