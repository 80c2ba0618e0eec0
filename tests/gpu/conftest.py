"""Tests that need a GPU are found only where there is one; `test_rehearsal.py` runs everywhere."""

from __future__ import annotations

import importlib


def there_is_a_gpu() -> bool:
    try:
        return importlib.import_module("cupy").cuda.runtime.getDeviceCount() > 0
    except (ImportError, RuntimeError):
        return False


collect_ignore = [] if there_is_a_gpu() else ["test_gpu.py"]
