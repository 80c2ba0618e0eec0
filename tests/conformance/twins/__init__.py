"""torch's operators in NumPy, a file for each family. Importing it fills `tests.conformance.twins.twin.TWINS`."""

from tests.conformance.twins import elementwise, indexing, linalg, masked, networks, reductions, shapes

__all__ = ["elementwise", "indexing", "linalg", "masked", "networks", "reductions", "shapes"]
