# SPDX-License-Identifier: MIT
"""Scripts that connections load, and the texts that the library has ready."""

import asyncio
import copy
import gc
import time
from typing import Any

import pytest
import shoal
from conftest import Connect
from shoal import scripts
from support.children import run_child
from support.faces import Face
from support.server import Server

ADD = "return redis.call('INCRBY', KEYS[1], ARGV[1])"


@pytest.fixture
def face(connect: Connect) -> Face:
    face = connect()
    face.execute("FLUSHALL")
    return face


def call(face: Face, script: Any, *args: Any, **options: Any) -> Any:
    if not face.is_async:
        return script(*args, **options)

    async def main(_: Any) -> Any:
        return await script(*args, **options)

    return face.run(main)


def test_a_call_is_one_short_command(face: Face) -> None:
    face.execute("SCRIPT", "FLUSH")
    script = face.client.script(ADD)
    assert call(face, script, ["key"], [2]) == 2
    assert call(face, script, ["key"], [3]) == 5
    assert face.execute("SCRIPT", "EXISTS", script.sha1) == [1]
    assert script.text == ADD.encode()
    assert script.sha1 in repr(script)
    reading = face.client.script("return redis.call('GET', KEYS[1])", read_only=True)
    assert call(face, reading, ["key"], decode=True) == "5"


def test_the_server_forgets(face: Face) -> None:
    script = face.client.script(ADD)
    for number in range(1, 10):
        face.execute("SCRIPT", "FLUSH")
        assert call(face, script, ["key"], [1]) == number


def test_many_calls_while_the_server_forgets(face: Face) -> None:
    if not face.is_async:
        pytest.skip("calls of threads are in the tests of the library")
    script = face.client.script(ADD)

    async def main(client: Any) -> int:
        await client.execute("DEL", "key")
        done = 0
        for _ in range(20):
            calls = [script(["key"], [1]) for _ in range(50)]
            *values, _ = await asyncio.gather(*calls, client.execute("SCRIPT", "FLUSH"))
            done += len(values)
        assert int(await client.execute("GET", "key")) == done
        return done

    assert face.run(main) == 1000


def test_errors(face: Face) -> None:
    with pytest.raises(shoal.ResponseError):
        call(face, face.client.script("this is no Lua"))
    with pytest.raises(shoal.FullError):
        call(face, face.client.script("x" * 2_000_000))
    with pytest.raises(shoal.DataError):
        face.client.script(1.5j)
    with pytest.raises(TypeError):
        copy.copy(face.client.script(ADD))


def test_scripts_that_are_gone_make_room(face: Face) -> None:
    for number in range(600):
        assert call(face, face.client.script(f"return {number}")) == number
        gc.collect(0)


def test_in_the_child_of_a_fork(server: Server) -> None:
    child = run_child(
        """
        client = shoal.Client(url)
        client.execute("DEL", "key")
        add = client.script("return redis.call('INCRBY', KEYS[1], ARGV[1])")
        assert add(["key"], [1]) == 1
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                code = 40 + add(["key"], [1])  # over a connection of the child's own
                client.close()
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 42
        assert add(["key"], [1]) == 3
        client.close()
        """,
        server.url,
    )
    assert child.code == 0, child.errors


def test_compare(face: Face) -> None:
    put = face.client.script(scripts.COMPARE_AND_SET)
    keep = face.client.script(scripts.COMPARE_AND_EXPIRE)
    drop = face.client.script(scripts.COMPARE_AND_DELETE)
    for script in (put, keep, drop):
        assert call(face, script, ["key"], ["a", "b"]) == 0
    face.execute("SET", "key", "a", "EX", 100)
    assert call(face, put, ["key"], ["x", "b"]) == 0
    assert call(face, put, ["key"], ["a", "b"]) == 1
    assert face.execute("GET", "key") == b"b"
    assert face.execute("TTL", "key") > 90
    assert call(face, keep, ["key"], ["a", 1_000_000]) == 0
    assert call(face, keep, ["key"], ["b", 1_000_000]) == 1
    assert face.execute("TTL", "key") > 900
    assert call(face, drop, ["key"], ["a"]) == 0
    assert call(face, drop, ["key"], ["b"]) == 1
    assert face.execute("EXISTS", "key") == 0


def test_add_within(face: Face) -> None:
    add = face.client.script(scripts.ADD_WITHIN)
    assert call(face, add, ["key"], [3, 0, 5]) == [1, 3]
    assert call(face, add, ["key"], [3, 0, 5]) == [0, 3]
    assert call(face, add, ["key"], [2, 0, 5]) == [1, 5]
    assert call(face, add, ["key"], [-6, 0, 5]) == [0, 5]
    assert call(face, add, ["key"], [-5, 0, 5]) == [1, 0]
    assert call(face, add, ["new"], [-1, 0, 5]) == [0, 0]


def test_lock(face: Face) -> None:
    lock = face.client.script(scripts.LOCK)
    give_back = face.client.script(scripts.COMPARE_AND_DELETE)
    names = ["{lock}", "{lock}:token"]
    assert call(face, lock, names, ["me", 100_000]) == 1
    assert call(face, lock, names, ["you", 100_000]) is None
    assert call(face, give_back, names[:1], ["you"]) == 0
    assert call(face, give_back, names[:1], ["me"]) == 1
    assert call(face, lock, names, ["you", 1]) == 2
    while face.execute("EXISTS", names[0]):
        time.sleep(0.001)
    assert call(face, lock, names, ["me", 100_000]) == 3


def test_rate_limit(face: Face) -> None:
    admit = face.client.script(scripts.RATE_LIMIT)
    limit = [5, 1_000_000]
    assert [call(face, admit, ["r"], limit)[:2] for _ in range(5)] == [
        [1, left] for left in (4, 3, 2, 1, 0)
    ]
    is_admitted, left, wait_ms = call(face, admit, ["r"], limit)
    assert [is_admitted, left] == [0, 0]
    assert 100_000 < wait_ms <= 200_000
    assert 0 < face.execute("PTTL", "r") <= 1_000_000
    fast = [2, 2]
    admitted = 0
    begin = time.monotonic()
    while admitted < 20:
        is_admitted, _, wait_ms = call(face, admit, ["f"], fast)
        admitted += is_admitted
        time.sleep(wait_ms / 1000)
    assert time.monotonic() - begin >= 0.017  # 2 at once, then one each millisecond
