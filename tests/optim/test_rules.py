"""Do the update rules take the steps that PyTorch's and Optax's take, whatever the tree and dtype, compiled or not?"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import optax
import pytest
import torch

import gradviz as gv
from gradviz.errors import OptimizerError
from gradviz.transforms.trees import flatten, tree_map

STEPS = 6


@dataclasses.dataclass
class Layer:
    w: Any
    b: Any


class Pair(NamedTuple):
    first: Any
    second: Any


def numbers(*shape: int, dtype: Any, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    made = rng.standard_normal(shape)
    return (made + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else made).astype(dtype)


def trees(dtype: Any, seed: int = 0) -> dict[str, Any]:
    """The same numbers in every kind of tree."""
    w, b = numbers(4, 3, dtype=dtype, seed=seed), numbers(3, dtype=dtype, seed=seed + 1000)
    return {
        "array": w.copy(),
        "dict": {"w": w.copy(), "b": b.copy()},
        "list of tuples": [(w.copy(), b.copy()), (b.copy(),)],
        "named tuple": Pair(w.copy(), {"b": b.copy()}),
        "dataclass": Layer(w.copy(), [b.copy(), None]),
        "fortran": {"w": np.asfortranarray(w)},
        "empty and 0-d": [np.zeros((0, 3), dtype), np.array(w[0, 0])],
    }


RATE = 0.05
RULES = {
    "sgd": (gv.optim.sgd(RATE), torch.optim.SGD, {}, optax.sgd(RATE)),
    "sgd momentum": (gv.optim.sgd(RATE, 0.9), torch.optim.SGD, {"momentum": 0.9}, optax.sgd(RATE, momentum=0.9)),
    "sgd nesterov": (
        gv.optim.sgd(RATE, 0.9, nesterov=True, weight_decay=0.1),
        torch.optim.SGD,
        {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
        optax.chain(optax.add_decayed_weights(0.1), optax.sgd(RATE, momentum=0.9, nesterov=True)),
    ),
    "adam": (gv.optim.adam(RATE), torch.optim.Adam, {}, optax.adam(RATE)),
    "adam, other numbers": (
        gv.optim.adam(RATE, 0.8, 0.95, 1e-3, weight_decay=0.1),
        torch.optim.Adam,
        {"betas": (0.8, 0.95), "eps": 1e-3, "weight_decay": 0.1},
        optax.chain(optax.add_decayed_weights(0.1), optax.adam(RATE, 0.8, 0.95, 1e-3)),
    ),
    "adamw": (gv.optim.adamw(RATE, weight_decay=0.2), torch.optim.AdamW, {"weight_decay": 0.2}, optax.adamw(RATE, weight_decay=0.2)),
    "rmsprop": (gv.optim.rmsprop(RATE), torch.optim.RMSprop, {}, optax.rmsprop(RATE, 0.99, 1e-8, eps_in_sqrt=False)),
    "rmsprop, all of it": (
        gv.optim.rmsprop(RATE, 0.9, 1e-4, momentum=0.8, centered=True, weight_decay=0.1),
        torch.optim.RMSprop,
        {"alpha": 0.9, "eps": 1e-4, "momentum": 0.8, "centered": True, "weight_decay": 0.1},
        None,
    ),
    "lion": (gv.optim.lion(RATE, weight_decay=0.1), None, {}, optax.lion(RATE, weight_decay=0.1)),
}  # fmt: skip
every_rule = pytest.mark.parametrize("name", RULES)


def torch_steps(kind: Any, options: dict[str, Any], params: list[Any], grads: list[list[Any]]) -> list[Any]:
    tensors = [torch.tensor(p, requires_grad=True) for p in params]
    optimizer = kind(tensors, lr=RATE, **options)
    for step in grads:
        for tensor, g in zip(tensors, step, strict=True):
            tensor.grad = torch.tensor(g)
        optimizer.step()
    return [tensor.detach().numpy() for tensor in tensors]


def optax_steps(optimizer: Any, params: list[Any], grads: list[list[Any]]) -> list[Any]:
    state = optimizer.init(params)
    for step in grads:
        updates, state = optimizer.update(step, state, params)
        params = optax.apply_updates(params, updates)
    return [np.asarray(p) for p in params]


def gradients(params: Any, step: int) -> Any:
    """Other numbers in each step, in the structure of the parameters."""
    return tree_map(lambda p: numbers(*p.shape, dtype=p.dtype, seed=step * 7 + p.size), params)


def steps(optimizer: Any, params: Any, compiled: bool = False) -> tuple[Any, Any]:
    step = gv.compile(optimizer.step, donate=("params", "state")) if compiled else optimizer.step
    state = optimizer.init(params)
    for k in range(STEPS):
        params, state = step(params, gradients(params, k), state)
    return params, state


def assert_close(got: Any, want: Any, dtype: Any) -> None:
    loose = 2e-5 if np.dtype(dtype).itemsize // (1 + (np.dtype(dtype).kind == "c")) == 4 else 1e-12
    np.testing.assert_allclose(got, want, rtol=loose, atol=loose)


@every_rule
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_steps_as_the_others_take_them(name: str, dtype: str) -> None:
    mine, kind, options, theirs = RULES[name]
    params = trees(dtype)["dict"]
    start, _ = flatten(tree_map(np.copy, params))
    grads = [flatten(gradients(params, k))[0] for k in range(STEPS)]
    after, state = steps(mine, params)
    assert state.count == STEPS
    assert type(state.count) is float
    if kind is not None:
        for got, want in zip(flatten(after)[0], torch_steps(kind, options, start, grads), strict=True):
            assert_close(got, want, dtype)
    if theirs is not None:
        for got, want in zip(flatten(after)[0], optax_steps(theirs, start, grads), strict=True):
            assert_close(got, want, dtype)


@every_rule
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_any_tree_keeps_its_structure_dtypes_and_memory(name: str, dtype: str) -> None:
    for params in trees(dtype).values():
        before, structure = flatten(params)
        after, state = steps(RULES[name][0], params)
        leaves, same = flatten(after)
        assert same == structure
        assert all(a is b for a, b in zip(leaves, before, strict=True)), "written in place"
        precision = np.finfo(dtype).dtype
        assert all(leaf.dtype in (np.dtype(dtype), precision) for leaf in flatten(state[1:])[0])


@every_rule
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_compiled_and_donated(name: str, dtype: str) -> None:
    for kind in ("dict", "list of tuples", "dataclass"):
        want, want_state = steps(RULES[name][0], trees(dtype)[kind])
        params = trees(dtype)[kind]
        before, _ = flatten(params)
        got, state = steps(RULES[name][0], params, compiled=True)
        for a, b in zip(flatten((got, state))[0], flatten((want, want_state))[0], strict=True):
            assert np.result_type(a) == np.result_type(b)
            assert_close(a, b, dtype)
        assert all(np.shares_memory(a, b) for a, b in zip(flatten(got)[0], before, strict=True)), (
            "in the donated memory"
        )


@pytest.mark.parametrize("compiled", [False, True])
def test_a_schedule_sets_the_rate_of_each_step(compiled: bool) -> None:
    params = {"w": np.zeros(2, np.float32)}
    optimizer = gv.optim.sgd(gv.optim.linear(1.0, 0.0, steps=4))
    step = gv.compile(optimizer.step) if compiled else optimizer.step
    state = optimizer.init(params)
    seen = []
    for _ in range(5):
        before = params["w"].copy()
        params, state = step(params, {"w": np.ones(2, np.float32)}, state)
        seen.append(float((before - params["w"])[0]))
    np.testing.assert_allclose(seen, [1, 0.75, 0.5, 0.25, 0])
    assert params["w"].dtype == np.float32
    assert not compiled or sum(map(len, step.plans.values())) == 1, "one plan for all counts"


def test_numbers_are_parameters_too() -> None:
    optimizer = gv.optim.adam(0.1)
    params: Any = {"a": 1.0, "b": np.float32(2)}
    state = optimizer.init(params)
    for _ in range(150):
        grads = gv.grad(lambda p: p["a"] ** 2 + p["b"] ** 2)(params)
        params, state = optimizer.step(params, grads, state)
    assert abs(params["a"]) < 1e-2
    assert params["b"].dtype == np.float32


def test_a_learning_rate_is_learned_through_the_steps() -> None:
    def loss_after(rate: Any) -> Any:
        optimizer = gv.optim.adam(rate)
        params = {"w": gv.numpy.asarray(np.array([1.0, -2.0])) * 1.0}
        state = optimizer.init(params)
        for _ in range(3):
            params, state = optimizer.step({"w": params["w"].copy()}, {"w": 2 * params["w"] + 0 * rate}, state)
        return np.sum(params["w"] ** 2)

    slope = gv.grad(loss_after)(0.1)
    h = 1e-6
    assert slope == pytest.approx((loss_after(0.1 + h) - loss_after(0.1 - h)) / (2 * h), rel=1e-6)


MLP = {"w1": (3, 8), "b1": (8,), "w2": (8, 1)}


@pytest.mark.parametrize("optimizer", [gv.optim.sgd(0.05, 0.9), gv.optim.adam(0.01), gv.optim.lion(0.002)], ids=repr)
def test_a_whole_training_step_compiled(optimizer: Any) -> None:
    def loss(params: Any, x: Any, y: Any) -> Any:
        return np.mean((np.tanh(x @ params["w1"] + params["b1"]) @ params["w2"] - y) ** 2)

    def train(params: Any, state: Any, x: Any, y: Any) -> Any:
        value, grads = gv.value_and_grad(loss)(params, x, y)
        params, state = optimizer.step(params, gv.optim.clip_by_norm(grads, 1.0), state)
        return params, state, value

    x = numbers(32, 3, dtype="f4", seed=1)
    y = np.sin(x.sum(1, keepdims=True))
    ways = {"plain": train, "compiled": gv.compile(train, donate=("params", "state"))}
    ends = {}
    for name, way in ways.items():
        params = {
            key: numbers(*shape, dtype="f4", seed=len(key) + shape[0]) * np.float32(0.5) for key, shape in MLP.items()
        }
        state = optimizer.init(params)
        values = []
        for _ in range(60):
            params, state, value = way(params, state, x, y)
            values.append(float(value))
        assert values[-1] < 0.6 * values[0]
        ends[name] = values
    np.testing.assert_allclose(ends["compiled"], ends["plain"], rtol=2e-2)


WRONG = {
    "integers": (lambda o: o.init({"w": np.array([1, 2])}), "params['w'] is of type int64"),
    "text": (lambda o: o.init(["a"]), "params[0] is of type str"),
    "other structure": (
        lambda o: o.step({"w": np.ones(2)}, {"v": np.ones(2)}, o.init({"w": np.ones(2)})),
        "grads holds ['v'], params holds ['w']",
    ),
    "other shape": (lambda o: o.step({"w": np.ones(2)}, {"w": np.ones(3)}, o.init({"w": np.ones(2)})), "grads['w'] has shape (3,)"),
    "optax's order": (lambda o: o.step(np.ones(2), o.init(np.ones(2)), np.ones(2)), "takes (params, grads, state)"),
    "other state": (lambda o: o.step([np.ones(2)] * 2, [np.ones(2)] * 2, o.init(np.ones(2))), "belongs to other parameters"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_belong_together_is_refused(name: str) -> None:
    attempt, message = WRONG[name]
    with pytest.raises(OptimizerError) as error:
        attempt(gv.optim.adam())
    assert message in str(error.value)


def test_looking_ahead_needs_a_velocity() -> None:
    with pytest.raises(OptimizerError, match="give a momentum"):
        gv.optim.sgd(0.1, nesterov=True)
