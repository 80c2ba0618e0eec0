"""How the notebooks are made: from the texts in ``sources/``, run once, with outputs that show anywhere.

    python notebooks/build.py            all of them
    python notebooks/build.py tour       one

A source is Markdown; its ``python`` blocks are the code cells. What needs scripts or a live kernel to be seen (the report, plotly's
figures) is replaced by a picture of itself, taken in Chromium: GitHub and nbviewer run no scripts. Run a notebook, and it shows
the real thing.
"""

from __future__ import annotations

import base64
import hashlib
import html
import io
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
import plotly.io
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from PIL import Image
from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).parent
SOURCES = HERE / "sources"
CHROMIUM = "/usr/bin/chromium"
SIZE_PX = {"width": 1200, "height": 660}

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FRAME = re.compile(r'<iframe [^>]*?srcdoc="([^"]*)"', re.DOTALL)
_PLOTLY = "application/vnd.plotly.v1+json"


def notebook_of(source: Path) -> Any:
    """The notebook that a source describes, not run yet."""
    made = new_notebook()
    for number, part in enumerate(_BLOCK.split(source.read_text())):
        if part.strip():
            cell = (new_code_cell if number % 2 else new_markdown_cell)(part.strip())
            cell.id = hashlib.blake2b(f"{source.stem} {number}".encode(), digest_size=4).hexdigest()
            made.cells.append(cell)
    made.metadata = {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
    }
    return made


def run(notebook: Any) -> None:
    """Run all cells, in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(
            notebook,
            timeout=300,
            kernel_name="python3",
            coalesce_streams=True,
            resources={"metadata": {"path": folder}},
        ).execute()


def make_static(notebook: Any, page: Page) -> None:
    """Leave of each output what shows without scripts and without a kernel."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when it was run
        for output in cell.get("outputs", ()):
            if "data" in output:
                output["data"] = _static(output["data"], page)
                output["metadata"] = {}
    notebook.metadata.pop("widgets", None)


def _static(data: dict[str, Any], page: Page) -> dict[str, Any]:
    kept = {kind: data[kind] for kind in ("text/plain", "image/png", "image/svg+xml") if kind in data}
    framed = _FRAME.search(data.get("text/html", ""))
    if framed:
        kept["image/png"] = picture(page, html.unescape(framed[1]))
    elif _PLOTLY in data:
        kept["image/png"] = picture(page, plotly.io.to_html(data[_PLOTLY], validate=False))
    elif "text/html" in data:
        kept["text/html"] = data["text/html"]
    return kept


def picture(page: Page, text: str) -> str:
    """A page as a PNG of few colours, in base64."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "output.html"
        file.write_text(text)
        page.goto(file.as_uri())
        page.wait_for_timeout(1000)  # the viewer decodes and draws
        shot = Image.open(io.BytesIO(page.screenshot()))
    small = io.BytesIO()
    shot.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return base64.b64encode(small.getvalue()).decode()


def main(names: list[str]) -> None:
    """Build the named notebooks, or all."""
    sources = [SOURCES / f"{name}.md" for name in names] or sorted(SOURCES.glob("*.md"))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE_PX)
        for source in sources:
            notebook = notebook_of(source)
            run(notebook)
            make_static(notebook, page)
            nbformat.validate(notebook)
            nbformat.write(notebook, HERE / f"{source.stem}.ipynb")
            print(source.stem)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
