# SPDX-License-Identifier: MIT
"""What is read from the document, and what the measurement makes of wrk's words."""

import pytest
from frameworks import documented, measure

WRK = """
  Latency Distribution
     50%  850.00us
     75%    2.00ms
     90%    3.00ms
     99%    1.50s
Requests/sec:   1234.50
"""


@pytest.mark.parametrize(
    ("line", "before"),
    [
        ("from shoal.redis import Redis  # was: import redis", "import redis"),
        ("    x = 1  # was: x = 2", "    x = 2"),
        ("import shoal.redis", None),
        ("import shoals", "import shoals"),
        ("x = 1", "x = 1"),
    ],
)
def test_a_line_before_the_change(line: str, before: str | None) -> None:
    assert documented.as_before(line) == before


def test_a_command_before_the_change() -> None:
    text = "```sh\nrq worker --connection-class shoal.redis.Redis -v\n```\n"
    assert documented.commands(text, "", ours=False) == [["rq", "worker", "-v"]]


def test_figures_of_wrk() -> None:
    figures = measure.read_wrk(WRK)
    assert figures == (1234.5, 0.85, 1500.0)
    assert measure.row("x", figures, figures._replace(rate=2469.0)) == (
        "| x | 1234 | 2469 | 2.00 | 0.85, 1500.00 | 0.85, 1500.00 |"
    )
    with pytest.raises(ValueError):
        measure.read_wrk(WRK + "  Non-2xx or 3xx responses: 3\n")
    with pytest.raises(ValueError):
        measure.read_wrk(WRK.replace("1234.50", "   0.00"))
