"""What is a real GPU to gradviz: CuPy's arrays, whose operations CuPy runs, watched at the doors that CuPy has.

CuPy is never imported from here: whoever has a CuPy array has imported it already.
"""

from __future__ import annotations

import sys
from typing import Any

from gradviz.devices.cuda.device import CudaDevice, cuda_device
from gradviz.devices.cuda.doors import doors
from gradviz.devices.protocol import at_doors

__all__ = ["CudaDevice", "cuda_device", "device_of_array"]


def device_of_array(value: Any) -> CudaDevice | None:
    """The GPU that a CuPy array lives on; None for anything else."""
    cupy = sys.modules.get("cupy")
    if cupy is None or not isinstance(value, getattr(cupy, "ndarray", ())):
        return None
    doors.met()
    return cuda_device(value.data.device_id)


at_doors(doors.somebody)
