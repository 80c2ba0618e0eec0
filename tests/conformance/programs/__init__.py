"""The problems of GradBench's evals as programs in plain NumPy, written from their descriptions. Each takes its namespace first."""

from tests.conformance.programs import bundle_adjustment, clustering, hand, mixture, ode, recurrent, small
from tests.conformance.programs.program import Program

PROGRAMS: tuple[Program, ...] = (
    *small.PROGRAMS, *clustering.PROGRAMS, *mixture.PROGRAMS, *bundle_adjustment.PROGRAMS, *hand.PROGRAMS, *recurrent.PROGRAMS,
    *ode.PROGRAMS,
)  # fmt: skip

__all__ = ["PROGRAMS", "Program"]
