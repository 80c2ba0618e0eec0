"""Can the tests that need a GPU be read where CuPy is and a GPU is not?"""

from __future__ import annotations

from tests.gpu import calibrate, stories, test_gpu
from tests.gpu.conftest import there_is_a_gpu


def test_they_are_there():
    assert len(test_gpu.ENTRIES) > 600
    assert len(test_gpu.DOORS) == 10
    assert stories.STORIES
    assert calibrate.preset_of("NVIDIA H200")


def test_and_are_collected_only_with_a_gpu():
    assert not there_is_a_gpu()
