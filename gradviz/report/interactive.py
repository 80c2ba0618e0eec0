"""The interactive viewer in an HTML page, and in the output of a notebook cell."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from gradviz.graph.lines import lines
from gradviz.record.files import dumps
from gradviz.record.trace import Trace
from gradviz.report.page import document, escaped
from gradviz.report.thin import thin

MIME_TYPE = "application/vnd.gradviz.v1+json"
OUTPUT_EVENTS = 20_000
HEIGHT_PX = 640


class Run(NamedTuple):
    """What a page shows of one run."""

    trace: Trace
    findings: list[dict[str, Any]]
    sources: Mapping[str, str]
    view: Mapping[str, Any] = {}

    def thinned(self, events: int = OUTPUT_EVENTS) -> Run:
        """The same with about so many events (see `thin`), and with the sums that the whole run had; itself if it is thin."""
        if self.view:
            return self
        trace, findings = thin(self.trace, self.findings, events)
        return self if trace is self.trace else Run(trace, findings, self.sources, {"lines": _line_sums(self.trace)})

    def encoded(self) -> str:
        """``.gradviz`` bytes as base64."""
        return base64.b64encode(dumps(self.trace, self.findings, self.sources, self.view)).decode()


@cache
def viewer_script() -> str | None:
    """The viewer as a script for a page, None where the front end was not built."""
    script = files("gradviz") / "static" / "report.js"
    return script.read_text(encoding="utf-8").replace("</script", "<\\/script") if script.is_file() else None


def interactive_html(run: Run, title: str, fallback: str, before: Run | None = None) -> str | None:
    """A page with the viewer and the whole trace in it; None where the front end was not built.

    Parameters
    ----------
    run : what to show
    title : of the page
    fallback : markup that shows where no script runs
    before : the run to compare with
    """
    script = viewer_script()
    if script is None:
        return None
    blocks = [_block(before, "before")] if before is not None else []
    blocks.append(_block(run, "after"))
    return document(title, f'<div id="gradviz">{fallback}</div>\n{"".join(blocks)}', script)


def interactive_fragment(run: Run, title: str, fallback: str, before: Run | None = None) -> str | None:
    """The page for the output of a cell: in a frame of its own that may run the viewer and nothing else."""
    page = interactive_html(run.thinned(), title, fallback, None if before is None else before.thinned())
    if page is None:
        return None
    source = page.replace("&", "&amp;").replace('"', "&quot;")
    return (
        f'<iframe title="gradviz report" width="100%" height="{HEIGHT_PX}" frameborder="0" sandbox="allow-scripts" '
        f'srcdoc="{source}">{escaped(title)}</iframe>'
    )


def mime_data(run: Run, before: Run | None = None) -> dict[str, Any]:
    """What the JupyterLab extension shows under `MIME_TYPE`; at most about `OUTPUT_EVENTS` events of each run."""
    data: dict[str, Any] = {"profile": run.thinned().encoded(), "height_px": HEIGHT_PX}
    return data if before is None else {**data, "before": before.thinned().encoded()}


def run_of(trace: Trace, findings: Iterable[Any], sources: Mapping[str, str]) -> Run:
    """A `Run` from findings of either form."""
    return Run(trace, [dict(f) if isinstance(f, Mapping) else f.to_json() for f in findings], sources)


def _line_sums(trace: Trace) -> list[dict[str, int]]:
    names = ("site", "forward_ns", "backward_ns", "calls", "copies", "copied_nbytes", "syncs", "wait_ns")
    return [{name: int(getattr(line, name)) for name in names} for line in lines(trace)]


def _block(run: Run, role: str) -> str:
    return f'<script type="application/vnd.gradviz+base64" data-role="{role}">{run.encoded()}</script>\n'
