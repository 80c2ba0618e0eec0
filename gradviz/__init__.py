"""gradviz shows where a gradient spends its time and memory, and what to change."""

from gradviz import numpy, optim, rules, scipy
from gradviz.devices.sim import simulate
from gradviz.engine.array import Array
from gradviz.engine.rule import rule
from gradviz.notebook import load_ipython_extension
from gradviz.plan.compile import compile  # noqa: A004 - as torch and re say it
from gradviz.record.guard import forbid
from gradviz.report.profile import Profile, compare, load
from gradviz.report.recording import profile, span
from gradviz.solvers.least_squares import least_squares
from gradviz.solvers.minimize import minimize
from gradviz.transforms import implicit
from gradviz.transforms.checkpoint import checkpoint
from gradviz.transforms.gradient import grad, value_and_grad, vjp
from gradviz.transforms.jacobian import hessian, jacobian
from gradviz.transforms.loops import fold, scan, while_loop
from gradviz.transforms.stop import stop_gradient
from gradviz.transforms.tangent import hvp, jvp
from gradviz.version import __version__

__all__ = [
    "Array", "Profile", "__version__", "checkpoint", "compare", "compile", "fold", "forbid", "grad", "hessian", "hvp", "implicit",
    "jacobian", "jvp", "least_squares", "load", "load_ipython_extension", "minimize", "numpy", "optim", "profile", "rule", "rules",
    "scan", "scipy", "simulate", "span", "stop_gradient", "value_and_grad", "vjp", "while_loop",
]  # fmt: skip
