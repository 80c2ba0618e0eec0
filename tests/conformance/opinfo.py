"""PyTorch's operator samples: each is run by torch and by a twin written in NumPy, and values and gradients are compared.

torch keeps, for each of its operators, a generator of samples: empty and 0-d arrays, broadcasting, other strides, ties, singular
matrices. Those with a twin in `tests.conformance.twins` are run here in double precision, real and complex.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import optree
import torch
from torch.testing._internal.common_methods_invocations import op_db

import gradviz as gv
from tests.conformance.report import Count, Suite
from tests.conformance.twins.twin import TWINS, NotComparableError, Twin

RTOL, ATOL = 1e-6, 1e-8
STEP = 1e-6
DTYPES = (torch.float64, torch.complex128)


@dataclass
class Sample:
    """One call of one operator, as both sides run it."""

    op: str
    dtype: torch.dtype
    number: int
    leaves: list[Any]  # tensors and other arguments
    structure: Any
    op_info: Any
    twin: Twin

    def __str__(self) -> str:
        shown = [tuple(leaf.shape) if isinstance(leaf, torch.Tensor) else leaf for leaf in self.leaves]
        return f"{self.op} {str(self.dtype)[6:]} #{self.number} {optree.tree_unflatten(self.structure, shown)}"


@dataclass
class Outcome:
    """``same``, ``refused`` (torch has no gradient, or a random result), ``missing``, ``value``, ``gradient`` or ``error``."""

    sample: str
    op: str
    kind: str
    detail: str = ""
    evidence: str = ""  # of a difference: what finite differences say


@dataclass
class Tally:
    ops: set[str] = field(default_factory=set)
    same: int = 0
    refused: int = 0
    others: list[Outcome] = field(default_factory=list)


def name_of(op: Any) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def samples(
    only: str = "", most: int | None = None, dtypes: tuple[Any, ...] = DTYPES, part: tuple[int, int] = (0, 1)
) -> Iterator[Sample]:
    """Those of every operator with a twin.

    Parameters
    ----------
    only : a part of the operators' names
    most : a bound for the samples of each operator and dtype
    part : ``(k, n)``, the k-th of n parts of the operators
    """
    for op in op_db[part[0] :: part[1]]:
        twin = TWINS.get(name_of(op))
        if twin is None or only not in name_of(op):
            continue
        for dtype in dtypes:
            if dtype not in op.dtypes or not op.supports_autograd or (dtype is torch.complex128 and twin.real):
                continue
            torch.manual_seed(0)
            np.random.seed(0)  # noqa: NPY002 - torch's generators draw from both
            drawn = op.sample_inputs("cpu", dtype, requires_grad=True)
            for number, sample in enumerate(itertools.islice(drawn, most)):
                args = (sample.input, *sample.args)
                leaves, structure = optree.tree_flatten((args, sample.kwargs), none_is_leaf=True)
                yield Sample(name_of(op), dtype, number, leaves, structure, op, twin)


def active(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.requires_grad


def as_numpy(leaf: Any) -> Any:
    """A tensor as an array of the same strides, a dtype as NumPy's; the rest as it is."""
    if isinstance(leaf, torch.Tensor):
        return leaf.detach().resolve_conj().resolve_neg().numpy()
    if isinstance(leaf, torch.dtype):
        return np.dtype(str(leaf).removeprefix("torch."))
    return tuple(leaf) if isinstance(leaf, torch.Size) else leaf


