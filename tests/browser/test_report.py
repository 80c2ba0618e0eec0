"""Does the HTML report work as a file: by mouse, by keys, in the dark, with hostile names, without network?"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from gradviz.report.profile import Profile
from tests.traces import ODD_NAMES, long_trace, made_trace

pytestmark = pytest.mark.browser
OpenPage = Callable[..., Page]


def finding(
    title: str = "A scalar is read back", events: tuple[int, ...] = (5, 9), **fields: object
) -> dict[str, object]:
    return {
        "kind": "sync_in_pullback", "title": title, "severity": "high", "cost_ns": 120_000, "share": 0.3, "count": len(events), "site": 0,
        "where": "train.py:3", "events": list(events), "reason": "The host waits.", "remedy": "Keep it on the device.",
        "before": "float(x)", "after": "x", "valid_if": "nothing branches on it", **fields,
    }  # fmt: skip


def opened(open_page: OpenPage, path: Path, profile: Profile, **options: object) -> Page:
    profile.to_html(path)
    page = open_page(**options)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector("#gradviz[data-ready=true]")
    assert requests == [path.as_uri()], "a report must not load anything"
    return page


def panel(page: Page) -> Locator:
    return page.get_by_role("tabpanel")


def test_first_screen_says_what_to_change(open_page: OpenPage, tmp_path: Path) -> None:
    page = opened(open_page, tmp_path / "r.html", Profile(made_trace(), [finding()]))
    expect(page.get_by_role("button", name="A scalar is read back")).to_have_attribute("aria-expanded", "true")
    expect(page.get_by_text("Keep it on the device.")).to_be_visible()
    expect(page.locator("header .status")).to_contain_text(re.compile(r"\d+ events · 0 dropped · recorder used"))
    assert lit_pixels(page) > 0


def lit_pixels(page: Page) -> int:
    """Pixels of the timeline that have a strong colour."""
    return page.locator(".lanes canvas").evaluate(
        """canvas => {
            const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
            let n = 0;
            for (let i = 0; i < data.length; i += 4) {
                const rgb = data.subarray(i, i + 3);
                n += Math.max(...rgb) - Math.min(...rgb) > 90;
            }
            return n;
        }"""
    )


def test_by_keyboard_alone(open_page: OpenPage, tmp_path: Path) -> None:
    page = opened(
        open_page, tmp_path / "r.html", Profile(made_trace(), [finding(), finding("Another")]), reduced_motion="reduce"
    )
    page.keyboard.press("Tab")
    page.locator(".lanes canvas").focus()
    page.keyboard.press("]")
    expect(page.get_by_role("button", name="Another")).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("1")
    page.keyboard.press(".")
    expect(panel(page).get_by_role("heading").first).to_be_visible()
    name = panel(page).get_by_role("heading").first.inner_text()
    page.keyboard.press(".")
    expect(panel(page).locator("dl").first).to_contain_text("own time")
    page.keyboard.press("3")
    expect(panel(page).get_by_role("status")).to_contain_text("events")
    page.keyboard.press("4")
    expect(panel(page).get_by_role("img")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("/")
    page.keyboard.type("matmul")
    expect(page.locator("header")).to_contain_text("found")
    page.keyboard.press("Escape")
    expect(page.locator("header")).not_to_contain_text("found")
    assert name


def test_from_pullback_to_forward_and_back(open_page: OpenPage, tmp_path: Path) -> None:
    trace = made_trace()
    pullback = int((trace.events["kind"] == 1).nonzero()[0][0])
    page = opened(
        open_page, tmp_path / "r.html", Profile(trace, [finding(events=(pullback,))]), reduced_motion="reduce"
    )
    page.locator(".lanes canvas").focus()
    page.keyboard.press("g")
    page.keyboard.press("1")
    forward = int(trace.events["call"][pullback])
    expect(panel(page).get_by_role("heading").first).to_have_text(trace.name(forward))
    page.keyboard.press("b")
    expect(page.get_by_role("button", name="A scalar is read back")).to_have_attribute("aria-expanded", "true")


def test_zoom_changes_what_the_screen_reader_hears(open_page: OpenPage, tmp_path: Path) -> None:
    page = opened(open_page, tmp_path / "r.html", Profile(made_trace(steps=20), []), reduced_motion="reduce")
    items = page.locator(".twin li")
    expect(items).to_have_count(30)
    before = items.all_inner_texts()
    page.locator(".lanes canvas").focus()
    for _ in range(20):
        page.keyboard.press("w")
    page.wait_for_function(
        "before => document.querySelector('#gradviz > div').shadowRoot.querySelector('.twin ol').innerText !== before",
        arg="\n".join(before),
    )


def test_the_wheel_belongs_to_the_page_until_the_viewer_is_clicked(open_page: OpenPage, tmp_path: Path) -> None:
    page = opened(open_page, tmp_path / "r.html", Profile(made_trace(steps=20), []), reduced_motion="reduce")
    items = page.locator(".twin li")
    expect(items).to_have_count(30)
    before = items.all_inner_texts()
    page.mouse.move(900, 150)
    page.mouse.wheel(0, -600)
    page.wait_for_timeout(600)
    assert items.all_inner_texts() == before
    page.mouse.click(900, 150)
    page.keyboard.press("Escape")
    page.mouse.wheel(0, -1500)
    page.wait_for_function(
        "before => document.querySelector('#gradviz > div').shadowRoot.querySelector('.twin ol').innerText !== before",
        arg="\n".join(before),
    )


def test_a_marked_stretch_is_summed(open_page: OpenPage, tmp_path: Path) -> None:
    page = opened(open_page, tmp_path / "r.html", Profile(made_trace(steps=20), []), reduced_motion="reduce")
    page.keyboard.down("Shift")
    page.mouse.move(700, 150)
    page.mouse.down()
    page.mouse.move(900, 150, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    expect(panel(page).get_by_role("status")).to_contain_text("in the marked stretch")


def test_hostile_names_only_show(open_page: OpenPage, tmp_path: Path) -> None:
    odd = [
        finding(name, reason=name, remedy=name, before=name, after=name, where=name, valid_if=name)
        for name in ODD_NAMES
        if "\ud800" not in name
    ]
    profile = Profile(made_trace(4, names=ODD_NAMES), odd)
    page = opened(open_page, tmp_path / "r.html", profile, reduced_motion="reduce")
    page.on("dialog", lambda _dialog: pytest.fail("a name ran as a script"))
    page.locator(".lanes canvas").focus()
    for _ in odd:
        page.keyboard.press("]")
    for key in "12341":
        page.keyboard.press(key)
        page.keyboard.press(".")
    page.wait_for_timeout(200)
    assert (
        page.evaluate(
            "document.querySelector('#gradviz > div').shadowRoot.querySelectorAll('img, script, svg[onload]').length"
        )
        == 0
    )


def test_dark_follows_the_system(open_page: OpenPage, tmp_path: Path) -> None:
    page = opened(open_page, tmp_path / "r.html", Profile(made_trace()), color_scheme="dark")
    corner = "canvas => Array.from(canvas.getContext('2d').getImageData(2, 2, 1, 1).data).slice(0, 3).reduce((a, b) => a + b)"
    assert page.locator(".lanes canvas").evaluate(corner) < 150
    page.emulate_media(color_scheme="light")
    page.wait_for_function(
        f"() => ({corner})(document.querySelector('#gradviz > div').shadowRoot.querySelector('.lanes canvas')) > 700"
    )


def test_nothing_recorded(open_page: OpenPage, tmp_path: Path) -> None:
    page = opened(open_page, tmp_path / "r.html", Profile(made_trace(0), []))
    expect(page.get_by_text("Nothing was recorded.")).to_be_visible()


def test_a_damaged_profile_says_so(open_page: OpenPage, tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    text = str(Profile(made_trace()).to_html())
    block = re.search(r'data-role="after">([^<]+)<', text)
    assert block
    cut = base64.b64encode(base64.b64decode(block[1])[:2000]).decode()
    path.write_text(text.replace(block[1], cut))
    page = open_page()
    page.goto(path.as_uri())
    expect(page.get_by_role("alert")).to_contain_text("cut off")


def test_a_report_of_ten_thousand_events_is_small(tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    Profile(long_trace(10_000), []).to_html(path)
    assert path.stat().st_size < 600_000


@pytest.mark.alone
def test_a_million_events_open_and_move(open_page: OpenPage, tmp_path: Path) -> None:
    from labextension.bench.frames import measure

    path = tmp_path / "r.html"
    Profile(long_trace(1_000_000), []).to_html(path)
    assert path.stat().st_size < 20_000_000
    figures = measure(open_page(), path)
    assert figures["open_s"] < 15, figures  # 1.5 s and 4.5 ms on a quiet machine
    assert figures["frame_median_ms"] < 60, figures
