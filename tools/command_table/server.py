"""Ask a private redis-server for its version and its COMMAND reply."""

import os
import re
import socket
import subprocess
import tempfile
import time
from typing import Any, BinaryIO


def read_reply(stream: BinaryIO) -> Any:
    """One RESP2 reply: simple strings and errors, numbers, strings, arrays."""
    line = stream.readline().rstrip(b"\r\n")
    kind, rest = line[:1], line[1:]
    if kind == b"*":
        return [read_reply(stream) for _ in range(int(rest))]
    if kind == b"$":
        return stream.read(int(rest) + 2)[:-2].decode() if rest != b"-1" else None
    return int(rest) if kind == b":" else rest.decode()


def ask_server(server: str) -> tuple[str, list[list[Any]]]:
    """The server's name and version, and its COMMAND reply."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "socket")
        options = f"--port 0 --unixsocket {path} --dir {folder} --appendonly no".split()
        process = subprocess.Popen(
            [server, *options, "--save", ""], stdout=subprocess.DEVNULL
        )
        try:
            with socket.socket(socket.AF_UNIX) as wire:
                for _ in range(500):
                    if wire.connect_ex(path) == 0:
                        break
                    time.sleep(0.02)
                wire.sendall(b"INFO server\r\nCOMMAND\r\n")
                with wire.makefile("rb") as stream:
                    info, commands = read_reply(stream), read_reply(stream)
        finally:
            process.kill()
            process.wait()
    versions = dict(re.findall(r"^(valkey|redis)_version:(\S+)", info, re.MULTILINE))
    name = "valkey" if "valkey" in versions else "redis"
    return f"{name.capitalize()} {versions[name]}", commands
