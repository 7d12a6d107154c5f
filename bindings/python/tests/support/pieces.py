# SPDX-License-Identifier: MIT
"""A server whose test sends the replies, in pieces, over each connection."""

import socket
import socketserver
import threading

_GREETING = {
    b"HELLO": b"%2\r\n+server\r\n+redis\r\n+proto\r\n:3\r\n",
    b"INFO": b"$13\r\nrun_id:cafe\r\n\r\n",
}


def _string(text: bytes) -> bytes:
    return b"$%d\r\n%b\r\n" % (len(text), text)


#: Commands for this key are answered.
AT_ONCE = b"at once"


class _Handler(socketserver.StreamRequestHandler):
    """Answers a greeting, and commands for AT_ONCE; others are noted."""

    disable_nagle_algorithm = True
    server: "Pieces"

    def handle(self) -> None:
        while line := self.rfile.readline():
            self._heard([self._argument() for _ in range(int(line[1:]))])

    def _argument(self) -> bytes:
        size = int(self.rfile.readline()[1:])
        return self.rfile.read(size + 2)[:-2]

    def _heard(self, row: list[bytes]) -> None:
        name = row[0].upper()
        if name in _GREETING:
            self.request.sendall(_GREETING[name])
        elif row == [b"CLIENT", b"INFO"]:
            port = self.client_address[1]
            self.request.sendall(_string(b"id=%d addr=127.0.0.1:%d\n" % (port, port)))
        elif name == b"CLIENT" or row[1:2] == [AT_ONCE]:
            self.request.sendall(b"+OK\r\n")
        else:
            self.server.waiting[row[1]] = self.request


class Pieces(socketserver.ThreadingTCPServer):
    """For a `with`."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        #: The keys of commands that wait for their replies, and their connections.
        self.waiting: dict[bytes, socket.socket] = {}
        self.url = f"redis://127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> "Pieces":
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()
