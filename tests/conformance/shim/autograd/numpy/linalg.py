"""``numpy.linalg``, and the two products that autograd's module has beside it."""

import numpy as np
from numpy.linalg import *  # noqa: F403

from autograd.numpy import joining


def T(x):
    return np.swapaxes(x, -1, -2)


def _dot(x, y):
    return np.einsum("...ij,...jk->...ik", x, y)


norm = joining(np.linalg.norm)
