"""Numbers turned into another dtype, as NumPy's ``astype`` does."""

from __future__ import annotations

from gradviz.plan.kernels.code import SCALARS, Code, Operand, Value, is_complex, itemsize, part
from gradviz.plan.kernels.complex_functions import complex_truth
from gradviz.plan.kernels.real_functions import truth


def cast(c: Code, source: str, target: str, value: Value) -> Value:
    """``value`` as ``target``; an imaginary part that has no place is dropped."""
    if source == target:
        return value
    if is_complex(source):
        if target == "b1":
            return complex_truth(c, source, value)
        if is_complex(target):
            return tuple(cast(c, part(source), part(target), x) for x in value)
        return cast(c, part(source), target, value[0])
    if is_complex(target):
        return cast(c, source, part(target), value), c.constant(part(target), 0)
    return _cast_real(c, source, target, value)


def _cast_real(c: Code, source: str, target: str, value: Operand) -> Operand:
    if target == "b1":
        return truth(c, source, value)
    if SCALARS[source] == SCALARS[target]:
        return value
    return c.convert(_word(source, target), source, target, value)


def _word(source: str, target: str) -> str:
    match source[0], target[0]:
        case "f", "f":
            return "fpext" if itemsize(target) > itemsize(source) else "fptrunc"
        case "f", "i":
            return "fptosi"
        case "f", _:
            return "fptoui"
        case "i", "f":
            return "sitofp"
        case _, "f":
            return "uitofp"
        case "b", _:
            return "zext"
        case kind, _:
            if itemsize(target) < itemsize(source):
                return "trunc"
            return "sext" if kind == "i" else "zext"
