# SPDX-License-Identifier: MIT
"""Counters and events of the connection."""

import pytest
import shoal
from conftest import Connect
from support.faces import Face
from support.scale import SCALE
from support.server import Server

#: ECHOs that compare nothing but themselves: `integrity` adds commands of its own.
QUIET = {"integrity": "shapes"}


def at_rest(face: Face, completed: int) -> shoal.Stats:
    """The figures when so many commands are over: a caller has its reply before the
    turn that read it tells of it, and each figure is told by itself."""
    rest = (completed, 0, 0)
    face.until(
        lambda: (
            (face.stats().completed, face.stats().inflight_now, face.stats().queued_now)
            == rest
        )
    )
    return face.stats()


def test_counters_count(connect: Connect) -> None:
    face = connect(**QUIET)
    face.execute("PING")
    before = at_rest(face, 1).as_dict()
    face.execute("SET", "text", "x" * 1000)
    face.execute_many([("GET", "text")] * 9)
    with pytest.raises(shoal.WrongTypeError):
        face.execute("LPUSH", "text", 1)
    with pytest.raises(shoal.RefusedError):
        face.execute("MONITOR")
    after = at_rest(face, 12)
    gained = {name: value - before[name] for name, value in after.as_dict().items()}
    assert gained["commands"] == gained["completed"] == gained["replies"] == 11
    assert gained["error_replies"] == 1
    assert gained["refused"] == 1
    assert gained["bytes_out"] > 1000
    assert gained["bytes_in"] > 9000
    assert 1 <= gained["writes"] <= 11
    assert (after.connects, after.losses) == (1, 0)
    assert after.inflight_now == after.queued_now == 0
    assert sum(after.batch_histogram) > 0
    assert sum(after.flush_reasons.values()) > 0


def test_the_interface_of_stats(connect: Connect) -> None:
    face = connect()
    face.execute("PING")
    stats = face.stats()
    assert {"commands", "writes", "latency_us", "as_dict"} <= set(dir(stats))
    assert f"connects={stats.connects}" in repr(stats)
    with pytest.raises(AttributeError):
        _ = stats.nonsense
    half = stats.latency_us(500)
    assert 0 < half <= stats.latency_us(1000)
    for stage in ("queued", "batched", "wire", "total"):
        assert stats.latency_us(999, stage) >= 0
    with pytest.raises(ValueError, match="stage"):
        stats.latency_us(500, "nonsense")


def test_a_snapshot_does_not_change(connect: Connect) -> None:
    face = connect()
    face.execute("PING")
    stats = face.stats()
    commands = stats.commands
    face.execute("PING")
    assert stats.commands == commands < face.stats().commands


#: What is counted for the client as a whole, and for no connection.
OF_THE_CLIENT = (
    "commands", "refused", "wakeups", "caller_wakeups", "direct_calls", "handovers",
    "turns",
)  # fmt: skip
#: What may change at any moment, in a client that does nothing.
RESTLESS = ("holds", "probes", "trials", "callers_now", "is_open_now", "gap_ns_now",
            "rtt_us_now", "late_us_now")  # fmt: skip


def test_one_connection_has_its_share(connect: Connect) -> None:
    face = connect(**QUIET)
    face.execute_many([("SET", "a", "b"), ("GET", "a")])
    with pytest.raises(shoal.RefusedError):
        face.execute("MONITOR")
    at_rest(face, 2)
    share, whole = face.stats(connection=1).as_dict(), face.stats().as_dict()
    for name, value in share.items():
        if name in OF_THE_CLIENT:
            assert value == 0, name
        elif name not in RESTLESS:
            assert value == whole[name], name
    assert whole["commands"] == share["completed"] == 2
    assert whole["refused"] == share["connects"] == 1
    stats = face.stats(1)
    assert sum(stats.batch_histogram) == stats.flushes > 0
    assert stats.latency_us(1000) == 0 < face.stats().latency_us(1000)


@pytest.mark.parametrize("connection", [0, 2, -1, 1 << 64])
def test_a_connection_that_is_not_there(connect: Connect, connection: int) -> None:
    face = connect()
    face.execute("PING")
    with pytest.raises(ValueError, match=f"no connection {connection}"):
        face.stats(connection=connection)


def test_a_connection_is_a_number(connect: Connect) -> None:
    face = connect()
    with pytest.raises(TypeError):
        face.stats(connection="1")  # type: ignore[arg-type]


def test_events_name_connection_and_server(connect: Connect, server: Server) -> None:
    face = connect(backoff=(0.01, 0.02))
    number = face.execute("CLIENT", "ID")
    server.ask("CLIENT", "KILL", "ID", number)
    assert face.execute("PING") == b"PONG"
    events = face.events()
    assert {event.epoch for event in events} >= {1, 2}
    assert {event.connection for event in events} == {1}
    assert {event.server for event in events} == {f"127.0.0.1:{server.port}"}
    assert face.stats(events[-1].connection).losses == 1


