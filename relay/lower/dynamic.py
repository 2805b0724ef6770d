"""A lowered primitive function with dynamic dimensions, as data.

    fn (%x: Tensor[(?, 8), float32], %y: Tensor[(?, 8), float32]) { add(%x, %y) }

    variables    d0 = axis 0 of parameter 0, d1 = axis 0 of parameter 1
    variants     where d0 = d1:  kernels over d0, a result of (d0, 8)
                 otherwise:      kernels over d0 and d1, a result of (max(d0, d1) * min(d0, d1, 1),
                                 8); required: (d0 - 1) * (d1 - 1) * (d0 - d1) = 0

A call reads the variables and checks their requirements, runs the searches for sizes that depend on
values, takes the first variant whose conditions hold, checks its requirements, allocates results
and calls the kernels. Sizes are those of `relay.lower.sizes`.
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

    param: int  # flattened
    axis: int


@frozen
class ElementOf:
    """An element of an integer parameter, by its row-major offset."""

    param: int
    index: int


@frozen
class Variable:
    """A dynamic dimension and its source; with a message, a negative value ends the run."""

    name: str
    source: SizeOf | ElementOf
    message: str = ""


@frozen
class Requirement:
    """Two dimensions that must be equal, or the run ends with the message; the texts are those of
    `relay.program.program.RequireEqual`."""

    left: Dim
    right: Dim
    message: str
    expected: str = VALUE
    found: str = VALUE
    shown: tuple[Dim, ...] = ()
    operator: int = -1  # the number of the call that requires it


@frozen
class Search:
    """Steps that compute sizes from values: their result is an int64 vector of the named sizes.
    Requirements are over all sizes so far."""

    lowered: Lowered
    names: tuple[str, ...]
    required: tuple[Requirement, ...] = ()


@frozen
class Variant:
    """The steps for sizes that meet all conditions: two dimensions are equal."""

    conditions: tuple[tuple[Dim, Dim], ...]
    required: tuple[Requirement, ...]
    lowered: Lowered  # its kernels list the sizes they take
    results: tuple[tuple[Dim, ...], ...]  # the shape to allocate for each result
    # shapes of intermediate tensors that are not stored: their indices must not overflow
    rooms: tuple[tuple[Dim, ...], ...] = ()


@frozen
class Dynamic:
    """A primitive function for all sizes. The last variant has no conditions.

    With `counted`, results are allocated for the largest possible shape, and an additional int64
    result has a row with the actual shape of each, padded with 1; their elements are at the front.
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
