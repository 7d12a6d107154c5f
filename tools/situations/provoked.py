# SPDX-License-Identifier: MIT
"""Bad situations, and how to provoke each against a real server."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

SERVER = os.environ.get("REDIS_SERVER", "redis-server")
CERTIFICATES = os.environ.get("SHOAL_CERTIFICATES")  #: the program that makes some
PATIENCE_S = 30


def until(is_true: Callable[[], bool]) -> None:
    begun = time.monotonic()
    while not is_true():
        assert time.monotonic() - begun < PATIENCE_S, "it never came true"
        time.sleep(0.005)


# ---- servers ----


CLAIMS: list[socket.socket] = []


def free_port() -> int:
    """A port that no other test gets while this process lives: as
    tests/support/loopback_port.h."""
    while True:
        port = random.randrange(20000, 32000)
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            claim.bind(f"\0shoal-port-{port}")
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            claim.close()
            continue
        CLAIMS.append(claim)
        return port


def encoded(words: tuple[str, ...]) -> bytes:
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        data = word.encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
    return b"".join(parts)


class Server:
    """A private redis-server."""

    def __init__(self, folder: Path, *arguments: str, awaits: bool = True) -> None:
        self.port = free_port()
        self.path = folder / "socket"
        self.process = subprocess.Popen(
            [
                SERVER,
                "--port",
                str(self.port),
                "--bind",
                "127.0.0.1",
                "--unixsocket",
                str(self.path),
                "--dir",
                str(folder),
                "--save",
                "",
                "--appendonly",
                "no",
                *arguments,
            ],  # fmt: skip
            stdout=subprocess.DEVNULL,
        )
        while not self.answers():
            assert self.process.poll() is None, "the server ended"
            time.sleep(0.01)

    def answers(self) -> bool:
        try:
            return self.ask("PING") != b""
        except OSError:
            return False

    def connect(self) -> socket.socket:
        link = socket.create_connection(("127.0.0.1", self.port), PATIENCE_S)
        return link

    def ask(self, *words: str) -> bytes:
        """The first bytes of the answer, on a connection of its own."""
        with self.connect() as link:
            link.sendall(encoded(words))
            return link.recv(4096)

    def url(self, user: str = "", tail: str = "") -> str:
        at = user and user + "@"
        return f"redis://{at}127.0.0.1:{self.port}{tail}"

    def stop(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()


# ---- situations ----


@dataclass
class Case:
    """One situation, prepared."""

    url: str
    words: tuple[str, ...] = ("GET", "k")
    flags: tuple[str, ...] = ()
    during: Callable[[], object] = lambda: None  #: after --ready or --written
    after: Callable[[], object] = lambda: None
    hidden: dict[str, str] = field(default_factory=dict)  #: text, and what is shown


@dataclass
class Situation:
    name: str
    advice: str
    prepare: Callable[[Stage], Case]
    in_python: bool = True
    has_certificates: bool = False


class Stage:
    """Where situations are prepared; what was started ends with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.servers: list[Server] = []
        self.links: list[socket.socket] = []

    def server(self, *arguments: str) -> Server:
        self.servers.append(Server(self.folder, *arguments))
        return self.servers[-1]

    def tls(self, certificate: str, tail: str) -> Case:
        """A command for a server whose TLS port shows this certificate."""
        assert CERTIFICATES
        subprocess.run([CERTIFICATES, str(self.folder)], check=True)
        port = free_port()
        self.server(
            "--tls-port", str(port), "--tls-auth-clients", "no",
            "--tls-cert-file", f"{self.folder}/{certificate}.crt",
            "--tls-key-file", f"{self.folder}/{certificate}.key",
            "--tls-ca-cert-file", f"{self.folder}/ca.crt",
        )  # fmt: skip
        hidden = {f"127.0.0.1:{port}": "127.0.0.1:6379", str(self.folder): "/etc/redis"}
        tail = tail.replace("FOLDER", str(self.folder))
        return Case(f"rediss://127.0.0.1:{port}{tail}", hidden=hidden)

    def end(self) -> None:
        for link in self.links:
            link.close()
        for server in self.servers:
            server.stop()


SITUATIONS: list[Situation] = []


