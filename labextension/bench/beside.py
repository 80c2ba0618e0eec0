"""How do reports compare with Chrome trace JSON and with plotly bars: size, time to open or parse, time per frame?

python labextension/bench/beside.py [EVENTS ...]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent)]

from frames import CHROMIUM, FLAGS, measure  # noqa: E402

from gradviz.report.profile import Profile  # noqa: E402
from tests.traces import long_trace  # noqa: E402

PLOTLY_MOST = 100_000  # beyond that the page does not open in minutes

PARSE = """
const text = require('fs').readFileSync(process.argv[1], 'latin1');
const from = performance.now();
JSON.parse(text);
console.log((performance.now() - from) / 1e3);
"""


def chrome_json(profile: Profile, folder: Path) -> tuple[float, float]:
    """Megabytes, and seconds that ``JSON.parse`` takes in V8; Perfetto does at least this before anything else."""
    path = folder / "chrome.json"
    profile.to_chrome_trace(path)
    parsed = subprocess.run(["node", "-e", PARSE, str(path)], check=True, capture_output=True, text=True)
    return path.stat().st_size / 1e6, float(parsed.stdout)


def plotly_bars(browser: Browser, profile: Profile, folder: Path) -> tuple[float, float]:
    """Megabytes of a page with one bar for each event, and seconds until it is drawn."""
    import plotly.graph_objects as go

    events = profile.trace.events
    bars = go.Bar(base=events["start_ns"], x=events["end_ns"] - events["start_ns"], y=events["kind"], orientation="h")
    path = folder / "plotly.html"
    go.Figure(bars).write_html(path, include_plotlyjs=True)
    page = browser.new_page(viewport={"width": 1400, "height": 860})
    page.goto(path.as_uri(), timeout=300_000)
    page.wait_for_selector(".bars .point", state="attached", timeout=300_000)
    opened_s = page.evaluate("performance.now()") / 1e3
    page.close()
    return path.stat().st_size / 1e6, opened_s


def main(counts: list[int]) -> None:
    """Print one line for each count and format."""
    row = "{:>9} {:<12} {:>8} {:>8} {:>9} {:>9}"
    print(row.format("events", "format", "MB", "open s", "frame ms", "95 % ms"))
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as name:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for count in counts:
            profile = Profile(long_trace(count), [])
            report = Path(name) / "report.html"
            profile.to_html(report)
            page = browser.new_page(viewport={"width": 1400, "height": 860})
            ours = measure(page, report)
            page.close()
            print(
                row.format(
                    count, "report", *(ours[k] for k in ("megabytes", "open_s", "frame_median_ms", "frame_p95_ms"))
                )
            )
            megabytes, seconds = chrome_json(profile, Path(name))
            print(row.format(count, "chrome JSON", f"{megabytes:.2f}", f"{seconds:.2f}", "", ""))
            if count <= PLOTLY_MOST:
                megabytes, seconds = plotly_bars(browser, profile, Path(name))
                print(row.format(count, "plotly bars", f"{megabytes:.2f}", f"{seconds:.2f}", "", ""))
        browser.close()


if __name__ == "__main__":
    main([int(count) for count in sys.argv[1:]] or [10_000, 100_000, 1_000_000])
