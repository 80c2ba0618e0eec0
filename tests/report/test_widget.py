"""Does the widget answer the page, and does Python see what the person selected?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradviz.record.files import loads
from gradviz.report import widget as widgets
from gradviz.report.profile import Profile
from gradviz.report.widget import ProfileWidget
from tests.traces import made_trace


class Page:
    """What the other side of the comm would see."""

    def __init__(self, widget: ProfileWidget, monkeypatch: pytest.MonkeyPatch) -> None:
        self.got: list[tuple[Any, list[bytes]]] = []
        self.widget = widget
        monkeypatch.setattr(
            ProfileWidget, "send", lambda _self, content, buffers=None: self.got.append((content, buffers))
        )

    def ask(self, **content: Any) -> list[tuple[Any, list[bytes]]]:
        self.got.clear()
        self.widget._handle_custom_msg({"kind": "chunk", "role": "after", "version": self.widget.version} | content, [])
        return list(self.got)


def test_the_bytes_come_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(widgets, "CHUNK_NBYTES", 1000)
    profile = Profile(made_trace())
    view = profile.widget()
    page = Page(view, monkeypatch)
    received = b""
    while len(received) < view.nbytes:
        ((content, (chunk,)),) = page.ask(offset=len(received))
        assert content["offset"] == len(received)
        assert 0 < len(chunk) <= 1000
        received += chunk
    assert len(loads(received)[0]) == len(profile.trace)


@pytest.mark.parametrize(
    "content",
    [
        {"offset": -1},
        {"offset": 10**9},
        {"offset": 0, "role": "before"},
        {"offset": 0, "version": 0},
        {"offset": 0, "kind": "x"},
    ],
)
def test_odd_questions_get_no_answer(monkeypatch: pytest.MonkeyPatch, content: dict[str, Any]) -> None:
    assert Page(Profile(made_trace()).widget(), monkeypatch).ask(**content) == []


def test_no_bulk_data_in_the_state() -> None:
    state = Profile(made_trace(steps=50)).widget().get_state()
    state.pop("_esm")
    assert len(str(state)) < 5000


def test_selections() -> None:
    profile = Profile(made_trace(), [{"title": "x", "events": [2, 3], "kind": "x"}])
    view = profile.widget()
    assert view.selected.size == 0
    for selection, expected in [
        ({"kind": "event", "id": 4}, [4]),
        ({"kind": "finding", "id": 0}, [2, 3]),
        ({"kind": "site", "id": 1}, np.flatnonzero(profile.trace.events["site"] == 1)),
        ({"kind": "moment", "time_ns": 3}, []),
    ]:
        view.selection = selection
        assert list(view.selected) == list(expected)
    uses = profile.trace.uses
    view.selection = {"kind": "buffer", "id": int(uses["buffer"][0])}
    assert int(uses["event"][0]) in view.selected
