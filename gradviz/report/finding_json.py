"""How findings are read back from JSON that may hold anything."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from gradviz.findings.finding import Finding, Severity

_SEVERITIES: tuple[Severity, ...] = ("high", "medium", "low")


def findings_of(items: Iterable[Finding | Mapping[str, Any]]) -> list[Finding]:
    """The findings in ``items``, some of which may be in JSON form; a value of a wrong type counts as missing.

    Examples
    --------
    >>> findings_of([{"kind": "copy_of_copy", "share": "much"}])[0].title
    'copy of copy'
    """
    return [item if isinstance(item, Finding) else _finding(item) for item in items]


def _finding(json: Mapping[str, Any]) -> Finding:
    texts = {
        name: _text(json.get(name)) for name in ("kind", "where", "reason", "remedy", "before", "after", "valid_if")
    }
    return Finding(
        **texts,
        title=_text(json.get("title")) or texts["kind"].replace("_", " "),
        severity=_severity(json.get("severity")),
        cost_ns=int(_number(json.get("cost_ns"))),
        cost_nbytes=int(_number(json.get("cost_nbytes"))),
        share=min(max(_number(json.get("share")), 0.0), 1.0),
        count=int(_number(json.get("count"))),
        simulated=json.get("simulated") is True,
        site=int(_number(json.get("site"), -1)),
        events=_rows(json.get("events")),
        buffers=_rows(json.get("buffers")),
        confidence=min(max(_number(json.get("confidence"), 1.0), 0.0), 1.0),
        harmless=json.get("harmless") is True,
    )


def _severity(value: Any) -> Severity:
    return _SEVERITIES[_SEVERITIES.index(value)] if value in _SEVERITIES else "low"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any, default: float = 0.0) -> float:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if number and abs(value) < 2**63 and math.isfinite(value) else default


def _rows(value: Any) -> tuple[int, ...]:
    rows = value if isinstance(value, (list, tuple)) else ()
    return tuple(row for row in rows if type(row) is int and row >= 0)
