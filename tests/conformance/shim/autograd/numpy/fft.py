from numpy.fft import *  # noqa: F403
from numpy.fft import __all__
