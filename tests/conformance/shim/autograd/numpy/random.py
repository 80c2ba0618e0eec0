from numpy.random import *  # noqa: F403
from numpy.random import __all__
