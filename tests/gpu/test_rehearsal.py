"""Does the script for a real GPU run, and measure what it says? On the simulated one, whose constants are known."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gradviz.devices.sim import PRESETS
from tests.gpu import calibrate, stories
from tests.gpu.machine import gpu

HERE = Path(__file__).parent


def test_the_stories_agree_and_gradviz_waits_for_nothing(monkeypatch):
    monkeypatch.setattr(stories, "N", 60)
    monkeypatch.setattr(stories, "SIZE", 3000)
    table = stories.measure(gpu("sim:h200"))
    for row in table.values():
        assert row["gradviz"] > 0
        assert row["CuPy by hand"] > 0
        assert row["waits of gradviz"] == row["waits of gradviz, plan"] == 0
        assert row["gradviz, plan"] < row["gradviz"]


@pytest.mark.parametrize("name", ["h200", "t4"])
def test_calibration_finds_the_constants_that_are_there(name):
    measured, preset = calibrate.measure(gpu(f"sim:{name}")), PRESETS[name]
    for constant in (
        "pool_hit_ns",
        "ufunc_ns",
        "reduction_ns",
        "product_ns",
        "solver_ns",
        "fft_ns",
        "view_ns",
        "event_ns",
    ):
        assert measured[constant] == pytest.approx(getattr(preset, constant), rel=0.05), constant
    for constant in ("sync_ns", "download_ns", "timed_event_ns", "bandwidth_bytes_per_s", "link_bytes_per_s"):
        assert measured[constant] == pytest.approx(getattr(preset, constant), rel=0.1), constant
    assert measured["upload_ns"] == pytest.approx(preset.upload_ns, rel=0.2)
    assert measured["launch_ns"] == pytest.approx(preset.launch_ns + preset.kernel_floor_ns, rel=0.1)


def test_presets_are_found_by_the_names_that_cards_have():
    assert calibrate.preset_of("NVIDIA H200") is PRESETS["h200"]
    assert calibrate.preset_of("NVIDIA GeForce RTX 4090") is PRESETS["rtx4090"]
    assert calibrate.preset_of("NVIDIA L40S") is None


def test_the_script_is_a_script():
    subprocess.run(["bash", "-n", HERE / "run.sh"], check=True)
    subprocess.run(["bash", "-n", HERE / "prepare.sh"], check=True)
