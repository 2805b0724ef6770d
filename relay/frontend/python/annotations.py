"""`Tensor[…]`, the annotation of a tensor.

    Tensor[n, 128]                      float32, of shape (n, 128); n = relay.ShapeVar("n")
    Tensor[(n, 128), np.int64]          with an element type
    Tensor[("n", "2 * n"), "int64"]     names and arithmetic as text, where linters do not mind
    Tensor[relay.Any(), 4]              an unknown dimension
    Tensor[()]                          a scalar; so are int, float, bool and np.int64

For type checkers such a parameter is of type `Any`: it can be used like a number or an array.
"""

from __future__ import annotations

from typing import Any

from relay.immutable import frozen


@frozen
class TensorAnnotation:
    """`Tensor[shape, dtype]` as written; it is interpreted when the function is translated."""

    shape: tuple[Any, ...]
    dtype: Any = "float32"

    def __repr__(self) -> str:
        return f"Tensor[{self.shape}, {self.dtype!r}]"

    # `Tensor[n] | None` is an annotation as well

    def __or__(self, other: Any) -> Any:
        return Alternatives((self, other))

    def __ror__(self, other: Any) -> Any:
        return Alternatives((other, self))


@frozen
class Alternatives:
    """`a | b` of operands that Python's own `|` does not take."""

    options: tuple[Any, ...]


class _TensorForm:
    """The class of `Tensor`, which can only be subscripted."""

    def __getitem__(self, given: Any) -> TensorAnnotation:
        if not isinstance(given, tuple):
            return TensorAnnotation((given,))
        if len(given) == 2 and isinstance(given[0], tuple | list):
            return TensorAnnotation(tuple(given[0]), given[1])
        if len(given) == 1 and isinstance(given[0], tuple | list):
            return TensorAnnotation(tuple(given[0]))
        return TensorAnnotation(given)

    def __repr__(self) -> str:
        return "relay.Tensor"


Tensor: Any = _TensorForm()
