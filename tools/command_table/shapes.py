"""Read tools/reply_shapes.txt: which types of reply each command may have."""

from collections.abc import Iterable
from typing import NamedTuple

TYPES: tuple[str, ...] = ("nil", "status", "integer", "string", "array", "double")
TYPES += ("bool", "map", "set", "bignum", "verbatim")
Shape = frozenset[str]

ANY = Shape()
# src/resp/reply_shape.h names the first ones; the others follow in order.
NAMED = (ANY, Shape({"status"}), Shape({"array", "nil"}))
LIMIT = 64  # a request keeps its shape in six bits


class FormatError(ValueError):
    pass


class Shapes(NamedTuple):
    kinds: list[Shape]  # by index
    index_of: dict[str, int]  # by the command's name


def read_line(line: str) -> tuple[str, Shape]:
    """The name and the shape of a line that is more than a comment."""
    text, _, why = line.partition("#")
    name, colon, rest = text.partition(":")
    types = rest.split()
    if not colon or not name or name != name.strip().upper() or " " in name:
        raise FormatError("not 'NAME: types'")
    if not types:
        raise FormatError(f"{name} has no types")
    if types == ["any"]:
        if not why.strip():
            raise FormatError(f"{name} is any, but for what reason?")
        return name, ANY
    for kind in types:
        if kind not in TYPES:
            raise FormatError(f"{name}: {kind} is no type")
    if len(set(types)) != len(types):
        raise FormatError(f"{name}: a type is there twice")
    return name, Shape(types)


def read_shapes(lines: Iterable[str]) -> Shapes:
    """Number the shapes; FormatError names the line that is wrong."""
    shape_of: dict[str, Shape] = {}
    for number, line in enumerate(lines, 1):
        if not line.split("#")[0].strip():
            continue
        try:
            name, shape = read_line(line)
            if name in shape_of:
                raise FormatError(f"{name} is there twice")
            if shape_of and name < max(shape_of):
                raise FormatError(f"{name} is out of order")
        except FormatError as error:
            raise FormatError(f"line {number}: {error}") from None
        shape_of[name] = shape
    others = set(shape_of.values()) - set(NAMED)
    kinds = [*NAMED, *sorted(others, key=in_order)]
    if len(kinds) > LIMIT:
        raise FormatError(f"{len(kinds)} shapes, more than {LIMIT}")
    return Shapes(kinds, {name: kinds.index(kind) for name, kind in shape_of.items()})


def in_order(shape: Shape) -> list[int]:
    return sorted(map(TYPES.index, shape))


def compare_names(shapes: Shapes, names: Iterable[str]) -> None:
    """FormatError unless exactly the commands of the table have a shape."""
    table = set(names)
    if missing := sorted(table - shapes.index_of.keys()):
        raise FormatError(f"without a shape: {' '.join(missing)}")
    if unknown := sorted(shapes.index_of.keys() - table):
        raise FormatError(f"no such command: {' '.join(unknown)}")
