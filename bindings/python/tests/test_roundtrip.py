# SPDX-License-Identifier: MIT
"""Any argument arrives as it should, and comes back as it went: hypothesis tries."""

import math
from collections.abc import Iterator
from typing import Any

import pytest
import shoal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.faces import Face
from support.scale import scaled
from support.server import Server

settings.register_profile(
    "roundtrip",
    max_examples=scaled(60),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
profile = settings.get_profile("roundtrip")

MODES = ["sync", "asyncio-borrowed", "uvloop-thread"]

texts = st.text()
surrogates = st.text(st.characters(categories=["Cs"]), min_size=1)
integers = st.integers() | st.integers(-(2**70), 2**70)
floats = st.floats()
arguments = st.one_of(
    st.binary(),
    st.binary().map(bytearray),
    st.binary().map(lambda data: memoryview(data)),
    texts,
    integers,
    floats,
)


def sent(argument: Any) -> bytes:
    """What the server should get."""
    if isinstance(argument, str):
        return argument.encode()
    if isinstance(argument, (int, float)):
        return repr(argument).encode()
    return bytes(argument)


@pytest.fixture(scope="module")
def faces(server: Server) -> Iterator[list[Face]]:
    """All get each example, because to make it up takes longer than to send it."""
    faces = [Face(mode, server.url) for mode in MODES]
    yield faces
    for face in faces:
        face.end()


@profile
@given(argument=arguments)
def test_echo(faces: list[Face], argument: Any) -> None:
    for face in faces:
        assert face.execute("ECHO", argument) == sent(argument)


@profile
@given(commands=st.lists(st.lists(arguments, min_size=1), max_size=20))
def test_lists_of_commands(faces: list[Face], commands: list[list[Any]]) -> None:
    rows: list[Any] = [("RPUSH", "list", *values) for values in commands]
    wanted = [sent(value) for values in commands for value in values]
    lengths, total = [], 0
    for values in commands:
        total += len(values)
        lengths.append(total)
    for face in faces:
        face.execute("DEL", "list")
        assert face.execute_many(rows) == lengths
        assert face.execute("LRANGE", "list", 0, -1) == wanted


@profile
@given(key=st.binary() | texts, value=arguments)
def test_keys_and_values(faces: list[Face], key: Any, value: Any) -> None:
    for face in faces:
        unit = face.client.transaction().add("SET", key, value).add("GET", key)
        assert face.run_pipeline(unit) == [b"OK", sent(value)]
        assert face.execute("DEL", sent(key)) == 1


@profile
@given(text=texts)
def test_text_comes_back_as_text(faces: list[Face], text: str) -> None:
    script = "return {ARGV[1], {ARGV[1], 1}}"
    for face in faces:
        assert face.execute("ECHO", text, decode=True) == text
        assert face.execute("EVAL", script, 0, text, decode=True) == [text, [text, 1]]


@profile
@given(before=texts, bad=surrogates, after=texts)
def test_surrogates_are_no_text(
    faces: list[Face], before: str, bad: str, after: str
) -> None:
    for face in faces:
        with pytest.raises(shoal.DataError):
            face.execute("ECHO", before + bad + after)
        with pytest.raises(shoal.DataError):
            face.execute_many([("ECHO", "fine"), ("ECHO", before + bad + after)])


@profile
@given(number=st.floats())
def test_floats_are_what_they_were(faces: list[Face], number: float) -> None:
    for face in faces:
        back = float(face.execute("ECHO", number))
        assert back == number or (math.isnan(back) and math.isnan(number))
        assert math.copysign(1, back) == math.copysign(1, number) or math.isnan(number)


@profile
@given(number=st.integers(-(2**63), 2**63 - 1))
def test_integers_both_ways(faces: list[Face], number: int) -> None:
    script = "redis.call('SET', KEYS[1], ARGV[1])"
    for face in faces:
        assert face.execute("EVAL", script, 1, "n", number) is None
        assert face.execute("INCRBY", "n", 0) == number


nested: st.SearchStrategy[Any] = st.recursive(
    st.integers(-(2**31), 2**31 - 1) | st.binary(max_size=20),
    lambda inner: st.lists(inner, max_size=5),
    max_leaves=30,
)


def lua(value: Any) -> str:
    """A value of Python in Lua's words."""
    if isinstance(value, int):
        return str(value)
    if isinstance(value, bytes):
        return '"' + "".join(f"\\{byte:03d}" for byte in value) + '"'
    return "{" + ",".join(map(lua, value)) + "}"


@profile
@given(value=st.lists(nested, max_size=5))
def test_nested_replies(faces: list[Face], value: list[Any]) -> None:
    for face in faces:
        assert face.execute("EVAL", f"return {lua(value)}", 0) == value


@profile
@given(
    wrong=st.one_of(
        st.none(), st.booleans(), st.complex_numbers(), st.lists(texts), st.tuples(),
        st.dictionaries(texts, texts), st.sets(texts), st.fractions(), st.dates(),
    )
)  # fmt: skip
def test_other_types_are_refused(faces: list[Face], wrong: Any) -> None:
    for face in faces:
        with pytest.raises(shoal.DataError):
            face.execute("ECHO", wrong)
        with pytest.raises(shoal.DataError):
            face.execute_many([("ECHO", wrong)])