def situation(
    name: str, advice: str, in_python: bool = True, has_certificates: bool = False
) -> Callable[[Callable[[Stage], Case]], Callable[[Stage], Case]]:
    def add(prepare: Callable[[Stage], Case]) -> Callable[[Stage], Case]:
        SITUATIONS.append(
            Situation(name, advice, prepare, in_python, has_certificates)
        )
        return prepare

    return add


FAILED = ("--failed",)
SHORT = "?timeout_ms=200"
# The answer is the result.  If the command were sent again until shortly before its
# deadline, one or the other would come first.
ONCE = "?attempts_max=1"


@situation("Nothing listens at the address", "start the server, or correct the URL")
def _(stage: Stage) -> Case:
    port = free_port()
    return Case(
        f"redis://127.0.0.1:{port}{SHORT}", flags=FAILED,
        hidden={f"127.0.0.1:{port}": "127.0.0.1:6379"},
    )  # fmt: skip


@situation("The Unix socket is not there", "start the server, or correct the path")
def _(stage: Stage) -> Case:
    path = f"{stage.folder}/none"
    return Case(f"unix://{path}{SHORT}", flags=FAILED, hidden={path: "/run/redis.sock"})


@situation("The name of the host is not known", "correct the name, or the name service")
def _(stage: Stage) -> Case:
    return Case(f"redis://nobody.invalid{SHORT}", flags=FAILED)


@situation("A key of the URL is misspelt", "look the key up in `shoal/options.h`")
def _(stage: Stage) -> Case:
    return Case("redis://127.0.0.1?tiemout_ms=200")


@situation(
    "A value of the URL is out of range", "look the range up in `shoal/options.h`"
)
def _(stage: Stage) -> Case:
    return Case("redis://127.0.0.1?attempts_max=1000")


def tls_situation(
    name: str, advice: str
) -> Callable[[Callable[[Stage], Case]], Callable[[Stage], Case]]:
    return situation(name, advice, has_certificates=True)


TRUST = "?tls_ca_file=FOLDER/ca.crt"


@tls_situation(
    "Nobody knows who signed the server's certificate",
    "`tls_ca_file` names the authority's certificate",
)
def _(stage: Stage) -> Case:
    return stage.tls("server", "")


@tls_situation(
    "The server's certificate is for another name",
    "use the name that it is for, or say it by `tls_server_name`",
)
def _(stage: Stage) -> Case:
    return stage.tls("other_name", TRUST)


@tls_situation("The server's certificate has expired", "renew it")
def _(stage: Stage) -> Case:
    return stage.tls("expired", TRUST)


@tls_situation(
    "The file of authorities is not there", "correct the path, or put the file there"
)
def _(stage: Stage) -> Case:
    return stage.tls("server", "?tls_ca_file=FOLDER/none.crt")


@tls_situation(
    "TLS is asked for at a port without",
    "use the server's TLS port, or `redis://` without TLS",
)
def _(stage: Stage) -> Case:
    return Case(
        stage.server()
        .url(tail="?connect_timeout_ms=100&timeout_ms=1000")
        .replace("redis", "rediss")
    )


@tls_situation("A port with TLS is spoken to without", "use `rediss://`")
def _(stage: Stage) -> Case:
    case = stage.tls("server", "?timeout_ms=1000")
    return replace(case, url=case.url.replace("rediss", "redis"))


@situation("The password is wrong", "correct user and password")
def _(stage: Stage) -> Case:
    return Case(stage.server().url("nobody:wrong"))


@situation("A password is needed", "give it in the URL: `redis://:password@host`")
def _(stage: Stage) -> Case:
    return Case(stage.server("--requirepass", "secret").url())


@situation(
    "The password was changed at the server",
    "[a provider](PYTHON.md#credentials-that-change), or a call that sets the new one",
)
def _(stage: Stage) -> Case:
    server = stage.server()
    rights = ("ACL", "SETUSER", "ann", "on", "~*", "+@all", "resetpass")
    server.ask(*rights, ">secret")

    def change() -> None:
        server.ask(*rights, ">other")
        server.ask("CLIENT", "KILL", "USER", "ann")

    return Case(server.url("ann:secret"), flags=("--ready", *FAILED), during=change)


@situation(
    "The provider of credentials fails",
    "the words behind `the provider failed` are its own, in Python the class of its"
    " exception; the library asks again, after 1 s, 2 s, 4 s and so on up to 60 s",
)
def _(stage: Stage) -> Case:
    flags = ("--provider", *FAILED)
    return Case(stage.server().url(tail=SHORT), flags=flags)


