"""How do I get a GPU without having one: a simulated device made of NumPy, with CuPy's rules and a model of its costs.

Its values are right; what CuPy refuses it refuses; what would make the host wait is counted; its times come from a
clock that the constants in `presets` drive, and are labelled *simulated* wherever they are shown.
"""

from __future__ import annotations

from gradviz.devices.sim.array import SimArray
from gradviz.devices.sim.device import SimDevice
from gradviz.devices.sim.namespace import Namespace
from gradviz.devices.sim.presets import PRESETS, Preset
from gradviz.errors import UnknownDeviceError

__all__ = ["PRESETS", "Namespace", "Preset", "SimArray", "SimDevice", "simulate"]

_DEVICES: dict[str, SimDevice] = {}


def simulate(preset: str | Preset = "a100", *, fresh: bool = False, seed: int = 0, hidden: bool = False) -> Namespace:
    """A simulated GPU, as a namespace like CuPy's.

    Parameters
    ----------
    preset : a name from `PRESETS` (``"a100"``, ``"h100"``, ``"h200"``, ``"v100"``, ``"t4"``, ``"rtx3090"``,
        ``"rtx4090"``), or constants of your own
    fresh : a device nobody else uses, with its clock at 0 and an empty pool; else there is one for each name
    seed : for a fresh device, of the generator that decides what CuPy leaves undefined
    hidden : for a fresh device, charge also what only CUPTI would see on a real one: a wait inside each call of cuSOLVER (assumed: NVIDIA
        documents neither that it waits nor that it does not), and the compilation of each kernel at its first use

    Returns
    -------
    Namespace
        functions such as ``zeros`` and ``asarray``; the device itself is its ``device``

    Raises
    ------
    UnknownDeviceError
        if there is no preset of that name

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> xp = gv.simulate("a100")
    >>> x = xp.asarray([1.0, 2.0])
    >>> np.sum(x * x).item()
    5.0
    >>> xp.device.name
    'sim:a100'
    """
    if isinstance(preset, Preset):
        return SimDevice(preset, seed, hidden).xp
    name = preset.removeprefix("sim:").lower()
    if name not in PRESETS:
        raise UnknownDeviceError(f"no simulated GPU is called {preset!r}; there are {', '.join(PRESETS)}")
    if fresh or hidden:
        return SimDevice(PRESETS[name], seed, hidden).xp
    if name not in _DEVICES:
        _DEVICES[name] = SimDevice(PRESETS[name])
    return _DEVICES[name].xp
