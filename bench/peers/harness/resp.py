# SPDX-License-Identifier: MIT
"""The little of the protocol that the script itself needs: INFO and FLUSHALL."""

import socket
from typing import BinaryIO


class Control:
    """A connection of the script's own to the server."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port), timeout=30)
        self._input = self._socket.makefile("rb")

    def close(self) -> None:
        self._input.close()
        self._socket.close()

    def ask(self, *words: str) -> str:
        """Send one command; return its simple, bulk or integer reply as text."""
        parts = [b"*%d\r\n" % len(words)]
        for word in words:
            data = word.encode()
            parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
        self._socket.sendall(b"".join(parts))
        return read_reply(self._input)


def read_reply(stream: BinaryIO) -> str:
    """Read a simple string, an integer, an error or a bulk string."""
    line = stream.readline().rstrip(b"\r\n")
    kind, rest = line[:1], line[1:].decode()
    if kind in (b"+", b":"):
        return rest
    if kind == b"$":
        size = int(rest)
        return stream.read(size + 2)[:size].decode()
    if kind == b"-":
        raise RuntimeError(f"the server says: {rest}")
    raise RuntimeError("the server's reply ended early or was not expected")


def parse_info(text: str) -> dict[str, str]:
    """The fields of an INFO reply."""
    lines = (line.partition(":") for line in text.splitlines() if ":" in line)
    return {name: value for name, _, value in lines}
