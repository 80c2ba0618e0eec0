"""Which random numbers does a simulated GPU make: its own, from a generator that is not NumPy's default."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gradviz.devices.sim.array import SimArray

if TYPE_CHECKING:
    from gradviz.devices.sim.device import SimDevice


class RandomNumbers:
    """One stream of random numbers on a device; the numbers are made there, so nothing is uploaded.

    Parameters
    ----------
    device : where they are made
    seed : any integer; the same seed gives the same numbers, but not NumPy's
    """

    def __init__(self, device: SimDevice, seed: int | None = None) -> None:
        self._device = device
        self.seed(seed)

    def seed(self, seed: int | None = None) -> None:
        """Start again."""
        self._generator = np.random.Generator(np.random.Philox(seed))

    def random(self, size: Any = None, dtype: Any = np.float64) -> SimArray:
        """Uniform in [0, 1)."""
        return self._made("random", self._generator.random(size, dtype))

    def random_sample(self, size: Any = None) -> SimArray:
        """Uniform in [0, 1)."""
        return self.random(size)

    def rand(self, *shape: int) -> SimArray:
        """Uniform in [0, 1)."""
        return self.random(shape)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None) -> SimArray:
        """Uniform in [low, high)."""
        return self._made("uniform", self._generator.uniform(low, high, size))

    def normal(self, loc: float = 0.0, scale: float = 1.0, size: Any = None) -> SimArray:
        """Normal with mean ``loc`` and deviation ``scale``."""
        return self._made("normal", self._generator.normal(loc, scale, size))

    def standard_normal(self, size: Any = None, dtype: Any = np.float64) -> SimArray:
        """Normal with mean 0 and deviation 1."""
        return self._made("normal", self._generator.standard_normal(size, dtype))

    def randn(self, *shape: int) -> SimArray:
        """Normal with mean 0 and deviation 1."""
        return self.standard_normal(shape)

    def integers(self, low: int, high: int | None = None, size: Any = None, dtype: Any = np.int64) -> SimArray:
        """Integers from ``low`` up to, not including, ``high``."""
        return self._made("integers", self._generator.integers(low, high, size, dtype))

    def randint(self, low: int, high: int | None = None, size: Any = None, dtype: Any = np.int64) -> SimArray:
        """Integers from ``low`` up to, not including, ``high``."""
        return self.integers(low, high, size, dtype)

    def permutation(self, a: Any) -> SimArray:
        """A shuffled range, or a shuffled copy along the first axis."""
        if not isinstance(a, SimArray):
            return self._made("permutation", self._generator.permutation(a))
        return a[self._made("permutation", self._generator.permutation(a.shape[0]))]

    def shuffle(self, a: SimArray) -> None:
        """Shuffle along the first axis, in place."""
        a[...] = self.permutation(a)

    def _made(self, name: str, host: Any) -> SimArray:
        result = self._device.new(host)
        self._device.launch(name, result.nbytes, self._device.preset.ufunc_ns, 20 * result.size, result.dtype.char)
        return result


class Random(RandomNumbers):
    """The names of ``cupy.random``."""

    def __init__(self, device: SimDevice) -> None:
        super().__init__(device)
        self.RandomState: Callable[..., RandomNumbers] = lambda seed=None: RandomNumbers(device, seed)
        self.default_rng: Callable[..., RandomNumbers] = lambda seed=None: RandomNumbers(device, seed)
