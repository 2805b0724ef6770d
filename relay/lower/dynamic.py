"""A lowered primitive function with dynamic dimensions, as data.

    fn (%x: Tensor[(?, 8), float32], %y: Tensor[(?, 8), float32]) { add(%x, %y) }

    variables    d0 = the size of parameter 0 along axis 0, d1 = that of parameter 1
    variants     where d0 = d1:  kernels over d0, a result of (d0, 8)
                 otherwise:      kernels over d0 and d1, a result of (max(d0, d1) * min(d0, d1, 1),
                                 8); required: (d0 - 1) * (d1 - 1) * (d0 - d1) = 0

Whoever runs it reads the variables and looks at what is required of them, lets the searches find
what depends on values, takes the first variant whose conditions hold, looks at what that requires,
allocates the results and invokes the kernels. Sizes are those of `relay.lower.sizes`.
"""

from __future__ import annotations

from collections.abc import Iterator

from relay.errors import VALUE
from relay.immutable import frozen
from relay.ir.dims import Dim
from relay.lower.kernel import Lowered, Step


@frozen
class SizeOf:
    """The size of a parameter along an axis."""

    param: int  # those of tuples are counted one by one
    axis: int


@frozen
class ElementOf:
    """An element of a parameter of integers, by its place in memory order; a scalar has one."""

    param: int
    index: int


@frozen
class Variable:
    """A dynamic dimension, and where it is read; with a message, a negative one ends the run."""

    name: str
    source: SizeOf | ElementOf
    message: str = ""


@frozen
class Requirement:
    """Two dimensions that must be equal; otherwise the run ends with the message.

    The texts show what was found and what was expected, in this order, of `shown`, as those of
    `relay.program.program.RequireEqual` do; without any these are the two dimensions."""

    left: Dim
    right: Dim
    message: str
    expected: str = VALUE
    found: str = VALUE
    shown: tuple[Dim, ...] = ()
    operator: int = -1  # of which of the function's calls it is required, in their order


@frozen
class Search:
    """Steps that compute further sizes from values: their one result is an int64 tensor of one
    axis, the sizes named in their order. What is required then is over all sizes so far."""

    lowered: Lowered
    names: tuple[str, ...]
    required: tuple[Requirement, ...] = ()


@frozen
class Variant:
    """The steps for certain sizes: where both dimensions of every condition are equal."""

    conditions: tuple[tuple[Dim, Dim], ...]
    required: tuple[Requirement, ...]
    lowered: Lowered  # its kernels say which sizes they take, and in which order
    results: tuple[tuple[Dim, ...], ...]  # what to allocate for each result
    # shapes of what is computed on the way and lies nowhere: there can be such tensors, or the run
    # ends, since positions in them are computed (`relay.extents`)
    rooms: tuple[tuple[Dim, ...], ...] = ()


@frozen
class Dynamic:
    """A primitive function for all sizes. The last variant has no conditions.

    With `counted`, the last result is no result of the function: it is int64, with a row for each
    of the others, and holds the shape that each turned out to have, filled up with 1. What was
    allocated is room for the most there can be; what there is lies in front, in the same order.
    """

    variables: tuple[Variable, ...]
    required: tuple[Requirement, ...]
    variants: tuple[Variant, ...]
    searches: tuple[Search, ...] = ()
    counted: bool = False

    @property
    def steps(self) -> Iterator[Step]:
        """The steps of all searches and variants."""
        for search in self.searches:
            yield from search.lowered.steps
        for variant in self.variants:
            yield from variant.lowered.steps
