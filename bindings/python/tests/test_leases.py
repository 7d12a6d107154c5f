# SPDX-License-Identifier: MIT
"""`lease()`: a connection of one's own, which comes back clean or not at all."""

import asyncio
import contextlib
import copy
import gc
import threading
import time
import warnings
from typing import Any

import pytest
import shoal
import shoal.aio
from conftest import Connect
from support.cancels import check_let_go
from support.children import run_child
from support.faces import Face
from support.server import Server


def test_its_state_is_its_own(face: Face) -> None:
    with face.lease() as lease, face.lease() as other:
        ids = {who.execute("CLIENT", "ID") for who in (lease, other, face)}
        assert len(ids) == 3
        assert lease.execute("CLIENT", "ID") in ids
        lease.execute("SELECT", 5)
        lease.execute("SET", "k", "of 5")
        assert [who.execute("GET", "k") for who in (other, face)] == [None, None]
        lease.execute("FLUSHDB")


def test_optimistic_locking_by_hand(face: Face) -> None:
    with face.lease() as lease:
        assert lease.execute("WATCH", "k") == b"OK"
        face.execute("SET", "k", "foreign")
        assert lease.execute("MULTI") == b"OK"
        assert lease.execute("SET", "k", "own") == b"QUEUED"
        assert lease.execute("EXEC") is None
        unit = [("MULTI",), ("SET", "k", "\u20ac"), ("GET", "k"), ("EXEC",)]
        replies = lease.execute_many(unit, contiguous=True, decode=True)
        assert replies[-1] == ["OK", "\u20ac"]
        assert lease.execute_many([]) == []


def test_the_next_holder_sees_nothing(face: Face) -> None:
    face.execute("SET", "k", "v")
    with face.lease() as lease:
        number = lease.execute("CLIENT", "ID")
        lease.execute_many([("SELECT", 5), ("WATCH", "k"), ("MULTI",), ("INCR", "n")])
    face.until(lambda: face.stats().leases_idle_now == 1)
    with face.lease() as lease:
        assert lease.execute("CLIENT", "ID") == number
        assert lease.execute("GET", "k") == b"v"
        face.execute("SET", "k", "v")
        lease.execute("MULTI")
        lease.execute("PING")
        assert lease.execute("EXEC") == [b"PONG"]


def test_errors_are_the_clients(face: Face) -> None:
    with face.lease() as lease:
        lease.execute("SET", "text", "x")
        with pytest.raises(shoal.ResponseError):
            lease.execute("INCR", "text")
        with pytest.raises(shoal.DataError):
            lease.execute("SET", "k", None)
        for refused in ("HELLO", 3), ("SUBSCRIBE", "c"), ("QUIT",):
            with pytest.raises(shoal.RefusedError) as caught:
                lease.execute(*refused)
            assert caught.value.fate is shoal.Fate.NOT_EXECUTED
        replies = lease.execute_many(
            [("INCR", "text"), ("PING",)], return_exceptions=True
        )
        assert isinstance(replies[0], shoal.ResponseError) and replies[1] == b"PONG"


def test_a_lease_in_another_encoding(connect: Connect) -> None:
    face = connect(encoding="latin-1", decode_responses=True)
    with face.lease() as lease:
        lease.execute("SET", "k", "\u00e9")
        assert lease.execute("GET", "k") == "\u00e9"
        assert lease.execute("GET", "k", decode=False) == b"\xe9"
        assert lease.execute_many([("GET", "k")]) == ["\u00e9"]


def test_a_command_of_a_lease_has_a_deadline(face: Face) -> None:
    face.execute("PING")
    with face.lease() as lease:
        lease.execute("PING")
        until = time.monotonic() + 0.05
        with pytest.raises(shoal.TimeoutError) as caught:
            lease.execute("BLPOP", "nothing", 0, timeout=0.05)
        check_let_go(caught.value.fate, time.monotonic() - until)
        face.execute("RPUSH", "nothing", "kept")
        assert face.execute("LLEN", "nothing") == 1
        assert lease.execute("PING") == b"PONG"


# ---- the end ----


def test_after_its_end(face: Face) -> None:
    lease = face.lease()
    lease.execute("PING")
    lease.close()
    lease.close()
    for use in (
        lambda: lease.execute("PING"),
        lambda: lease.execute_many([("PING",)]),
        lease.__enter__,
    ):
        with pytest.raises(shoal.ClosedError, match="the lease was closed") as caught:
            use()
        assert caught.value.fate is shoal.Fate.NOT_EXECUTED


def test_a_closed_client_has_no_leases(connect: Connect) -> None:
    face = connect()
    lease = face.lease()
    lease.execute("PING")
    face.close()
    with pytest.raises(shoal.ClosedError):
        lease.execute("PING")
    lease.close()
    with pytest.raises(shoal.ClosedError):
        face.lease()


def test_a_lost_lease_is_broken(face: Face, server: Server) -> None:
    with face.lease() as lease:
        lease.execute("WATCH", "k")
        losses = face.stats().losses
        server.ask("CLIENT", "KILL", "ID", lease.execute("CLIENT", "ID"))
        face.until(lambda: face.stats().losses > losses)
        for _ in range(3):
            with pytest.raises(shoal.ConnectionError, match="is broken") as caught:
                lease.execute("SET", "k", "v")
            assert caught.value.fate is shoal.Fate.NOT_EXECUTED
    assert face.execute("EXISTS", "k") == 0
    with face.lease() as lease:
        assert lease.execute("SET", "k", "v") == b"OK"


