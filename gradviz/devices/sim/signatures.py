"""Which arguments do CuPy's functions take, where they are not NumPy's: fewer options, sometimes other names.

Of CuPy 14.2 beside NumPy 2.4. ``tests/devices/cuda/test_signatures.py`` holds the table against CuPy's wheels.
"""

from __future__ import annotations

from typing import Any

from gradviz.errors import UnsupportedOnDeviceError

PARAMETERS = {
    "all": "a axis out keepdims",
    "amax": "a axis out keepdims",
    "amin": "a axis out keepdims",
    "any": "a axis out keepdims",
    "arange": "start stop step dtype",
    "argmax": "a axis dtype out keepdims",
    "argmin": "a axis dtype out keepdims",
    "argpartition": "a kth axis",
    "argsort": "a axis kind",
    "array": "obj dtype copy order subok ndmin blocking",
    "array_str": "arr max_line_width precision suppress_small",
    "asanyarray": "a dtype order copy blocking",
    "asarray": "a dtype order copy blocking",
    "ascontiguousarray": "a dtype",
    "asfortranarray": "a dtype",
    "astype": "x dtype copy",
    "broadcast_to": "array shape",
    "clip": "a a_min a_max out",
    "concat": "tup axis out dtype casting",
    "concatenate": "tup axis out dtype casting",
    "copy": "a order",
    "corrcoef": "a y rowvar bias ddof dtype",
    "count_nonzero": "a axis",
    "cov": "a y rowvar bias ddof fweights aweights dtype",
    "delete": "arr indices axis",
    "ediff1d": "arr to_end to_begin",
    "empty": "shape dtype order",
    "empty_like": "prototype dtype order subok shape",
    "extract": "condition a",
    "eye": "N M k dtype order",
    "flip": "a axis",
    "fliplr": "a",
    "flipud": "a",
    "full": "shape fill_value dtype order",
    "full_like": "a fill_value dtype order subok shape",
    "histogram": "x bins range density weights",
    "histogram2d": "x y bins range weights density",
    "histogramdd": "sample bins range weights density",
    "identity": "n dtype",
    "indices": "dimensions dtype",
    "intersect1d": "arr1 arr2 assume_unique return_indices",
    "isin": "element test_elements assume_unique invert",
    "lexsort": "keys",
    "linspace": "start stop num endpoint retstep dtype axis",
    "load": "file mmap_mode allow_pickle",
    "max": "a axis out keepdims",
    "mean": "a axis dtype out keepdims",
    "min": "a axis out keepdims",
    "nanargmax": "a axis dtype out keepdims",
    "nanargmin": "a axis dtype out keepdims",
    "nanmax": "a axis out keepdims",
    "nanmean": "a axis dtype out keepdims",
    "nanmin": "a axis out keepdims",
    "nanprod": "a axis dtype out keepdims",
    "nanstd": "a axis dtype out ddof keepdims",
    "nansum": "a axis dtype out keepdims",
    "nanvar": "a axis dtype out ddof keepdims",
    "ones": "shape dtype order",
    "ones_like": "a dtype order subok shape",
    "partition": "a kth axis",
    "percentile": "a q axis out overwrite_input method keepdims interpolation",
    "piecewise": "x condlist funclist",
    "prod": "a axis dtype out keepdims",
    "quantile": "a q axis out overwrite_input method keepdims interpolation",
    "require": "a dtype requirements",
    "reshape": "a newshape order copy",
    "rot90": "a k axes",
    "show_config": "_full",
    "sort": "a axis kind",
    "stack": "tup axis out dtype casting",
    "std": "a axis dtype out ddof keepdims",
    "sum": "a axis dtype out keepdims",
    "take": "a indices axis out",
    "take_along_axis": "a indices axis",
    "tri": "N M k dtype",
    "trim_zeros": "filt trim",
    "union1d": "arr1 arr2",
    "unique": "ar return_index return_inverse return_counts axis equal_nan",
    "unpackbits": "a axis bitorder",
    "unravel_index": "indices dims order",
    "var": "a axis dtype out ddof keepdims",
    "zeros": "shape dtype order",
    "zeros_like": "a dtype order subok shape",
    "linalg.cholesky": "a",
    "linalg.matrix_power": "M n",
    "linalg.matrix_rank": "M tol",
    "linalg.matrix_transpose": "a",
    "linalg.pinv": "a rcond",
    "linalg.svd": "a full_matrices compute_uv",
    "fft.fft": "a n axis norm",
    "fft.fft2": "a s axes norm",
    "fft.fftfreq": "n d",
    "fft.fftn": "a s axes norm",
    "fft.hfft": "a n axis norm",
    "fft.ifft": "a n axis norm",
    "fft.ifft2": "a s axes norm",
    "fft.ifftn": "a s axes norm",
    "fft.ihfft": "a n axis norm",
    "fft.irfft": "a n axis norm",
    "fft.irfft2": "a s axes norm",
    "fft.irfftn": "a s axes norm",
    "fft.rfft": "a n axis norm",
    "fft.rfft2": "a s axes norm",
    "fft.rfftfreq": "n d",
    "fft.rfftn": "a s axes norm",
}


def check_arguments(name: str, module: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuse arguments that the function of CuPy does not take."""
    key = name if module == "numpy" else f"{module.removeprefix('numpy.')}.{name}"
    known = PARAMETERS.get(key)
    if known is None:
        return
    names = known.split()
    if len(args) > len(names):
        raise UnsupportedOnDeviceError(
            f"{name}() takes {len(names)} positional arguments but {len(args)} were given: CuPy's has {', '.join(names)}."
        )
    for option in kwargs:
        if option not in names:
            raise UnsupportedOnDeviceError(
                f"{name}() got an unexpected keyword argument {option!r}: CuPy's has {', '.join(names)}."
            )
