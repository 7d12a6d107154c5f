#!/usr/bin/env python3
"""shoal-fault-proxy as a program: its options, its commands, and what they do to bytes."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import unittest
from pathlib import Path

PROGRAM = os.environ.get("SHOAL_FAULT_PROXY", "shoal-fault-proxy")
CERTIFICATES = os.environ.get("SHOAL_CERTIFICATES")  # not set: a build without TLS
PATIENCE_S = 30


class Proxy:
    """The program before a server of the test's own; closing it ends the program."""

    def __init__(self, *options: str) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(PATIENCE_S)
        port = self.listener.getsockname()[1]
        self.process = subprocess.Popen(
            [PROGRAM, "--server-port", str(port), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()

    def command(self, line: str) -> str:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def counts(self) -> dict[str, int]:
        pairs = (word.split("=") for word in self.command("counts").split())
        return {key: int(number) for key, number in pairs}

    def connect(self) -> tuple[socket.socket, socket.socket]:
        """Both ends of a new connection: the client's and the server's."""
        if self.address.startswith("/"):
            client = socket.socket(socket.AF_UNIX)
            client.connect(self.address)
        else:
            client = socket.create_connection(("127.0.0.1", int(self.address)))
        server, _ = self.listener.accept()
        client.settimeout(PATIENCE_S)
        server.settimeout(PATIENCE_S)
        return client, server

    def close(self) -> int:
        """End its input; its exit code."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        code = self.process.wait(PATIENCE_S)
        self.process.stdout.close()
        self.listener.close()
        return code


def receive(end: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count and (part := end.recv(count - len(data))):
        data += part
    return data


class Program(unittest.TestCase):
    def start(self, *options: str) -> Proxy:
        proxy = Proxy(*options)
        self.addCleanup(lambda: self.assertEqual(proxy.close(), 0))
        return proxy

    def connect(self, proxy: Proxy) -> tuple[socket.socket, socket.socket]:
        client, server = proxy.connect()
        self.addCleanup(client.close)
        self.addCleanup(server.close)
        return client, server

    def test_bytes_are_carried_and_counted(self) -> None:
        for options in ([], ["--unix"]):
            with self.subTest(options):
                proxy = self.start(*options)
                client, server = self.connect(proxy)
                client.sendall(b"question")
                self.assertEqual(receive(server, 8), b"question")
                server.sendall(b"answer")
                self.assertEqual(receive(client, 6), b"answer")
                counts = proxy.counts()
                self.assertEqual((counts["accepted"], counts["open_now"]), (1, 1))
                self.assertEqual((counts["to_server"], counts["to_client"]), (8, 6))
                self.assertEqual(counts["harmed"], 0)

    def test_options_hold_from_the_first_byte(self) -> None:
        proxy = self.start(
            "--to-client", "drop=1000000", "--to-server", "insert=1000000,chunk=1",
            "--cut-after", "2 to-server 3 fin", "--seed", "7", "--buffer", "4096",
        )  # fmt: skip
        client, server = self.connect(proxy)
        client.sendall(b"ab")
        self.assertEqual(receive(server, 4)[0::2], b"ab")
        server.sendall(b"+lost\r\n$4\r\nlost\r\n")
        server.shutdown(socket.SHUT_WR)
        self.assertEqual(client.recv(1), b"")
        client, server = self.connect(proxy)
        client.sendall(b"ab")
        self.assertEqual(receive(server, 4)[0::2], b"ab")
        self.assertEqual(server.recv(1), b"")

    def test_commands_change_what_happens(self) -> None:
        proxy = self.start()
        client, server = self.connect(proxy)
        self.assertEqual(proxy.command("carry to-client swap=1000000"), "ok")
        server.sendall(b"+1\r\n+2\r\n")
        self.assertEqual(receive(client, 8), b"+2\r\n+1\r\n")
        self.assertEqual(proxy.command("carry to-client"), "ok")
        self.assertEqual(proxy.command(r'inject to-client "+O\x4b \"\\\0\r\n"'), "ok")
        self.assertEqual(receive(client, 9), b'+OK "\\\0\r\n')
        self.assertEqual(proxy.command("cut-after 1 to-server 2 half"), "ok")
        client.sendall(b"abc")
        self.assertEqual(receive(server, 3), b"ab")
        server.sendall(b"still")
        self.assertEqual(receive(client, 5), b"still")
        self.assertEqual(proxy.command("cut to-client reset"), "ok")
        with self.assertRaises(ConnectionResetError):
            client.recv(1)
        self.assertEqual(proxy.command("turn-away on"), "ok")
        with contextlib.closing(
            socket.create_connection(("127.0.0.1", int(proxy.address)))
        ) as refused:
            refused.settimeout(PATIENCE_S)
            self.assertEqual(refused.recv(1), b"")
        self.assertEqual(proxy.command("turn-away off"), "ok")
        self.connect(proxy)

    def test_bad_commands_are_answered_and_change_nothing(self) -> None:
        proxy = self.start()
        client, server = self.connect(proxy)
        for line in (
            "", "nonsense", "carry", "carry sideways", "carry to-client flip",
            "carry to-client flip=x", "carry to-client flip=1000001",
            "carry to-client flop=1", "carry to-client flip=1;lose=1", "cut to-client",
            "cut to-client gently", "cut-after to-client 1 fin",
            "cut-after 1 to-client x fin", "inject to-client", 'inject to-client "open',
            r'inject to-client "\q"', r'inject to-client "\x4"', "turn-away maybe",
        ):  # fmt: skip
            with self.subTest(line):
                self.assertTrue(proxy.command(line).startswith("error: "))
        client.sendall(b"unharmed")
        self.assertEqual(receive(server, 8), b"unharmed")

    @unittest.skipUnless(CERTIFICATES, "a build without TLS")
    def test_it_speaks_tls_with_clients(self) -> None:
        assert CERTIFICATES is not None
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        subprocess.run([CERTIFICATES, folder], check=True)
        proxy = self.start(
            "--tls-cert", f"{folder}/server.crt", "--tls-key", f"{folder}/server.key"
        )  # fmt: skip
        plain, server = self.connect(proxy)
        context = ssl.create_default_context(cafile=str(Path(folder) / "ca.crt"))
        with context.wrap_socket(plain, server_hostname="localhost") as client:
            client.sendall(b"question")
            self.assertEqual(receive(server, 8), b"question")
            server.sendall(b"answer")
            self.assertEqual(receive(client, 6), b"answer")

    def test_bad_options_are_said(self) -> None:
        for options in (
            [], ["--server-port", "x"], ["--server-port", "1", "more"], ["--nonsense"],
            ["--server-port", "1", "--to-client", "flip"],
            ["--server-port", "1", "--seed", "x"],
            ["--server-port", "1", "--cut-after", "1 to-client"],
            ["--server-port", "1", "--tls-cert", "server.crt"],
        ):  # fmt: skip
            with self.subTest(options):
                done = subprocess.run(
                    [PROGRAM, *options],
                    check=False,
                    capture_output=True,
                    text=True,
                    input="",
                )
                self.assertEqual(done.returncode, 2)
                self.assertIn("shoal-fault-proxy: ", done.stderr)


if __name__ == "__main__":
    unittest.main()
