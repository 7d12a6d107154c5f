# SPDX-License-Identifier: MIT
"""`subscribe()`: messages and marks of channels and patterns."""

import asyncio
import gc
import itertools
import re
import signal
import threading
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import shoal
import shoal.aio
from conftest import Connect
from shoal import Dropped, Gap, Message, Rejected, Suspended, _feed, _replies
from support.children import run_child
from support.faces import Face, FaceSubscription
from support.scale import scaled
from support.server import Server
from support.wire import PATIENCE_S
from test_codec_replies import opcodes
from test_leaks import descriptors

MODES = ["sync", "asyncio-borrowed", "uvloop-borrowed"]
in_some_modes = pytest.mark.parametrize("mode", MODES)


def subscribers(server: Server) -> int:
    """Connections of the server that subscribe."""
    clients = server.ask("CLIENT", "LIST", "TYPE", "PUBSUB").decode()
    return int(clients.count("id="))


def kill_subscribers(server: Server) -> None:
    server.ask("CLIENT", "KILL", "TYPE", "PUBSUB")


def published(server: Server, channel: str, *messages: str) -> None:
    for message in messages:
        server.ask("PUBLISH", channel, message)


def read_until(
    subscription: FaceSubscription, is_last: Callable[[Any], bool]
) -> list[Any]:
    """Items up to one."""
    items: list[Any] = []
    while not items or not is_last(items[-1]):
        item = subscription.get()
        assert item is not None, items
        items.append(item)
    return items


def test_counters(connect: Connect, server: Server) -> None:
    face = connect()
    assert set(face.subscription_stats().as_dict().values()) == {0}
    with face.subscribe("counted", patterns=["c*d"]) as subscription:
        published(server, "counted", "abc")
        read_until(subscription, lambda item: item.pattern is not None)
        stats = face.subscription_stats()
        assert (stats.messages, stats.message_bytes, stats.unwanted) == (2, 6, 0)
        assert (stats.names_wanted_now, stats.names_confirmed_now) == (2, 2)
        assert (stats.connects, stats.losses, stats.is_connected_now) == (1, 0, 1)
        assert stats.reads > 0 and stats.bytes_in > 6 and stats.protocol_now == 3
        assert "messages" in dir(stats) and "(messages=2, " in repr(stats)
        kill_subscribers(server)
        read_until(subscription, lambda item: isinstance(item, Gap))
        face.until(lambda: face.subscription_stats().gaps == 2)
        after = face.subscription_stats()
        assert (after.connects, after.losses, stats.losses) == (2, 1, 0)
    face.close()
    with pytest.raises(shoal.ClosedError):
        face.subscription_stats()


def test_events(connect: Connect, server: Server) -> None:
    face = connect()
    assert face.subscription_events() == []
    with face.subscribe("told", keyspace=["__keyspace@0__:key"]) as subscription:
        told: list[shoal.Event] = []
        while len(told) < 3:
            face.pass_time(0.001)
            told += face.subscription_events()
        assert [event.kind for event in told] == ["connected", "ready", "keyspace_off"]
        assert 'notify-keyspace-events is ""' in told[2].detail
        assert face.subscription_events() == []
        kill_subscribers(server)
        read_until(subscription, lambda item: isinstance(item, Gap))
        kinds = [event.kind for event in face.subscription_events()]
        assert kinds[0] == "lost" and kinds[-1] == "ready"
        assert not {"keyspace_off", "dropped"} & {*kinds}
    assert not [event for event in face.events() if event.kind == "lost"]
    face.close()
    assert face.subscription_events() == []


def test_channels_and_patterns(face: Face, server: Server) -> None:
    with face.subscribe("news", b"\xff\0", patterns=["user.*"]) as subscription:
        published(server, "news", "a", "")
        assert server.ask("PUBLISH", b"\xff\0", b"b\r\n") == 1
        published(server, "user.7", "c")
        assert [subscription.get() for _ in range(4)] == [
            Message(b"news", b"a"),
            Message(b"news", b""),
            Message(b"\xff\0", b"b\r\n"),
            Message(b"user.7", b"c", b"user.*"),
        ]
        assert subscription.get(timeout=0.01) is None
        assert subscription.take(timeout=0.01) == []
        assert face.execute("PING") == b"PONG"
    assert subscription.monitor.gaps == subscription.monitor.dropped == 0


