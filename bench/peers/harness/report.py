# SPDX-License-Identifier: MIT
"""Everything that was measured, and the two files it goes to."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .measure import Load, Result
from .rows import Row
from .table import document


@dataclass
class Report:
    """results: pairs of a load and its results by row's name; skipped: row's name to
    why."""

    rows: list[Row]
    conditions: dict[str, Any]
    results: list[tuple[Load, dict[str, Result]]] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)

    def skip(self, name: str, reason: str) -> None:
        self.skipped.setdefault(name, reason)

    def as_json(self) -> dict[str, Any]:
        about = {row.name: row for row in self.rows}
        runs = [
            {"client": name, **asdict(about[name]), "load": asdict(load), **result}
            for load, results in self.results
            for name, result in results.items()
        ]
        return {
            "tool": "bench/peers/run",
            "conditions": self.conditions,
            "runs": runs,
            "skipped": self.skipped,
        }

    def write(self, folder: Path) -> str:
        """Write peers.md and peers.json; return the Markdown."""
        text = document(self)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "peers.md").write_text(text, encoding="utf-8")
        with open(folder / "peers.json", "w", encoding="utf-8") as file:
            json.dump(self.as_json(), file, indent=1)
            file.write("\n")
        return text
