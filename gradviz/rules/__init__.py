"""Where derivatives are added, a file for each family of functions. Importing it fills the table and puts the protocols on `Array`."""

from gradviz.engine import protocols
from gradviz.rules import (
    contraction,
    creation,
    elementwise,
    fft,
    indexing,
    joining,
    padding,
    products,
    reductions,
    scans,
    selection,
    shapes,
    special,
    without,
    writes,
)

protocols.install()

__all__ = [
    "contraction",
    "creation",
    "elementwise",
    "fft",
    "indexing",
    "joining",
    "padding",
    "products",
    "reductions",
    "scans",
    "selection",
    "shapes",
    "special",
    "without",
    "writes",
]
