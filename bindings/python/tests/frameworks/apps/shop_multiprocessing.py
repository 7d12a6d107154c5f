# SPDX-License-Identifier: MIT
"""The document's client, in the workers of each kind of pool."""

import json
import multiprocessing

import carried
import shop


def visit(kind: str) -> tuple[int, list[str]]:
    return shop.redis.incr(kind), carried.report()["bypass"]


def main() -> None:
    said = {}
    for kind in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(kind).Pool(2) as pool:
            seen = pool.map(visit, [kind] * 20, chunksize=1)
        said[kind] = sorted(number for number, _ in seen)
        assert all(bypass == [] for _, bypass in seen)
    print(json.dumps({**said, **carried.report()}))


if __name__ == "__main__":
    main()
