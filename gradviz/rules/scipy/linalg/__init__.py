"""Derivatives of `scipy.linalg`, for `gradviz.scipy.linalg` to use. Stacks of matrices work where SciPy takes them.

What only says how to compute (``overwrite_a``, ``check_finite``, ``lapack_driver``) is accepted and changes nothing.

Sources: M. Giles, *Collected matrix derivative results for forward and reverse mode AD* (2008); S. Walter and L. Lehmann, *Algorithmic
differentiation of linear algebra functions with application in optimum experimental design* (2010); J. Townsend, *Differentiating the
singular value decomposition* (2016); N. Higham, *Functions of Matrices* (2008); T.-C. Kao and G. Hennequin, *Automatic differentiation
of Sylvester, Lyapunov, and algebraic Riccati equations* (2020).
"""

from gradviz.rules.scipy.linalg import decompositions, equations, functions, lu, structured, systems

__all__ = ["decompositions", "equations", "functions", "lu", "structured", "systems"]
