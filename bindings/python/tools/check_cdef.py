#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fail if a declaration of native.cdef.h differs from the header it repeats.

cffi believes what it is told: a parameter forgotten there is a warning in generated
code, where nobody looks.  The compiler is asked instead, about a file that includes the
headers and repeats each declaration:

  function         must be declared already, with the same types
  typedef          likewise
  struct           each field named must have that type; without `...;` the sizes and
                   places of the fields must be the same, too
  enum, #define    each constant must be there; with a value, or in an enum without
                   `...`, it must have that value

Anything else in the cdef is an error.  CC names the compiler; without one there is
nothing to check (77).
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PYTHON = Path(__file__).resolve().parent.parent
INCLUDE = PYTHON.parent.parent / "include"
NATIVE = PYTHON / "native"
CDEF = NATIVE / "native.cdef.h"
NEEDS_LIBUV = {"uv.h"}
SKIPPED = 77

DEFINE = re.compile(r"#\s*define\s+(?P<name>\w+)\s+(?P<value>.+)")
COMPOUND = re.compile(
    r"(?P<typedef>typedef\s+)?(?P<kind>struct|enum)\s+(?P<tag>\w+)\s*"
    r"\{(?P<body>.*)\}\s*(?P<alias>\w*)",
    re.DOTALL,
)
CALLBACK = re.compile(r"typedef\b[^{]*\(\s*\*\s*(?P<name>\w+)\s*\)\s*\(.*\)", re.DOTALL)
TYPEDEF = re.compile(r"typedef\b[^{(]*?(?P<name>\w+)")
FUNCTION = re.compile(r"(?!typedef\b)[\w\s*]*?\b(?P<name>\w+)\s*\(.*\)", re.DOTALL)


@dataclass
class Declaration:
    """One declaration of the cdef, without its semicolon."""

    line: int
    text: str


def without_comments(text: str) -> str:
    """Blank the comments, keeping the line numbers."""
    return re.sub(
        r"/\*.*?\*/", lambda match: re.sub(r"\S", " ", match[0]), text, flags=re.DOTALL
    )


def declarations(text: str) -> Iterator[Declaration]:
    """Split at the semicolons outside braces, and at the ends of #define lines."""
    depth = start = 0
    for end, character in enumerate(text):
        depth += {"{": 1, "}": -1}.get(character, 0)
        piece = text[start:end]
        is_define = character == "\n" and piece.lstrip().startswith("#")
        if (character == ";" and depth == 0) or is_define:
            begin = start + len(piece) - len(piece.lstrip())
            yield Declaration(text.count("\n", 0, begin) + 1, piece.strip())
            start = end + 1
    if text[start:].strip():
        yield Declaration(text.count("\n", 0, start) + 1, text[start:].strip())


def same_type(one: str, other: str, message: str) -> str:
    return (
        f"_Static_assert(__builtin_types_compatible_p(__typeof__({one}), "
        f'__typeof__({other})), "{message}");'
    )


def is_declared(name: str) -> str:
    """An error if nothing of that name is declared; valid for types and functions."""
    return f"extern __typeof__({name}) *check__{name};"


def field_name(declarator: str) -> str:
    """The name in `*name`, `name[4]` or `(*name)(int)`."""
    pointer = re.match(r"[^(]*\(\s*\*\s*(\w+)\s*\)", declarator)
    plain = re.search(r"(\w+)\s*(?:\[[^]]*\]\s*)*$", declarator)
    found = pointer or plain
    if not found:
        raise ValueError(f"not understood: field '{declarator}'")
    return found[1]


