"""What a finding is: one ranked statement about waste."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from gradviz.words import duration_text, nbytes_text

Severity = Literal["high", "medium", "low"]


@dataclass(frozen=True)
class Finding:
    """One statement about waste, with evidence, cost, reason, remedy, and when the remedy is valid.

    Attributes
    ----------
    kind : which kind of waste; the name of the file in `gradviz.findings` that looks for it
    title : one line, with the numbers
    severity : by the share of the run, or of the bytes it wrote
    cost_ns : how much sooner the run would have ended without it
    cost_nbytes : bytes that would not have been written, moved or held
    share : ``cost_ns`` as a part of the run, 0 to 1
    count : how often it happened
    simulated : the times come from a model
    where, site : the user's line, for people and as a row of ``trace.sites``
    events, buffers : evidence, at most 1000 rows each
    reason, remedy : why it happens, and what to change
    before, after : the change as code
    valid_if : when the remedy is valid
    confidence : 0 to 1
    harmless : nothing is to be won here now: something else takes as long, or it has to be

    Examples
    --------
    >>> print(profile.findings[0])  # doctest: +SKIP
    sync_in_pullback  213 ms (57 %)  story.py:12  pullback of contract reads 3 scalars back per call
    """

    kind: str
    title: str
    severity: Severity
    cost_ns: int
    cost_nbytes: int
    share: float
    count: int
    simulated: bool
    where: str
    site: int
    events: tuple[int, ...]
    buffers: tuple[int, ...]
    reason: str
    remedy: str
    before: str
    after: str
    valid_if: str
    confidence: float
    harmless: bool

    def to_json(self) -> dict[str, Any]:
        """The finding as a dict of plain values, as ``.gradviz`` files hold it."""
        return asdict(self) | {"events": list(self.events), "buffers": list(self.buffers)}

    def __str__(self) -> str:
        time = f"{duration_text(self.cost_ns)} ({self.share:.0%})" if self.cost_ns else ""
        nbytes = nbytes_text(self.cost_nbytes) if self.cost_nbytes else ""
        cost = "harmless now" if self.harmless else ", ".join(filter(None, (time, nbytes)))
        return "  ".join(filter(None, (self.kind, cost, self.where, self.title)))
