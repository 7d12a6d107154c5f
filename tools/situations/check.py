#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Provoke bad situations against real servers, and hold docs/TROUBLESHOOTING.md to
what is seen.

    check.py --program SITUATION [--python] [--write] [NAME ...]

SITUATION is the built tests/situations/situation.c: what it prints is what a C program
sees. With --python the importable package `shoal` meets the same situations. What is
seen must be what the document says between its markers; --write puts it there. Figures
that differ from run to run stand as N, addresses as those of the defaults. Servers are
private: REDIS_SERVER names another than redis-server; without one there is nothing to
do (77). SHOAL_CERTIFICATES names the built shoal-certificates; without it the situations
with TLS are left out.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from provoked import (
    CERTIFICATES,
    PATIENCE_S,
    SERVER,
    SITUATIONS,
    Case,
    Situation,
    Stage,
    until,
)

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "TROUBLESHOOTING.md"
BEGIN = "<!-- situations: tools/situations writes from here -->\n"
END = "<!-- situations: to here -->\n"
SKIPPED = 77
STALLS_MAX = 5


# ---- what is seen ----


def normalised(text: str, case: Case, stage: Stage) -> str:
    shown = dict(case.hidden)
    for server in stage.servers:
        shown[f"127.0.0.1:{server.port}"] = "127.0.0.1:6379"
    for hidden, instead in shown.items():
        text = text.replace(hidden, instead)
    text = re.sub(r"; the loop thread was busy until .*", "", text)
    text = re.sub(r"\b\d+(\.\d+)? (us|ms|s)\b", "N s", text)
    text = re.sub(r"\b\d+ (attempt|time)s?\b", r"N \1s", text)
    text = re.sub(r"\(attempt \d+\)", "(attempt N)", text)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "DATE", text)
    # What a resolver says depends on the network.
    return re.sub(
        r"(nobody\.invalid.*?: ).*? \(", r"\1Name or service not known (", text
    )


def seen_in_c(program: str, case: Case) -> tuple[str, str]:
    process = subprocess.Popen(
        [program, *case.flags, case.url, *case.words],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin and process.stdout
    if {"--ready", "--written"} & set(case.flags):
        process.stdout.readline()
        case.during()
        process.stdin.write("\n")
        process.stdin.flush()
    line, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0 and line.count("\t") == 2, (case, line)
    code, fate, text = line.rstrip("\n").split("\t")
    return f"{code}, {fate}", text


def fail() -> Any:
    raise LookupError("the vault is closed")


def run_in_python(case: Case) -> None:
    import shoal

    settings: dict[str, Any] = {}
    if "--full" in case.flags:
        settings = {"queued_max": 2, "inflight_max": 1}
    if "--big" in case.flags:
        settings = {"outstanding_bytes_max": 1 << 20}
    if "--provider" in case.flags:
        settings = {"credentials": fail}
    words: list[Any] = [*case.words]
    if "--big" in case.flags:
        words.append("x" * (2 << 20))
    with contextlib.closing(shoal.Client(case.url, **settings)) as client:
        if "--ready" in case.flags:
            client.wait_ready()
            case.during()
        if "--failed" in case.flags:
            with contextlib.suppress(shoal.RedisError):
                client.wait_ready(0.001)
            until(lambda: any(e.kind == "attempt_failed" for e in client.events()))
        if "--closed" in case.flags:
            client.close()
        if "--full" in case.flags:
            filler = threading.Thread(
                target=lambda: client.execute_many(
                    [("PING",)] * 2, return_exceptions=True
                )
            )
            filler.start()
            until(lambda: client.stats().queued_now == 2)
            try:
                client.execute_many([words], wait_for_room=False)
            finally:
                client.close(drain=0)
                filler.join()
        if "--written" in case.flags:
            killer = threading.Thread(target=case.during)
            killer.start()
        client.execute(*words, may_block="--blocks" in case.flags)


def seen_in_python(case: Case) -> tuple[str, str]:
    try:
        run_in_python(case)
    except Exception as error:
        fate = getattr(error, "fate", None)
        what = f"{type(error).__name__}"
        return what if fate is None else f"{what}, {fate.name}", str(error)
    return "a value", ""


# ---- the document ----


def cell(what: str, text: str) -> str:
    text = text.replace("|", "\\|").replace("`", "'")
    return f"{what}: {text}" if text else what


def table_row(found: Situation, cells: dict[str, tuple[str, str]]) -> str:
    c, python = cell(*cells["c"]), cell(*cells["python"])
    return f"| {found.name} | {c} | {python} | {found.advice} |\n"


def recorded(document: str) -> dict[str, str]:
    """The rows of the document, by situation."""
    body = document.split(BEGIN)[1].split(END)[0]
    rows = [row for row in body.splitlines() if row.startswith("| ")][1:]
    return {re.split(r" *(?<!\\)\| *", row)[1]: row + "\n" for row in rows}


def python_cell_of(row: str | None) -> tuple[str, str]:
    return (re.split(r" *(?<!\\)\| *", row)[3], "") if row else ("?", "")


HEAD = (
    "| situation | C: code, fate, text | Python: class, fate, text | what to do |\n"
    "|---|---|---|---|\n"
)


@contextlib.contextmanager
def staged(found: Situation) -> Iterator[tuple[Stage, Case]]:
    with tempfile.TemporaryDirectory(prefix="shoal-situations-") as folder:
        stage = Stage(Path(folder))
        try:
            yield stage, found.prepare(stage)
        finally:
            stage.end()


def provoke(
    found: Situation, look: Callable[[Case], tuple[str, str]]
) -> tuple[str, str]:
    """What is seen. A machine that stalls provokes another situation, a busy loop,
    which the text names: then once more."""
    for _ in range(STALLS_MAX):
        with staged(found) as (stage, case):
            what, text = look(case)
            text = normalised(text, case, stage)
        if "the loop thread was busy" not in text:
            break
    return what, text


def observe(found: Situation, program: str, old: str | None, python: bool) -> str:
    cells = {"python": python_cell_of(old)}
    cells["c"] = provoke(found, lambda case: seen_in_c(program, case))
    if not found.in_python:
        cells["python"] = ("-", "")
    elif python:
        cells["python"] = provoke(found, seen_in_python)
    return table_row(found, cells)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--python", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    if not shutil.which(SERVER):
        print(f"situations: {SERVER} is not installed")
        return SKIPPED
    document = DOCUMENT.read_text()
    rows = recorded(document)
    seen: dict[str, str] = {}
    wrong = 0
    for found in SITUATIONS:
        old = rows.get(found.name)
        is_left_out = found.has_certificates and not CERTIFICATES
        if is_left_out or (given.names and found.name not in given.names):
            seen[found.name] = old or ""
            continue
        seen[found.name] = observe(found, given.program, old, given.python)
        if seen[found.name] != old:
            wrong += 1
            print(f"- {old}+ {seen[found.name]}", end="")
    if given.write:
        before, rest = document.split(BEGIN)
        table = BEGIN + "\n" + HEAD + "".join(seen.values()) + "\n" + END
        DOCUMENT.write_text(before + table + rest.split(END)[1])
        return 0
    wrong += len(set(rows) - set(seen))
    print(f"situations: {len(seen)} seen, {wrong} not as the document says")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
