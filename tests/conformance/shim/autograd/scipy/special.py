from gradviz.scipy.special import *  # noqa: F403
