"""SciPy's solvers, driven by gradients, Jacobians and Hessian products of plain NumPy functions."""
