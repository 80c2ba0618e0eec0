"""The viewer as a widget: what the person looks at and selects is readable and settable from Python."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

import anywidget
import numpy as np
import traitlets

from gradviz.record.files import dumps
from gradviz.report.interactive import HEIGHT_PX, Run, run_of

if TYPE_CHECKING:
    from gradviz.report.profile import Profile

CHUNK_NBYTES = 4 << 20

_NONE = np.empty(0, np.int64)


class ProfileWidget(anywidget.AnyWidget):
    """A profile in a live view.

    Its bytes are not part of the widget's state: the page asks for them in chunks, so a notebook stays small.

    Parameters
    ----------
    profile : what to show; None for nothing yet (see `push` and `show`)
    before : a profile to compare with
    height_px : height of the view

    Attributes
    ----------
    range_ns : ``{"from": ..., "to": ...}``, the stretch on screen in nanoseconds since the start; set it to go there
    selection : what is selected, e.g. ``{"kind": "event", "id": 7}``; kinds are event, finding, buffer, site, moment

    Examples
    --------
    >>> view = p.widget()  # doctest: +SKIP
    >>> view.selected  # doctest: +SKIP
    array([7])
    """

    _esm = files("gradviz") / "static" / "widget.js"

    nbytes = traitlets.Int(0).tag(sync=True)
    before_nbytes = traitlets.Int(0).tag(sync=True)
    version = traitlets.Int(0).tag(sync=True)
    height_px = traitlets.Int(HEIGHT_PX).tag(sync=True)
    range_ns = traitlets.Dict(allow_none=True, default_value=None).tag(sync=True)
    selection = traitlets.Dict(allow_none=True, default_value=None).tag(sync=True)

    def __init__(
        self, profile: Profile | None, before: Profile | None = None, height_px: int = HEIGHT_PX, **traits: Any
    ) -> None:
        self._bytes: dict[str, bytes] = {}
        self.profile: Any = profile
        super().__init__(height_px=height_px, **traits)
        self.on_msg(self._answer)
        if profile is not None:
            self.show(profile, before)

    def show(self, profile: Profile, before: Profile | None = None) -> None:
        """Show another profile, or a newer state of the same one; the person stays at the stretch on screen."""
        self.profile = profile
        self._bytes = {"after": _bytes(profile)} | ({} if before is None else {"before": _bytes(before)})
        with self.hold_sync():
            self.nbytes = len(self._bytes["after"])
            self.before_nbytes = len(self._bytes.get("before", b""))
            self.version += 1

    def push(self, run: Run) -> None:
        """Send a small state of a run that goes on; unlike `show` it waits for no answer from the page."""
        self.send({"kind": "push"}, buffers=[dumps(run.trace, run.findings, run.sources, run.view)])

    @property
    def selected(self) -> np.ndarray:
        """Numbers of the events that are selected, rows of ``profile.trace.events``."""
        if not self.selection:
            return _NONE
        kind, number = self.selection.get("kind"), int(self.selection.get("id", -1))
        match kind:
            case "event":
                return np.array([number])
            case "finding":
                return np.asarray(self.profile.findings[number].events, np.int64)
            case "site":
                return np.flatnonzero(self.profile.trace.events["site"] == number)
            case "buffer":
                uses = self.profile.trace.uses
                return np.unique(uses["event"][uses["buffer"] == number]).astype(np.int64)
        return _NONE

    def _answer(self, _widget: Any, content: Any, _buffers: Any) -> None:
        """Give the page the chunk it asks for; requests for what is no longer shown are dropped."""
        if not isinstance(content, dict) or content.get("kind") != "chunk" or content.get("version") != self.version:
            return
        data = self._bytes.get(str(content.get("role")))
        offset = int(content.get("offset", 0))
        if data is not None and 0 <= offset < len(data):
            self.send(content, buffers=[data[offset : offset + CHUNK_NBYTES]])


def _bytes(profile: Profile) -> bytes:
    run = run_of(profile.trace, profile.findings, profile.sources)
    return dumps(run.trace, run.findings, run.sources)
