"""How every test runs: rivals on the CPU in double precision, property tests that give the same answer each time."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_ENABLE_X64", "1")
if "GRADVIZ_CACHE_DIR" not in os.environ:  # what earlier runs have left must not decide what is tested
    os.environ["GRADVIZ_CACHE_DIR"] = tempfile.mkdtemp(prefix="gradviz-")
    atexit.register(shutil.rmtree, os.environ["GRADVIZ_CACHE_DIR"], True)

import pytest
from hypothesis import settings
from playwright.sync_api import Browser, sync_playwright

# Shared cores make single examples slow now and then; that is no failure.
settings.register_profile("gradviz", deadline=None, derandomize=True)
settings.load_profile("gradviz")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for a file of tests: Playwright's event loop allows no second, nor anybody else's, while it runs."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        yield started
        started.close()
