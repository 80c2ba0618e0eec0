"""Derivatives of SciPy's functions, in files as SciPy's modules are called."""