def test_a_lease_that_nobody_closed(face: Face) -> None:
    lease = face.lease()
    lease.execute("WATCH", "k")
    with pytest.warns(ResourceWarning, match="unclosed lease of a shoal client to"):
        del lease
        gc.collect()
    face.until(lambda: face.stats().leases_now == 0)


def test_closed_ones_do_not_warn(connect: Connect) -> None:
    face = connect()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lease = face.lease()
        lease.close()
        other = face.lease()
        face.close()  # which ends its leases
        del lease, other
        gc.collect()


def test_it_is_unique(face: Face) -> None:
    with face.lease() as lease:
        name = "shoal.aio.Lease" if face.is_async else "shoal.Lease"
        assert repr(lease.lease).startswith(f"<{name} redis://")
        with pytest.raises(TypeError, match=f"a {name} cannot be copied"):
            copy.copy(lease.lease)


# ---- threads, loops, processes ----


def test_another_thread_may_close_it(server: Server) -> None:
    with shoal.Client(server.url) as client:
        lease = client.lease()
        lease.execute("PING")
        replies: list[Any] = []
        thread = threading.Thread(
            target=lambda: replies.append(lease.execute("BLPOP", "gate", 0))
        )
        thread.start()
        while b"cmd=blpop" not in server.ask("CLIENT", "LIST"):
            time.sleep(0.001)
        lease.close()
        server.ask("RPUSH", "gate", "v")
        thread.join()
        assert replies == [[b"gate", b"v"]]


def test_threads_race_with_the_close(server: Server) -> None:
    with shoal.Client(server.url) as client:
        for _ in range(50):
            lease = client.lease()

            def work(lease: shoal.Lease = lease) -> None:
                with contextlib.suppress(shoal.ClosedError):
                    while True:
                        assert lease.execute("ECHO", "x") == b"x"

            threads = [threading.Thread(target=work) for _ in range(3)]
            for thread in threads:
                thread.start()
            lease.execute("PING")
            lease.close()
            for thread in threads:
                thread.join()


def test_queued_commands_leave_before_the_end(async_face: Face) -> None:
    async def main(client: Any) -> None:
        async with client.lease() as lease:
            future = lease.submit("INCR", "n")
        assert await future == 1

    async_face.run(main)


def test_a_lease_stays_in_its_loop(server: Server) -> None:
    async def make(client: shoal.aio.Client) -> shoal.aio.Lease:
        lease = client.lease()
        await lease.execute("PING")
        return lease

    async def use(lease: shoal.aio.Lease) -> None:
        with pytest.raises(RuntimeError, match="belongs to the event loop"):
            await lease.execute("PING")
        with pytest.raises(RuntimeError, match="belongs to the event loop"):
            await lease.execute_many([("PING",)])

    async def end(client: shoal.aio.Client, lease: shoal.aio.Lease) -> None:
        await lease.close()
        await client.close()

    client = shoal.aio.Client(server.url, thread=True)
    with pytest.raises(RuntimeError, match="needs a running event loop"):
        client.lease()
    loops = [asyncio.new_event_loop() for _ in range(2)]
    lease = loops[0].run_until_complete(make(client))
    loops[1].run_until_complete(use(lease))
    loops[0].run_until_complete(end(client, lease))
    for loop in loops:
        loop.close()


def test_a_child_process_leaves_it_alone(server: Server) -> None:
    end = run_child(
        """
        client = shoal.Client(url)
        lease = client.lease()
        lease.execute("WATCH", "k")
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                lease.execute("PING")
            except shoal.ForkError as error:
                code = 42 if error.fate is shoal.Fate.NOT_EXECUTED else 2
            lease.close()
            del lease
            os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 42
        assert lease.execute("UNWATCH") == b"OK"
        lease.close()
        client.close()
        """,
        server.url,
    )
    assert (end.code, end.errors) == (0, ""), end.errors


def test_replies_of_two_connections_are_not_mixed_up(async_face: Face) -> None:
    """A long one is read in many parts, with others' replies in between."""
    count, askers, rounds = 50_000, 4, 50

    async def long(client: Any) -> int:
        return len(await client.execute("LRANGE", "long", 0, -1, timeout=60))

    async def short(lease: Any) -> int:
        return sum(
            [
                await lease.execute("LRANGE", "short", 0, -1) == [b"a", b"b"]
                for _ in range(rounds)
            ]
        )

    async def main(client: Any) -> None:
        for at in range(0, count, 10_000):
            row = [b"element %d" % i for i in range(at, at + 10_000)]
            await client.execute("RPUSH", "long", *row)
        await client.execute("RPUSH", "short", "a", "b")
        leases = [client.lease() for _ in range(askers)]
        await asyncio.gather(*(lease.execute("PING") for lease in leases))
        for _ in range(5):
            counts = await asyncio.gather(long(client), *map(short, leases))
            assert counts == [count] + [rounds] * askers
        for lease in leases:
            await lease.close()

    async_face.run(main)
