# SPDX-License-Identifier: MIT
"""The Python code of a Markdown file, and a way to run it.

The blocks of one chapter (a heading of two signs) are one program, from top to bottom.
`await` may stand outside of functions, as in `python -m asyncio`. An expression with a
comment `# -> value` behind it must have that value and that type.

    snippets.py <file> <heading> <url> [<documented>=<real> ...]    runs a chapter
"""

import ast
import asyncio
import inspect
import io
import sys
import tokenize
from pathlib import Path
from typing import Any, NamedTuple

#: The server that the documents speak of; another one takes its place.
DOCUMENTED_URL = "redis://127.0.0.1:6379"
_ARROW = "# -> "


class Chapter(NamedTuple):
    """The blocks under one heading; line numbers are those of the file."""

    heading: str
    source: str


def chapters(path: Path) -> list[Chapter]:
    """Those of a file that have Python code, in its order."""
    found: dict[str, dict[int, str]] = {}
    heading, language = "", None
    for number, line in enumerate(path.read_text().splitlines()):
        if line.startswith("```"):
            language = None if language is not None else line[3:].strip()
        elif language == "python":
            found.setdefault(heading, {})[number] = line
        elif language is None and line.startswith("## "):
            heading = line[3:].strip()
    return [
        Chapter(heading, "\n".join(lines.get(n, "") for n in range(max(lines) + 1)))
        for heading, lines in found.items()
    ]


class _Checks(ast.NodeTransformer):
    """An expression with an arrow becomes a call that compares."""

    def __init__(self, source: str) -> None:
        self.wanted: dict[int, str] = {}
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT and token.string.startswith(_ARROW):
                self.wanted[token.start[0]] = token.string[len(_ARROW) :]
        self.count = 0

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """Replaces an expression that stands alone."""
        wanted = self.wanted.get(node.end_lineno or 0)
        if wanted is None:
            return node
        self.count += 1
        line = ast.Constant(node.lineno)
        expected = ast.parse(wanted, mode="eval").body
        call = ast.Call(
            ast.Name("_check", ast.Load()), [line, node.value, expected], []
        )
        return ast.fix_missing_locations(ast.copy_location(ast.Expr(call), node))


def _check(line: int, value: object, expected: object) -> None:
    if type(value) is not type(expected) or value != expected:
        raise AssertionError(f"line {line}: {value!r}, the text says {expected!r}")


def run(source: str, file: str, url: str, *others: str) -> int:
    """Runs a program against the server at `url`; how many values were checked.
    `others`: what else of the text is replaced, as "documented=real"."""
    source = source.replace(DOCUMENTED_URL, url)
    for other in others:
        documented, _, real = other.partition("=")
        source = source.replace(documented, real)
    checks = _Checks(source)
    tree = checks.visit(ast.parse(source, file))
    if checks.count != len(checks.wanted):
        raise AssertionError("an arrow stands behind no expression")
    code = compile(tree, file, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    names: dict[str, Any] = {"__name__": "__main__", "_check": _check}
    outcome = eval(code, names)
    if inspect.iscoroutine(outcome):
        asyncio.run(outcome)
    return checks.count


def main(file: str, heading: str, url: str, *others: str) -> None:
    [chapter] = [c for c in chapters(Path(file)) if c.heading == heading]
    run(chapter.source, file, url, *others)


if __name__ == "__main__":
    main(*sys.argv[1:])
