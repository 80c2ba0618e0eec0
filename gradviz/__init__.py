"""gradviz shows where a gradient spends its time and memory, and then runs that gradient without the waste."""

from gradviz import rules
from gradviz.engine.array import Array
from gradviz.engine.rule import rule
from gradviz.transforms.gradient import grad, value_and_grad, vjp

__all__ = ["Array", "grad", "rule", "rules", "value_and_grad", "vjp"]
