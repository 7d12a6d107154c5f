# SPDX-License-Identifier: MIT
"""Texts for `Client.script()`: include/shoal/script.h says what each takes and answers.

compare_and_delete = client.script(shoal.scripts.COMPARE_AND_DELETE)
compare_and_delete(["lock"], ["mine"])
"""

from ._native import ffi, lib


def _text(kind: int) -> str:
    return str(ffi.string(lib.shoal_script_text(kind)).decode())


COMPARE_AND_SET = _text(lib.SHOAL_SCRIPT_COMPARE_AND_SET)
COMPARE_AND_DELETE = _text(lib.SHOAL_SCRIPT_COMPARE_AND_DELETE)
COMPARE_AND_EXPIRE = _text(lib.SHOAL_SCRIPT_COMPARE_AND_EXPIRE)
ADD_WITHIN = _text(lib.SHOAL_SCRIPT_ADD_WITHIN)
LOCK = _text(lib.SHOAL_SCRIPT_LOCK)
RATE_LIMIT = _text(lib.SHOAL_SCRIPT_RATE_LIMIT)
