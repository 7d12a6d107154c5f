# SPDX-License-Identifier: MIT
"""A second opinion: the simplest client there is, which shares no code with ours."""

import socket
from types import TracebackType
from typing import Any

PATIENCE_S = 30.0


class Wire:
    """One connection in RESP2; error replies are returned as exceptions."""

    def __init__(self, address: str | tuple[str, int]) -> None:
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self._socket = socket.socket(family)
        self._socket.settimeout(PATIENCE_S)
        self._socket.connect(address)
        self._file = self._socket.makefile("rb")

    def ask(self, *args: str | bytes | int) -> Any:
        """Send one command, return its reply."""
        parts = [a if isinstance(a, bytes) else str(a).encode() for a in args]
        head = b"*%d\r\n" % len(parts)
        self._socket.sendall(
            head + b"".join(b"$%d\r\n%b\r\n" % (len(p), p) for p in parts)
        )
        return self._read()

    def _read(self) -> Any:
        line = self._file.readline()
        kind, rest = line[:1], line[1:].rstrip(b"\r\n")
        if kind == b"+":
            return rest
        if kind == b":":
            return int(rest)
        if kind == b"-":
            return RuntimeError(rest.decode())
        if kind == b"$":
            size = int(rest)
            return None if size < 0 else self._file.read(size + 2)[:-2]
        if kind == b"*":
            return [self._read() for _ in range(int(rest))]
        raise ConnectionError(f"not a reply: {line!r}")

    def close(self) -> None:
        """End the connection."""
        self._file.close()
        self._socket.close()

    def __enter__(self) -> "Wire":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
