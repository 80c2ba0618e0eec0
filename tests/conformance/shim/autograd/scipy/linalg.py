from gradviz.scipy.linalg import *  # noqa: F403
