"""Are gradients shortened as PyTorch shortens them, in their own dtype?"""

from __future__ import annotations

import numpy as np
import pytest
import torch

import gradviz as gv


def some(dtype: str, scale: float) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        "w": (scale * rng.standard_normal((4, 3))).astype(dtype),
        "b": (scale * rng.standard_normal(3)).astype(dtype),
    }


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_by_norm(dtype: str, scale: float) -> None:
    grads = some(dtype, scale)
    got = gv.optim.clip_by_norm(grads, 2.0)
    tensors = [torch.zeros(g.shape, dtype=torch.tensor(g).dtype, requires_grad=True) for g in grads.values()]
    for tensor, g in zip(tensors, grads.values(), strict=True):
        tensor.grad = torch.tensor(g)
    norm = torch.nn.utils.clip_grad_norm_(tensors, 2.0)
    assert gv.optim.global_norm(grads) == pytest.approx(float(norm), rel=1e-5)
    for g, tensor in zip(got.values(), tensors, strict=True):
        assert g.dtype == dtype
        np.testing.assert_allclose(g, tensor.grad.numpy(), rtol=1e-5)
    assert gv.optim.global_norm(got) <= 2.0 * (1 + 1e-6)


def test_the_precisions_of_a_tree_stay_apart() -> None:
    grads = {
        "single": np.full(3, 5, np.float32),
        "double": np.full(3, 5.0),
        "complex": np.full(2, 3 + 4j, np.complex64),
    }
    clipped = gv.optim.clip_by_norm(grads, 1.0)
    assert {name: g.dtype for name, g in clipped.items()} == {name: g.dtype for name, g in grads.items()}
    assert gv.optim.global_norm(clipped) == pytest.approx(1.0)


def test_what_is_short_stays_as_it_is() -> None:
    grads = some("f8", 0.1)
    for name, g in gv.optim.clip_by_norm(grads, 1e6).items():
        np.testing.assert_array_equal(g, grads[name])
    assert np.array_equal(gv.optim.clip_by_norm(np.zeros(3), 1.0), np.zeros(3))
    assert gv.optim.global_norm({}) == 0


def test_a_broken_gradient_is_not_hidden() -> None:
    assert np.isnan(gv.optim.clip_by_norm(np.array([1.0, np.nan]), 1.0)).all()


def test_by_value() -> None:
    grads = some("f4", 3.0)
    for name, g in gv.optim.clip_by_value(grads, 0.5).items():
        assert g.dtype == np.float32
        np.testing.assert_array_equal(g, np.clip(grads[name], np.float32(-0.5), np.float32(0.5)))


@pytest.mark.parametrize("most", [0.0, -1.0, np.nan])
@pytest.mark.parametrize("clip", [gv.optim.clip_by_norm, gv.optim.clip_by_value])
def test_a_bound_is_positive(clip, most: float) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        clip(np.ones(2), most)
