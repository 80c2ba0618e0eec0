"""How every test runs: rivals on the CPU in double precision, property tests that give the same answer each time."""

from __future__ import annotations

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_ENABLE_X64", "1")

from hypothesis import settings

# Shared cores make single examples slow now and then; that is no failure.
settings.register_profile("gradviz", deadline=None, derandomize=True)
settings.load_profile("gradviz")
