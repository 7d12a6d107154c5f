# SPDX-License-Identifier: MIT
"""Write float_texts.inc: doubles, and what repr() makes of them."""

import math
import random
import struct
import sys
from pathlib import Path

EDGES = """0 1 0.1 0.5 1.5 100 1e15 1e16 1e17 123456789012345680 9999999999999998
    9007199254740993 1e22 1e23 1e100 1.7976931348623157e308 0.0001 0.00012345 0.00001
    0.000012345 1e-7 123456789.125 0.30000000000000004 2.5e-5 5e-324 1e-323 1.5e-323
    2.2250738585072009e-308 2.2250738585072014e-308 4.35 1.5e-9 1e-10 1e-99 1e99 1e21
    8.5e-320 inf nan""".split()


def doubles() -> list[float]:
    dice = random.Random(5)
    found = [float(text) for text in EDGES]
    # Powers of two whose shortest text is not the nearest, and their neighbours.
    for exponent in range(-1074, 1024):
        power = math.ldexp(1.0, exponent)
        if float(f"{power:.15e}") != power and len(repr(power).split("e")[0]) == 17:
            found += [power, math.nextafter(power, 0.0)]
    # Below the normal doubles fewer digits will do.
    for bits in (1, 2, 5, 10, 20, 30, 40, 50, 52):
        found.append(math.ldexp(float(dice.getrandbits(bits) | 1 << bits - 1), -1074))
    found += [struct.unpack("<d", dice.randbytes(8))[0] for _ in range(80)]
    found += [round(dice.uniform(-1e6, 1e6), dice.randrange(9)) for _ in range(40)]
    return found + [-number for number in found[: len(EDGES)]]


def main() -> None:
    lines = ["/* Made by float_texts.py. */\n"]
    for number in doubles():
        bits = struct.unpack("<Q", struct.pack("<d", number))[0]
        lines.append(f'{{UINT64_C(0x{bits:016x}), "{number!r}"}},\n')
    output = Path(sys.argv[0]).with_suffix(".inc")
    output.write_text("".join(lines), encoding="ascii")


if __name__ == "__main__":
    main()
