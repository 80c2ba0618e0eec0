"""What networks are made of, in NumPy."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from gradviz.scipy import special
from tests.conformance.twins.twin import NotComparableError, twin

twin("nn.functional.relu")(lambda x, inplace=False: np.where(x > 0, x, 0))
twin("nn.functional.relu6")(lambda x, inplace=False: np.where(x < 0, 0, np.where(x > 6, 6, x)))
twin("nn.functional.silu")(lambda x, inplace=False: x * special.expit(x))
twin("nn.functional.hardswish")(lambda x, inplace=False: x * np.clip(x + 3, 0, 6) / 6)
twin("nn.functional.hardsigmoid")(lambda x, inplace=False: np.clip(x + 3, 0, 6) / 6)
twin("nn.functional.logsigmoid")(special.log_expit)
twin("nn.functional.mish")(lambda x, inplace=False: x * np.tanh(np.logaddexp(0, x)))
twin("nn.functional.softsign")(lambda x: x / (1 + np.abs(x)))
twin("nn.functional.tanhshrink")(lambda x: x - np.tanh(x))
twin("nn.functional.threshold")(lambda x, threshold, value, inplace=False: np.where(x > threshold, x, value))
twin("nn.functional.softshrink")(
    lambda x, lambd=0.5: np.where(x > lambd, x - lambd, np.where(x < -lambd, x + lambd, 0 * x))
)
twin("nn.functional.hardshrink")(lambda x, lambd=0.5: np.where(np.abs(x) > lambd, x, 0))
twin("nn.functional.hardtanh")(lambda x, min_val=-1.0, max_val=1.0, inplace=False: np.clip(x, min_val, max_val))
twin("nn.functional.leaky_relu")(lambda x, negative_slope=0.01, inplace=False: np.where(x > 0, x, negative_slope * x))
twin("nn.functional.elu")(lambda x, alpha=1.0, inplace=False: np.where(x > 0, x, alpha * np.expm1(x)))
twin("nn.functional.celu")(lambda x, alpha=1.0, inplace=False: np.where(x > 0, x, alpha * np.expm1(x / alpha)))
twin("nn.functional.selu")(
    lambda x, inplace=False: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x))
)
twin("nn.functional.linear")(lambda x, w, b=None: np.matmul(x, w.T) + (0 if b is None else b))


@twin("nn.functional.normalize")
def normalize(x, p=2.0, dim=1, eps=1e-12):
    size = np.linalg.vector_norm(np.atleast_1d(x), axis=dim, keepdims=True, ord=p)
    return x / np.reshape(np.maximum(size, eps), np.shape(x) and np.shape(size))


@twin("nn.functional.pairwise_distance")
def pairwise_distance(a, b, p=2.0, eps=1e-6, keepdim=False):
    return np.linalg.vector_norm(a - b + eps, axis=-1, keepdims=keepdim, ord=p)


@twin("nn.functional.gelu")
def gelu(x, approximate="none"):
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return x * special.ndtr(x)


@twin("nn.functional.softplus")
def softplus(x, beta=1, threshold=20):
    return np.where(beta * x > threshold, x, np.logaddexp(0, beta * x) / beta)


@twin("nn.functional.glu")
def glu(x, dim=-1):
    a, b = np.split(x, 2, axis=dim)
    return a * special.expit(b)


@twin("nn.functional.prelu")
def prelu(x, weight):
    shape = [-1 if axis == 1 else 1 for axis in range(np.ndim(x))] if np.size(weight) > 1 else [1] * np.ndim(x)
    return np.where(x > 0, x, np.reshape(weight, shape) * x)


# ---- losses


def _reduced(loss: Any, reduction: Any) -> Any:
    return {"mean": np.mean, "sum": np.sum, "none": lambda x: x}[reduction](loss)


@twin("nn.functional.l1_loss")
def l1_loss(x, target, reduction="mean", weight=None):
    return _reduced(np.abs(x - target), reduction)


@twin("nn.functional.mse_loss")
def mse_loss(x, target, reduction="mean", weight=None):
    return _reduced((x - target) ** 2, reduction)


@twin("nn.functional.smooth_l1_loss")
def smooth_l1_loss(x, target, reduction="mean", beta=1.0):
    gap = np.abs(x - target)
    return _reduced(gap if beta == 0 else np.where(gap < beta, 0.5 * gap**2 / beta, gap - 0.5 * beta), reduction)


@twin("nn.functional.huber_loss")
def huber_loss(x, target, reduction="mean", delta=1.0, weight=None):
    gap = np.abs(x - target)
    return _reduced(np.where(gap <= delta, 0.5 * gap**2, delta * (gap - 0.5 * delta)), reduction)


@twin("nn.functional.soft_margin_loss")
def soft_margin_loss(x, target, reduction="mean"):
    return _reduced(np.logaddexp(0, -target * x), reduction)


@twin("nn.functional.margin_ranking_loss")
def margin_ranking_loss(a, b, target, margin=0.0, reduction="mean"):
    return _reduced(np.clip(-target * (a - b) + margin, 0, None), reduction)


@twin("nn.functional.hinge_embedding_loss")
def hinge_embedding_loss(x, target, margin=1.0, reduction="mean"):
    loss = np.where(target != -1, x, 0) + np.where(target != 1, np.clip(margin - x, 0, None), 0)
    return _reduced(loss, reduction)


@twin("nn.functional.poisson_nll_loss")
def poisson_nll_loss(x, target, log_input=True, full=False, eps=1e-8, reduction="mean"):
    loss = np.exp(x) - target * x if log_input else x - target * np.log(x + eps)
    if full:
        stirling = target * np.log(target) - target + 0.5 * np.log(2 * np.pi * target)
        loss = loss + np.where(target > 1, stirling, 0)
    return _reduced(loss, reduction)


@twin("nn.functional.gaussian_nll_loss")
def gaussian_nll_loss(x, target, var, full=False, eps=1e-6, reduction="mean"):
    if np.ndim(var) and np.shape(var) != np.shape(x) and np.shape(x)[:-1] == np.shape(var):
        var = var[..., None]
    held = np.where(var < eps, eps, var)
    loss = 0.5 * (np.log(held) + (x - target) ** 2 / held) + (0.5 * np.log(2 * np.pi) if full else 0)
    return _reduced(loss, reduction)


@twin("nn.functional.binary_cross_entropy")
def binary_cross_entropy(x, target, weight=None, reduction="mean"):
    loss = -(target * np.maximum(np.log(x), -100) + (1 - target) * np.maximum(np.log1p(-x), -100))
    return _reduced(loss if weight is None else weight * loss, reduction)


@twin("nn.functional.binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(x, target, weight=None, reduction="mean", pos_weight=None):
    factor = 1 if pos_weight is None else 1 + (pos_weight - 1) * target
    loss = (1 - target) * x + factor * np.logaddexp(0, -x)
    return _reduced(loss if weight is None else weight * loss, reduction)


@twin("nn.functional.kl_div")
def kl_div(x, target, reduction="mean", log_target=False):
    loss = np.exp(target) * (target - x) if log_target else special.xlogy(target, target) - target * x
    return np.sum(loss) / np.shape(x)[0] if reduction == "batchmean" else _reduced(loss, reduction)


@twin("nn.functional.cosine_similarity")
def cosine_similarity(a, b, dim=1, eps=1e-8):
    a, b = np.broadcast_arrays(*((a, b) if np.ndim(a) else (a[None], b[None])))
    sizes = [np.maximum(np.linalg.vector_norm(x, axis=dim, keepdims=True), eps) for x in (a, b)]
    return np.sum((a / sizes[0]) * (b / sizes[1]), axis=dim)


@twin("nn.functional.multilabel_soft_margin_loss")
def multilabel_soft_margin_loss(x, target, weight=None, reduction="mean"):
    loss = target * np.logaddexp(0, -x) + (1 - target) * np.logaddexp(0, x)
    return _reduced(np.mean(loss if weight is None else weight * loss, axis=-1), reduction)


@twin("nn.functional.triplet_margin_loss", "nn.functional.triplet_margin_with_distance_loss")
def triplet_margin_loss(
    anchor, near, far, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction="mean", distance_function=None
):
    assert distance_function is None or type(distance_function).__name__ == "PairwiseDistance"  # which is what follows

    def distance(a, b):
        return np.linalg.vector_norm(a - b + eps, axis=-1, ord=p)

    away = distance(anchor, far)
    if swap:
        away = np.minimum(away, distance(near, far))
    return _reduced(np.clip(margin + distance(anchor, near) - away, 0, None), reduction)


# ---- layers


def _shaped(weight: Any, ndim: int) -> Any:
    return weight if ndim < 2 else np.reshape(weight, (1, np.size(weight), *[1] * (ndim - 2)))


def _normalised(x: Any, axes: tuple[int, ...], eps: float) -> Any:
    return (x - np.mean(x, axis=axes, keepdims=True)) / np.sqrt(np.var(x, axis=axes, keepdims=True) + eps)


@twin("nn.functional.layer_norm")
def layer_norm(x, shape, weight=None, bias=None, eps=1e-5):
    y = _normalised(x, tuple(range(-len(shape), 0)), eps)
    return y * (1 if weight is None else weight) + (0 if bias is None else bias)


@twin("nn.functional.rms_norm")
def rms_norm(x, shape, weight=None, eps=None):
    eps = np.finfo(np.float64).eps if eps is None else eps
    axes = tuple(range(-len(shape), 0))
    y = x / np.sqrt(np.mean(x**2, axis=axes, keepdims=True) + eps)
    return y if weight is None else y * weight


@twin("nn.functional.group_norm")
def group_norm(x, groups, weight=None, bias=None, eps=1e-5):
    parts = np.reshape(x, (np.shape(x)[0], groups, int(np.prod(np.shape(x)[1:])) // groups))
    y = np.reshape(_normalised(parts, (2,), eps), np.shape(x))
    return y * (1 if weight is None else _shaped(weight, np.ndim(x))) + (
        0 if bias is None else _shaped(bias, np.ndim(x))
    )


@twin("nn.functional.conv1d", "nn.functional.conv2d", "nn.functional.conv3d")
def conv(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """A sum over the places of the kernel, each a product of a window of the input with one matrix."""
    rank = np.ndim(weight) - 2
    single = np.ndim(x) == rank + 1
    x = x[None] if single else x
    steps, holes = _each(stride, rank), _each(dilation, rank)
    kernel = np.shape(weight)[2:]
    reach = [h * (k - 1) for h, k in zip(holes, kernel, strict=True)]
    if padding == "same":
        widths = [(r // 2, r - r // 2) for r in reach]
    else:
        widths = [(p, p) for p in (_each(padding, rank) if padding != "valid" else [0] * rank)]
    x = np.pad(x, [(0, 0), (0, 0), *widths])
    sizes = [(n - r - 1) // s + 1 for n, r, s in zip(np.shape(x)[2:], reach, steps, strict=True)]
    parts, kernels = np.split(x, groups, axis=1), np.split(weight, groups, axis=0)
    made = []
    for part, w in zip(parts, kernels, strict=True):
        total = 0
        for place in itertools.product(*map(range, kernel)):
            window = tuple(
                slice(h * k, h * k + s * (n - 1) + 1, s) for h, k, s, n in zip(holes, place, steps, sizes, strict=True)
            )
            total = total + np.einsum("ni...,oi->no...", part[(..., *window)], w[(..., *place)])
        made.append(total)
    out = np.concatenate(made, axis=1)
    out = out if bias is None else out + _shaped(bias, rank + 2)
    return out[0] if single else out


def _each(value: Any, rank: int) -> list[int]:
    return [value] * rank if isinstance(value, int) else list(value) * (rank if len(value) == 1 else 1)


@twin("nn.functional.pixel_shuffle")
def pixel_shuffle(x, upscale_factor):
    r = upscale_factor
    *lead, c, h, w = np.shape(x)
    y = np.reshape(x, (*lead, c // r**2, r, r, h, w))
    n = len(lead)
    return np.reshape(np.transpose(y, (*range(n), n, n + 3, n + 1, n + 4, n + 2)), (*lead, c // r**2, h * r, w * r))


@twin("nn.functional.pixel_unshuffle")
def pixel_unshuffle(x, downscale_factor):
    r = downscale_factor
    *lead, c, h, w = np.shape(x)
    y = np.reshape(x, (*lead, c, h // r, r, w // r, r))
    n = len(lead)
    return np.reshape(np.transpose(y, (*range(n), n, n + 2, n + 4, n + 1, n + 3)), (*lead, c * r**2, h // r, w // r))


@twin("cdist")
def cdist(a, b, p=2.0, compute_mode=None):
    return np.linalg.vector_norm(a[..., :, None, :] - b[..., None, :, :], axis=-1, ord=p)


@twin("nn.functional.pdist")
def pdist(x, p=2.0):
    rows, columns = np.triu_indices(np.shape(x)[0], 1)
    return np.linalg.vector_norm(x[rows] - x[columns], axis=-1, ord=p)


@twin("nn.functional.instance_norm")
def instance_norm(
    x, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5
):
    y = _normalised(x, tuple(range(2, np.ndim(x))), eps)
    return y * (1 if weight is None else _shaped(weight, np.ndim(x))) + (
        0 if bias is None else _shaped(bias, np.ndim(x))
    )


@twin("nn.functional.batch_norm")
def batch_norm(x, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    if training:
        y = _normalised(x, (0, *range(2, np.ndim(x))), eps)
    else:
        y = (x - _shaped(running_mean, np.ndim(x))) / np.sqrt(_shaped(running_var, np.ndim(x)) + eps)
    return y * (1 if weight is None else _shaped(weight, np.ndim(x))) + (
        0 if bias is None else _shaped(bias, np.ndim(x))
    )


@twin("nn.functional.bilinear")
def bilinear(a, b, weight, bias=None):
    return np.einsum("...i,oij,...j->...o", a, weight, b) + (0 if bias is None else bias)


@twin("nn.functional.channel_shuffle")
def channel_shuffle(x, groups):
    n, c, *rest = np.shape(x)
    return np.reshape(np.swapaxes(np.reshape(x, (n, groups, c // groups, *rest)), 1, 2), (n, c, *rest))


@twin("nn.functional.cosine_embedding_loss")
def cosine_embedding_loss(a, b, target, margin=0, reduction="mean"):
    tiny = 1e-12
    across = np.sum(a * b, axis=-1) / np.sqrt((np.sum(a * a, axis=-1) + tiny) * (np.sum(b * b, axis=-1) + tiny))
    loss = np.where(target == 1, 1 - across, np.where(target == -1, np.clip(across - margin, 0, None), 0))
    return _reduced(loss, reduction)


@twin("nn.functional.nll_loss")
def nll_loss(x, target, weight=None, ignore_index=-100, reduction="mean"):
    axis = 1 if np.ndim(x) > 1 else 0
    counts = target != ignore_index
    where = np.where(counts, target, 0)
    each = (np.ones(np.shape(x)[axis]) if weight is None else weight)[where] * counts
    loss = -each * np.squeeze(np.take_along_axis(x, np.expand_dims(where, axis), axis=axis), axis)
    return np.sum(loss) / np.sum(each) if reduction == "mean" else _reduced(loss, reduction)


@twin("nn.functional.scaled_dot_product_attention")
def attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if dropout_p:
        raise NotComparableError("drops entries at random")
    if enable_gqa:
        k, v = (np.repeat(x, np.shape(q)[-3] // np.shape(x)[-3], axis=-3) for x in (k, v))
    scores = q @ np.swapaxes(k, -1, -2) * (1 / math.sqrt(np.shape(q)[-1]) if scale is None else scale)
    if is_causal:
        scores = np.where(np.tril(np.ones(np.shape(scores)[-2:], bool)), scores, -math.inf)
    if attn_mask is not None:
        scores = np.where(attn_mask, scores, -math.inf) if attn_mask.dtype == bool else scores + attn_mask
    return special.softmax(scores, axis=-1) @ v
