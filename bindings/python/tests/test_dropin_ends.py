# SPDX-License-Identifier: MIT
"""The redis-py drop-in where things end: faults, retries, closing, forks."""

import contextlib
import gc
import os
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

redis = pytest.importorskip("redis")

import shoal  # noqa: E402
import shoal.redis  # noqa: E402
import shoal.redis.asyncio  # noqa: E402
from redis.backoff import NoBackoff  # noqa: E402
from redis.credentials import StreamingCredentialProvider  # noqa: E402
from redis.maint_notifications import MaintNotificationsConfig as Notices  # noqa: E402
from redis.retry import Retry  # noqa: E402
from support.dropin import Scene  # noqa: E402
from support.server import Server  # noqa: E402


class Cutter:
    """Between clients and the server; loses the connection behind one command.

    fuse  when these bytes pass to the server, they do, and nothing comes back: the
          connection ends.  Burns once.
    """

    def __init__(self, server: Server) -> None:
        self.fuse: bytes | None = None
        self._server = server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                up = socket.create_connection(("127.0.0.1", self._server.port))
                cut = threading.Event()
                for way in (self._to_server, self._to_client):
                    threading.Thread(target=way, args=(client, up, cut)).start()

    def _to_server(
        self, client: socket.socket, up: socket.socket, cut: threading.Event
    ) -> None:
        with contextlib.suppress(OSError):  # the other way has ended both
            while data := client.recv(65536):
                if self.fuse is not None and self.fuse in data:
                    self.fuse = None
                    cut.set()
                up.sendall(data)
                if cut.is_set():
                    return  # the answer ends the connection
        end(up)

    def _to_client(
        self, client: socket.socket, up: socket.socket, cut: threading.Event
    ) -> None:
        with contextlib.suppress(OSError):
            while data := up.recv(65536):
                if cut.is_set():
                    break
                client.sendall(data)
        end(client)
        end(up)

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def url(server: Server) -> str:
    """Of a real server, which is empty."""
    return server.url


@pytest.fixture
def cutter(server: Server) -> Iterator[Cutter]:
    """Before the server."""
    cutter = Cutter(server)
    yield cutter
    cutter.close()


@pytest.fixture
def direct(url: str) -> Any:
    """redis-py's own client."""
    with redis.Redis.from_url(url) as client:
        yield client


def end(connection: socket.socket) -> None:
    """In both directions, if it has not ended yet."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def no_retry() -> Retry:
    return Retry(NoBackoff(), 0)


def test_a_lost_connection_says_what_is_known(cutter: Cutter, direct: Any) -> None:
    with shoal.redis.Redis(port=cutter.port, retry=no_retry()) as r:
        r.ping()
        cutter.fuse = b"INCR"
        with pytest.raises(redis.ConnectionError) as caught:
            r.incr("n")
        assert caught.value.fate is shoal.Fate.UNKNOWN
        assert isinstance(caught.value.__cause__, shoal.ConnectionError)
    assert direct.get("n") == b"1"


@pytest.mark.parametrize("way", ["command", "pipeline", "transaction"])
@pytest.mark.parametrize("repeats", [False, True])
def test_retries(cutter: Cutter, direct: Any, repeats: bool, way: str) -> None:
    """redis-py's Retry repeats what may have run; the attribute forbids it."""
    with shoal.redis.Redis(port=cutter.port, retry=Retry(NoBackoff(), 1)) as r:
        r.shoal_repeats_unknown = repeats
        r.ping()
        cutter.fuse = b"INCR"

        def count() -> int:
            if way == "command":
                return int(r.incr("n"))
            return int(r.pipeline(way == "transaction").incr("n").execute()[0])

        if repeats:
            assert count() == 2
        else:
            with pytest.raises(redis.ConnectionError) as caught:
                count()
            assert caught.value.fate is shoal.Fate.UNKNOWN
    assert direct.get("n") == (b"2" if repeats else b"1")


