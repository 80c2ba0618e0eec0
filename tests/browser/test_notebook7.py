"""Does Notebook 7 show profiles, heat and documents?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from gradviz.report.profile import Profile
from tests.browser.conftest import TOKEN, write_notebook
from tests.browser.test_lab import IDLE, PROFILED, RUN_ALL, SETUP
from tests.traces import made_trace

pytestmark = pytest.mark.browser
OpenPage = Callable[..., Page]


def test_a_profiled_notebook(open_page: OpenPage, notebook7: tuple[str, Path]) -> None:
    url, folder = notebook7
    write_notebook(folder / "n.ipynb", SETUP, PROFILED)
    page = open_page()
    page.goto(f"{url}/notebooks/n.ipynb?token={TOKEN}")
    page.wait_for_function("() => window.jupyterapp?.shell.currentWidget?.context?.isReady")
    page.evaluate(RUN_ALL)
    page.wait_for_function(IDLE)
    output = page.locator(".jp-OutputArea .gv-output")
    expect(output.locator("header .badge")).to_contain_text("simulated")
    expect(page.locator(".gv-heat-mark").first).to_be_attached()
    output.locator(".lanes canvas").focus()
    page.keyboard.press("1")
    page.keyboard.press(".")
    expect(output.get_by_role("tabpanel").get_by_role("heading").first).to_be_visible()
    assert page.locator(".jp-CodeCell").count() == 2


def test_a_file_opens_as_a_document(open_page: OpenPage, notebook7: tuple[str, Path]) -> None:
    url, folder = notebook7
    Profile(made_trace()).save(folder / "run.gradviz")
    page = open_page()
    page.goto(f"{url}/edit/run.gradviz?token={TOKEN}&factory=Gradient profile")
    expect(page.locator(".gv-document header")).to_contain_text("events")
