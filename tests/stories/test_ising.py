"""Is the gradient of the free energy Onsager's energy, and does its recording show the copies of copies?"""

from __future__ import annotations

import pytest

from gradviz.cli.demo import load_program

TOLERANCE = 5e-5  # what keeping 12 singular values leaves at β = 0.35


@pytest.fixture
def written(story):
    return story("ising", "as_written")


@pytest.fixture
def healthy(story):
    return story("ising", "by_gradviz")


def test_the_exact_energy_is_that_of_textbooks() -> None:
    exact_energy = load_program("ising").exact_energy
    assert exact_energy(0.4406) == pytest.approx(-(2**0.5), rel=2e-3)  # near the critical point
    assert exact_energy(3.0) == pytest.approx(-2, rel=1e-4)  # nearly all spins agree
    assert exact_energy(0.5) == pytest.approx(-1.7455645753125535, rel=1e-12)


def test_the_gradient_is_the_energy(written, healthy) -> None:
    program = load_program("ising")
    assert healthy.result == pytest.approx(program.exact_energy(program.BETA), abs=TOLERANCE)
    assert written.result == pytest.approx(healthy.result, rel=1e-9)


def test_more_singular_values_come_closer() -> None:
    program = load_program("ising")
    exact = program.exact_energy(program.BETA)
    assert abs(program.by_gradviz(program.BETA, 8) - exact) > 2 * TOLERANCE


def test_copies_of_copies_are_reported(written, healthy) -> None:
    (finding,) = written.only("copy_of_a_copy")
    assert finding.count > load_program("ising").ROUNDS
    assert written.line(finding) == "return np.reshape(turned, (a * b, c * d)).copy()"
    assert not healthy.only("copy_of_a_copy")
