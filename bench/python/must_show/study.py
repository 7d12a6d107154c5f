# SPDX-License-Identifier: MIT
"""All rounds of all figures, and what came of them."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from harness.figures import summarize
from harness.measure import Failed, Result

from must_show.figures import Figure
from must_show.measure import Measure
from must_show.verdict import Summary, Verdict, judge


@dataclass
class Study:
    """conditions: what it ran on; results: figure's name to client to summary;
    problems: figure and client to why there is none."""

    figures: Sequence[Figure]
    conditions: dict[str, Any]
    results: dict[str, dict[str, Summary]] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)

    def take_rounds(
        self,
        figure: Figure,
        rounds: int,
        measure: Measure,
        say: Callable[[str], None],
    ) -> None:
        """Each client once, then each client again, and so on. One that fails is left
        out; what was measured until an interruption counts."""
        collected: dict[str, list[Result]] = {client: [] for client in figure.clients}
        try:
            for number in range(rounds):
                for client in list(collected):
                    say(f"{figure.name}: round {number + 1}/{rounds}, {client}")
                    try:
                        collected[client].append(measure(figure, client))
                    except Failed as problem:
                        del collected[client]
                        self.problems[f"{figure.name}, {client}"] = str(problem)
        finally:
            self.results[figure.name] = {
                client: summarize(taken) for client, taken in collected.items() if taken
            }

    def verdicts(self) -> list[tuple[Figure, list[Verdict | None]]]:
        """Of each figure that has bars and was begun; None where it cannot be said."""
        return [
            (
                figure,
                [judge(figure, bar, self.results[figure.name]) for bar in figure.bars],
            )
            for figure in self.figures
            if figure.name in self.results and figure.bars
        ]

    def are_all_met(self) -> bool:
        """Every figure was measured, and every bar is met with no peer missing."""
        return all(figure.name in self.results for figure in self.figures) and all(
            verdict is not None and verdict.is_met and not verdict.missing
            for _, verdicts in self.verdicts()
            for verdict in verdicts
        )

    def versions(self) -> dict[str, str]:
        """Of everything that was measured."""
        found: dict[str, str] = {}
        for results in self.results.values():
            for result in results.values():
                versions = result["config"]["versions"]
                found.update({k: v for k, v in versions.items() if v is not None})
        return dict(sorted(found.items()))

    def as_json(self) -> dict[str, Any]:
        verdicts = {figure.name: found for figure, found in self.verdicts()}
        return {
            "tool": "bench/python/must_show",
            "conditions": self.conditions,
            "versions": self.versions(),
            "figures": [
                {
                    **asdict(figure),
                    "clients": self.results[figure.name],
                    "verdicts": [
                        verdict
                        and {
                            **asdict(verdict),
                            "ratio": verdict.ratio,
                            "is_met": verdict.is_met,
                        }
                        for verdict in verdicts.get(figure.name, [])
                    ],
                }
                for figure in self.figures
                if figure.name in self.results
            ],
            "problems": self.problems,
        }
