"""Update rules, clipping and learning rates for training loops.

>>> import numpy as np, gradviz as gv
>>> adam = gv.optim.adam(0.1)
>>> params = {"w": np.array([1.0, -2.0])}
>>> state = adam.init(params)
>>> for _ in range(200):
...     grads = gv.grad(lambda p: np.sum(p["w"] ** 2))(params)
...     params, state = adam.step(params, grads, state)
>>> bool(np.all(np.abs(params["w"]) < 1e-3))
True

A rule writes into the arrays of ``params`` and ``state`` and returns them. Compiled with ``gv.compile(step, donate=("params", "state"))``
it is one kernel that passes over memory once.
"""

from gradviz.optim.adam import AdamState, adam, adamw
from gradviz.optim.clip import clip_by_norm, clip_by_value, global_norm
from gradviz.optim.lion import LionState, lion
from gradviz.optim.optimizer import Optimizer
from gradviz.optim.rmsprop import RMSPropState, rmsprop
from gradviz.optim.schedules import (
    constant,
    cosine_decay,
    exponential_decay,
    linear,
    piecewise_constant,
    step_decay,
    warmup_cosine,
)
from gradviz.optim.sgd import SGDState, sgd

__all__ = [
    "AdamState", "LionState", "Optimizer", "RMSPropState", "SGDState", "adam", "adamw", "clip_by_norm", "clip_by_value", "constant",
    "cosine_decay", "exponential_decay", "global_norm", "linear", "lion", "piecewise_constant", "rmsprop", "sgd", "step_decay",
    "warmup_cosine",
]  # fmt: skip
