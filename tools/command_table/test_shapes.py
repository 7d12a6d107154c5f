#!/usr/bin/env python3
"""The format of tools/reply_shapes.txt: what it means, and what is refused."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from command_table.shapes import (
    ANY,
    LIMIT,
    TYPES,
    FormatError,
    Shape,
    compare_names,
    read_shapes,
)

WRONG = {
    "no colon": "GET string nil",
    "no name": ": string",
    "lower case": "get: string",
    "two names": "GET SET: string",
    "no types": "GET:",
    "only a comment": "GET: # string",
    "an unknown type": "GET: text",
    "errors are implied": "GET: string error",
    "pushes are no replies": "GET: push",
    "a type twice": "GET: string nil string",
    "any with a type": "EVAL: any string # scripts",
    "any without a reason": "EVAL: any",
    "any with an empty reason": "EVAL: any #",
}


class Reading(unittest.TestCase):
    def test_named_shapes_come_first_and_others_in_order(self):
        shapes = read_shapes(
            [
                "# a comment",
                "",
                "EVAL: any  # scripts",
                "EXEC: nil array",
                "GET: nil string # a comment",
                "GETSET: string nil",
                "INCR: integer",
                "MULTI: status",
            ]
        )
        self.assertEqual(shapes.kinds[0], ANY)
        self.assertEqual(shapes.kinds[3], Shape({"nil", "string"}))
        self.assertEqual(shapes.kinds[4], Shape({"integer"}))
        self.assertEqual(len(shapes.kinds), 5)
        self.assertEqual(
            shapes.index_of,
            {"EVAL": 0, "EXEC": 2, "GET": 3, "GETSET": 3, "INCR": 4, "MULTI": 1},
        )

    def test_wrong_lines_are_refused_by_number(self):
        for name, line in WRONG.items():
            with self.subTest(name), self.assertRaisesRegex(FormatError, "^line 3: "):
                read_shapes(["# first", "APPEND: integer", line])

    def test_a_name_stands_once_and_in_order(self):
        for second in ("GET: string", "DEL: integer"):
            with self.assertRaisesRegex(FormatError, "^line 2: "):
                read_shapes(["GET: string", second])

    def test_no_more_shapes_than_six_bits_can_tell(self):
        lines = []
        for mask in range(LIMIT + 1):
            types = [kind for bit, kind in enumerate(TYPES) if (mask + 3) >> bit & 1]
            lines.append(f"X{mask:03}: {' '.join(types)}")
        room = LIMIT - 3  # three have names, and none of these is one of them
        lines = [line for line in lines if not line.endswith(": nil array")]
        self.assertEqual(len(read_shapes(lines[:room]).kinds), LIMIT)
        with self.assertRaisesRegex(FormatError, "65 shapes"):
            read_shapes(lines[: room + 1])


class Names(unittest.TestCase):
    def test_every_command_has_a_shape_and_every_shape_a_command(self):
        shapes = read_shapes(["GET: string nil", "INCR: integer"])
        compare_names(shapes, ["INCR", "GET"])
        with self.assertRaisesRegex(FormatError, "without a shape: SET"):
            compare_names(shapes, ["INCR", "GET", "SET"])
        with self.assertRaisesRegex(FormatError, "no such command: GET"):
            compare_names(shapes, ["INCR"])


if __name__ == "__main__":
    unittest.main()