@in_some_modes
def test_the_client_publishes_probes(own_server: Server, mode: str) -> None:
    face = Face(mode, own_server.url, probe_interval=1.0)
    with face.subscribe("news", patterns=["*"]) as subscription:
        until = time.monotonic() + PATIENCE_S
        assert face.subscription_stats().probe_us_now == 1_000_000
        while face.subscription_stats().probes == 0:
            assert subscription.get(timeout=0.05) is None
            assert time.monotonic() < until
        assert len(own_server.ask("PUBSUB", "CHANNELS", "__shoal:*")) == 1
        assert subscription.get(timeout=0.05) is None
        own_server.ask("PUBLISH", "news", "a")
        assert subscription.get() == Message(b"news", b"a")
    face.end()


def test_the_next_port_publishes_probes(own_server: Server) -> None:
    """A port ends, for want of memory for example; the next command has another one."""

    async def main() -> None:
        async with (
            shoal.aio.Client(own_server.url, probe_interval=1.0) as client,
            client.subscribe("news") as subscription,
        ):
            await client.execute("PING")
            client._find_port().detach()
            await client.execute("PING")
            # The first one may be left to the former port, which is driven no more.
            until = time.monotonic() + PATIENCE_S
            wanted = client.subscription_stats().probes + 2
            while client.subscription_stats().probes < wanted:
                assert await subscription.get(timeout=0.05) is None
                assert time.monotonic() < until

    asyncio.run(main())


@in_some_modes
def test_one_server_is_not_probed_by_default(own_server: Server, mode: str) -> None:
    for options in ({}, {"probe_interval": None}, {"probe_interval": 0}):
        face = Face(mode, own_server.url, **options)
        with face.subscribe("news") as subscription:
            assert subscription.get(timeout=0.01) is None
            assert own_server.ask("PUBSUB", "CHANNELS", "__shoal:*") == []
            clients = own_server.ask("CLIENT", "LIST").decode()
            assert clients.count("id=") == 2  # the subscriber, and who asks
        face.end()


def test_shards(face: Face, server: Server) -> None:
    with face.subscribe(shards=["{42}"]) as subscription:
        server.ask("SPUBLISH", "{42}", "a")
        server.ask("PUBLISH", "{42}", "b")
        assert subscription.get() == Message(b"{42}", b"a")


@in_some_modes
def test_text(connect: Connect, server: Server) -> None:
    """What is not UTF-8 stays bytes."""
    face = connect(decode_responses=True)
    with (
        face.subscribe("news", patterns=["n*"]) as text,
        face.subscribe("news", decode=False) as raw,
    ):
        published(server, "news", "\u00e9")
        server.ask("PUBLISH", "news", b"\xff")
        assert text.get() == Message("news", "\u00e9")
        assert text.get() == Message("news", "\u00e9", "n*")
        assert text.get() == Message("news", b"\xff")
        assert raw.get() == Message(b"news", "\u00e9".encode())
    other = connect(decode_responses=True, encoding="utf-16")
    with other.subscribe("x") as subscription:
        server.ask("PUBLISH", "x".encode("utf-16"), "y".encode("utf-16"))
        server.ask("PUBLISH", "x".encode("utf-16"), b"odd")
        assert subscription.get() == Message("x", "y")
        assert subscription.get() == Message("x", b"odd")


@pytest.mark.parametrize("is_asked_for", [True, False])
@in_some_modes
def test_new_credentials_make_no_gap(
    connect: Connect, server: Server, is_asked_for: bool
) -> None:
    """The default user takes any password."""
    passwords = itertools.count()

    def provide() -> tuple[None, str, float]:
        return None, f"p{next(passwords)}", 0.2

    face = connect(credentials=provide if is_asked_for else ("default", "p"))

    def connections() -> set[str]:
        clients = server.ask("CLIENT", "LIST", "TYPE", "PUBSUB").decode()
        return set(re.findall(r"^id=\d+", clients, re.M))

    with face.subscribe("news", patterns=["n*"]) as subscription:
        former, sent = connections(), 0
        if not is_asked_for:
            face._do("set_credentials", None, "another")

        def is_renewed() -> bool:
            nonlocal sent
            published(server, "news", str(sent))
            sent += 1
            return bool(now := connections()) and not now & former

        face.until(is_renewed)
        published(server, "news", "last")
        items = read_until(
            subscription, lambda item: item == Message(b"news", b"last", b"n*")
        )
        assert all(isinstance(item, Message) for item in items)
        numbers = [str(number).encode() for number in range(sent)] + [b"last"]
        for pattern in (None, b"n*"):
            data = [item.data for item in items if item.pattern == pattern]
            assert data == numbers


