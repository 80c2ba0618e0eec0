"""Do findings come back from JSON, and can none of them do harm?"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gradviz.findings.finding import Finding
from gradviz.report.finding_json import findings_of
from tests.report.findings import SYNC, WRONG

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


def test_there_and_back():
    (finding,) = findings_of([SYNC])
    assert finding.to_json() == SYNC
    assert findings_of([finding]) == [finding]


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(SYNC, ANYTHING)))
def test_anything_becomes_a_finding_of_the_right_types(json):
    (finding,) = findings_of([json])
    (sound,) = findings_of([SYNC])
    for field in SYNC:
        assert type(getattr(finding, field)) in {type(getattr(sound, field)), int, float}
    assert finding.severity in ("high", "medium", "low")
    assert 0 <= finding.share <= 1
    assert all(row >= 0 for row in finding.events + finding.buffers)
    str(finding)


def test_wrong_values_count_as_missing():
    nothing, odd, large = findings_of(WRONG)
    assert isinstance(nothing, Finding)
    assert (odd.severity, odd.title, odd.cost_ns, odd.share, odd.events, odd.harmless) == ("low", "", 0, 0.0, (), False)
    assert (large.cost_ns, large.share, large.events) == (0, 1.0, (10**9,))