def check_struct(tag: str, body: str) -> Iterator[str]:
    fields = [field.strip() for field in body.split(";") if field.strip()]
    is_partial = "..." in fields
    fields = [field for field in fields if field != "..."]
    yield f"struct cdef__{tag} {{ {' '.join(f'{field};' for field in fields)} }};"
    for field in fields:
        declarators = [field] if "(" in field else field.split(",")
        for name in map(field_name, declarators):
            ours, real = (
                f"((struct {prefix}{tag} *)0)->{name}" for prefix in ("cdef__", "")
            )
            yield same_type(ours, real, f"{tag}.{name} has another type")
            if not is_partial:
                yield (
                    f"_Static_assert(__builtin_offsetof(struct cdef__{tag}, {name}) == "
                    f"__builtin_offsetof(struct {tag}, {name}), "
                    f'"{tag}.{name} has another place");'
                )
    if not is_partial:
        yield (
            f"_Static_assert(sizeof(struct cdef__{tag}) == sizeof(struct {tag}), "
            f'"{tag} has another size");'
        )


def check_enum(tag: str, body: str) -> Iterator[str]:
    constants = [constant.strip() for constant in body.split(",") if constant.strip()]
    is_partial = "..." in constants
    constants = [constant for constant in constants if constant != "..."]
    yield f'_Static_assert(sizeof(enum {tag}) > 0, "enum {tag}");'
    if not is_partial:
        shadow = ", ".join(f"cdef__{constant}" for constant in constants)
        yield f"enum cdef__{tag} {{ {shadow} }};"
    for constant in constants:
        name, _, value = (part.strip() for part in constant.partition("="))
        value = (value or name) if is_partial else f"cdef__{name}"
        yield f'_Static_assert({name} == ({value}), "{name} has another value");'


def check(declaration: Declaration) -> Iterator[str]:
    """The C that compiles if the declaration is right."""
    text = declaration.text
    if match := DEFINE.fullmatch(text):
        name, value = match["name"], match["value"].strip()
        value = name if value == "..." else value
        yield f'_Static_assert({name} == ({value}), "{name} has another value");'
    elif match := COMPOUND.fullmatch(text):
        is_struct = match["kind"] == "struct"
        yield from (check_struct if is_struct else check_enum)(
            match["tag"], match["body"]
        )
        if match["typedef"]:
            whole = f"{match['kind']} {match['tag']}"
            yield same_type(whole, match["alias"], f"{match['alias']} is another type")
    elif match := (
        CALLBACK.fullmatch(text) or TYPEDEF.fullmatch(text) or FUNCTION.fullmatch(text)
    ):
        yield is_declared(match["name"])
        yield f"{text};"
    else:
        raise ValueError(f"not understood: '{text}'")


def source(found: list[Declaration]) -> str:
    """The whole file for the compiler, which reports the cdef's lines."""
    headers = [f"shoal/{path.name}" for path in sorted(INCLUDE.glob("shoal/*.h"))]
    headers += [path.name for path in sorted(NATIVE.glob("*.h")) if path != CDEF]
    lines = [
        f"#include <{header}>"
        for header in headers
        if Path(header).name not in NEEDS_LIBUV
    ]
    for declaration in found:
        try:
            checks = list(check(declaration))
        except ValueError as error:
            sys.exit(f"{CDEF.name}:{declaration.line}: {error}")
        for line in checks:
            lines.append(f'#line {declaration.line} "{CDEF.name}"')
            lines.append(" ".join(line.split()))
    return "\n".join(lines) + "\n"


def main() -> int:
    found = list(declarations(without_comments(CDEF.read_text())))
    if not found:
        print(f"{CDEF.name} declares nothing")
        return 1
    compiler = [os.environ.get("CC", "cc"), "-std=c11", "-fsyntax-only", "-Werror"]
    if not shutil.which(compiler[0]):
        print(f"no {compiler[0]}")
        return SKIPPED
    includes = [f"-I{folder}" for folder in (INCLUDE, NATIVE)]
    done = subprocess.run(
        [*compiler, *includes, "-x", "c", "-"],
        input=source(found),
        text=True,
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        print(done.stderr.strip())
        return 1
    print(f"cdef ok: {len(found)} declarations")
    return 0


if __name__ == "__main__":
    sys.exit(main())