def compare(sample: Sample) -> Outcome:
    """Run both sides."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            outs, cts, want = by_torch(sample)
        except (RuntimeError, NotImplementedError, IndexError, ValueError) as error:
            return Outcome(str(sample), sample.op, "refused", str(error)[:200])
        try:
            return _against(sample, outs, cts, want)
        except NotComparableError as reason:
            return Outcome(str(sample), sample.op, "refused", str(reason))
        except gv.errors.MissingRuleError as error:
            return Outcome(str(sample), sample.op, "missing", str(error)[:200])
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a result of the comparison
            return Outcome(str(sample), sample.op, "error", f"{type(error).__name__}: {error}"[:300])


def by_torch(sample: Sample) -> tuple[list[Any], list[Any], list[Any]]:
    """Outputs, cotangents drawn for them, and the gradients, all as arrays."""
    args, kwargs = optree.tree_unflatten(sample.structure, sample.leaves)
    args = _hermitian(sample, torch, args)
    made = sample.twin.after(torch, sample.op_info(*args, **kwargs))
    outs = [out for out in optree.tree_leaves(made) if isinstance(out, torch.Tensor) and out.requires_grad]
    if not outs:
        raise ValueError("no output has a gradient")
    rng = np.random.default_rng(sample.number)
    cts = [_drawn(rng, out) for out in outs]
    inputs = [leaf for leaf in sample.leaves if active(leaf)]
    directions = [torch.as_tensor(ct).to(out.dtype) for ct, out in zip(cts, outs, strict=True)]
    grads = torch.autograd.grad(outs, inputs, directions, allow_unused=True)
    grads = [torch.zeros_like(x) if g is None else g for g, x in zip(grads, inputs, strict=True)]
    return [as_numpy(out) for out in outs], cts, [as_numpy(g) for g in grads]


def _hermitian(sample: Sample, xp: Any, args: Any) -> Any:
    """Where torch's own check makes the matrix Hermitian first, so do we: what such a function reads of others is not defined."""
    if sample.op_info.gradcheck_wrapper.__name__ != "gradcheck_wrapper_hermitian_input":
        return args
    return (args[0] + xp.conj(xp.swapaxes(args[0], -1, -2)), *args[1:])


def _drawn(rng: np.random.Generator, out: Any) -> np.ndarray:
    ct = np.asarray(rng.normal(size=tuple(out.shape)))
    return ct + 1j * rng.normal(size=ct.shape) if out.dtype.is_complex else ct


def program(sample: Sample) -> tuple[Callable[..., list[Any]], list[np.ndarray]]:
    """The twin as a function of the arrays to differentiate, and those arrays."""
    plain = [as_numpy(leaf) for leaf in sample.leaves]
    places = [k for k, leaf in enumerate(sample.leaves) if active(leaf)]

    def of(*arrays: Any) -> list[Any]:
        filled = list(plain)
        for k, array in zip(places, arrays, strict=True):
            filled[k] = array
        args, kwargs = optree.tree_unflatten(sample.structure, filled)
        args = _hermitian(sample, np, args)
        made = sample.twin.after(np, sample.twin.function(*args, **kwargs))
        return [out for out in optree.tree_leaves(made) if getattr(out, "dtype", np.dtype(int)).kind in "fc"]

    return of, [plain[k] for k in places]


def _against(sample: Sample, outs: list[Any], cts: list[Any], want: list[Any]) -> Outcome:
    of, arrays = program(sample)
    values, pull = gv.vjp(of, *arrays)
    if len(values) != len(outs):
        return Outcome(str(sample), sample.op, "value", f"{len(values)} outputs, but {len(outs)}")
    for value, out in zip(values, outs, strict=True):
        if np.shape(value) != out.shape or not close(value, out):
            return Outcome(str(sample), sample.op, "value", f"{_short(value)}, but {_short(out)}")
    pulled = pull([np.asarray(ct, value.dtype) for ct, value in zip(cts, values, strict=True)])
    for got, g in zip(pulled, want, strict=True):
        if np.shape(got) != g.shape or not close(got, g):
            said = by_differences(of, arrays, cts, pulled, want)
            return Outcome(str(sample), sample.op, "gradient", f"{_short(got)}, but {_short(g)}", said)
    return Outcome(str(sample), sample.op, "same")


def close(a: Any, b: Any) -> bool:
    scale = max(1.0, float(np.max(np.abs(b[np.isfinite(b)]), initial=0.0)))
    return bool(np.allclose(a, b, RTOL, ATOL * scale, equal_nan=True))


