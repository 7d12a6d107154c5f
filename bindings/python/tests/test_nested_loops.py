# SPDX-License-Identifier: MIT
"""nest_asyncio, as notebooks use it: a task runs the event loop that runs it."""

import pytest
from support.children import run_child
from support.server import Server

SCRIPT = """
    import nest_asyncio
    loop = new_loop()
    asyncio.set_event_loop(loop)
    is_early = sys.argv[2] == "before"

    async def ask(client, number):
        await client.execute("SET", number, number)
        nested = [client.execute("GET", number), client.execute("NO", decode=True)]
        both = loop.run_until_complete(asyncio.gather(*nested, return_exceptions=True))
        return int(both[0]), type(both[1]).__name__

    async def main():
        async with shoal.aio.Client(url) as client:
            await client.execute("PING")
            if not is_early:
                nest_asyncio.apply(loop)
                await asyncio.sleep(0)
            pairs = await asyncio.gather(*[ask(client, n) for n in range(10)])
            assert pairs == [(n, "ResponseError") for n in range(10)], pairs

    if is_early:
        nest_asyncio.apply(loop)
    loop.run_until_complete(main())
    loop.close()
"""


@pytest.mark.parametrize("applied", ["before", "after"])
def test_a_task_runs_its_loop(server: Server, applied: str) -> None:
    """Before the client is made, or after."""
    pytest.importorskip("nest_asyncio")
    end = run_child(SCRIPT, server.url, applied)
    assert (end.code, end.output, end.errors) == (0, "", ""), end.errors
