"""gradviz shows where a gradient spends its time and memory, and then runs that gradient without the waste."""

from gradviz import numpy, rules
from gradviz.engine.array import Array
from gradviz.engine.rule import rule
from gradviz.transforms.checkpoint import checkpoint
from gradviz.transforms.gradient import grad, value_and_grad, vjp
from gradviz.transforms.jacobian import hessian, jacobian
from gradviz.transforms.loops import fold, scan
from gradviz.transforms.stop import stop_gradient
from gradviz.transforms.tangent import hvp, jvp

__all__ = [
    "Array", "checkpoint", "fold", "grad", "hessian", "hvp", "jacobian", "jvp", "numpy", "rule", "rules", "scan", "stop_gradient",
    "value_and_grad", "vjp",
]  # fmt: skip
