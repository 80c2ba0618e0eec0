"""Whether a run keeps what was promised of it: the checks that ``gradviz check`` makes for CI."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from gradviz.errors import GradvizError
from gradviz.findings.all import KINDS
from gradviz.findings.copies import COPYING
from gradviz.findings.waits import waits
from gradviz.graph.compare import Change
from gradviz.graph.memory import memory
from gradviz.record.events import Kind
from gradviz.report.profile import Profile, compare, load
from gradviz.words import count_text, nbytes_text

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}

Check = Callable[[Profile], tuple[str, list[str]]]  # -> (what was promised, where it was not kept)


def checks(options: Any) -> list[Check]:
    """The checks that the options ask for.

    Raises
    ------
    GradvizError : there are none, or a baseline cannot be read
    """
    made: list[Check] = []
    if options.no_sync_in_pullback:
        made.append(no_sync_in_pullback)
    if options.peak_below is not None:
        made.append(lambda taken: peak_below(taken, options.peak_below))
    if options.no_new_copies_against is not None:
        base = load(options.no_new_copies_against)
        made.append(lambda taken: no_new_copies(base, taken))
    if options.fail_on:
        made.append(lambda taken: none_of(taken, options.fail_on))
    if not made:
        raise GradvizError(
            "check needs something to check: --no-sync-in-pullback, --peak-below, --no-new-copies-against or --fail-on"
        )
    return made


def no_sync_in_pullback(taken: Profile) -> tuple[str, list[str]]:
    """No pullback makes the host wait for the device."""
    every = waits(taken.trace)
    places = Counter(taken.trace.where(event) for event in every.events[every.pullback >= 0].tolist())
    return "no host sync in a pullback", [f"{count_text(n, 'sync')} at {place}" for place, n in places.most_common()]


def peak_below(taken: Profile, nbytes: int) -> tuple[str, list[str]]:
    """Less than so much memory is in use at any time."""
    peak = memory(taken.trace).peak_nbytes
    return f"peak memory below {nbytes_text(nbytes)}", [] if peak < nbytes else [f"it is {nbytes_text(peak)}"]


def no_new_copies(base: Profile, taken: Profile) -> tuple[str, list[str]]:
    """No line copies more often, or more, than it did in another run."""
    changes = compare(base, taken).only("new", "more", "larger")
    more = [change for change in changes if _is_copy(change) and change.delta_nbytes > 0]
    return "no new copies", [
        f"{count_text(change.count_after - change.count_before, 'copy', 'copies')} more at {change.where}"
        f" ({change.name}, {nbytes_text(change.delta_nbytes)})"
        for change in more
    ]


def _is_copy(change: Change) -> bool:
    return change.kind is Kind.COPY or (change.kind is Kind.CALL and change.name in COPYING)


def none_of(taken: Profile, kinds: Iterable[str]) -> tuple[str, list[str]]:
    """No finding of these kinds, but for harmless ones."""
    found = [finding for finding in taken.findings if finding.kind in kinds and not finding.harmless]
    return f"no {', '.join(kinds)}", [f"{finding.title}, at {finding.where}" for finding in found]


def size(text: str) -> int:
    """A number of bytes: ``2GiB``, ``500 MB``, ``1e6``; for argparse."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?(?:e\d+)?)\s*([kmgt]i?)?b?\s*", text.lower())
    if match is None:
        raise ValueError(text)
    return int(float(match[1]) * _UNITS[match[2] or ""])


def kinds(text: str) -> list[str]:
    """Kinds of findings, with commas between; for argparse."""
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in KINDS:
            raise GradvizError(f"no finding is called {name!r}; there are {', '.join(KINDS)}")
    return names