def _short(x: Any) -> str:
    return np.array2string(np.asarray(x), threshold=6, precision=6).replace("\n", "")[:120]


def by_differences(of: Callable[..., Any], arrays: list[Any], cts: list[Any], ours: Any, theirs: Any) -> str:
    """Who is right: steps to both sides along random directions, against what each gradient promises there."""
    rng = np.random.default_rng(1)
    verdicts = set()
    for _ in range(3):
        steps = [_drawn(rng, torch.from_numpy(np.asarray(x))) for x in arrays]

        def at(t: float, steps: list[Any] = steps) -> float:
            made = of(*(x + t * step for x, step in zip(arrays, steps, strict=True)))
            return sum(float(np.sum(np.real(np.conj(ct) * out))) for ct, out in zip(cts, made, strict=True))

        here = at(0.0)
        ahead, behind = (at(STEP) - here) / STEP, (here - at(-STEP)) / STEP
        promised = [
            sum(float(np.sum(np.real(np.conj(g) * s))) for g, s in zip(gs, steps, strict=True)) for gs in (ours, theirs)
        ]
        verdicts.add(_verdict(ahead, behind, *promised))
    return ", ".join(sorted(verdicts))


def _verdict(ahead: float, behind: float, ours: float, theirs: float) -> str:
    middle, gap = (ahead + behind) / 2, 1e-4 * max(1.0, abs(ahead), abs(behind))
    if not np.isfinite(middle):
        return "no difference can be formed"
    if abs(ahead - behind) > gap:
        return "kink"
    for name, promised in (("ours", ours), ("torch's", theirs)):
        if abs(promised - middle) < gap:
            return f"{name} is the slope"
    return "neither is the slope"


# Operators where a difference is torch's, why, and what finite differences must say of each such sample.
DISAGREEMENTS = {
    "as_strided_scatter": (
        "torch lets the cotangent of entries that were overwritten through to the input, which no longer reaches them",
        "ours is the slope",
    ),
    "cov": ("torch adds up weights of single precision in single precision, NumPy in double", "ours is the slope"),
}


def explained(outcome: Outcome) -> bool:
    """Whether a difference is one that the table knows, and still what the table says."""
    return outcome.kind == "gradient" and outcome.evidence == DISAGREEMENTS.get(outcome.op, ("", None))[1]


def run(
    only: str = "", most: int | None = None, dtypes: tuple[Any, ...] = DTYPES, part: tuple[int, int] = (0, 1)
) -> Tally:
    """Compare all samples; see `samples` for the parameters."""
    tally = Tally()
    for sample in samples(only, most, dtypes, part):
        tally.ops.add(sample.op)
        outcome = compare(sample)
        if outcome.kind == "same":
            tally.same += 1
        elif outcome.kind == "refused":
            tally.refused += 1
        else:
            tally.others.append(outcome)
    return tally


def suite() -> Suite:
    """All samples of all operators with a twin."""
    tally = run()
    known = [outcome for outcome in tally.others if explained(outcome)]
    wrong = [outcome for outcome in tally.others if not explained(outcome)]
    compared = tally.same + len(tally.others)
    stale = [(op, "is said to differ, but does not") for op in DISAGREEMENTS if op not in {o.op for o in known}]
    return Suite(
        f"PyTorch {torch.__version__} operator samples",
        f"The samples that PyTorch keeps for its operators, of float64 and complex128: {len(tally.ops)} of its operators have a twin in "
        f"NumPy, and value and gradient (a random cotangent pulled back) are compared to {RTOL:g}. {tally.refused} samples have no "
        "gradient in torch or a random result. A difference counts as explained if finite differences side with gradviz.",
        [Count("samples of PyTorch's operators", compared + len(stale), tally.same + len(known), 0.99)],
        explained=[(f"{op}: {sum(o.op == op for o in known)} samples", why) for op, (why, _) in DISAGREEMENTS.items()],
        failed=[*((o.sample, f"{o.kind}: {o.detail} {o.evidence}") for o in wrong), *stale],
    )
