"""What a kernel is: one small program, run at every position of a grid.

A kernel is what elementwise calls, the reductions that end them, and rerolled loops become. At each position of its grid it runs
``body`` once, on numbers; an empty grid is one position, so a scalar recurrence over 100 000 coefficients is a kernel too. The
positions do not depend on each other, hence they may be run as vector lanes, in blocks, on several threads.

    grid (n,)     x  ─ Load ─►  sin  ─►  multiply  ─►  Loop …  ─►  Store ─►  y        Reduce ─►  total

Kernels are plain data without arrays in it: they print, hash, and are the key under which compiled code is kept on disk.
`gradviz.plan.kernels.run_llvm` compiles them, `gradviz.plan.kernels.run_blocks` runs them with NumPy, block by block.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Name = int  # a number that a statement makes, used by later statements
Steps = tuple[tuple[int, int], ...]  # ((loop, bytes per iteration), ...): how an address moves with the loops around it


class Parameter(NamedTuple):
    """A piece of memory given when the kernel is run. No two parameters of one run overlap, unless neither is written to."""

    dtype: str  # NumPy's one-letter-and-size code: f8 f4 c16 c8 i8 i4 b1 ...
    strides: tuple[int, ...]  # bytes to the next position along each axis of the grid; 0 where it is the same for all


class Scratch(NamedTuple):
    """Numbers kept at each position between a forward and a backward loop; memory is given by the runner, by block."""

    dtype: str
    count: int


class Constant(NamedTuple):
    out: Name
    dtype: str
    value: Any  # bool, int, float or complex


class Load(NamedTuple):
    """Read parameter number ``parameter`` at the grid's position, ``offset`` bytes and the loops' ``steps`` further."""

    out: Name
    parameter: int
    offset: int = 0
    steps: Steps = ()
    index: tuple[Name, int] | None = None  # an i8 number made before, and the bytes that one of it means


class Store(NamedTuple):
    parameter: int
    value: Name
    offset: int = 0
    steps: Steps = ()
    index: tuple[Name, int] | None = None


class Keep(NamedTuple):
    """Put a number into a scratch, at ``offset`` plus the loops' ``steps``, both counted in numbers."""

    scratch: int
    value: Name
    offset: int = 0
    steps: Steps = ()


class Recall(NamedTuple):
    out: Name
    scratch: int
    offset: int = 0
    steps: Steps = ()


class Compute(NamedTuple):
    """``out = function(*inputs)``, all of NumPy's name and meaning; ``dtype`` is that of ``out``.

    Functions are NumPy's ufuncs by name (add, multiply, sin, where, less, maximum ...), "where" (condition, x, y), "cast" (to
    ``dtype``), "real", "imag", "copy". Inputs have the dtypes that NumPy's loop takes: casts are explicit.
    """

    out: Name
    function: str
    inputs: tuple[Name, ...]
    dtype: str


class Loop(NamedTuple):
    """Run ``body`` ``count`` times.

    ``carried`` holds (name inside, first value, next value) for numbers passed from one iteration to the next; after the loop the name
    inside is its last *next* value (with count 0: the first value).
    """

    number: int  # by which steps refer to it
    count: int
    carried: tuple[tuple[Name, Name, Name], ...]
    body: tuple[Any, ...]
    counter: Name | None = None  # the iteration number, an i8, if the body reads it


class Reduce(NamedTuple):
    """Combine ``value`` over all positions along the grid axes on which the parameter does not move, into the parameter.

    ``function`` is add, multiply, maximum, minimum, logical_and or logical_or. The parameter is overwritten, not added to. Its
    strides are 0 along every reduced axis.
    """

    parameter: int
    function: str
    value: Name


class Kernel(NamedTuple):
    """A program for each position of a grid.

    ``grid`` holds the sizes at which it was planned; the first axis may have another size when it is run. Grids are collapsed: a
    contiguous array of any shape has a one-axis grid.
    """

    grid: tuple[int, ...]
    parameters: tuple[Parameter, ...]
    scratch: tuple[Scratch, ...]
    body: tuple[Any, ...]