def test_events_name_the_socket(connect: Connect, server: Server) -> None:
    face = connect(url=f"unix://{server.path}")
    face.execute("PING")
    assert {event.server for event in face.events()} == {server.path}


def test_events_tell_the_connections_life(connect: Connect, server: Server) -> None:
    face = connect(client_name="victim", backoff=(0.01, 0.02))
    face.execute("PING")
    kinds = [event.kind for event in face.events()]
    assert kinds == ["connected", "ready"]
    assert face.events() == []
    number = face.execute("CLIENT", "ID")
    server.ask("CLIENT", "KILL", "ID", number)
    assert face.execute("PING") == b"PONG"
    events = face.events()
    kinds = [event.kind for event in events]
    assert kinds[0] == "lost" and kinds[-2:] == ["connected", "ready"]
    assert events[0].status < 0 and events[0].detail
    assert events[-1].epoch == events[0].epoch + 1
    assert str(server.port) in events[-1].detail
    assert face.stats().losses == 1


def test_events_are_bounded(connect: Connect) -> None:
    face = connect(url="redis://127.0.0.1:1", backoff=(0.001, 0.001), timeout=5)
    face.until(lambda: face.stats().attempts_failed > 1)
    with pytest.raises(shoal.TimeoutError):
        face.execute("PING", timeout=min(0.3 * SCALE, 20))  # 10 attempts in a second
    events = face.events()
    assert 1 < len(events) <= 129
    kinds = {event.kind for event in events} - {"dropped"}
    assert kinds == {"attempt_failed", "retrying"}
    assert face.stats().losses == 0
    assert all(0 <= event.delay < 1 for event in events[1:])
    assert (events[0].kind == "dropped") == (len(events) == 129)
    assert len(events) == 129 or SCALE <= 50
    if events[0].kind == "dropped":  # no connection's
        assert (events[0].connection, events[0].server) == (0, "")


def test_events_after_the_close(server: Server) -> None:
    client = shoal.Client(server.url)
    client.execute("PING")
    client.close()
    assert client.events() == []
    with pytest.raises(shoal.ClosedError):
        client.stats()


def test_stats_before_the_first_command(connect: Connect) -> None:
    face: Face = connect()
    assert face.stats().commands == 0
    assert [event.kind for event in face.events()] in (
        [], ["connected"], ["connected", "ready"],
    )  # fmt: skip


def test_the_topology_of_one_server(connect: Connect, server: Server) -> None:
    face = connect()
    face.wait_ready()
    topology: shoal.Topology = face._do("topology")
    (node,) = topology.nodes
    assert (topology.kind, topology.primaries, topology.owner(0)) == (
        "standalone", (), None,
    )  # fmt: skip
    assert (node.name, node.host) == (f"127.0.0.1:{server.port}", "127.0.0.1")
    assert (node.port, node.connection, node.state) == (server.port, 1, "ready")
    assert (node.id, node.role, node.slots) == ("", "unknown", ())


# ---- connections ----


def connection_of(face: Face, number: int = 1) -> shoal.ConnectionInfo:
    """As the client's connection()."""
    info: shoal.ConnectionInfo = face._do("connection", number)
    return info


def test_a_connection(connect: Connect, server: Server) -> None:
    face = connect()
    face.wait_ready()
    info = connection_of(face)
    assert info == (
        1, "ready", 3, face.execute("CLIENT", "ID"), 1, f"127.0.0.1:{server.port}"
    )  # fmt: skip
    for number in (0, 2, -1, 1 << 64):
        with pytest.raises(ValueError, match=f"there is no connection {number}"):
            connection_of(face, number)


def test_a_connection_that_waits(connect: Connect) -> None:
    face = connect(url="redis://127.0.0.1:1")
    face.until(lambda: connection_of(face).state == "waiting")
    assert connection_of(face)[2:4] == (0, 0)


def test_reconnect(connect: Connect) -> None:
    """Nothing is lost, and later commands go over another connection."""
    face = connect()
    former = face.execute("CLIENT", "ID")
    face._do("reconnect")
    face.until(lambda: face.execute("CLIENT", "ID") > former)
    assert connection_of(face).epoch == 2
    face.close()
    with pytest.raises(shoal.ClosedError):
        face._do("reconnect")


def test_reconnect_instead_of_waiting(connect: Connect, own_server: Server) -> None:
    """The server is back before the next attempt is due."""
    url = own_server.url
    own_server.kill()
    face = connect(url=url, backoff=(60, 600), timeout=1000)
    face.until(lambda: connection_of(face).state == "waiting")
    own_server.start()
    face._do("reconnect")
    assert face.execute("PING") == b"PONG"
