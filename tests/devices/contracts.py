"""What holds for arrays of a GPU, real or simulated, and where the two differ.

Each contract is a function of an array ``a`` of shape (2, 3) and of doubles, a complex one ``z``, and the namespace ``xp``. It holds for
the simulated GPU (``tests/devices/sim/test_contracts.py``) and for CuPy's wheels (``tests/devices/cuda/test_contracts.py``): it must need
no kernel. `DIFFERENCES` says what each of them answers where the answers are not the same.
"""

from __future__ import annotations

import numpy as np


def error(function, *args, **kwargs):
    """The name of the exception, by the classes that both have."""
    try:
        function(*args, **kwargs)
    except Exception as raised:  # noqa: BLE001 - which one it is is the question
        return next(c.__name__ for c in type(raised).__mro__ if c.__module__ == "builtins")
    return None


CONTRACTS = {
    # what an array is
    "0-d, not a scalar": lambda a, z, xp: a[0, 0].shape == () and type(a[0, 0]) is type(a),
    "no conversion by itself": lambda a, z, xp: error(np.asarray, a) == "TypeError",
    "no index": lambda a, z, xp: error(lambda: [1, 2][a[0, 0]]) == "TypeError",
    "not hashable": lambda a, z, xp: error(hash, a) == "TypeError",
    "length": lambda a, z, xp: len(a) == 2 and error(len, a[0, 0]) == "TypeError",
    "rows are views": lambda a, z, xp: all(row.base is a for row in a),
    "no flag about writing": lambda a, z, xp: not hasattr(a.flags, "writeable"),
    "flags": lambda a, z, xp: a.flags.c_contiguous and not a.T.flags.c_contiguous and a.T.flags.f_contiguous and a.flags.owndata,
    "priority": lambda a, z, xp: a.__array_priority__ == 100,
    "no array API namespace": lambda a, z, xp: not hasattr(a, "__array_namespace__"),
    # what shares memory
    "base is the owner": lambda a, z, xp: a.base is None and a[1:].T[::2].base is a,
    "one memory": lambda a, z, xp: a[1:].data.mem is a.data.mem and a[1:].data.ptr == a.data.ptr + 24,
    "reshape": lambda a, z, xp: np.reshape(a, (3, 2)).base is a,
    "ravel": lambda a, z, xp: np.ravel(a).base is a,
    "transpose": lambda a, z, xp: a.T.strides == (8, 24) and np.transpose(a).base is a,
    "diagonal": lambda a, z, xp: np.diagonal(a).base is a,
    "negative strides": lambda a, z, xp: a[::-1].strides == (-24, 8),
    "squeeze of nothing is the array itself": lambda a, z, xp: np.squeeze(a) is a and a.squeeze() is a,
    "real of real is the array itself": lambda a, z, xp: a.real is a and np.real(a) is a,
    "real and imag of complex are views": lambda a, z, xp: z.real.base is z and z.imag.data.ptr == z.data.ptr + 8,
    "spread views look writable": lambda a, z, xp: np.broadcast_to(a, (2, 2, 3)).strides == (0, 24, 8)
    and np.broadcast_to(a, (2, 2, 3)).base is a,
    "astype without a copy": lambda a, z, xp: a.astype(float, copy=False) is a,
    "conj of real is the array itself": lambda a, z, xp: a.conj() is a,
    # what NumPy's functions may not be asked
    "copy knows no subok": lambda a, z, xp: error(np.copy, a, "K", False) == "TypeError",
    "broadcast_to knows no subok": lambda a, z, xp: error(np.broadcast_to, a, (2, 3), True) == "TypeError",
    "full beside an array": lambda a, z, xp: error(np.full, 3, 1.0, like=a) == "TypeError",
    "ones beside an array": lambda a, z, xp: error(np.ones, 3, like=a) == "TypeError",
    "pinv knows no hermitian": lambda a, z, xp: error(np.linalg.pinv, a, 1e-9, True) == "TypeError",
    "sum knows no where": lambda a, z, xp: error(np.sum, a, where=True) == "TypeError",
    "sum knows no initial": lambda a, z, xp: error(np.sum, a, initial=1.0) == "TypeError",
    "add.at by way of NumPy takes no tuple": lambda a, z, xp: error(np.add.at, a, (0, 1), 1.0) == "TypeError",
    "add.at by way of NumPy takes no list": lambda a, z, xp: error(np.add.at, a, [0], 1.0) == "TypeError",
    "block": lambda a, z, xp: error(np.block, [[a, a]]) == "TypeError",
    "piecewise of a function": lambda a, z, xp: error(np.insert, a, 0, 1.0) == "TypeError",
    "geomspace": lambda a, z, xp: error(np.geomspace, a[0, 0], 2.0) == "TypeError",
    "svdvals": lambda a, z, xp: error(np.linalg.svdvals, a) == "TypeError",
}  # fmt: skip

# name -> (what is asked, the simulated GPU's answer, CuPy 13's, CuPy 14's)
DIFFERENCES = {
    "a method that a ufunc lacks": (
        lambda a, z, xp: error(np.maximum.reduce, a), "TypeError", "NotImplementedError", "NotImplementedError"),
    "accumulations that a ufunc lacks": (
        lambda a, z, xp: error(np.maximum.accumulate, a), "TypeError", "NotImplementedError", "NotImplementedError"),
    "put_along_axis": (lambda a, z, xp: hasattr(xp, "put_along_axis"), True, False, True),
    "astype, the function": (lambda a, z, xp: hasattr(xp, "astype"), True, False, True),
    "concat": (lambda a, z, xp: hasattr(xp, "concat"), True, False, True),
    "permute_dims": (lambda a, z, xp: hasattr(xp, "permute_dims"), True, False, True),
    "cumulative_sum": (lambda a, z, xp: hasattr(xp, "cumulative_sum"), True, False, True),
    "eig": (lambda a, z, xp: hasattr(xp.linalg, "eig"), True, False, True),
    "objects": (lambda a, z, xp: error(type(a) if hasattr(xp, "RawKernel") else xp.empty, 3, object), "TypeError", None, "ValueError"),
    "the device has a name": (lambda a, z, xp: hasattr(a.device, "name"), True, False, False),
    "memory can be watched": (lambda a, z, xp: hasattr(a.data.mem, "__weakref__"), True, False, False),
    "subclasses": (lambda a, z, xp: error(lambda: type("Mine", (type(a),), {})), None, None, None),
}  # fmt: skip
