"""What a user holds after a run was recorded: the trace, what was found in it, and every way to look at it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradviz.findings.all import find_all
from gradviz.findings.finding import Finding
from gradviz.graph import compare as differences
from gradviz.graph import graph as graphs
from gradviz.graph.lines import Line, lines
from gradviz.record import files
from gradviz.record.atomic import whole_file
from gradviz.record.trace import Trace
from gradviz.report import figures
from gradviz.report.event_list import event_list
from gradviz.report.export_chrome import chrome_json, save_chrome
from gradviz.report.finding_json import findings_of
from gradviz.report.html import html_fragment, page_title, report_html
from gradviz.report.html_compare import comparison_fragment, comparison_html
from gradviz.report.interactive import MIME_TYPE, Run, interactive_fragment, interactive_html, mime_data, run_of
from gradviz.report.page import escaped
from gradviz.report.text import Text, comparison_text, summary

if TYPE_CHECKING:
    import networkx as nx
    from plotly.graph_objects import Figure

    from gradviz.report.widget import ProfileWidget

_COMPARISON = "gradviz comparison"

Path_ = str | os.PathLike[str]


class Profile:
    """A recorded run: its trace, its findings, and ways to show them.

    Shown at a prompt it is the text of `summary`, in a notebook the static report.

    Parameters
    ----------
    trace : what was recorded
    findings : what was found in it; by default `find_all` is asked when they are first needed
    sources : file name or cell key -> source text

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> with gv.profile() as p:
    ...     g = gv.grad(lambda x: np.sum(x * x))(np.ones(3))
    >>> p.dropped
    0
    """

    def __init__(
        self,
        trace: Trace,
        findings: Iterable[Finding | Mapping[str, Any]] | None = None,
        sources: Mapping[str, str] | None = None,
    ) -> None:
        self._trace = trace
        self._findings = None if findings is None else findings_of(findings)
        self._sources = dict(sources or {})
        self._events: list[dict[str, Any]] | None = None
        self._recording: Any = None
        self._assemble: Callable[[], tuple[Trace, dict[str, str]]] | None = None

    @classmethod
    def of_recording(cls, recording: Any, assemble: Callable[[], tuple[Trace, dict[str, str]]]) -> Profile:
        """The profile of a recording: read anew each time while ``recording.open``, once and for all afterwards."""
        made = cls(Trace())
        made._recording, made._assemble = recording, assemble
        return made

    @property
    def trace(self) -> Trace:
        """Everything that was recorded; see `gradviz.record.events`."""
        if self._assemble is not None:
            ended = not self._recording.open
            self._trace, self._sources = self._assemble()
            self._findings, self._events = None, None
            if ended:
                self._recording = self._assemble = None
        return self._trace

    @property
    def sources(self) -> dict[str, str]:
        """The user's source texts by file name or cell key."""
        _ = self.trace  # brings them up to date
        return self._sources

    @property
    def findings(self) -> list[Finding]:
        """What wastes time or memory, the dearest first."""
        trace = self.trace
        if self._findings is None:
            self._findings = find_all(trace)
        return self._findings

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events as plain dicts; see `event_list`."""
        trace = self.trace
        if self._events is None:
            self._events = event_list(trace)
        return self._events

    @property
    def dropped(self) -> int:
        """How many events were left out because there were too many."""
        return int(self.trace.meta.get("dropped") or 0)

    def summary(self, top: int = 10, width: int | None = None) -> Text:
        """The report as text, as wide as the terminal: findings, time by line, memory, copies, syncs.

        Parameters
        ----------
        top : at most so many findings, lines and groups
        width : columns, by default those of the terminal
        """
        return summary(self.trace, self.findings, top, width)

    def lines(self) -> list[Line]:
        """What each line of the program costs, the dearest first."""
        return lines(self.trace)

    def graph(self, around: Iterable[int] | None = None, hops: int = 2, limit: int | None = None) -> nx.MultiDiGraph:
        """Events and buffers as a networkx graph.

        Parameters
        ----------
        around : events whose neighbourhood is wanted; by default everything
        hops : how far to go from them
        limit : most nodes; by default 20,000 for everything, 2,000 around a selection

        Raises
        ------
        TooLargeError
            There is more than ``limit`` of everything.
        """
        if around is None:
            return graphs.graph(self.trace, limit or graphs.LIMIT)
        return graphs.around(self.trace, around, hops=hops, limit=limit or graphs.LIMIT_AROUND)

    def timeline(self) -> Figure:
        """The timeline as a plotly figure."""
        return figures.timeline(self.trace)

    def memory(self) -> Figure:
        """Bytes alive over time as a plotly figure."""
        return figures.memory(self.trace)

    def compare(self, after: Profile) -> Comparison:
        """What differs between this profile and a later one."""
        return compare(self, after)

    def to_html(self, path: Path_ | None = None) -> str | Path:
        """The report as one HTML page without network: written to ``path``, or returned as text.

        It holds the viewer and the whole trace; where no script runs it shows the summary.
        """
        run = self._run()
        text = interactive_html(run, page_title(run.trace), _preformatted(repr(self))) or report_html(
            run.trace, self.findings
        )
        return text if path is None else _written(path, text)

    def widget(self, before: Profile | None = None, **options: Any) -> ProfileWidget:
        """The viewer as a live widget; see `gradviz.report.widget.ProfileWidget`.

        Examples
        --------
        >>> view = p.widget()  # doctest: +SKIP
        >>> p.trace.events["nbytes"][view.selected].sum()  # doctest: +SKIP
        """
        from gradviz.report.widget import ProfileWidget

        return ProfileWidget(self, before, **options)

    def to_chrome_trace(self, path: Path_) -> Path:
        """Write Chrome trace JSON for ui.perfetto.dev; compressed if ``path`` ends in ``.gz``."""
        save_chrome(self.trace, path, self.findings)
        return Path(path)

    def to_json(self) -> str:
        """The Chrome trace JSON as text."""
        return chrome_json(self.trace, self.findings)

    def save(self, path: Path_) -> Path:
        """Write a ``.gradviz`` file; `load` reads it again."""
        trace = self.trace
        files.save(trace, path, [finding.to_json() for finding in self.findings], self._sources)
        return Path(path)

    def __repr__(self) -> str:
        return str(summary(self.trace, self.findings, colour=False))

    def _repr_html_(self) -> str:
        return self._output(self._run(), repr(self))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        run, text = self._run().thinned(), repr(self)
        return {MIME_TYPE: mime_data(run), "text/html": self._output(run, text), "text/plain": text}

    def _output(self, run: Run, text: str) -> str:
        shown = interactive_fragment(run, page_title(run.trace), _preformatted(text))
        return shown or html_fragment(self.trace, self.findings)

    def _run(self) -> Run:
        return run_of(self.trace, self.findings, self.sources)


@dataclass(frozen=True)
class Comparison(differences.Difference):
    """What differs between two profiles; shown as text at a prompt, in a notebook by the viewer.

    Attributes
    ----------
    before, after : the profiles
    """

    before: Profile | None = field(default=None, repr=False, compare=False)
    after: Profile | None = field(default=None, repr=False, compare=False)

    def to_html(self, path: Path_ | None = None) -> str | Path:
        """Both runs as one HTML page without network: written to ``path``, or returned as text."""
        runs = self._runs()
        text = (interactive_html(runs[1], _COMPARISON, self._fallback(), runs[0]) if runs else None) or comparison_html(
            self
        )
        return text if path is None else _written(path, text)

    def summary(self, top: int = 10, width: int | None = None) -> Text:
        """Totals of both, and the ``top`` groups of events that changed most, as text."""
        return comparison_text(self, top, width)

    def __repr__(self) -> str:
        return str(comparison_text(self, colour=False))

    def _repr_html_(self) -> str:
        runs = self._runs()
        shown = interactive_fragment(runs[1], _COMPARISON, self._fallback(), runs[0]) if runs else None
        return shown or comparison_fragment(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        runs = self._runs()
        data = {MIME_TYPE: mime_data(runs[1], runs[0])} if runs else {}
        return {**data, "text/html": self._repr_html_(), "text/plain": repr(self)}

    def _runs(self) -> tuple[Run, Run] | None:
        return (self.before._run(), self.after._run()) if self.before is not None and self.after is not None else None

    def _fallback(self) -> str:
        return _preformatted(repr(self))


def load(path: Path_, max_nbytes: int = files.MAX_NBYTES) -> Profile:
    """Read a ``.gradviz`` file.

    Parameters
    ----------
    path : the file
    max_nbytes : how many bytes it may hold when unpacked

    Raises
    ------
    FileFormatError
        It is damaged, or no ``.gradviz`` file, or from a newer gradviz.
    FileTooLargeError
        It would unpack to more than ``max_nbytes``.

    Examples
    --------
    >>> gv.load("run.gradviz").summary()  # doctest: +SKIP
    """
    trace, manifest = files.load(path, max_nbytes)
    return Profile(trace, manifest["findings"] or None, manifest["sources"])


def compare(before: Profile, after: Profile) -> Comparison:
    """What differs between two profiles: totals, and which calls, copies and syncs are new, gone, slower or larger.

    Examples
    --------
    >>> gv.compare(gv.load("before.gradviz"), gv.load("after.gradviz"))  # doctest: +SKIP
    """
    found = differences.compare(before.trace, after.trace)
    parts = {part.name: getattr(found, part.name) for part in fields(found)}
    return Comparison(**parts, before=before, after=after)


def _written(path: Path_, text: str) -> Path:
    with whole_file(path) as file:
        file.write(text.encode())
    return Path(path)


def _preformatted(text: str) -> str:
    return "<pre>" + "\n".join(escaped(line, 300) for line in text.splitlines()) + "</pre>"
