"""How long does the viewer take to open a report, and to draw a frame while somebody pans and zooms?

python labextension/bench/frames.py REPORT.html [REPORT.html ...]
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

CHROMIUM = "/usr/bin/chromium"
# Without the limit a frame takes as long as its work, drawing included, instead of waiting for the display.
FLAGS = ["--no-sandbox", "--disable-frame-rate-limit", "--disable-gpu-vsync"]
FRAMES = 240

DRIVE = """
async ({ frames }) => {
  const canvas = document.querySelector('#gradviz > div').shadowRoot.querySelector('.lanes canvas');
  const box = canvas.getBoundingClientRect();
  const wheel = (deltaX, deltaY, ctrlKey) => canvas.dispatchEvent(new WheelEvent('wheel',
    { deltaX, deltaY, ctrlKey, clientX: box.left + box.width * 0.6, clientY: box.top + 40, bubbles: true, cancelable: true }));
  const times = [];
  let last = performance.now();
  for (let i = 0; i < frames; i++) {
    const phase = Math.floor(i / (frames / 4));
    if (phase === 0) wheel(0, -12, true);
    else if (phase === 1) wheel(40, 0, false);
    else if (phase === 2) wheel(0, 12, true);
    else wheel(-40, 0, false);
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    times.push(now - last);
    last = now;
  }
  return times.slice(4).sort((a, b) => a - b);
}
"""


def measure(page: Page, report: Path) -> dict[str, object]:
    """Seconds to open, and the median and 95th percentile of a frame in milliseconds."""
    started = time.perf_counter()
    page.goto(report.resolve().as_uri())
    page.wait_for_selector("[data-ready=true]", timeout=60_000)
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    opened = time.perf_counter() - started
    page.wait_for_timeout(500)
    times = page.evaluate(DRIVE, {"frames": FRAMES})
    return {
        "report": report.name,
        "megabytes": round(report.stat().st_size / 1e6, 2),
        "open_s": round(opened, 2),
        "frame_median_ms": round(times[len(times) // 2], 1),
        "frame_p95_ms": round(times[int(len(times) * 0.95)], 1),
    }


if __name__ == "__main__":
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for path in sys.argv[1:]:
            page = browser.new_page(viewport={"width": 1400, "height": 860})
            print(json.dumps(measure(page, Path(path))))
            page.close()
        browser.close()
