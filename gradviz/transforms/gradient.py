"""Gradients by reverse mode: `grad`, `value_and_grad`, `vjp`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradviz.engine.array import Array, can_be_shared, snapshot, strip
from gradviz.engine.backward import backward
from gradviz.engine.batch import Batch
from gradviz.engine.call import escaped
from gradviz.engine.cotangent import Indexed, Owned, lifted, owned, zeros
from gradviz.engine.like import Like, like
from gradviz.engine.tape import Tape, alive
from gradviz.errors import NotDifferentiableError, RuleError
from gradviz.record.current import current_recorder
from gradviz.record.events import Reason
from gradviz.transforms.foreign import run as call_foreign
from gradviz.transforms.trees import check_leaf, flatten, paths, tree_map, unflatten

Argnums = int | Sequence[int]


def grad(f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The gradient of a real scalar function.

    Parameters
    ----------
    f : a function of NumPy (or device) arrays that returns one real number; with ``has_aux``, a pair (number, anything)
    argnums : position or positions of the arguments to differentiate; each may be an array, a number, or a tree of them

    Returns
    -------
    A function of the same arguments. It returns the gradient with the shape, dtype and structure of the argument, a tuple of them
    for a sequence of ``argnums``, and with ``has_aux`` the pair (gradient, aux). For complex arguments the gradient is
    dL/dRe + i dL/dIm, the direction of steepest ascent.

    Raises
    ------
    NotDifferentiableError : an argument holds integers, or the result is not one real number

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> gv.grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    both = value_and_grad(f, argnums, has_aux)

    @functools.wraps(f)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, gradients = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return gradient


def value_and_grad(f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Value and gradient in one run: returns ``(value, gradient)``, with ``has_aux`` ``((value, aux), gradient)``. See `grad`.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> gv.value_and_grad(np.sin)(0.0)
    (np.float64(0.0), 1.0)
    """

    @functools.wraps(f)
    def both(*args: Any, **kwargs: Any) -> Any:
        run = Run(f, args, argnums)
        try:
            with run.spans("forward"):
                result = call_foreign(f, run.args, kwargs)
            result, aux = _split(result) if has_aux else (result, None)
            check_scalar(result, f)
            value = run.lower(result)
            with run.spans("backward"):
                gradients = run.gradients(
                    result, np.ones_like(value) if hasattr(value, "shape") else np.float64(1), free=True
                )
            aux = unflatten(*_lowered(aux, run)) if has_aux else None
        finally:
            run.tape.close()
        return ((value, aux) if has_aux else value), gradients

    return both


