"""Where derivatives are added, a file for each family of functions. Importing it fills the table and puts the protocols on `Array`."""

from gradviz.engine import protocols
from gradviz.rules import (
    application,
    contraction,
    creation,
    decompositions,
    elementwise,
    fft,
    histograms,
    indexing,
    joining,
    linalg,
    norms,
    padding,
    polynomials,
    products,
    quantiles,
    reductions,
    samples,
    scans,
    selection,
    sets,
    shapes,
    statistics,
    ufunc_methods,
    without,
    writes,
)
from gradviz.rules.scipy import special

ufunc_methods.enter_all()
protocols.install()

__all__ = [
    "application",
    "contraction",
    "creation",
    "decompositions",
    "elementwise",
    "fft",
    "histograms",
    "indexing",
    "joining",
    "linalg",
    "norms",
    "padding",
    "polynomials",
    "products",
    "quantiles",
    "reductions",
    "samples",
    "scans",
    "selection",
    "sets",
    "shapes",
    "special",
    "statistics",
    "ufunc_methods",
    "without",
    "writes",
]
