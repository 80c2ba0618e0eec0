from scipy.integrate import odeint
