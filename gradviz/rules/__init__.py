"""Where derivatives are added, a file for each family of functions. Importing it fills the table and puts the protocols on `Array`."""

from gradviz.engine import protocols
from gradviz.rules import creation, elementwise, indexing, joining, padding, reductions, scans, selection, shapes, special, without, writes

protocols.install()

__all__ = ["creation", "elementwise", "indexing", "joining", "padding", "reductions", "scans", "selection", "shapes", "special", "without", "writes"]
