"""What a random program may contain."""

from __future__ import annotations

from typing import Final

from relay.immutable import frozen

# Every tensor that a variable holds has elements of at most this size. Larger ones appear inside
# expressions and are clipped before they are bound, so nothing grows without end in a loop.
BOUND: Final = 8

# Up to these sizes integers are exact in an element type, so sums do not depend on their order.
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

# Elements that are not integers: tanh and its like appear at this type only, which has precision
# enough to bear any order, and is never compared or converted.
SMOOTH: Final = "float64"


@frozen
class Features:
    """Sizes and switches of the generator; `Features(references=False)` leaves references out."""

    size: int = 60  # about as many expressions as the program has
    functions: int = 3  # at most, besides main; mutual recursion counts once
    branches: bool = True  # `if`; recursion has some of its own
    recursion: bool = True
    polymorphism: bool = True  # type parameters
    closures: bool = True  # functions as values
    adts: bool = True  # data types and matches on them
    references: bool = True
    sharing: bool = True  # one node in several places
    symbolic: bool = True  # shape parameters, and arithmetic on them
    dynamic: bool = True  # `?` as a dimension
    smooth: bool = True  # operators with results that are not integers, at `SMOOTH`
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
        """The element types of numbers that are exact."""
        return tuple(d for d in self.dtypes if d not in ("bool", SMOOTH))
