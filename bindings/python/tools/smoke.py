# SPDX-License-Identifier: MIT
"""smoke.py <url> [--no-tls]: does the installed package work at all?

Without --no-tls also: is TLS in it, and is there an OpenSSL?  An interpreter that is
free-threaded must go on without the GIL.
"""

import asyncio
import shutil
import sys
import sysconfig
from collections.abc import Callable

import shoal
import shoal.aio


async def ask_asyncio(url: str) -> object:
    async with shoal.aio.Client(url) as client:
        return await client.execute("GET", "smoke")


def main() -> None:
    found = [tool for tool in ("cc", "gcc", "clang", "cmake") if shutil.which(tool)]
    if found:
        sys.exit(f"smoke: this environment can compile: {found}")
    options = sys.argv[1:]
    has_tls = "--no-tls" not in options
    (url,) = [option for option in options if option != "--no-tls"]
    with shoal.Client(url) as client:
        client.execute("SET", "smoke", shoal.__version__)
    reply = asyncio.run(ask_asyncio(url))
    if reply != shoal.__version__.encode():
        sys.exit(f"smoke: SET {shoal.__version__!r}, but GET {reply!r}")
    if has_tls:
        shoal.Client("rediss://127.0.0.1")  # TLSError: without TLS, or no OpenSSL
    has_gil: Callable[[], bool] = getattr(sys, "_is_gil_enabled", lambda: True)
    if sysconfig.get_config_var("Py_GIL_DISABLED") and has_gil():
        sys.exit("smoke: the package has turned the GIL on")
    print(f"smoke ok: shoal {shoal.__version__}, Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
