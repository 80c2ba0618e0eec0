"""Every exception a user can meet.

A message says what happened, where, and what to do about it.
"""

from __future__ import annotations


class GradvizError(Exception):
    """Base of all errors that gradviz raises on purpose."""


class FileFormatError(GradvizError):
    """A file is not a trace that this gradviz can read: damaged, cut short, made by something else."""


class FileVersionError(FileFormatError):
    """A ``.gradviz`` file was written by a newer gradviz."""


class FileTooLargeError(FileFormatError):
    """A ``.gradviz`` file says that it needs more memory than the reader is willing to give."""


class TooLargeError(GradvizError):
    """What was asked for would be too big to be of use, such as a graph of a million nodes."""


class MissingPackageError(GradvizError, ImportError):
    """An optional package is needed for what was asked."""


class RuleError(GradvizError, TypeError):
    """A rule was written in a way the engine cannot use."""


class MissingRuleError(GradvizError, NotImplementedError):
    """A function without a derivative was met on the way to the result."""


class NotDifferentiableError(GradvizError, TypeError):
    """Something was asked to be differentiated that has no derivative: an integer input, a complex output, a string."""


class NotFiniteError(GradvizError, ArithmeticError):
    """Under ``gv.profile(check="nan")``: the first NaN or infinity was made of finite numbers."""


class DenormalError(GradvizError, ArithmeticError):
    """Under ``gv.profile(check="denormals")``: the first denormal number was made."""


class ConvergenceError(GradvizError, ArithmeticError):
    """An iteration did not come to its end: a root, a fixed point or a minimum was not found."""


class EscapedArrayError(GradvizError, RuntimeError):
    """An array of a finished gradient was used afterwards."""


class ChangedArrayError(GradvizError, RuntimeError):
    """A plain array that a pullback keeps was changed in place before the gradient was taken."""


class ConversionError(GradvizError, TypeError):
    """A traced array was about to lose its trace: turned into a plain array, or written into one."""


class WriteError(GradvizError, ValueError):
    """A write that NumPy's rules allow nobody to make: wrong shape, dtype, or a read-only array."""


# devices


class DeviceError(GradvizError):
    """Something that cannot be done on the device where the array lives."""


class UnknownDeviceError(DeviceError, ValueError):
    """No device has that name."""


class HostArrayError(DeviceError, TypeError, ValueError):
    """A NumPy array was mixed with device arrays; CuPy raises TypeError in functions, ValueError in assignments."""


class ImplicitTransferError(DeviceError, TypeError):
    """NumPy tried to read a device array as if it were its own."""


class OtherDeviceError(DeviceError, ValueError):
    """Arrays of two devices met in one operation."""


class UnsupportedDtypeError(DeviceError, TypeError, ValueError):
    """The device has no arrays of that dtype."""


class UnsupportedOnDeviceError(DeviceError, TypeError):
    """The device has no such function, or not for these arguments."""


class DeviceMemoryError(DeviceError, MemoryError):
    """The device has not as much free memory as was asked for."""


# guards


class ForbiddenError(GradvizError, RuntimeError):
    """Something happened that ``gv.forbid`` forbids."""


# plans


class CaptureError(GradvizError, TypeError):
    """A function does something that a plan could not repeat: it reads a number, or draws random ones."""


class DonationError(GradvizError, ValueError):
    """An argument was given away to be overwritten, and the plan has no use for its memory."""


class CompileWarning(UserWarning):
    """A compiled function runs as it is, because a plan for it would have to be made anew too often."""


class OptimizerError(GradvizError, ValueError):
    """The parameters, gradients and state of an update do not belong together."""
