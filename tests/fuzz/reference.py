"""A reference of the reply decoder, to hold beside the one in C.

    reference.py <program> <corpus folder>

The program (print_transcripts.c) says what the library makes of each input of the
decoder's fuzz corpus; this script says it again, from the protocol's description, and
exits with 1 where the two differ.  decoder_reference.h explains the words.
"""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path

LINE_BYTES_MAX = 65536
# bytes of a reply, elements of an aggregate, depth: as in decoder_runs.c
LIMITS = [
    (1 << 29, 1 << 24, 1000),
    (1024, 64, 8),
    (4096, 1000, 1),
    (2**64 - 1, 2**31 - 1, 64),
]
HEADER_BYTES = 4
INTEGER = re.compile(rb"0|-?[1-9][0-9]*")
DOUBLE = re.compile(rb"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
# hiredis takes any case, a NUL for an f, and a big number without digits.
WORD = re.compile(rb"-?(inf|nan)", re.IGNORECASE)
BOOL = re.compile(rb"[tTfF\0]")
BIG_NUMBER = re.compile(rb"-?[0-9]*")


class Incomplete(Exception):
    """The stream ends inside a frame."""


class Broken(Exception):
    """This is no RESP, or more than is allowed."""


def quote(sign: str, text: bytes) -> str:
    plain = "".join(
        chr(c) if 32 <= c <= 126 and chr(c) not in '"\\' else f"\\x{c:02x}"
        for c in text
    )
    return f' {sign}"{plain}"'


def integer_of(line: bytes) -> int:
    if not INTEGER.fullmatch(line):
        raise Broken
    value = int(line)
    if not -(2**63) <= value < 2**63:
        raise Broken
    return value


def double_of(line: bytes) -> float:
    if len(line) > 325:
        raise Broken
    if WORD.fullmatch(line):
        return float(line)
    if not DOUBLE.fullmatch(line):
        raise Broken
    value = float(line)
    mantissa = re.split(rb"[eE]", line)[0]
    if math.isinf(value) or (value == 0 and mantissa.strip(b"-0.")):
        raise Broken
    return value


class Stream:
    def __init__(self, wire: bytes, limits: tuple[int, int, int]) -> None:
        self.wire = wire
        self.at = 0
        self.due = 0  # where the string under way will end
        self.bytes_max, self.elements_max, self.depth_max = limits

    def line(self, is_text: bool = False) -> bytes:
        end = self.wire.find(b"\r\n", self.at)
        if end < 0:
            if not is_text and len(self.wire) - self.at >= LINE_BYTES_MAX + 2:
                raise Broken
            raise Incomplete
        line = self.wire[self.at : end]
        self.at = end + 2
        return line

    def type(self) -> str:
        if self.at == len(self.wire):
            raise Incomplete
        self.at += 1
        return chr(self.wire[self.at - 1])

    def count(self, sign: str) -> int:
        count = integer_of(self.line())
        if count < (-1 if sign in "$*" else 0):
            raise Broken
        return count

    def simple(self, sign: str) -> str:
        line = self.line(is_text=sign in "+-(")
        if sign == ":":
            return f" :{integer_of(line)}"
        if sign == ",":
            return f"{quote(',', line)}={double_of(line):.17g}"
        if sign == "#" and BOOL.fullmatch(line):
            return f" #{int(line in b'tT')}"
        if sign == "_" and not line:
            return " _"
        plain = sign in "+-" and not re.search(rb"[\r\n]", line)
        if plain or (sign == "(" and BIG_NUMBER.fullmatch(line)):
            return quote(sign, line)
        raise Broken

    def string(self, sign: str) -> str:
        length = self.count(sign)
        if length == -1:
            return " _"
        begin, end = self.at, self.at + length
        self.due = end + 2
        if self.due > len(self.wire):
            raise Incomplete
        text = self.wire[begin:end]
        if self.wire[end : self.due] != b"\r\n" or (sign == "=" and text[3:4] != b":"):
            raise Broken
        self.at = self.due
        return quote(sign, text)

    def aggregate(self, sign: str, depth: int) -> str:
        count = self.count(sign)
        if count == -1:
            return " _"
        count *= 2 if sign in "%|" else 1
        if count > self.elements_max or depth >= self.depth_max:
            raise Broken
        text = [f" {sign}{count}"]
        for _ in range(count):
            below = self.type()
            if below in ">|":
                self.line()
                raise Broken
            text.append(self.value(below, depth + 1))
        return "".join(text)

    def value(self, sign: str, depth: int) -> str:
        if sign in "+-:,#_(":
            return self.simple(sign)
        if sign in "$=":
            return self.string(sign)
        if sign in "*%~>|":
            return self.aggregate(sign, depth)
        raise Broken

    def frame(self, sign: str) -> str:
        begin = self.at - 1
        self.due = 0
        try:
            text = self.value(sign, 0)
        except Incomplete:
            if max(len(self.wire), self.due) - begin > self.bytes_max:
                raise Broken from None
            raise
        if self.at - begin > self.bytes_max:
            raise Broken
        return text


def transcript(wire: bytes, limits: tuple[int, int, int]) -> str:
    stream = Stream(wire, limits)
    lines: list[str] = []
    end, mid = "ok", 0
    while stream.at < len(wire):
        sign = stream.type()
        try:
            text = stream.frame(sign)
        except (Incomplete, Broken) as cut:
            end = "broken" if isinstance(cut, Broken) else "ok"
            mid = int(sign in "+-:,#_($=*%~")
            break
        if sign != "|":
            lines.append(("push" if sign == ">" else "reply") + text)
    lines.append(f"end {end} mid={mid}")
    return "\n".join(lines) + "\n"


def expected(path: Path) -> str:
    data = path.read_bytes()
    if len(data) < HEADER_BYTES:
        return ""
    return transcript(data[HEADER_BYTES:], LIMITS[data[0] % len(LIMITS)])


def main(program: str, folder: str) -> int:
    sys.setrecursionlimit(5000)
    paths = sorted(Path(folder).iterdir())
    heard = subprocess.run(
        [program, *map(str, paths)], check=True, capture_output=True, text=True
    ).stdout
    parts = re.split(r"^file (.*)\n", heard, flags=re.MULTILINE)[1:]
    said = dict(zip(parts[::2], parts[1::2]))
    differing = [path for path in paths if said.get(str(path)) != expected(path)]
    for path in differing:
        print(f"{path}:\n{said.get(str(path))}expected:\n{expected(path)}")
    print(f"{len(paths)} inputs, {len(differing)} differ")
    return 1 if differing or not paths else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
