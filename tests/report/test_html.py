"""Is the report whole, small, and deaf to whatever stands in the data?"""

from __future__ import annotations

import html as entities
import re
from html.parser import HTMLParser

import pytest
from playwright.sync_api import Browser

from gradviz.record.trace import Trace
from gradviz.report.html import FRAGMENT_LIMIT_NBYTES, html_fragment, report_html
from tests.report.findings import HARMLESS, ODD, SYNC, WRONG
from tests.traces import ODD_NAMES, Maker, long_trace, made_trace

TAGS = {
    "html", "head", "meta", "title", "style", "body", "main", "header", "footer", "section", "div", "h1", "h2",
    "h3", "small", "p", "span", "dl", "dt", "dd", "ol", "ul", "li", "b", "pre", "del", "ins", "code", "table", "thead",
    "tbody", "tr", "th", "td", "svg", "rect", "path", "line", "text",
}  # fmt: skip
ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "class", "title", "viewbox", "preserveaspectratio", "role",
    "aria-label", "aria-hidden", "x", "y", "x1", "x2", "y1", "y2", "width", "height", "d", "opacity", "text-anchor",
}  # fmt: skip


class Reader(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags, self.attributes, self.depth, self.deepest = set(), set(), 0, 0
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.depth += tag != "meta"
        self.deepest = max(self.depth, self.deepest)

    def handle_endtag(self, tag):
        self.depth -= 1

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.depth -= 1


@pytest.fixture(scope="module")
def odd() -> Trace:
    trace = made_trace(20, names=ODD_NAMES, simulated=True)
    for texts, name in (("lanes", "name_str"), ("sites", "text_str"), ("sites", "file_str"), ("sites", "function_str")):
        trace.strings.append("</style><script>alert(1)</script>\"'><img src=x onerror=alert(2)>")
        trace.tables[texts][name][:] = len(trace.strings) - 1
    trace.meta["label"] = "</title><script>alert(3)</script>"
    return trace


def test_nothing_in_the_data_becomes_markup(odd):
    page = report_html(odd, [*ODD, *WRONG, SYNC])
    page.encode()
    reader = Reader(page)
    assert reader.tags <= TAGS
    assert reader.attributes <= ATTRIBUTES
    assert reader.depth == 0, "every tag is closed"
    assert reader.deepest < 20


@pytest.mark.browser
def test_a_browser_runs_and_loads_nothing(odd, tmp_path, browser: Browser):
    path = tmp_path / "report.html"
    path.write_text(report_html(odd, [SYNC, *ODD]), encoding="utf-8")
    (tmp_path / "frame.html").write_text(html_fragment(odd, [SYNC, *ODD]), encoding="utf-8")
    heard: list[str] = []
    page = browser.new_page()
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("dialog", lambda dialog: heard.append(dialog.message))
    page.on("request", lambda request: None if request.url.startswith("file:") else heard.append(request.url))
    page.goto(path.as_uri())
    assert page.locator("h1").inner_text() == "gradviz </title><script>alert(3)</script>"
    assert page.locator(".finding").count() == 1 + len(ODD)
    assert page.locator("script, img").count() == 0
    assert page.locator("main").evaluate("e => getComputedStyle(e).maxWidth") == "1120px", "the style is let in"
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0, "nothing sticks out of the page"
    page.emulate_media(color_scheme="dark")
    assert page.locator("body").evaluate("e => getComputedStyle(e).backgroundColor") == "rgb(20, 23, 27)"
    page.goto((tmp_path / "frame.html").as_uri())
    frame = page.frame_locator("iframe")
    assert frame.locator(".finding").count() == 1 + len(ODD)
    page.close()
    assert heard == []


def test_findings_come_first_with_everything_about_them():
    page = report_html(made_trace(5), [SYNC, HARMLESS])
    order = [
        page.index(f"<h2>{title}")
        for title in ("What to change", "Time by line", "Timeline", "Memory", "Copies", "Syncs")
    ]
    assert order == sorted(order)
    for part in (SYNC["title"], SYNC["where"], "213 ms · 57 % of the run · 30 times · simulated", SYNC["remedy"]):
        assert part in page
    assert "<del>- beta = float(np.vdot(ct, c))</del>\n<ins>+ beta = np.vdot(ct, c)</ins>" in page
    assert "harmless now" in page
    assert "Nothing here wastes enough" in report_html(made_trace(1))


def test_what_was_recorded_is_always_said():
    trace = made_trace(3, simulated=True)
    trace.meta["dropped"] = 214
    page = report_html(trace)
    assert f"{len(trace)} events; 214 dropped; recorder used" in page
    assert "SIMULATED sim:a100" in page
    assert "SIMULATED" not in report_html(made_trace(1))


def test_columns_without_anything_to_tell_are_left_out():
    page = report_html(made_trace(3))
    assert "device</th>" not in page.split("Timeline")[0]
    assert "device</th>" in report_html(made_trace(3, simulated=True)).split("Timeline")[0]


def test_the_page_of_a_million_events_is_small():
    assert len(report_html(long_trace(1_000_000), [SYNC])) < 500_000


def test_the_fragment_is_one_frame_without_ids():
    fragment = html_fragment(made_trace(3), [SYNC])
    assert re.fullmatch(
        r'<iframe title="[^"]*" width="100%" height="640" frameborder="0" sandbox="" srcdoc="[^"]*">[^<]*</iframe>',
        fragment,
    )
    inside = entities.unescape(re.search('srcdoc="([^"]*)"', fragment)[1])
    assert inside.startswith("<!doctype html>")
    assert SYNC["title"] in inside
    assert not re.search(r"\bid=", inside)


def test_the_fragment_stays_small_whatever_is_in_it():
    maker = Maker()
    wide = '漢"&<' * 100
    for number in range(300):
        site = maker.site(f"{wide}{number}.py", number, wide, wide)
        with maker.event(0, f"{wide}{number}", site=site) as call:
            maker.buffer(1000, call)
            maker.wait(1000)
    finding = SYNC | dict.fromkeys(("title", "reason", "remedy", "valid_if"), wide * 50) | {"before": f"{wide}\n" * 50}
    for trace in (maker.trace(), long_trace(300_000)):
        fragment = html_fragment(trace, [finding] * 500)
        assert len(fragment.encode()) < FRAGMENT_LIMIT_NBYTES
        assert "500 findings; the rest not shown" in fragment


def test_an_empty_trace_has_a_report():
    page = report_html(Trace())
    assert "0 events; 0 dropped" in page
    assert Reader(page).depth == 0
