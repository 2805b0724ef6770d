"""The features that a random program may use."""

from __future__ import annotations

from typing import Final

from relay.immutable import frozen

# The largest magnitude of an element of a bound tensor. Larger elements are clipped before they are
# bound, so that values stay finite in loops.
BOUND: Final = 8

# Integers up to this magnitude are exact, so sums do not depend on their order.
EXACT_UP_TO: Final = {
    "float16": 1024,
    "bfloat16": 128,
    "float32": 1 << 16,
    "float64": 1 << 16,
    "int8": 100,
    "int16": 1 << 12,
    "int32": 1 << 16,
    "int64": 1 << 16,
    "uint8": 200,
    "bool": 1,
}

# The element type of values that are not integers (tanh and so on): precise enough for any order of
# evaluation, and never compared or cast.
SMOOTH: Final = "float64"


@frozen
class Features:
    """Sizes and switches of the generator; `Features(references=False)` leaves references out."""

    size: int = 60  # approximate number of expressions
    functions: int = 3  # at most, besides main; mutual recursion counts once
    branches: bool = True  # `if`, besides those of recursion
    recursion: bool = True
    polymorphism: bool = True  # type parameters
    closures: bool = True  # functions as values
    adts: bool = True  # data types and matches on them
    references: bool = True
    sharing: bool = True  # a node with several users
    named_dims: bool = True  # named dimensions, and arithmetic on them
    unknown_dims: bool = True  # `?` as a dimension
    smooth: bool = True  # operators at the type `SMOOTH`
    dtypes: tuple[str, ...] = (
        "float32",
        "int32",
        "bool",
        "float64",
        "int64",
        "float16",
        "int8",
        "uint8",
        "bfloat16",
        "int16",
    )

    @property
    def exact(self) -> tuple[str, ...]:
        """The element types whose arithmetic is exact."""
        return tuple(d for d in self.dtypes if d not in ("bool", SMOOTH))
