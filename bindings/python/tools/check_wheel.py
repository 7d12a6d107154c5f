#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_wheel.py <wheel>: what users would notice too late.

The wheel is for every CPython from 3.10 on; its extension exports nothing but its
initialiser and needs the C library only; TLS is there, and finds OpenSSL at run time;
the licences of all that is linked in are there, and the files that make the package a
typed one.
"""

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

EXTENSION = "shoal/_native.abi3.so"
TYPES = {"shoal/_commands.pyi", "shoal/_native.pyi", "shoal/py.typed"}
FILES = {EXTENSION, "shoal/__init__.py", *TYPES}
LICENSES = {"LICENSE", "hiredis/COPYING", "libuv/LICENSE", "libuv/LICENSE-extra"}
EXPORTS = ["PyInit__native"]
SYSTEM = ("libc.", "libm.", "libpthread.", "librt.", "libdl.", "ld-linux", "ld-musl")
#: What the interpreter or the C library defines; the latter's have a version.
DEFINED = ("Py", "_Py", "_ITM_", "__gmon_start__", "__cxa_finalize")


def output_of(*command: str) -> list[str]:
    done = subprocess.run(command, check=True, text=True, capture_output=True)
    return done.stdout.splitlines()


def problems_of_extension(path: str) -> Iterator[str]:
    symbols = output_of("nm", "-D", "--defined-only", path)
    exported = sorted(line.split()[-1] for line in symbols)
    if exported != EXPORTS:
        yield f"exports {len(exported)} symbols: {' '.join(exported[:4])} ..."
    for line in output_of("nm", "-D", "--undefined-only", path):
        symbol = line.split()[-1]
        if "@" not in symbol and not symbol.startswith(DEFINED):
            yield f"nothing defines {symbol}: see native/openssl.c"
    if b"libssl.so.3" not in Path(path).read_bytes():
        yield "is built without TLS"
    for line in output_of("readelf", "-dW", path):
        if "(NEEDED)" in line:
            needed = line.partition("[")[2].rstrip("]")
            if not needed.startswith(SYSTEM):
                yield f"needs {needed}"


def problems(wheel: Path) -> Iterator[str]:
    if "-cp310-abi3-" not in wheel.name:
        yield "the tag is not cp310-abi3"
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as scratch:
        names = set(archive.namelist())
        folder = "-".join(wheel.name.split("-")[:2]) + ".dist-info/licenses/"
        for name in sorted((FILES | {folder + name for name in LICENSES}) - names):
            yield f"{name} is missing"
        for name in sorted(names):
            if not name.startswith(("shoal/", "shoal-")):
                yield f"{name} does not belong there"
        if EXTENSION in names:
            yield from problems_of_extension(archive.extract(EXTENSION, scratch))


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: check_wheel.py <wheel>", file=sys.stderr)
        return 2
    wheel = Path(sys.argv[1])
    found = list(problems(wheel))
    for problem in found:
        print(f"{wheel.name}: {problem}")
    if not found:
        print("wheel ok")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
