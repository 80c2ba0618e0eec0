"""Does everything work in a real JupyterLab: outputs, heat, panel, documents, live view, reload without a kernel?"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from nbconvert import HTMLExporter
from playwright.sync_api import Page, expect

from gradviz.report.profile import Profile
from tests.browser.conftest import TOKEN, wait_until, write_notebook
from tests.traces import made_trace

pytestmark = pytest.mark.browser
OpenPage = Callable[..., Page]

SETUP = """\
import numpy as np, gradviz as gv
%load_ext gradviz
def f(x):
    h = np.exp(-x)
    return np.sum(h[3] * np.tanh(x))
x = np.ones((200, 200))"""
PROFILED = """\
%%gradprofile -o p --device sim:a100
g = gv.grad(f)(x)
scale = float(g[0, 0])"""
PROGRAM = """\
y = np.exp(x)
g = gv.grad(lambda y: np.sum(np.tanh(y) * y))(y)"""

# How bright the background of a canvas is, 0 to 765.
CORNER = (
    "canvas => Array.from(canvas.getContext('2d').getImageData(2, 2, 1, 1).data).slice(0, 3).reduce((a, b) => a + b)"
)
RUN_ALL = """async () => {
    const app = window.jupyterapp;
    const session = app.shell.currentWidget.context.sessionContext;
    await session.ready;
    await session.session.kernel.info;
    void app.commands.execute('notebook:run-all-cells');
}"""
IDLE = """() => {
    const cells = window.jupyterapp.shell.currentWidget.content.model.cells;
    for (let i = 0; i < cells.length; i++) if (cells.get(i).type === 'code' && !cells.get(i).executionCount) return false;
    return true;
}"""


def open_notebook(page: Page, url: str, name: str) -> None:
    page.goto(f"{url}/lab/tree/{name}?token={TOKEN}&reset")
    page.wait_for_function("() => window.jupyterapp?.shell.currentWidget?.context?.isReady")
    page.evaluate("window.jupyterapp.restored.then(() => true)")


def run_all(page: Page) -> None:
    page.evaluate(RUN_ALL)
    page.wait_for_function(IDLE)


def run_in_kernel(page: Page, code: str) -> str:
    """What ``code`` prints in the kernel of the open notebook."""
    return page.evaluate(
        """async code => {
            const kernel = window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel;
            let printed = '';
            const future = kernel.requestExecute({ code, store_history: false });
            future.onIOPub = message => {
                if (message.header.msg_type === 'stream') printed += message.content.text;
                if (message.header.msg_type === 'error') printed += message.content.evalue;
            };
            await future.done;
            return printed.trim();
        }""",
        code,
    )


def test_a_profiled_notebook(open_page: OpenPage, lab: tuple[str, Path]) -> None:
    url, folder = lab
    write_notebook(folder / "n.ipynb", SETUP, PROFILED)
    page = open_page()
    open_notebook(page, url, "n.ipynb")
    run_all(page)

    output = page.locator(".jp-OutputArea .gv-output")
    expect(output.locator("header .badge")).to_contain_text("simulated sim:a100")
    expect(output.get_by_role("tabpanel")).to_be_visible()

    # Heat lies beside the lines of the cell, one below the magic, and of the cell that defines f.
    marks = page.locator(".jp-CodeCell .gv-heat-mark")
    expect(page.locator(".jp-CodeCell").nth(0).locator(".gv-heat-mark")).to_have_count(2)
    expect(page.locator(".jp-CodeCell").nth(1).locator(".gv-heat-mark").first).to_be_attached()
    assert "forward" in (marks.first.get_attribute("title") or "")

    # Keys pressed in the viewer act there, not on the notebook.
    cells = page.locator(".jp-CodeCell").count()
    output.locator(".lanes canvas").click(position={"x": 400, "y": 30})
    for key in "wasdfbm":
        page.keyboard.press(key)
    assert page.locator(".jp-CodeCell").count() == cells

    # An edit takes the marks away, undoing it brings them back.
    editor = page.locator(".jp-CodeCell").nth(0).locator(".cm-content")
    editor.click()
    page.keyboard.press("Control+End")
    page.keyboard.type(" ")
    page.keyboard.type("# changed")
    expect(page.locator(".jp-CodeCell").nth(0).locator(".gv-heat-mark")).to_have_count(0)
    expect(page.locator(".jp-CodeCell").nth(0).locator(".cm-gutter.gv-heat")).to_have_count(0)
    for _ in range(10):
        page.keyboard.press("Backspace")
    expect(page.locator(".jp-CodeCell").nth(0).locator(".gv-heat-mark")).to_have_count(2)

    # The setting switches them off and on.
    page.evaluate("window.jupyterapp.commands.execute('gradviz:toggle-heat')")
    expect(marks).to_have_count(0)
    page.evaluate("window.jupyterapp.commands.execute('gradviz:toggle-heat')")
    expect(marks.first).to_be_attached()

    # The panel lists the profile.
    page.evaluate("window.jupyterapp.commands.execute('gradviz:show-profiles')")
    expect(page.locator(".gv-panel .gv-title")).to_contain_text("In[2]")

    # The viewer follows the theme.
    page.wait_for_selector("#jupyterlab-splash", state="detached")
    page.evaluate("window.jupyterapp.commands.execute('apputils:change-theme', { theme: 'JupyterLab Dark' })")
    page.wait_for_function(
        f"() => ({CORNER})(document.querySelector('.gv-output').shadowRoot.querySelector('.lanes canvas')) < 300"
    )


def test_a_line_of_the_source_view_leads_to_the_cell(open_page: OpenPage, lab: tuple[str, Path]) -> None:
    url, folder = lab
    write_notebook(folder / "line.ipynb", SETUP, PROFILED)
    page = open_page(reduced_motion="reduce")
    open_notebook(page, url, "line.ipynb")
    run_all(page)
    output = page.locator(".jp-OutputArea .gv-output")
    output.get_by_role("tab", name="Source").click()
    output.locator("tr.hot", has_text="np.tanh(x)").first.click()
    page.wait_for_function("() => window.jupyterapp.shell.currentWidget.content.activeCellIndex === 0")
    assert (
        page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCell.editor.getCursorPosition().line") == 4
    )


WASTEFUL = """\
%%gradprofile --device sim:a100
def step(x):
    h = np.tanh(x * x)
    scale = float(np.max(h))
    return np.sum(h * h) / scale
