"""The programs of the demo, each run once for all tests of a file."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import pytest

from gradviz.cli.demo import load_program, one_blas_thread
from gradviz.report.profile import Profile
from gradviz.report.recording import profile


class Run(NamedTuple):
    result: Any
    profile: Profile

    @property
    def kinds(self) -> Counter[str]:
        """How many findings of each kind there are, but for those that only inform."""
        return Counter(f.kind for f in self.profile.findings if not f.harmless and f.kind != "peak_memory")

    def only(self, kind: str) -> list[Any]:
        return [finding for finding in self.profile.findings if finding.kind == kind]

    def line(self, finding: Any) -> str:
        """The text of the line that a finding names."""
        trace = self.profile.trace
        return trace.text(int(trace.sites["text_str"][finding.site]))


def run_of(function: Any, inputs: tuple[Any, ...]) -> Run:
    with profile() as taken:
        result = function(*inputs)
    return Run(result, taken)


@pytest.fixture(scope="session", autouse=True)
def _quiet_cores():
    with one_blas_thread():
        yield


@pytest.fixture(scope="session")
def story():
    """``story(name, version)``: the run of ``as_written`` or ``by_gradviz`` of a program."""
    runs: dict[tuple[str, str], Run] = {}

    def get(name: str, version: str) -> Run:
        if (name, version) not in runs:
            program = load_program(name)
            runs[name, version] = run_of(getattr(program, version), program.prepare())
        return runs[name, version]

    return get
