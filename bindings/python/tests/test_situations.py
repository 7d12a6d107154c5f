# SPDX-License-Identifier: MIT
"""What users see in bad situations is what docs/TROUBLESHOOTING.md says."""

import importlib.util
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

_TOOL = Path(__file__).parents[3] / "tools" / "situations" / "check.py"


def _load() -> Any:
    spec = importlib.util.spec_from_file_location("situations", _TOOL)
    assert spec and spec.loader
    sys.path.insert(0, str(_TOOL.parent))
    module = importlib.util.module_from_spec(spec)
    sys.modules["situations"] = module
    spec.loader.exec_module(module)
    return module


situations = _load()


@pytest.mark.skipif(
    not shutil.which(situations.SERVER), reason="there is no server to start"
)
@pytest.mark.parametrize(
    "found", [s for s in situations.SITUATIONS if s.in_python], ids=lambda s: s.name
)
def test_situation(found: Any, request: pytest.FixtureRequest) -> None:
    if found.has_certificates:
        request.getfixturevalue("certificates")  # skips where there are none
    rows = situations.recorded(situations.DOCUMENT.read_text())
    seen = situations.cell(*situations.provoke(found, situations.seen_in_python))
    assert seen == situations.python_cell_of(rows.get(found.name))[0]