for _ in range(20):
    g = gv.grad(step)(x)"""


def test_a_finding_in_the_panel_leads_to_its_line(open_page: OpenPage, lab: tuple[str, Path]) -> None:
    url, folder = lab
    write_notebook(folder / "waste.ipynb", SETUP, WASTEFUL, "x")
    page = open_page(reduced_motion="reduce")
    open_notebook(page, url, "waste.ipynb")
    run_all(page)
    page.evaluate("window.jupyterapp.commands.execute('gradviz:show-profiles')")
    page.locator(".gv-panel li button", has_text="float()").first.click()
    page.wait_for_function("() => window.jupyterapp.shell.currentWidget.content.activeCellIndex === 1")
    line = "window.jupyterapp.shell.currentWidget.content.activeCell.editor.getCursorPosition().line"
    assert page.evaluate(line) == WASTEFUL.split("\n").index("    scale = float(np.max(h))")


def test_the_live_view_and_python_see_the_same(open_page: OpenPage, lab: tuple[str, Path]) -> None:
    url, folder = lab
    write_notebook(
        folder / "live.ipynb",
        SETUP,
        "with gv.profile() as p:\n    g = gv.grad(f)(x)\nview = p.widget(height_px=500)\nview",
    )
    page = open_page(reduced_motion="reduce")
    open_notebook(page, url, "live.ipynb")
    run_all(page)
    view = page.locator(".jp-OutputArea .lanes canvas")
    expect(view).to_be_visible(timeout=30_000)
    view.focus()
    page.keyboard.press("Escape")
    page.keyboard.press(".")
    selected = "print(view.selection['kind'], list(view.selected))"
    wait_until(page, lambda: re.fullmatch(r"event \[.*\d+.*\]", run_in_kernel(page, selected)) is not None)
    page.keyboard.press("w")
    shorter = "print(view.range_ns['to'] - view.range_ns['from'] < p.trace.meta['duration_ns'])"
    wait_until(page, lambda: run_in_kernel(page, shorter) == "True")

    # From Python to the page.
    run_in_kernel(page, "view.selection = {'kind': 'event', 'id': 0}")
    tabs = page.locator(".jp-OutputArea")
    tabs.get_by_role("tab", name="Details").click()
    name = run_in_kernel(page, "print(p.trace.name(0))")
    expect(tabs.get_by_role("tabpanel").get_by_role("heading").first).to_have_text(name)

    # Another profile in the same view.
    run_in_kernel(page, "with gv.profile(label='second') as q:\n    gv.grad(f)(x)\nview.show(q)")
    expect(tabs.locator("header .label")).to_have_text("second")


LIVE = """\
import pathlib, time
watched = gv.profile(live=True, label="long run")
with watched as p:
    while not pathlib.Path("seen").exists():
        g = gv.grad(f)(x)
        time.sleep(0.01)"""


def test_a_run_is_watched_while_it_goes_on(open_page: OpenPage, lab: tuple[str, Path]) -> None:
    url, folder = lab
    write_notebook(folder / "watched.ipynb", SETUP, LIVE)
    page = open_page()
    open_notebook(page, url, "watched.ipynb")
    page.evaluate(RUN_ALL)
    status = page.locator(".jp-OutputArea header .status")
    expect(status).to_contain_text("events")
    assert not page.evaluate(IDLE), "the run had ended before anything was shown"
    (folder / "seen").touch()
    page.wait_for_function(IDLE)
    events = run_in_kernel(page, "print(len(p.trace))")
    expect(status).to_contain_text(f"{int(events):,} events".replace(",", "\u202f"))
    assert int(run_in_kernel(page, "print(watched.view.looks)")) >= 1


def test_outputs_survive_a_reload_without_kernel(open_page: OpenPage, lab: tuple[str, Path]) -> None:
    url, folder = lab
    write_notebook(folder / "saved.ipynb", SETUP, PROFILED)
    page = open_page()
    open_notebook(page, url, "saved.ipynb")
    run_all(page)
    expect(page.locator(".gv-output header")).to_be_visible()
    page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_function("() => !window.jupyterapp.shell.currentWidget.context.model.dirty")
    page.evaluate("window.jupyterapp.shell.currentWidget.context.sessionContext.shutdown()")
    text = (folder / "saved.ipynb").read_text()
    assert "widget-view" not in text
    assert len(text) < 1_000_000

    exported = folder / "saved.html"
    exported.write_text(HTMLExporter().from_filename(str(folder / "saved.ipynb"))[0])
    offline = open_page(offline=True)
    offline.goto(exported.as_uri(), wait_until="commit")
    expect(offline.frame_locator("iframe[title='gradviz report']").locator("header .badge")).to_be_visible()

    again = open_page()
    open_notebook(again, url, "saved.ipynb")
    expect(again.locator(".gv-output header .badge")).to_be_visible()
    expect(again.locator(".gv-heat-mark").first).to_be_attached()


def test_an_untrusted_notebook_shows_the_viewer(open_page: OpenPage, lab: tuple[str, Path]) -> None:
    url, folder = lab
    bundle = Profile(made_trace())._repr_mimebundle_()
    write_notebook(folder / "untrusted.ipynb", "p")
    notebook = json.loads((folder / "untrusted.ipynb").read_text())
    notebook["cells"][0]["outputs"] = [{"output_type": "display_data", "data": bundle, "metadata": {}}]
    (folder / "untrusted.ipynb").write_text(json.dumps(notebook))
    page = open_page()
    open_notebook(page, url, "untrusted.ipynb")
    expect(page.locator(".gv-output header")).to_contain_text("events")


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_a_file_opens_as_a_document(open_page: OpenPage, lab: tuple[str, Path], theme: str) -> None:
    url, folder = lab
    Profile(made_trace()).save(folder / "run.gradviz")
    page = open_page()
    page.goto(f"{url}/lab?token={TOKEN}&reset")
    page.wait_for_function("() => window.jupyterapp?.restored.then(() => true)")
    page.wait_for_selector("#jupyterlab-splash", state="detached")  # the theme manager would remove it a second time
    page.evaluate("theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", theme)
    page.locator(".jp-DirListing-item", has_text="run.gradviz").dblclick()
    expect(page.locator(".gv-document header .label")).to_be_visible()
    canvas = page.locator(".gv-document .lanes canvas")
    wait_until(page, lambda: (canvas.evaluate(CORNER) < 300) == (theme == "JupyterLab Dark"))


def test_a_broken_file_says_what_is_wrong(open_page: OpenPage, lab: tuple[str, Path]) -> None:
    url, folder = lab
    (folder / "broken.gradviz").write_bytes(b"PK not really")
    page = open_page()
    page.goto(f"{url}/lab?token={TOKEN}&reset")
    page.locator(".jp-DirListing-item", has_text="broken.gradviz").dblclick()
    expect(page.get_by_role("alert").filter(has_text="not a .gradviz file")).to_be_visible()
