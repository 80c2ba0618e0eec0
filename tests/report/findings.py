"""Findings as tests need them: true ones in shape, and some that nobody should trust."""

from __future__ import annotations

from typing import Any

from tests.traces import ODD_NAMES

SYNC: dict[str, Any] = {
    "kind": "sync_in_pullback", "title": "pullback of tensordot reads 3 scalars back per call", "severity": "high",
    "cost_ns": 213_000_000, "cost_nbytes": 0, "share": 0.57, "count": 30, "simulated": True, "where": "story.py:12",
    "site": 0, "events": [4, 5], "buffers": [], "reason": "the rule turns a device value into a Python number",
    "remedy": "keep it on the device as a 0-d array", "before": "beta = float(np.vdot(ct, c))",
    "after": "beta = np.vdot(ct, c)", "valid_if": "nothing in Python branches on it", "confidence": 0.9,
    "harmless": False,
}  # fmt: skip
HARMLESS: dict[str, Any] = SYNC | {
    "title": "a copy",
    "severity": "low",
    "harmless": True,
    "cost_ns": 0,
    "cost_nbytes": 4096,
}
ODD: list[dict[str, Any]] = [
    dict.fromkeys(("kind", "title", "where", "reason", "remedy", "before", "after", "valid_if"), name)
    for name in ODD_NAMES
]
WRONG: list[dict[str, Any]] = [
    {},
    {"severity": ["high"], "title": 3, "cost_ns": "much", "share": float("nan"), "events": "all", "harmless": "yes"},
    {"cost_ns": 10**400, "share": 7, "events": [-1, 10**9, None, True], "count": None, "reason": {"a": 1}},
]
