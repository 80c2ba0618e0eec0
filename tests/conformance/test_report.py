"""Does the page of conformance show every suite, and what did not pass?"""

from __future__ import annotations

import re

from tests.conformance.report import PAGE, Count, Suite, written

ROW = re.compile(r"\| (?P<what>[^|]+) \| (?P<ran>[\d,]+) \| (?P<passed>[\d,]+) \| [\d.]+ % \| (?P<asked>\d+) % \|")


def counts(page: str) -> dict[str, Count]:
    rows = [match.groupdict() for match in ROW.finditer(page)]
    return {
        row["what"]: Count(
            row["what"],
            int(row["ran"].replace(",", "")),
            int(row["passed"].replace(",", "")),
            int(row["asked"]) / 100,
        )
        for row in rows
    }


def test_the_committed_page():
    found = counts(PAGE.read_text(encoding="utf-8"))
    for word in ("autograd", "PyTorch", "JAX", "untraced", "every array traced", "GradBench"):
        (count,) = [count for what, count in found.items() if word in what]
        assert count.passed >= 0.98 * count.ran, count  # whether it is all that is asked for, the page itself says
        assert count.ran > 10


def test_a_failure_shows():
    suite = Suite("a", "b", [Count("tests of a", 200, 195, 0.98)], failed=[("one | two", "why")])
    page = written([suite])
    assert not suite.right
    assert not counts(page)["tests of a"].enough
    assert "one \\| two" in page
