"""How are PyTorch and its compiler started so that a comparison is fair?"""

from __future__ import annotations

import time
import types

from benchmarks import CORES


def torch_module():
    """PyTorch, on all cores."""
    import torch

    torch.set_num_threads(CORES)
    return torch


def fresh(f):
    """A copy of ``f`` with a code object of its own: torch.compile's cache is kept per code object."""
    code = f.__code__.replace(co_name=f"{f.__name__}_{time.monotonic_ns()}")
    new = types.FunctionType(code, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
    new.__kwdefaults__ = f.__kwdefaults__
    return new


def warm_inductor() -> float:
    """Start torch.compile's machinery once, so that it isn't charged to whoever compiles first; the seconds it took."""
    torch = torch_module()
    start = time.perf_counter()
    f = torch.compile(lambda x: (x.sin() * 2.0 + 1.0).sum())
    f(torch.ones(64, dtype=torch.float64, requires_grad=True)).backward()
    return time.perf_counter() - start
