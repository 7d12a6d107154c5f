# SPDX-License-Identifier: MIT
"""A garbage collection finalizes what is in a cycle in any order: what runs last may
still use a client whose own finalizer has run, and finds it closed."""

from typing import Any

import pytest
import shoal
from shoal import _lease
from shoal._native import lib
from support.children import Ended, run_child
from support.interpreter import IS_FREE
from support.server import Server

#: Freed memory is overwritten at once. What is made later is finalized later.
BEGIN = """
    import ctypes, gc
    ctypes.CDLL(None).mallopt(-6, 0xa5)
    gc.collect()
    gc.disable()
    class Last:
        def __del__(self):
            for use in self.uses:
                try:
                    use(self.user)
                except shoal.ClosedError:
                    print("closed", end=" ")
    def leave(user, *uses):
        last = user.last = Last()
        last.user, last.uses = user, uses
"""


def check(ended: Ended, closed: int) -> None:
    """What ran last found it closed so often; without a GIL it may have run first."""
    assert ended.code == 0, ended
    found = [text for text in ended.output.split(" ") if text != "closed"]
    assert found == ["well\n"], ended
    if not IS_FREE:
        assert ended.output.count("closed") == closed, ended


def test_a_client(server: Server) -> None:
    ended = run_child(
        BEGIN
        + """
    client = shoal.Client(url)
    client.execute("PING")
    leave(client, lambda c: c.execute("PING"), lambda c: c.lease(),
          lambda c: c.stats(), lambda c: c.reconnect(), lambda c: c.wait_ready())
    del client
    gc.collect()
    print("well")
    """,
        server.url,
    )
    check(ended, 5)


@pytest.mark.parametrize("thread", [False, True])
@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_an_asyncio_client(server: Server, thread: bool, loop: str) -> None:
    ended = run_child(
        BEGIN
        + f"""
    async def main():
        client = shoal.aio.Client(url, thread={thread})
        await client.execute("SET", "k", b"v" * 100_000)
        await asyncio.sleep(0)  # no port calls: it is garbage, too
        futures = []
        leave(client, lambda c: c.stats(), lambda c: c.lease(),
              lambda c: futures.append(c.submit("SET", "k", b"v" * 100_000)))
        del client
        gc.collect()
        for future in futures:
            try:
                await future
            except shoal.ClosedError:
                print("closed", end=" ")
    run(main())
    print("well")
    """,
        server.url,
        loop=loop,
    )
    check(ended, 3)


def test_a_monitor(server: Server) -> None:
    ended = run_child(
        BEGIN
        + """
    client = shoal.Client(url)
    monitor = client.monitor()
    gc.collect(0)  # what is older is finalized last
    monitor.__enter__()
    while monitor.next_line(timeout=0.01):
        pass
    leave(monitor, lambda m: m.next_line(timeout=10))
    del client, monitor
    gc.collect()
    print("well")
    """,
        server.url,
    )
    assert (ended.code, ended.output) == (0, "closed well\n"), ended


def test_a_lease_is_given_back_once(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever holds its handle may be finalized after the handle."""

    class Counting:
        given_back = 0

        def __getattr__(self, name: str) -> Any:
            return getattr(lib, name)

        def shoal_lease_close(self, lease: Any) -> None:
            self.given_back += bool(lease)
            if self.given_back == 1:
                lib.shoal_lease_close(lease)

    counting = Counting()
    monkeypatch.setattr(_lease, "lib", counting)
    with shoal.Client(server.url) as client:
        lease = client.lease()
        lease.execute("PING")
        lease._held().__del__()
        lease.close()
    assert counting.given_back == 1
