"""Do numbers read well inside a sentence?"""

from __future__ import annotations

import pytest

from gradviz.findings.words import bytes_text, list_text, many_text, time_text, times_text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (bytes_text(0), "0 B"),
        (bytes_text(999), "999 B"),
        (bytes_text(1000), "0.977 KiB"),
        (bytes_text(1 << 20), "1 MiB"),
        (bytes_text(3 << 40), "3072 GiB"),
        (time_text(0), "0 ns"),
        (time_text(213_400_000), "213 ms"),
        (time_text(1.5e12), "1500 s"),
        (times_text(1), "once"),
        (times_text(2), "twice"),
        (times_text(1234), "1,234 times"),
        (many_text(1, "copy", "copies"), "1 copy"),
        (many_text(2.5, "scalar"), "2.5 scalars"),
        (list_text(["a"]), "a"),
        (list_text(["a", "b", "c"]), "a, b and c"),
    ],
)
def test_text(text, wanted):
    assert text == wanted
