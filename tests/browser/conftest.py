"""A browser, pages that fail on console errors, and Jupyter servers of their own."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

ROOT = Path(__file__).resolve().parent.parent.parent
EXTENSION = ROOT / "gradviz" / "labextension"
TOKEN = "gradviz"

# A test waits for what it wants to see; how long that may take on a busy machine is no part of it.
PATIENCE_MS = 60_000
expect.set_options(timeout=PATIENCE_MS)

# What Notebook 7 and JupyterLab say on their own, with our extension removed.
KNOWN_NOISE = (
    "Not same Y.Doc",
    "reading 'schema'",
    "Failed to load resource",
    "was preloaded using link preload",
    "Ignored attempt to cancel a touch",
)


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens pages; when the test ends, anything they wrote to the console as an error fails it."""
    contexts, errors = [], []

    def note(text: str) -> None:
        if not any(noise in text for noise in KNOWN_NOISE):
            errors.append(text)

    def opened(**options: object) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1400, "height": 860}} | options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", lambda message: note(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: note(str(error)))
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not errors, "\n".join(errors)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def _server(folder: Path, command: list[str]) -> Iterator[str]:
    port = _free_port()
    extensions = folder / "extensions"
    extensions.mkdir()
    (extensions / "gradviz").symlink_to(EXTENSION)
    settings = folder / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false"}')
    homes = {
        name: str(folder / name.lower())
        for name in (
            "JUPYTER_CONFIG_DIR",
            "JUPYTER_DATA_DIR",
            "JUPYTER_RUNTIME_DIR",
            "JUPYTERLAB_WORKSPACES_DIR",
            "IPYTHONDIR",
        )
    }
    environment = {
        **os.environ, **homes, "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"), "PYTHONPATH": str(ROOT),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }  # fmt: skip
    (folder / "work").mkdir()
    app = "LabApp" if "lab" in command else "JupyterNotebookApp"
    log = (folder / "log").open("wb")
    process = subprocess.Popen(
        [
            sys.executable, "-m", "jupyter", *command, "--no-browser", "--allow-root",
            f"--ServerApp.port={port}", "--ServerApp.port_retries=0",
            f"--IdentityProvider.token={TOKEN}", f"--{app}.expose_app_in_browser=True",
            f"--LabServerApp.extra_labextensions_path={extensions}", f"--{app}.extra_labextensions_path={extensions}",
            f"--ServerApp.root_dir={folder / 'work'}",
        ],
        env=environment, stdout=subprocess.DEVNULL, stderr=log,
    )  # fmt: skip
    try:
        url = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"{url}/api/status?token={TOKEN}", timeout=5).close()
                break
            except OSError:
                assert process.poll() is None, (folder / "log").read_text()[-2000:]
                assert time.monotonic() < deadline, "the server did not start"
                time.sleep(0.2)
        yield url
    finally:
        process.terminate()
        process.wait(20)
        log.close()


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Address and working folder of a JupyterLab."""
    folder = tmp_path_factory.mktemp("lab")
    with _server(folder, ["lab"]) as url:
        yield url, folder / "work"


@pytest.fixture(scope="session")
def notebook7(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Address and working folder of a Notebook 7."""
    folder = tmp_path_factory.mktemp("notebook")
    with _server(folder, ["notebook"]) as url:
        yield url, folder / "work"


def wait_until(page: Page, holds: Callable[[], bool]) -> None:
    """Wait until something holds that the page cannot be asked to wait for itself."""
    deadline = time.monotonic() + PATIENCE_MS / 1000
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        page.wait_for_timeout(100)


def write_notebook(path: Path, *cells: str) -> None:
    """A notebook with these code cells, none of them run."""
    body = [
        {
            "cell_type": "code",
            "id": f"cell{i}",
            "execution_count": None,
            "metadata": {},
            "outputs": [],
            "source": source,
        }
        for i, source in enumerate(cells)
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    path.write_text(json.dumps({"cells": body, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}))


assert shutil.which("chromium") or Path("/usr/bin/chromium").exists(), "browser tests need Debian's Chromium"
