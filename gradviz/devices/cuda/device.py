"""What is one GPU: its name, its memory, how fast it copies, and whose memory an array is on."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from time import perf_counter_ns
from typing import Any

from gradviz.devices.cuda.stopwatch import EventStopwatch
from gradviz.devices.protocol import Stopwatch
from gradviz.errors import MissingPackageError


def driver_is_there(cupy: Any) -> bool:
    """Whether a GPU can be used; CuPy 13 raises where there is no driver to ask, CuPy 14 answers."""
    try:
        return bool(cupy.cuda.is_available())
    except cupy.cuda.runtime.CUDARuntimeError:
        return False


DEVICES: dict[int, CudaDevice] = {}


def cuda_device(number: int) -> CudaDevice:
    """The GPU of that number."""
    if number not in DEVICES:
        DEVICES[number] = CudaDevice(number)
    return DEVICES[number]


class CudaDevice:
    """A GPU, by way of CuPy.

    Parameters
    ----------
    number : as CUDA counts

    Raises
    ------
    MissingPackageError
        if CuPy cannot be imported
    """

    simulated = False

    def __init__(self, number: int) -> None:
        try:
            cupy: Any = import_module("cupy")
        except ImportError as error:
            raise MissingPackageError(
                f"cuda:{number} needs CuPy: pip install 'gradviz[cuda13]' (or cuda12, as nvidia-smi says). Without a GPU, "
                "profile on a simulated one: device='sim:a100'."
            ) from error
        self.cupy = cupy
        self.number = number
        self.name = f"cuda:{number}"
        self.array_types: tuple[type, ...] = (cupy.ndarray,)

    def __repr__(self) -> str:
        return f"<device {self.name}>"

    @cached_property
    def is_there(self) -> bool:
        """Whether there is a driver. Without one CuPy's arrays can still be made on memory of other kinds."""
        return driver_is_there(self.cupy)

    @property
    def total_nbytes(self) -> int:
        """Bytes of device memory, 0 without a driver."""
        return int(self.cupy.cuda.Device(self.number).mem_info[1]) if self.is_there else 0

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """The peak that the driver's figures give: memory clock, times bus width, times 2 for double data rate; 0 if it tells neither.

        A measurement would make the host wait, which nothing here may.
        """
        about = self.cupy.cuda.Device(self.number).attributes if self.is_there else {}
        return 2 * about.get("MemoryClockRate", 0) * 1e3 * about.get("GlobalMemoryBusWidth", 0) / 8

    @cached_property
    def _events(self) -> EventStopwatch:
        return EventStopwatch(self.cupy)

    def stopwatch(self) -> Stopwatch | None:
        """Times work by pairs of CUDA events, which are read once the device has passed them."""
        return self._events if self.is_there else None

    def now_ns(self) -> int:
        """The host's clock."""
        return perf_counter_ns()

    def owner(self, array: Any) -> object:
        """What lives as long as the memory: the allocation, if it was made while somebody listened; else the array that owns it.

        CuPy's ``base`` is always the array that owns the memory, never a view. Only ``as_strided`` forgets it, so such a
        view of memory that is older than the recording counts as memory of its own.
        """
        memory = array.data.mem
        if hasattr(memory, "serial"):
            return memory
        return array if array.base is None else array.base

    def asarray(self, array: Any) -> Any:
        """``array`` on this GPU; host data is uploaded."""
        with self.cupy.cuda.Device(self.number):
            return self.cupy.asarray(array)

    def get(self, array: Any) -> Any:
        """``array`` on the host; waits."""
        return array.get()
