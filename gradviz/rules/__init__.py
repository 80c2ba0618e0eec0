"""Where derivatives are added, a file for each family of functions. Importing it fills the table and puts the protocols on `Array`."""

from gradviz.engine import protocols
from gradviz.rules import (
    contraction,
    creation,
    decompositions,
    elementwise,
    fft,
    indexing,
    joining,
    linalg,
    norms,
    padding,
    products,
    reductions,
    samples,
    scans,
    selection,
    shapes,
    special,
    statistics,
    ufunc_methods,
    without,
    writes,
)

ufunc_methods.enter_all()
protocols.install()

__all__ = [
    "contraction",
    "creation",
    "decompositions",
    "elementwise",
    "fft",
    "indexing",
    "joining",
    "linalg",
    "norms",
    "padding",
    "products",
    "reductions",
    "samples",
    "scans",
    "selection",
    "shapes",
    "special",
    "statistics",
    "ufunc_methods",
    "without",
    "writes",
]