@situation(
    "The user may not run the command",
    "`ACL SETUSER` on the server; nothing was executed",
)
def _(stage: Stage) -> Case:
    server = stage.server()
    server.ask("ACL", "SETUSER", "ann", "on", ">secret", "~*", "+@all", "-get")
    return Case(server.url("ann:secret"))


@situation(
    "`integrity=strict`, and the user may not `ECHO`",
    "allow `ECHO`, or use `integrity=detect`",
)
def _(stage: Stage) -> Case:
    server = stage.server()
    server.ask("ACL", "SETUSER", "ann", "on", ">secret", "~*", "+@all", "-echo")
    return Case(server.url("ann:secret", SHORT + "&integrity=strict"), flags=FAILED)


@situation("The database does not exist", "correct the number in the URL")
def _(stage: Stage) -> Case:
    return Case(stage.server().url(tail="/99" + SHORT), flags=FAILED)


@situation(
    "The server has too many clients", "raise `maxclients`, or find who keeps them"
)
def _(stage: Stage) -> Case:
    server = stage.server()
    server.ask("CONFIG", "SET", "maxclients", "1")
    stage.links.append(server.connect())
    stage.links[-1].sendall(encoded(("PING",)))
    stage.links[-1].recv(64)
    return Case(server.url(tail=SHORT), flags=FAILED)


def stopped(server: Server) -> Callable[[], object]:
    return lambda: server.process.send_signal(signal.SIGSTOP)


@situation(
    "The server stops answering",
    "look what the server does (`SLOWLOG`, swap, `SIGSTOP`)",
)
def _(stage: Stage) -> Case:
    server = stage.server()
    return Case(server.url(tail="?timeout_ms=1000"), flags=("--ready",),
                during=stopped(server))  # fmt: skip


@situation("The server accepts connections, but never answers", "the same")
def _(stage: Stage) -> Case:
    server = stage.server()
    stopped(server)()
    return Case(server.url(tail="?timeout_ms=1000"))


@situation("A connection is lost with a write unanswered",
           "the write may have run: look before repeating it")  # fmt: skip
def _(stage: Stage) -> Case:
    server = stage.server()
    words = ("BLPOP", "q", "0")

    def kill() -> None:
        until(lambda: b"cmd=blpop" in server.ask("CLIENT", "LIST"))
        server.ask("CLIENT", "KILL", "TYPE", "normal")

    return Case(server.url(), words, ("--blocks", "--written"), during=kill)


@situation(
    "The server loads its data",
    "wait until it is done; the library does, unless one attempt alone is allowed: until"
    " the deadline, for 30 s at most",
)
def _(stage: Stage) -> Case:
    # It answers once per key, and sleeps before each: 20 s in all.
    server = stage.server("--rdbcompression", "no")
    with server.connect() as link:
        for i in range(2000):
            link.sendall(encoded(("SET", f"k{i}", "x" * 1100)))
            link.recv(64)
    server.ask("SAVE")
    stage.servers.pop().stop()
    slow = (
        "--key-load-delay",
        "10000",
        "--loading-process-events-interval-bytes",
        "1024",
    )
    return Case(stage.server(*slow).url(tail=ONCE))


@situation(
    "The server has no memory left", "raise `maxmemory`, or set an eviction policy"
)
def _(stage: Stage) -> Case:
    return Case(stage.server("--maxmemory", "1").url(), ("SET", "k", "v"))


@situation(
    "The server is a read-only replica",
    "connect to the primary; as long as writes are sent, the library replaces the"
    " connection of all callers: at once, then after 1 s, 2 s, 4 s and so on up to 30 s",
)
def _(stage: Stage) -> Case:
    server = stage.server("--replicaof", "127.0.0.1", str(free_port()))
    return Case(server.url(tail=ONCE), ("SET", "k", "v"))


@situation("A replica has lost its primary", "wait, or connect to the new primary")
def _(stage: Stage) -> Case:
    server = stage.server(
        "--replicaof", "127.0.0.1", str(free_port()), "--replica-serve-stale-data", "no"
    )
    return Case(server.url(tail=ONCE))


