#!/usr/bin/env python3
"""Fail if a packaging recipe disagrees with the tree: versions, the SONAME in names, and
whether the recipes of vcpkg and Conan can be read.  (Building Debian packages is
packaging/debian/build.sh.)"""

import ast
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

header = (ROOT / "include/shoal/version.h").read_text()
VERSION = re.findall(r'SHOAL_VERSION_STRING "([^"]+)"', header)[0]
MAJOR, MINOR, _ = VERSION.split(".")
SOVERSION = f"0.{MINOR}" if MAJOR == "0" else MAJOR


def debian() -> Iterator[str]:
    """The changelog's version; the library's name, which carries the SONAME."""
    folder = HERE / "debian/debian"
    if not (folder / "changelog").read_text().startswith(f"shoal ({VERSION}-"):
        yield f"debian/changelog does not begin with version {VERSION}"
    library = f"libshoal{SOVERSION}"
    for text, count in ((f"Package: {library}\n", 1), (f" {library} (= ${{", 1)):
        if (folder / "control").read_text().count(text) != count:
            yield f"debian/control: not {count} times {text.strip()!r}"
    for kind in ("install", "symbols", "lintian-overrides"):
        if not (folder / f"{library}.{kind}").exists():
            yield f"debian/{library}.{kind} is missing"
    symbols = [f"libshoal.so.{SOVERSION} {library} ", f"(symver)shoal_{SOVERSION} "]
    text = (folder / f"{library}.symbols").read_text()
    yield from (f"debian/*.symbols lacks {s!r}" for s in symbols if s not in text)


def vcpkg() -> Iterator[str]:
    """A manifest as the tool formats it, and a portfile that CMake can run."""
    path = HERE / "vcpkg/vcpkg.json"
    manifest = json.loads(path.read_text())
    if path.read_text() != json.dumps(manifest, indent=2) + "\n":
        yield "vcpkg.json is not formatted as `vcpkg format-manifest` would"
    if manifest["version"] != VERSION:
        yield f"vcpkg.json does not say version {VERSION}"
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", manifest["name"]):
        yield "vcpkg.json: not a name"
    names = [dependency["name"] for dependency in manifest["dependencies"]]
    if names != sorted(names):
        yield "vcpkg.json: dependencies are not sorted"
    yield from run("cmake", "-P", HERE / "vcpkg/try_portfile.cmake")


def conan() -> Iterator[str]:
    """Python that parses; where Conan is installed, a recipe that it reads."""
    path = HERE / "conan/conanfile.py"
    ast.parse(path.read_text())
    if shutil.which("conan"):
        yield from run("conan", "inspect", path)


def run(*words: object) -> Iterator[str]:
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        yield f"{words[0]} failed: {done.stderr.strip()}"


found = [*debian(), *vcpkg(), *conan()]
print("\n".join(found) or f"recipes ok: {VERSION}")
sys.exit(bool(found))
