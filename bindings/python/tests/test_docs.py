# SPDX-License-Identifier: MIT
"""The code in the documents runs, and every public name is documented."""

import importlib
import importlib.util
import inspect
import pydoc
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import shoal
from shoal import exceptions
from support import snippets
from support.server import Server
from support.snippets import Chapter

ROOT = Path(__file__).resolve().parents[3]
MANUAL = ROOT / "docs/PYTHON.md"
DOCUMENTS = [MANUAL, ROOT / "README.md"]
HAS_REDIS_PY = importlib.util.find_spec("redis") is not None
CHAPTERS = [
    pytest.param(path, chapter, id=f"{path.name}: {chapter.heading}")
    for path in DOCUMENTS
    for chapter in snippets.chapters(path)
]
MODULES = ["shoal", "shoal.aio", "shoal.exceptions", "shoal.stats"]
if HAS_REDIS_PY:
    MODULES += ["shoal.redis", "shoal.redis.asyncio"]


# ---- code ----


@pytest.mark.parametrize(("path", "chapter"), CHAPTERS)
def test_code_of_a_document_runs(
    path: Path, chapter: Chapter, server: Server, request: pytest.FixtureRequest
) -> None:
    if "shoal.redis" in chapter.source and not HAS_REDIS_PY:
        pytest.skip("needs redis-py")
    others = []
    if "rediss://" in chapter.source:
        tls = request.getfixturevalue("tls_server")
        others.append(f"rediss://127.0.0.1:6380={tls.url}")
        others.append(f"/etc/redis/tls={request.getfixturevalue('certificates')}")
    if "+sentinel://" in chapter.source:
        _, port = request.getfixturevalue("watched").address
        others.append(f"127.0.0.1:26379=127.0.0.1:{port}")
        others.append(f'"127.0.0.1", 26379="127.0.0.1", {port}')
    ran = subprocess.run(
        [sys.executable, snippets.__file__, path, chapter.heading, server.url, *others],
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""


def test_both_documents_have_code() -> None:
    for path in DOCUMENTS:
        assert snippets.chapters(path), path


@pytest.mark.parametrize(("path", "chapter"), CHAPTERS)
def test_no_server_but_the_documented_one(path: Path, chapter: Chapter) -> None:
    """A URL that is not replaced by the test's server would reach another one."""
    assert not re.search(r"(Client|Redis)\(\s*\)", chapter.source)
    hosts = re.findall(r"//(?:[^@/\s\"]*@)?([^/\s\"?]+)", chapter.source)
    assert set(hosts) <= {"127.0.0.1:6379", "127.0.0.1:6380", "127.0.0.1:26379"}


# ---- the checker itself ----


def test_values_are_compared() -> None:
    assert (
        snippets.run("1 + 1  # -> 2\nif True:\n    [b'a']  # -> [b'a']", "s", "") == 2
    )
    assert (
        snippets.run("import asyncio\nawait asyncio.sleep(0, 3)  # -> 3", "s", "") == 1
    )


@pytest.mark.parametrize(
    "source",
    ["1 + 1  # -> 3", "True  # -> 1", "x = 1  # -> 1", "# -> 1", "'a'  # -> b'a'"],
)
def test_a_wrong_value_is_noticed(source: str) -> None:
    with pytest.raises(AssertionError):
        snippets.run(source, "s", "")


def test_chapters_keep_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text(
        "## A\n```python\na = 1\n```\n```sh\nb\n```\n## B\n```python\nc\n```\n"
    )
    assert snippets.chapters(file) == [("A", "\n\na = 1"), ("B", "\n" * 9 + "c")]


# ---- docstrings ----


def _public_names(module: ModuleType) -> list[str]:
    names = getattr(module, "__all__", None)
    return [n for n in vars(module) if n[0] != "_"] if names is None else list(names)


def _undocumented(value: Any, name: str) -> list[str]:
    """The name, if it has no docstring of its own, and those of its public methods."""
    bare = [] if inspect.getdoc(value) else [name]
    if not inspect.isclass(value):
        return bare
    if not vars(value).get("__doc__"):
        bare.append(name)
    for base in value.__mro__:
        if not base.__module__.startswith("shoal"):
            continue
        for attribute, member in vars(base).items():
            function = getattr(member, "__func__", member)
            if attribute[0] == "_" or not (
                inspect.isfunction(function) or isinstance(member, property)
            ):
                continue
            if not function.__doc__:
                bare.append(f"{name}.{attribute}")
    return bare


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_a_docstring(module: str) -> None:
    loaded = importlib.import_module(module)
    assert loaded.__doc__
    bare = []
    for name in _public_names(loaded):
        value = getattr(loaded, name)
        if inspect.isclass(value) or inspect.isroutine(value):
            bare += _undocumented(value, f"{module}.{name}")
    assert bare == []


def test_undocumented_names_are_noticed() -> None:
    class Bare:
        def method(self) -> None: ...

    Bare.__module__ = "shoal"
    assert _undocumented(Bare, "Bare") == ["Bare", "Bare", "Bare.method"]


def test_names_are_said_once_and_exist() -> None:
    for name in MODULES:
        module = importlib.import_module(name)
        names = _public_names(module)
        assert len(names) == len(set(names)), name
        assert all(hasattr(module, public) for public in names), name


def test_help_reads_well() -> None:
    """What help(shoal) shows: the introduction, each class, no machine address."""
    text = pydoc.plain(pydoc.render_doc(shoal))
    for name in _public_names(shoal):
        assert re.search(rf"\b{name}\b", text), name
    assert "Example" in text
    assert not re.search(r"\bat 0x[0-9a-f]+", text)
    assert all(len(line) <= 88 for line in (shoal.__doc__ or "").splitlines())


def _tabulated() -> set[str]:
    """The names in the first columns of the manual's tables."""
    rows = re.findall(r"^\| (`[^|]*`) \|", MANUAL.read_text(), re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


def test_every_option_is_documented() -> None:
    assert shoal.ClientOptions.__annotations__.keys() <= _tabulated()


def test_every_counter_is_documented(server: Server) -> None:
    with shoal.Client(server.url) as client:
        assert client.stats().as_dict().keys() <= _tabulated()
        counted = client.subscription_stats().as_dict().keys()
        assert counted <= _tabulated()


def test_every_exception_is_exported_and_documented() -> None:
    public = {name for name in vars(exceptions) if name[0] != "_"}
    classes = {
        name
        for name in public
        if inspect.isclass(getattr(exceptions, name))
        and issubclass(getattr(exceptions, name), exceptions.RedisError)
    }
    assert classes < set(exceptions.__all__) < set(shoal.__all__)
    text = MANUAL.read_text()
    for name in _public_names(exceptions):
        assert re.search(rf"\b{name}\b", text), name