@situation("A script holds the server up", "`SCRIPT KILL`; shorter scripts")
def _(stage: Stage) -> Case:
    server = stage.server("--lua-time-limit", "10")
    link = server.connect()
    stage.links.append(link)
    link.sendall(encoded(("EVAL", "while true do end", "0")))
    until(lambda: server.ask("PING").startswith(b"-BUSY"))
    return Case(server.url())


@situation("The key holds another type", "use the commands of that type")
def _(stage: Stage) -> Case:
    server = stage.server()
    server.ask("LPUSH", "k", "v")
    return Case(server.url())


@situation("The command does not fit a shared connection",
           "subscribe with a pubsub: `shoal/pubsub.h`, in Python `client.subscribe()`")  # fmt: skip
def _(stage: Stage) -> Case:
    return Case(stage.server().url(), ("SUBSCRIBE", "news"))


@situation(
    "The command waits for copies of its connection's writes",
    "a lease that writes and waits; or `SHOAL_CALL_MAY_BLOCK`, in Python `may_block=True`",
)
def _(stage: Stage) -> Case:
    return Case(stage.server().url(), ("WAIT", "1", "0"))


@situation("The queue is full", "submit slower, wait for room, or raise `queued_max`")
def _(stage: Stage) -> Case:
    return Case(f"redis://127.0.0.1:{free_port()}", flags=("--full",))


@situation("The command is larger than the bound", "raise `bytes_max`")
def _(stage: Stage) -> Case:
    return Case(stage.server().url(), ("SET", "k"), ("--big",))


@situation("The client is closed", "a bug of the program: keep the client open")
def _(stage: Stage) -> Case:
    return Case(stage.server().url(), flags=("--closed",))


@situation("The caller gave the command up", "the fate says whether it was sent", False)
def _(stage: Stage) -> Case:
    return Case(f"redis://127.0.0.1:{free_port()}", flags=("--cancelled",))


# ---- clusters ----


def clustered(stage: Stage, *arguments: str, last: int = 16383) -> Server:
    """A cluster of one node, which owns the slots up to this one."""
    server = stage.server(
        "--cluster-enabled", "yes", "--cluster-port", str(free_port()), *arguments
    )
    server.ask("CLUSTER", "ADDSLOTSRANGE", "0", str(last))
    if last == 16383:
        until(lambda: b"cluster_state:ok" in server.ask("CLUSTER", "INFO"))
    return server


def of_cluster(server: Server, user: str = "", tail: str = SHORT) -> str:
    return server.url(user, tail).replace("redis://", "redis+cluster://")


@situation("The server of a cluster's URL is a single one", "use `redis://`")
def _(stage: Stage) -> Case:
    return Case(of_cluster(stage.server(), tail="?timeout_ms=1000"))


@situation(
    "The keys of a command belong to several nodes of a cluster",
    "give them a common tag, `{user7}.name` and `{user7}.mail`, or send a command for"
    " each",
)
def _(stage: Stage) -> Case:
    return Case(of_cluster(clustered(stage)), ("SUNION", "k", "l"))


@situation(
    "A slot of a cluster has no owner",
    "look by `redis-cli --cluster check`; commands for such slots wait until their deadline",
)
def _(stage: Stage) -> Case:
    return Case(of_cluster(clustered(stage, last=1), tail="?timeout_ms=1000"))


@situation(
    "The user may not ask how a cluster's slots are divided",
    "allow `CLUSTER SLOTS` and `CLUSTER NODES`",
)
def _(stage: Stage) -> Case:
    server = clustered(stage)
    server.ask("ACL", "SETUSER", "ann", "on", ">secret", "~*", "+@all", "-cluster")
    return Case(of_cluster(server, "ann:secret", "?timeout_ms=1000"))


@situation(
    "The nodes of a cluster announce addresses that do not reach them from here",
    "correct `cluster-announce-ip` and `cluster-announce-port` of the nodes",
)
def _(stage: Stage) -> Case:
    port = free_port()
    server = clustered(
        stage,
        "--cluster-announce-ip", "127.0.0.1", "--cluster-announce-port", str(port),
    )  # fmt: skip
    hidden = {f"127.0.0.1:{port}": "10.0.0.9:6379"}
    return Case(of_cluster(server, tail="?timeout_ms=1000"), hidden=hidden)
