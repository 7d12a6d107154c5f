# SPDX-License-Identifier: MIT
"""What users and their tools see: names, words about them, types, both faces alike."""

import importlib
import inspect
import subprocess
import sys
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import pytest
import shoal
import shoal.aio

PUBLIC = sorted({*shoal.__all__} | {f"aio.{name}" for name in shoal.aio.__all__})


def named(path: str) -> Any:
    """`aio.Client` and so on."""
    module, _, name = path.rpartition(".")
    owner = importlib.import_module(f"shoal.{module}") if module else shoal
    return getattr(owner, name)


def members(kind: type) -> dict[str, Any]:
    """Public methods that it defines or inherits from us."""
    return {
        name: value
        for name, value in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_") and value.__module__.startswith("shoal")
    }


@pytest.mark.parametrize("path", PUBLIC)
def test_every_public_name_is_explained(path: str) -> None:
    value = named(path)
    assert inspect.getdoc(value)
    if inspect.isclass(value):
        for name, member in members(value).items():
            assert inspect.getdoc(member), f"{path}.{name}"


@pytest.mark.parametrize("path", PUBLIC)
def test_every_public_function_is_annotated(path: str) -> None:
    value = named(path)
    functions = members(value) if inspect.isclass(value) else {path: value}
    for name, function in functions.items():
        signature = inspect.signature(function)
        assert signature.return_annotation is not inspect.Signature.empty, name
        for parameter in list(signature.parameters.values()):
            if parameter.name not in ("self", "cls"):
                assert parameter.annotation is not inspect.Parameter.empty, name


def test_both_faces_have_the_same_words() -> None:
    pairs = [(shoal.Client, shoal.aio.Client), (shoal.Pipeline, shoal.aio.Pipeline)]
    only_one = {"aio", "submit", "aclose"}
    for blocking, awaited in pairs:
        ours, theirs = members(blocking), members(awaited)
        assert ours.keys() ^ theirs.keys() <= only_one
        for name in ours.keys() & theirs.keys():
            assert (
                inspect.signature(ours[name]).parameters.keys()
                == inspect.signature(theirs[name]).parameters.keys()
            ), name


def test_what_waits_is_a_coroutine() -> None:
    waits = {
        "execute",
        "execute_many",
        "readinto",
        "wait_ready",
        "close",
        "aclose",
        "run",
    }
    for kind in (shoal.aio.Client, shoal.aio.Pipeline):
        for name, function in members(kind).items():
            assert inspect.iscoroutinefunction(function) == (name in waits), name


def test_the_package_is_installed_and_typed() -> None:
    assert resources.files("shoal").joinpath("py.typed").is_file()
    here = Path(__file__).resolve()
    assert Path(shoal.__file__).resolve().parents[1] not in here.parents
    assert metadata.version("shoal") == shoal.__version__


def test_importing_starts_nothing() -> None:
    script = (
        "import os, shoal, sys\n"
        "print(len(os.listdir('/proc/self/task')), 'asyncio' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("1 False\n", "")
