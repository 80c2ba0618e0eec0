"""Does the viewer look as it did? Pictures of the same profile, compared with a tolerance.

``GRADVIZ_NEW_SCREENS=1 pytest tests/browser/test_screens.py`` takes them anew, after somebody has looked at the change.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page

from gradviz.report.profile import Profile
from tests.browser.test_report import finding, opened
from tests.traces import made_trace

pytestmark = pytest.mark.browser
SCREENS = Path(__file__).parent / "screens"
# Fonts are hinted differently here and there: so many pixels may differ by more than so much.
MOST_SHARE, NOTABLE = 0.02, 48


@pytest.mark.parametrize(
    ("name", "options", "keys"),
    [
        ("first", {}, ""),
        ("dark", {"color_scheme": "dark"}, ""),
        ("event", {}, "g1"),
        ("graph", {}, "g4"),
        ("table", {}, "3"),
        ("order", {}, "o"),
        ("narrow", {"viewport": {"width": 620, "height": 860}}, ""),
    ],
)
def test_it_looks_as_before(
    open_page: Callable[..., Page], tmp_path: Path, name: str, options: dict[str, object], keys: str
) -> None:
    trace = made_trace(simulated=True)
    pullback = int((trace.events["kind"] == 1).nonzero()[0][2])
    profile = Profile(trace, [finding(events=(pullback,)), finding("Another one", harmless=True)])
    page = opened(open_page, tmp_path / "r.html", profile, reduced_motion="reduce", **options)
    page.locator(".lanes canvas").focus()
    for key in keys:
        page.keyboard.press(key)
    page.wait_for_timeout(400)
    taken = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    path = SCREENS / f"{name}.png"
    if os.environ.get("GRADVIZ_NEW_SCREENS"):
        SCREENS.mkdir(exist_ok=True)
        taken.quantize(64).save(path, optimize=True)
    known = Image.open(path).convert("RGB")
    assert known.size == taken.size
    difference = np.abs(np.asarray(known, np.int16) - np.asarray(taken, np.int16)).max(axis=2)
    share = float((difference > NOTABLE).mean())
    if share > MOST_SHARE:
        taken.save(tmp_path / f"{name}.png")
    assert share <= MOST_SHARE, f"{share:.1%} of the pixels differ; see {tmp_path / name}.png"