def test_no_server() -> None:
    """It fails at once, as redis-py does and in its words."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with shoal.redis.Redis(port=port, retry=no_retry()) as r:
        for call in (r.ping, r.pipeline().ping().execute):
            with pytest.raises(redis.ConnectionError, match=f"{port}.*refused"):
                call()


@pytest.mark.parametrize("pipeline", [False, True])
def test_an_idle_connection_that_ended_is_replaced(
    url: str, direct: Any, pipeline: bool
) -> None:
    with shoal.redis.Redis.from_url(url, client_name="victim") as r:
        assert r.get_retry() is None
        r.set("a", 1)
        for entry in direct.client_list():
            if entry["name"] == "victim":
                direct.client_kill_filter(_id=entry["id"])
        time.sleep(0.05)  # the core hears of it
        if pipeline:
            assert r.pipeline().get("a").execute() == [b"1"]
        else:
            assert r.get("a") == b"1"


def test_wrong_password(url: str) -> None:
    with (
        shoal.redis.Redis.from_url(url, username="nobody", password="x") as r,
        pytest.raises(redis.AuthenticationError, match="invalid username-password"),
    ):
        r.ping()


def test_timeout(url: str, direct: Any) -> None:
    with shoal.redis.Redis.from_url(url, socket_timeout=2.5, retry=no_retry()) as r:
        r.ping()
        direct.client_pause(60_000, all=False)  # writes alone
        with pytest.raises(redis.TimeoutError) as caught:
            r.incr("n")
        direct.client_unpause()
        assert caught.value.fate is shoal.Fate.UNKNOWN


def test_no_connection() -> None:
    """The server accepts connections and says nothing."""
    settings = {"socket_timeout": 0.5, "retry": no_retry()}
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        shoal.redis.Redis(
            host="127.0.0.1", port=silent.getsockname()[1], **settings
        ) as r,
    ):
        for kind in (redis.ConnectionError, redis.TimeoutError):
            with pytest.raises(kind, match="no connection to 127.0.0.1") as caught:
                r.ping()
            assert caught.value.fate is shoal.Fate.NOT_EXECUTED


def test_close_and_go_on(url: str, direct: Any) -> None:
    r = shoal.redis.Redis.from_url(url)
    first = r.shoal_client
    r.set("a", 1)
    r.close()
    with pytest.raises(shoal.ClosedError):
        first.execute("PING")
    assert r.get("a") == b"1"  # as redis-py's: it connects again
    assert r.shoal_client is not first
    r.close()


def test_a_pool_outlives_its_clients(url: str) -> None:
    pool = redis.ConnectionPool.from_url(url)
    with shoal.redis.Redis(connection_pool=pool) as r:
        core = r.shoal_client
        assert r.ping()
    assert core.execute("PING") == b"PONG"
    pool.disconnect(inuse_connections=False)
    assert core.execute("PING") == b"PONG"
    pool.disconnect()
    with pytest.raises(shoal.ClosedError):
        core.execute("PING")
    with shoal.redis.Redis.from_pool(pool) as r:
        core = r.shoal_client
        assert r.ping()
    with pytest.raises(shoal.ClosedError):
        core.execute("PING")


def test_a_forgotten_pool_closes_its_core(url: str) -> None:
    pool = redis.ConnectionPool.from_url(url)
    core = shoal.redis.Redis(connection_pool=pool).shoal_client
    assert core.execute("PING") == b"PONG"
    del pool
    gc.collect()
    with pytest.raises(shoal.ClosedError):
        core.execute("PING")


def test_a_client_in_a_cycle_closes_its_pool(url: str) -> None:
    """The collector calls __del__ when weak references are gone already."""
    r = shoal.redis.Redis.from_url(url)
    r.execute_command("RESET")  # over the pool's own connection
    core, (own,) = r.shoal_client, r.connection_pool._available_connections
    r.me = r
    del r
    gc.collect()
    assert not own.is_connected
    with pytest.raises(shoal.ClosedError):
        core.execute("PING")


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork(url: str, direct: Any) -> None:
    with shoal.redis.Redis.from_url(url) as r:
        r.set("n", 1)
        child = os.fork()
        if child == 0:
            ok = r.incr("n") == 2 and r.pipeline().incr("n").execute() == [3]
            os._exit(0 if ok else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert r.incr("n") == 4


class Streaming(StreamingCredentialProvider):
    def get_credentials(self) -> tuple[str]:
        return ("secret",)

    def on_next(self, callback: Any) -> None: ...
    def on_error(self, callback: Any) -> None: ...
    def is_streaming(self) -> bool:
        return True


class OwnPool(redis.ConnectionPool):
    def get_connection(self, *args: Any, **options: Any) -> Any:
        return super().get_connection(*args, **options)


@pytest.mark.parametrize(
    ("client", "reason"),
    [
        (
            lambda url: shoal.redis.Redis(ssl=True, ssl_password="x"),
            "the parameter ssl_password",
        ),
        (
            lambda url: shoal.redis.Redis(credential_provider=Streaming()),
            "the parameter credential_provider",
        ),
        (
            lambda url: shoal.redis.Redis(connection_pool=OwnPool.from_url(url)),
            "OwnPool has its own get_connection()",
        ),
        (
            lambda url: shoal.redis.Redis(redis_connect_func=print),
            "the parameter redis_connect_func",
        ),
        (lambda url: shoal.redis.Redis(socket_timeout=0), "socket_timeout=0"),
        (
            lambda url: shoal.redis.Redis(
                protocol=3, maint_notifications_config=Notices(enabled=True)
            ),
            "maintenance notifications with enabled",
        ),
    ],
)
def test_what_is_not_carried_says_why(url: str, client: Any, reason: str) -> None:
    it = client(url)
    assert it.shoal_bypass == reason
    assert it.shoal_client is None


def test_notices_of_maintenance_are_turned_off(own_server: Server) -> None:
    """This server does not know the question, and counts it."""
    errors = []
    for notices in (Notices(enabled=False), Notices()):
        own_server.ask("CONFIG", "RESETSTAT")
        with shoal.redis.Redis.from_url(
            own_server.url, protocol=3, maint_notifications_config=notices
        ) as r:
            assert r.get("a") is None
            assert r.shoal_client is not None
            errors.append(own_server.errors())
    assert errors[1] == errors[0] + 1


def test_a_pool_that_is_not_carried_works(url: str) -> None:
    pool = OwnPool.from_url(url)
    with shoal.redis.Redis.from_pool(pool) as r:
        r.set("a", 1)
        assert r.get("a") == b"1"
        assert r.pipeline().get("a").execute() == [b"1"]
        assert len(pool._available_connections) == 1


def test_install(url: str) -> None:
    before = redis.Redis, redis.asyncio.Redis, redis.from_url
    with shoal.redis.install() as installed:
        assert [str(entry) for entry in installed.replaced] == [
            "redis.Redis",
            "redis.StrictRedis",
            "redis.from_url",
            "redis.Sentinel",
            "redis.asyncio.Redis",
            "redis.asyncio.StrictRedis",
            "redis.asyncio.from_url",
            "redis.asyncio.Sentinel",
            "redis.RedisCluster",
            "redis.cluster.RedisCluster",
            "redis.asyncio.RedisCluster",
            "redis.asyncio.cluster.RedisCluster",
            "redis.sentinel.Sentinel",
            "redis.asyncio.sentinel.Sentinel",
        ]
        assert redis.Redis is redis.StrictRedis is shoal.redis.Redis
        assert redis.asyncio.Redis is shoal.redis.asyncio.Redis
        with redis.from_url(url) as r:
            assert r.ping() and r.shoal_bypass is None
            assert isinstance(r.pipeline(), redis.Redis)
        again = shoal.redis.install()
        assert again.replaced == () and again.undo() == ()
    assert before == (redis.Redis, redis.asyncio.Redis, redis.from_url)
    assert installed.undo() == ()


def test_undo_leaves_alone_what_others_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    installed = shoal.redis.install()
    other = object()
    monkeypatch.setattr(redis, "from_url", other)
    assert [str(entry) for entry in installed.undo()] == ["redis.from_url"]
    assert redis.from_url is other
    assert redis.Redis is not shoal.redis.Redis
    monkeypatch.setattr(redis, "from_url", redis.utils.from_url)


def test_other_names_are_redis_pys() -> None:
    assert shoal.redis.ConnectionPool is redis.ConnectionPool
    assert shoal.redis.exceptions is redis.exceptions
    assert shoal.redis.asyncio.ConnectionPool is redis.asyncio.ConnectionPool
    with pytest.raises(AttributeError):
        shoal.redis.nothing_of_that_name  # noqa: B018


def test_a_script_in_a_pipeline_without_a_server(
    scene: Scene, own_server: Server
) -> None:
    """redis-py looks for the script first: its error says that there is no server, and
    says so again; then the pipeline finds one."""
    r = scene.client(own_server.url)
    script = r.register_script("return 7")
    pipe = r.pipeline()
    scene.do(lambda: script(client=pipe))
    own_server.kill()
    for _ in range(2):
        with pytest.raises(redis.ConnectionError):
            scene.do(pipe.execute)
    assert own_server.start()
    assert scene.do(pipe.execute) == [7]
