"""How the pictures in ``images/`` are taken: from real reports, in Chromium, in a light and a dark theme.

python docs/screenshots.py
"""

from __future__ import annotations

import io
import tempfile
from importlib import import_module
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

import gradviz as gv

IMAGES = Path(__file__).parent / "images"
STORIES = ("contraction", "evalpoly", "adam")
CHROMIUM = "/usr/bin/chromium"
SIZE_PX = {"width": 1280, "height": 820}
COLOURS = 96  # keeps a picture below 100 KB, and text sharp


def report(story: str, folder: Path) -> Path:
    """The report of a story as people wrote it."""
    program = import_module(f"gradviz.demo.{story}")
    inputs = program.prepare()
    with gv.profile(label=story) as p:
        program.as_written(*inputs)
    return Path(p.to_html(folder / f"{story}.html"))


def take(page: Page, name: str) -> None:
    """What the page shows, as a PNG of few colours."""
    page.wait_for_timeout(1500)  # the viewer decodes and draws
    shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    IMAGES.mkdir(exist_ok=True)
    shot.quantize(COLOURS, dither=Image.Dither.NONE).save(IMAGES / f"{name}.png", "PNG", optimize=True)


def main() -> None:
    """Take all pictures."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        reports = {story: report(story, Path(folder)) for story in STORIES}
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport=SIZE_PX, color_scheme=scheme)
            for story, path in reports.items():
                page.goto(path.as_uri())
                page.get_by_role("button", name="Show the line").first.click()
                page.locator("button.head").first.click()  # opens the finding again
                take(page, f"{story}-{scheme}")
        browser.close()


if __name__ == "__main__":
    main()