def vjp(f: Callable[..., Any], *args: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """Run ``f(*args)`` and return its value with the function that pulls cotangents back.

    Returns
    -------
    (y, pull) : ``pull(ct)`` takes a cotangent with the structure, shapes and dtypes of ``y`` and returns a tuple with one cotangent
        for each argument. It may be called many times; what was saved for it is freed when it is.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> y, pull = gv.vjp(np.sin, np.array([0.0, 1.0]))
    >>> pull(np.array([1.0, 0.0]))
    (array([1., 0.]),)
    """
    run = Run(f, args, tuple(range(len(args))))
    try:
        with run.spans("forward"):
            result = call_foreign(f, run.args, {})
    finally:
        run.tape.finish()
    outs, structure = flatten(result)
    values = [run.lower(out) for out in outs]
    variables = [out.index if isinstance(out, Array) and out.tape is run.tape else -1 for out in outs]
    likes = [
        Like(*like(value)) if hasattr(value, "dtype") or isinstance(value, (float, complex)) else None
        for value in values
    ]
    captures = [value if hasattr(value, "lift") else None for value in values]
    del result, outs

    def pull(ct: Any) -> tuple[Any, ...]:
        cts, _ = flatten(ct)
        if len(cts) != len(likes):
            raise NotDifferentiableError(
                f"the cotangent has {len(cts)} leaves, the result of {name_of(f)} has {len(likes)}"
            )
        for c, want in zip(cts, likes, strict=True):
            if want is not None and np.shape(c) != want.shape:
                raise NotDifferentiableError(
                    f"a cotangent has shape {np.shape(c)}, the result of {name_of(f)} there has {want.shape}"
                )
            if (
                want is not None
                and np.iscomplexobj(c)
                and want.dtype is not complex
                and np.dtype(want.dtype).kind != "c"
            ):
                raise NotDifferentiableError(f"a cotangent is complex, the result of {name_of(f)} there is real")
        seeds = [(v, lifted(as_cotangent(c), n)) for v, c, n in zip(variables, cts, captures, strict=True) if v >= 0]
        with run.spans("backward"):
            return run.collect(seeds, free=False)

    return unflatten(structure, values), pull


class Run:
    """One run of a function with some arguments traced.

    ``args`` are the arguments with traced leaves; ``gradients`` brings cotangents back in the structure of the arguments.
    """

    def __init__(self, f: Callable[..., Any], args: tuple[Any, ...], argnums: Argnums) -> None:
        self.single = isinstance(argnums, int)
        self.argnums = tuple(check_argnum(n, args, f) for n in ((argnums,) if isinstance(argnums, int) else argnums))
        if len(set(self.argnums)) < len(self.argnums):
            raise NotDifferentiableError(f"argnums={argnums} names an argument twice")
        recorder = current_recorder()
        self.tape = Tape(recorder)
        self.target: Any = None if recorder is None else recorder.recording.target
        if self.target is not None:
            args = tuple(
                tree_map(lambda leaf: self.target.asarray(leaf) if type(leaf) is np.ndarray else leaf, arg)
                for arg in args
            )
        self.leaves: list[Any] = []
        self.structures: list[tuple[Any, int]] = []
        traced = list(args)
        for argnum in self.argnums:
            leaves, structure = flatten(args[argnum])
            for k, leaf in enumerate(leaves):
                if not isinstance(leaf, (np.ndarray, Array)) or leaf.dtype.kind not in "fc":
                    check_leaf(leaf, where_argument, f, argnum, args[argnum], k)
            self.structures.append((structure, len(leaves)))
            traced[argnum] = unflatten(
                structure, [Array(snapshot(leaf), self.tape, self.tape.leaf()) for leaf in leaves]
            )
            self.leaves += leaves
        self.args = traced
        if self.tape.recorder is not None:
            self.tape.recorder.inputs(self.tape, self.leaves)

    def spans(self, name: str) -> Any:
        """A stretch of the recording, if there is one."""
        return NO_SPAN if self.tape.recorder is None else self.tape.recorder.span(name)

    def lower(self, out: Any) -> Any:
        """A result as the caller sees it, in memory that neither the tape nor the arguments hold."""
        if not isinstance(out, Array):
            return out
        if out.tape is not self.tape:
            if out.tape is not None and not out.tape.open:
                raise escaped("the result")
            if out.tape is not None or any(tape.open for tape in alive() if tape is not self.tape):  # may write into it
                return out
        value = strip(out, self.tape.level)
        recorder = self.tape.recorder
        if can_be_shared(value) and not owned(value, 1):
            value = (
                value.copy(order="K")
                if recorder is None or isinstance(value, Array)
                else recorder.copy(Reason.RETURNED, value)
            )
        if recorder is not None:
            recorder.hand(value)
        return value

    def gradients(self, result: Any, ct: Any, free: bool) -> Any:
        """What ``ct`` of the result becomes at the arguments: one tree, or a tuple for a sequence of argnums."""
        traced = isinstance(result, Array) and result.tape is self.tape
        collected = self.collect([(result.index, ct)] if traced else [], free)
        return collected[0] if self.single else collected

    def collect(self, seeds: list[tuple[int, Any]], free: bool) -> tuple[Any, ...]:
        """Walk back from the seeds, and put the cotangents of the leaves into the structures of the arguments."""
        cts = backward(self.tape, seeds, free)
        made: list[Any] = []
        for k, leaf in enumerate(self.leaves):
            ct, cts[k] = cts[k], None
            made.append(self._hand_out(ct, leaf))
            ct = None
        trees, at = [], 0
        for structure, count in self.structures:
            trees.append(unflatten(structure, made[at : at + count]))
            at += count
        return tuple(trees)

    def _hand_out(self, ct: Any, leaf: Any) -> Any:
        """A gradient in the kind of its argument, in memory of its own."""
        if type(ct) is type(leaf) is np.ndarray and ct.shape == leaf.shape and ct.dtype is leaf.dtype and owned(ct, 1):
            if self.tape.recorder is not None:
                self.tape.recorder.hand(ct)
            return ct
        want = Like(*like(leaf))
        if ct is None:
            ct = zeros(want, leaf) if not isinstance(leaf, (float, complex)) or isinstance(leaf, np.generic) else 0.0
        elif type(ct) is Indexed or type(ct) is Owned:
            ct = ct.dense()
        elif np.shape(ct) != want.shape:
            raise RuleError(
                f"the gradient of an argument of shape {want.shape} came out with shape {np.shape(ct)}: a rule is wrong"
            )
        elif can_be_shared(ct) and not owned(ct, 1):
            recorder = self.tape.recorder
            ct = ct.copy(order="K") if recorder is None or isinstance(ct, Array) else recorder.copy(Reason.RETURNED, ct)
        if isinstance(ct, (Array, Batch)):
            return ct
        if self.tape.recorder is not None:
            self.tape.recorder.hand(ct)
        if type(leaf) is float or type(leaf) is complex:
            return type(leaf)(ct)
        if type(leaf) is np.ndarray:
            return np.asarray(ct, want.dtype)
        if isinstance(leaf, np.generic):
            return leaf.dtype.type(ct)
        in_kind = getattr(leaf, "in_kind", None)
        return ct if in_kind is None else in_kind(ct)


def check_argnum(argnum: int, args: tuple[Any, ...], f: Callable[..., Any]) -> int:
    """The position of an argument that there is, counted from the front."""
    if not -len(args) <= argnum < len(args):
        raise NotDifferentiableError(
            f"argnums names argument {argnum}, but {name_of(f)} was called with {len(args)} positional arguments"
        )
    return argnum % len(args)


class _NoSpan:
    def __enter__(self) -> None: ...
    def __exit__(self, *exc: object) -> None: ...


NO_SPAN = _NoSpan()


def as_cotangent(ct: Any) -> Any:
    """A cotangent as NumPy knows it."""
    return ct if hasattr(ct, "dtype") else np.asarray(ct)[()]


def check_scalar(result: Any, f: Callable[..., Any]) -> None:
    """A gradient needs one real number."""
    if not hasattr(result, "shape") and not isinstance(result, (int, float, complex)):
        raise NotDifferentiableError(
            f"{name_of(f)} returned {result!r:.60}, of type {type(result).__name__}, where a gradient needs one real number."
            + (" Is a return missing?" if result is None else " If it returns (loss, extra), pass has_aux=True.")
        )
    if getattr(result, "shape", ()) != ():
        raise NotDifferentiableError(
            f"{name_of(f)} returned an array of shape {np.shape(result)}, where a gradient needs one real number. "
            f"Sum it (np.sum), or use gv.jacobian or gv.vjp."
        )
    if isinstance(result, complex) or getattr(getattr(result, "dtype", None), "kind", "f") == "c":
        raise NotDifferentiableError(
            f"{name_of(f)} returned a complex number, whose gradient has no single meaning. "
            f"Return a real one (x.real, np.abs(x)**2), or use gv.vjp."
        )


def _split(result: Any) -> tuple[Any, Any]:
    if not isinstance(result, tuple) or len(result) != 2:
        raise NotDifferentiableError("with has_aux=True the function must return a pair (number, aux)")
    return result


def _lowered(tree: Any, run: Run) -> tuple[Any, list[Any]]:
    leaves, structure = flatten(tree)
    return structure, [run.lower(leaf) for leaf in leaves]


def name_of(f: Callable[..., Any]) -> str:
    """How messages call a function."""
    return getattr(f, "__name__", repr(f))


def where_argument(f: Callable[..., Any], argnum: int, arg: Any, k: int) -> str:
    """``argument 'params' of loss, at ['w'][0]``."""
    try:
        name = repr(list(inspect.signature(f).parameters)[argnum])
    except (ValueError, TypeError, IndexError):
        name = str(argnum)
    path = paths(arg)[k]
    return f"argument {name} of {name_of(f)}" + (f", at {path}" if path else "")
