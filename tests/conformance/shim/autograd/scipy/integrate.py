from scipy.integrate import odeint  # noqa: F401