@in_some_modes
def test_many_are_taken_at_once(connect: Connect, server: Server) -> None:
    face = connect()
    with face.subscribe("news") as subscription:
        face.execute_many([("PUBLISH", "news", i) for i in range(5000)])
        taken: list[Any] = []
        while len(taken) < 5000:
            taken += subscription.take(2500)
        assert [int(message.data) for message in taken] == list(range(5000))
        face.execute_many([("PUBLISH", "news", i) for i in range(3)])
        iterator = iter(subscription)
        assert [int(next(iterator).data) for _ in range(3)] == [0, 1, 2]


@in_some_modes
def test_an_interpreter_with_another_unpickler(
    connect: Connect, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What C writes is read by plain Python, too, and is known to the self-test."""
    streams: list[bytes] = []

    def load(stream: Any) -> Any:
        streams.append(bytes(stream))
        return _replies._load_slowly(stream)

    monkeypatch.setattr(_feed, "loads", load)
    face = connect()
    names = [f"n{i}" for i in range(300)]  # more than a list remembers
    with face.subscribe(*names, patterns=["n1"], marks="all") as subscription:
        kill_subscribers(server)
        read_until(subscription, lambda _: subscription.monitor.gaps == 301)
        taken: list[Any] = []
        face.execute_many([("PUBLISH", name, "x" * 300) for name in names * 3])
        while sum(isinstance(item, Message) for item in taken) < 903:
            taken += subscription.take()
        channels = [item.channel for item in taken if isinstance(item, Message)]
        assert sorted(channels) == sorted(
            [name.encode() for name in names] * 3 + [b"n1"] * 3
        )
    known = opcodes(_replies._SELF_TEST)
    used = set().union(*map(opcodes, streams))
    assert {"MEMOIZE", "BINGET", "TUPLE3"} <= used <= known


@in_some_modes
def test_names_come_and_go(connect: Connect, server: Server) -> None:
    face = connect()
    with face.subscribe() as subscription:
        subscription.add("a", patterns=["p*"])
        subscription.remove("a", "never")
        subscription.add("b")
        face.until(lambda: server.ask("PUBLISH", "a", "x") == 0)
        published(server, "pa", "1")
        published(server, "b", "2")
        data = [item.data for item in read_until(subscription, lambda i: i[1] == b"2")]
        assert data[-2:] == [b"1", b"2"]
    face.until(lambda: server.ask("PUBLISH", "b", "x") == 0)


@in_some_modes
def test_subscriptions_share_a_connection(connect: Connect, server: Server) -> None:
    face = connect()
    face.until(lambda: subscribers(server) == 0)  # those of other tests have ended
    subscriptions = [face.subscribe("news", f"own{i}") for i in range(20)]
    for subscription in subscriptions:
        subscription.__enter__()
    assert subscribers(server) == 1
    published(server, "news", "x")
    assert all(s.get() == Message(b"news", b"x") for s in subscriptions)
    for subscription in subscriptions:
        subscription.close()


@in_some_modes
def test_a_loss_is_told(connect: Connect, server: Server) -> None:
    face = connect()
    with (
        face.subscribe("a", patterns=["b"], marks="all") as told,
        face.subscribe("a") as usual,
        face.subscribe("a", marks=False) as quiet,
    ):
        assert sorted([told.get().kind for _ in range(2)]) == ["channel", "pattern"]
        kill_subscribers(server)
        items = read_until(told, lambda i: isinstance(i, Gap) and i.kind == "pattern")
        if len(items) == 2:
            items.append(told.get())
        assert isinstance(items[0], Suspended)
        assert items[0].detail
        gaps = {(gap.kind, gap.name, gap.reason) for gap in items[1:]}
        assert gaps == {("channel", b"a", "lost"), ("pattern", b"b", "lost")}
        assert items[1].epoch > items[0].epoch
        published(server, "a", "x")
        assert isinstance(usual.get(), Gap)
        assert usual.get() == quiet.get() == told.get() == Message(b"a", b"x")
        assert [s.monitor.gaps for s in (told, usual, quiet)] == [2, 1, 1]


@in_some_modes
def test_a_server_may_refuse_names(connect: Connect, server: Server) -> None:
    server.ask(
        *("ACL", "SETUSER", "few", "on", ">secret", "~*", "+@all"),
        *("resetchannels", "&mine*"),
    )
    face = connect(username="few", password="secret")
    try:
        with (
            pytest.raises(shoal.NoPermissionError, match="theirs"),
            face.subscribe("mine", "theirs"),
        ):
            pass
        with face.subscribe("mine") as subscription:
            with pytest.raises(shoal.NoPermissionError):
                subscription.add("theirs", "mine2")
            assert isinstance(subscription.get(), Rejected)
            published(server, "mine2", "x")
            assert subscription.get() == Message(b"mine2", b"x")
            subscription.add("mine3")
            server.ask("ACL", "SETUSER", "few", "&theirs")
            subscription.add("theirs")
            published(server, "theirs", "y")
            assert subscription.get() == Message(b"theirs", b"y")
    finally:
        server.ask("ACL", "DELUSER", "few")


@in_some_modes
def test_a_refused_name_of_another_encoding(connect: Connect, server: Server) -> None:
    server.ask(
        *("ACL", "SETUSER", "few", "on", ">secret", "~*", "+@all", "resetchannels")
    )
    options = {"encoding": "latin-1", "decode_responses": True}
    face = connect(username="few", password="secret", **options)
    try:
        with face.subscribe(marks="all") as subscription:
            with pytest.raises(shoal.NoPermissionError):
                subscription.add("\u00e9")
            item = subscription.get()
            assert isinstance(item, Rejected) and item.name == "\u00e9"
    finally:
        server.ask("ACL", "DELUSER", "few")


@in_some_modes
@pytest.mark.parametrize("overflow", ["newest", "oldest", "end"])
def test_one_that_reads_too_slowly(
    connect: Connect, server: Server, overflow: Any
) -> None:
    face = connect()
    with (
        face.subscribe("news", max_messages=10, overflow=overflow) as slow,
        face.subscribe("news") as quick,
    ):
        face.execute_many([("PUBLISH", "news", i) for i in range(100)])
        sent = [quick.get() for _ in range(100)]
        assert [int(message.data) for message in sent] == list(range(100))
        items = slow.take()
        if overflow == "newest":
            assert items == [*sent[:10], Dropped(90)]
        elif overflow == "oldest":
            assert items == [Dropped(90), *sent[90:]]
        else:
            assert items == [*sent[:10], Dropped(1)]
            with pytest.raises(shoal.FullError):
                slow.get()
            return
        assert slow.monitor.dropped == 90
        published(server, "news", "on")
        assert slow.get() == Message(b"news", b"on")


def test_on_message(connect: Connect, server: Server) -> None:
    """It gets every item; one that it raises for harms no other."""
    face = connect()
    got: list[Any] = []
    failed: list[Any] = []

    def on_message(item: Any) -> None:
        got.append(item)
        if item.data == b"bad":
            raise ValueError("bad")

    threading.excepthook, hook = failed.append, threading.excepthook
    if face.is_async:
        face.loop.set_exception_handler(lambda _, context: failed.append(context))
    try:
        with face.subscribe("news", on_message=on_message) as subscription:
            published(server, "news", "1", "bad", "2")
            face.until(lambda: len(got) == 3)
            with pytest.raises(RuntimeError, match="on_message"):
                subscription.get()
            assert len(failed) == 1
        published(server, "news", "3")
        face.pass_time(0.01)
        assert [item.data for item in got] == [b"1", b"bad", b"2"]
    finally:
        threading.excepthook = hook


@in_some_modes
def test_on_message_of_one_that_ends(connect: Connect, server: Server) -> None:
    """The end is reported, because no call raises it."""
    face = connect()
    got: list[Any] = []
    failed: list[Any] = []

    def on_message(item: Any) -> None:
        got.append(item)

    threading.excepthook, hook = failed.append, threading.excepthook
    if face.is_async:
        face.loop.set_exception_handler(
            lambda _, context: failed.append(context["exception"])
        )
    options: Any = {"max_messages": 2, "overflow": "end", "on_message": on_message}
    try:
        with face.subscribe("news", **options):
            while not failed:
                face.execute_many([("PUBLISH", "news", "x")] * 1000)
    finally:
        threading.excepthook = hook
    (failure,) = failed
    assert isinstance(getattr(failure, "exc_value", failure), shoal.FullError)
    assert isinstance(got[-1], Dropped)


@in_some_modes
def test_on_message_may_close(connect: Connect, server: Server) -> None:
    face = connect()
    got: list[Any] = []

    def on_message(item: Any) -> None:
        got.append(item)
        if face.is_async:
            face.loop.create_task(subscription.monitor.close())
        else:
            subscription.monitor.close()

    subscription = face.subscribe("news", on_message=on_message)
    face.until(lambda: server.ask("PUBLISH", "news", "x") == 1)
    face.until(lambda: bool(got))
    face.until(lambda: subscription.monitor._is_closed)
    published(server, "news", "y")
    face.pass_time(0.01)
    assert len(got) == 1


@in_some_modes
def test_the_end_of_a_subscription(connect: Connect, server: Server) -> None:
    face = connect()
    subscription = face.subscribe("news")
    with subscription:
        published(server, "news", "x", "y")
        assert subscription.get() is not None
    assert list(subscription) == []
    with pytest.raises(shoal.ClosedError, match="subscription was closed"):
        subscription.get()
    with pytest.raises(shoal.ClosedError):
        subscription.add("more")
    subscription.close()
    assert "closed" in repr(subscription.monitor)


@in_some_modes
def test_the_end_of_the_client_ends_it(connect: Connect, server: Server) -> None:
    face = connect()
    with face.subscribe("news") as subscription:
        published(server, "news", "x")
        face.close()
        with pytest.raises(shoal.ClosedError):
            while True:
                subscription.get()
    with pytest.raises(shoal.ClosedError), face.subscribe("news"):
        pass
    face.until(lambda: subscribers(server) == 0)


def test_what_makes_no_sense(face: Face) -> None:
    for options in (
        {"overflow": "none"}, {"marks": "some"}, {"max_messages": 0},
        {"max_bytes": 0}, {"max_messages": 1 << 40},
    ):  # fmt: skip
        with pytest.raises((ValueError, shoal.DataError)):
            face.subscribe("news", **options)
    with pytest.raises(TypeError, match="list"):
        face.subscribe(patterns="news")
    with pytest.raises(shoal.DataError):
        face.subscribe(object())
    with face.subscribe("news") as subscription:
        with pytest.raises(ValueError, match="at least 1"):
            subscription.take(0)
        for wrong in (0, -1, "1", True):
            with pytest.raises((TypeError, ValueError)):
                subscription.get(timeout=wrong)  # type: ignore[arg-type]


def test_one_thread_reads(server: Server) -> None:
    with shoal.Client(server.url) as client, client.subscribe("news") as subscription:
        reader = threading.Thread(target=subscription.get)
        reader.start()
        while subscription._reader is None:
            time.sleep(0.001)
        with pytest.raises(RuntimeError, match="another thread"):
            subscription.get(timeout=0.001)
        client.execute("PUBLISH", "news", "x")
        reader.join()


def test_a_close_ends_a_wait_of_another_thread(server: Server) -> None:
    with shoal.Client(server.url) as client, client.subscribe("news") as subscription:
        items: list[Any] = []
        reader = threading.Thread(target=lambda: items.extend(subscription))
        reader.start()
        client.execute("PUBLISH", "news", "x")
        while not items:
            time.sleep(0.001)
        subscription.close()
        reader.join(PATIENCE_S)
        assert not reader.is_alive()
        assert items == [Message(b"news", b"x")]


def test_tasks(async_connect: Connect, server: Server) -> None:
    """A cancelled wait loses nothing; a close ends the wait of another task."""
    face = async_connect()

    async def main(client: shoal.aio.Client) -> None:
        subscription = client.subscribe("news")
        async with subscription:
            for number in range(20):
                task: Any = asyncio.ensure_future(subscription.get())
                await asyncio.sleep(0)
                await client.execute("PUBLISH", "news", number)
                task.cancel()
                got: Any
                (got,) = await asyncio.gather(task, return_exceptions=True)
                if isinstance(got, asyncio.CancelledError):
                    got = await subscription.get(PATIENCE_S)
                assert int(got.data) == number
            first = asyncio.ensure_future(subscription.get())
            await asyncio.sleep(0)
            with pytest.raises(RuntimeError, match="another task"):
                await subscription.take()
            await subscription.close()
            with pytest.raises(shoal.ClosedError):
                await first
        assert [item async for item in subscription] == []

    face.run(main)


@in_some_modes
def test_what_a_change_brings_is_read(connect: Connect, server: Server) -> None:
    """An add() that is refused takes what has come from C: a reader that waits gets
    it."""
    server.ask(
        *("ACL", "SETUSER", "few", "on", ">secret", "~*", "+@all"),
        *("resetchannels", "&mine*"),
    )
    face = connect(username="few", password="secret")
    try:
        with face.subscribe("mine") as subscription:
            monitor = subscription.monitor
            if face.is_async:

                async def main(client: Any) -> Any:
                    adding = asyncio.ensure_future(monitor.add("theirs"))
                    await asyncio.sleep(0)
                    reader = asyncio.ensure_future(monitor.get())
                    with pytest.raises(shoal.NoPermissionError):
                        await adding
                    return await asyncio.wait_for(reader, PATIENCE_S)

                got = face.run(main)
            else:
                taken: list[Any] = []
                reader = threading.Thread(target=lambda: taken.append(monitor.get()))
                reader.start()
                while monitor._reader is None:
                    time.sleep(0.001)
                with pytest.raises(shoal.NoPermissionError):
                    monitor.add("theirs")
                reader.join(PATIENCE_S)
                (got,) = taken
            assert isinstance(got, Rejected)
    finally:
        server.ask("ACL", "DELUSER", "few")


def test_another_task_closes_what_has_come(
    async_connect: Connect, server: Server
) -> None:
    """A reader lets others run before it returns: they may close."""
    face = async_connect()

    async def main(client: shoal.aio.Client) -> None:
        async with client.subscribe("news") as subscription:
            async with client.subscribe("news") as other:
                await client.execute("PUBLISH", "news", "x")
                await other.get()
            reader = asyncio.ensure_future(subscription.get())
            await asyncio.sleep(0)
            assert len(subscription._items) == 1
            await subscription.close()
            with pytest.raises(shoal.ClosedError):
                await reader

    face.run(main)


def test_others_run_while_one_reads_all_the_time(
    async_connect: Connect, server: Server
) -> None:
    face = async_connect()

    async def main(client: shoal.aio.Client) -> None:
        async def publish() -> None:
            while True:
                await client.execute_many([("PUBLISH", "news", "x")] * 100)

        async with client.subscribe("news") as subscription:
            publisher = asyncio.ensure_future(publish())
            count = 0
            async for _ in subscription:
                count += 1
                if count == 3000:
                    break
            publisher.cancel()

    face.run(main)


def test_loops_have_their_own(server: Server) -> None:
    client = shoal.aio.Client(server.url)

    async def main() -> Any:
        async with client.subscribe("news") as subscription:
            await client.execute("PUBLISH", "news", "x")
            return await subscription.get(PATIENCE_S), subscription

    first, kept = asyncio.run(main())
    second, _ = asyncio.run(main())
    assert first == second == Message(b"news", b"x")

    async def misuse() -> None:
        subscription = client.subscribe("news")
        try:
            await asyncio.to_thread(lambda: asyncio.run(read(subscription)))
        finally:
            await subscription.close()
            await client.close()

    async def read(subscription: shoal.aio.Subscription) -> None:
        with pytest.raises(RuntimeError, match="event loop"):
            await subscription.get()

    asyncio.run(misuse())
    with pytest.raises(RuntimeError, match="event loop"):
        client.subscribe("news")
    del kept


def test_loops_that_end_are_not_kept(server: Server) -> None:
    client = shoal.aio.Client(server.url)

    async def main() -> None:
        async with client.subscribe("news") as subscription:
            assert await subscription.get(0.001) is None
            assert subscription._hub._awaiting == {}

    for _ in range(5):
        asyncio.run(main())
        assert len(client._hubs) == 1
    asyncio.run(client.close())


@in_some_modes
def test_dropped_without_a_close(connect: Connect, server: Server) -> None:
    face = connect()
    subscription: Any = face.subscribe("news")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        del subscription
        gc.collect()
    assert any("unclosed subscription" in str(w.message) for w in caught)
    face.until(lambda: server.ask("PUBLISH", "news", "x") == 0)


def test_a_signal_handler_runs_during_a_wait(server: Server) -> None:
    """The wait goes on until the handler has published something."""
    with shoal.Client(server.url) as client, client.subscribe("x") as subscription:
        previous = signal.signal(
            signal.SIGALRM, lambda *_: client.execute("PUBLISH", "x", "rang")
        )
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            assert subscription.get(PATIENCE_S) == Message(b"x", b"rang")
        finally:
            signal.signal(signal.SIGALRM, previous)


FORK = """
    client = shoal.Client(url)
    with client.subscribe("news") as subscription:
        client.execute_many([("PUBLISH", "news", i) for i in range(3)])
        for number in range(2):  # the third is read, too, or about to be
            assert int(subscription.get(10).data) == number
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                for use in (subscription.get, lambda: subscription.add("x")):
                    try:
                        use()
                    except shoal.ForkError:
                        code += 1
                subscription.close()
                with client.subscribe("news") as own:
                    client.execute("PUBLISH", "news", "x")
                    if own.get(10) == shoal.Message(b"news", b"x"):
                        code += 39
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 42
        assert int(subscription.get(10).data) == 2
        assert subscription.get(10) == shoal.Message(b"news", b"x")
    client.close()
"""


def test_a_fork(server: Server) -> None:
    ended = run_child(FORK, server.url)
    assert (ended.code, ended.errors) == (0, "")


FORK_OF_A_LOOP = """
    loop = new_loop()
    async def begin():
        client = shoal.aio.Client(url)
        subscription = client.subscribe("news")
        await subscription.wait()
        return client, subscription
    client, subscription = loop.run_until_complete(begin())
    idle, other = loop.run_until_complete(begin())  # a hub without subscriptions
    async def end():
        await other.close()
    loop.run_until_complete(end())
    del other
    pid = os.fork()
    if pid == 0:
        gc.collect()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    async def read(client):
        async with client.subscribe("more") as more:
            for channel, receiver in ("news", subscription), ("more", more):
                await client.execute("PUBLISH", channel, "x")
                item = await receiver.get(10)
                assert item == shoal.Message(channel.encode(), b"x"), item
            await client.close()
    async def main():
        async with idle.subscribe("idle") as own:
            await idle.execute("PUBLISH", "idle", "x")
            assert await own.get(10) is not None
        await idle.close()
        await read(client)
    loop.run_until_complete(main())
"""


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_a_fork_leaves_the_loop_of_the_parent(server: Server, loop: str) -> None:
    """A child that drops what it has does not stop what the parent watches."""
    ended = run_child(FORK_OF_A_LOOP, server.url, loop=loop, before="import gc")
    assert (ended.code, ended.errors) == (0, "")


def test_a_fork_while_another_thread_reads(server: Server) -> None:
    """The child hears of the fork, whatever the thread holds."""
    script = """
        client = shoal.Client(url)
        subscription = client.subscribe("news")
        subscription.wait()
        reader = threading.Thread(target=subscription.get)
        reader.start()
        while subscription._reader is None:
            time.sleep(0.001)
        held, kept = threading.Event(), threading.Event()
        def hold():
            with subscription._pulling:
                held.set()
                kept.wait()
        holder = threading.Thread(target=hold)
        holder.start()
        held.wait()
        pid = os.fork()
        if pid == 0:
            try:
                subscription.get()
            except shoal.ForkError:
                os._exit(42)
            finally:
                os._exit(1)
        kept.set()
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 42
        client.execute("PUBLISH", "news", "x")
        reader.join()
        client.close()
    """
    ended = run_child(script, server.url)
    assert (ended.code, ended.errors) == (0, "")


EXITS = {
    "sync": """
        client = shoal.Client(url)
        subscription = client.subscribe("news", on_message=print)
        subscription.wait()
        other = client.subscribe("news")
        def read():
            try:
                other.get()
            except shoal.ClosedError:
                pass
        threading.Thread(target=read, daemon=True).start()
    """,
    "asyncio": """
        async def main():
            global client, subscription
            client = shoal.aio.Client(url)
            subscription = client.subscribe("news", on_message=print)
            await subscription.wait()
            task = asyncio.ensure_future(client.subscribe("news").get())
            await asyncio.sleep(0)
        run(main())
    """,
    "loop closed": """
        loop = new_loop()
        client = shoal.aio.Client(url)
        async def begin():
            subscription = client.subscribe("news", on_message=print)
            await subscription.wait()
            return subscription
        subscription = loop.run_until_complete(begin())
        loop.close()
        del subscription
    """,
}


@pytest.mark.parametrize("way", EXITS)
@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_the_interpreter_ends(server: Server, way: str, loop: str) -> None:
    if way == "sync" and loop == "uvloop":
        return
    ended = run_child(EXITS[way], server.url, loop=loop)
    assert (ended.code, ended.output) == (0, ""), ended.errors
    assert "Traceback" not in ended.errors
    assert "Fatal" not in ended.errors


@pytest.mark.parametrize("mode", ["asyncio-borrowed", "uvloop-borrowed"])
def test_many_subscriptions_of_a_loop_cost_no_descriptors(
    connect: Connect, server: Server
) -> None:
    face = connect()
    first = face.subscribe("news")
    with first:
        gc.collect()  # what other tests left
        before = descriptors()
        many = [face.subscribe("news") for _ in range(200)]
        for subscription in many:
            subscription.__enter__()
        assert descriptors() <= before
        published(server, "news", "x")
        for subscription in many:
            assert subscription.get() == Message(b"news", b"x")
            subscription.close()


@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_left(mode: str, server: Server) -> None:
    """Subscriptions and clients that end in any order leave no descriptor."""
    connect_once(mode, server)
    gc.collect()  # what other tests left, too
    before = descriptors(), threading.active_count()
    for _ in range(5):
        connect_once(mode, server)
    gc.collect()
    assert descriptors() <= before[0]
    assert threading.active_count() <= before[1]


def connect_once(mode: str, server: Server) -> None:
    face = Face(mode, server.url)
    subscriptions = [face.subscribe(f"c{i}") for i in range(5)]
    subscriptions.append(face.subscribe("c0", on_message=lambda item: None))
    published(server, "c0", "x")
    for subscription in subscriptions[::2]:
        subscription.close()
    face.close()
    for subscription in subscriptions:
        subscription.close()
    face.end()


def test_closed_at_any_time(server: Server) -> None:
    """Readers, changes and closes of several threads: no crash, no hang, no other
    exception than ClosedError."""
    wrong: list[BaseException] = []
    client = shoal.Client(server.url)

    def work(act: Callable[[], object]) -> None:
        try:
            while True:
                act()
        except (shoal.ClosedError, StopIteration):
            pass
        except BaseException as error:
            wrong.append(error)

    for number in range(scaled(20)):
        subscription = client.subscribe("news", f"n{number}")
        names = [f"x{i}" for i in range(10)]
        acts: list[Callable[[], object]] = [
            partial(next, subscription),
            partial(subscription.add, *names),
            partial(subscription.remove, *names),
            partial(client.execute_many, [("PUBLISH", "news", "x")] * 50),
        ]
        threads = [threading.Thread(target=work, args=(act,)) for act in acts[:3]]
        for thread in threads:
            thread.start()
        for _ in range(3):
            acts[3]()
        subscription.close()
        for thread in threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()
    client.close()
    assert wrong == []
