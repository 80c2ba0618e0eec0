"""These run where CuPy is installed, with or without a GPU: `make cupy` makes an environment for each of its major versions."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

collect_ignore_glob = [] if find_spec("cupy") else ["test_*.py"]


def pytest_configure(config):
    # without a driver CuPy 13 tells of it at each look for a device, where it can only be told, not raised
    config.addinivalue_line("filterwarnings", "ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(autouse=True)
def host_memory():
    """Device memory is the host's: no driver is needed, and nothing runs on a GPU that is there."""
    from tests.devices.cuda.host_memory import memory_of_the_host

    with memory_of_the_host():
        yield
