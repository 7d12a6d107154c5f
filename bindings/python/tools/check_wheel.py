#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_wheel.py <wheel> [C library]: what users would notice too late.

The wheel is for every CPython from 3.10 on, or for one that is free-threaded, and is
small; its extension exports nothing but its initialiser and needs the C library only;
TLS is there, and finds OpenSSL at run time; the licences of all that is linked in are
there, the extras, and the files that make the package a typed one.  Symbols of musl
have no versions: for musl, name the C library, which is asked for what it defines.
"""

import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

TYPES = {"shoal/_commands.pyi", "shoal/_native.pyi", "shoal/py.typed"}
FILES = {"shoal/__init__.py", *TYPES}
LICENSES = {"LICENSE", "hiredis/COPYING", "libuv/LICENSE", "libuv/LICENSE-extra"}
EXPORTS = ["PyInit__native"]
EXTRAS = ("redis", "uvloop")
BYTES_MAX = 1_500_000
SYSTEM = ("libc.", "libm.", "libpthread.", "librt.", "libdl.", "ld-linux", "ld-musl")
#: What the interpreter or the C library defines; the latter's have a version.
DEFINED = ("Py", "_Py", "_ITM_", "__gmon_start__", "__cxa_finalize")


def output_of(*command: str) -> list[str]:
    done = subprocess.run(command, check=True, text=True, capture_output=True)
    return done.stdout.splitlines()


def defined_by(library: str) -> set[str]:
    return {
        line.split()[-1] for line in output_of("nm", "-D", "--defined-only", library)
    }


def problems_of_extension(path: str, libc: set[str]) -> Iterator[str]:
    symbols = output_of("nm", "-D", "--defined-only", path)
    exported = sorted(line.split()[-1] for line in symbols)
    if exported != EXPORTS:
        yield f"exports {len(exported)} symbols: {' '.join(exported[:4])} ..."
    for line in output_of("nm", "-D", "--undefined-only", path):
        symbol = line.split()[-1]
        is_versioned = "@" in symbol
        if not is_versioned and symbol not in libc and not symbol.startswith(DEFINED):
            yield f"nothing defines {symbol}: see native/openssl.c"
    if b"libssl.so.3" not in Path(path).read_bytes():
        yield "is built without TLS"
    for line in output_of("readelf", "-dW", path):
        if "(NEEDED)" in line:
            needed = line.partition("[")[2].rstrip("]")
            if not needed.startswith(SYSTEM):
                yield f"needs {needed}"


def extension_of(wheel: Path) -> tuple[str, bool]:
    """What its name ends with; is the tag one of those that there are?"""
    if "-cp310-abi3-" in wheel.name:
        return ".abi3.so", True
    # A free-threaded interpreter has no stable ABI yet.
    tag = re.search(r"-cp(3\d+)-cp\1t-", wheel.name)
    return f".cpython-{tag[1] if tag else '?'}t-", tag is not None


def problems(wheel: Path, libc: set[str]) -> Iterator[str]:
    suffix, is_known = extension_of(wheel)
    if not is_known:
        yield "the tag is neither cp310-abi3 nor that of a free-threaded interpreter"
    if wheel.stat().st_size > BYTES_MAX:
        yield f"has {wheel.stat().st_size} bytes, more than {BYTES_MAX}"
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as scratch:
        names = set(archive.namelist())
        info = "-".join(wheel.name.split("-")[:2]) + ".dist-info"
        licenses = {f"{info}/licenses/{name}" for name in LICENSES}
        begin = f"shoal/_native{suffix}"
        extensions = [name for name in names if name.startswith(begin)]
        if len(extensions) != 1:
            yield f"has {len(extensions)} extensions"
        for name in sorted((FILES | licenses) - names):
            yield f"{name} is missing"
        about = archive.read(f"{info}/METADATA").decode()
        for extra in EXTRAS:
            if f"\nProvides-Extra: {extra}\n" not in about:
                yield f"there is no [{extra}]"
        for name in sorted(names):
            if not name.startswith(("shoal/", "shoal-")):
                yield f"{name} does not belong there"
        for name in extensions:
            yield from problems_of_extension(archive.extract(name, scratch), libc)


def main() -> int:
    if len(sys.argv) not in (2, 3):
        print("usage: check_wheel.py <wheel> [C library]", file=sys.stderr)
        return 2
    wheel = Path(sys.argv[1])
    libc = defined_by(sys.argv[2]) if len(sys.argv) == 3 else set()
    found = list(problems(wheel, libc))
    for problem in found:
        print(f"{wheel.name}: {problem}")
    if not found:
        print("wheel ok")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
