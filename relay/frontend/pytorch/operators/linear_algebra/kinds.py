"""Real and complex matrices of torch as `Numbers`, and converters that take both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from relay.frontend.common.matrices.numbers import Numbers, real
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node
from relay.frontend.pytorch.operators.fourier import paired, parts
from relay.frontend.pytorch.scope import Complex

Function = TypeVar("Function", bound=Callable[..., Any])


class BothKinds:
    """A table of real numbers and one of complex ones, with the same converters."""

    def __init__(self) -> None:
        self.tables = (Converters(), Converters(complex_numbers=True))

    def __call__(self, *names: str) -> Callable[[Function], Function]:
        def enter(converter: Function) -> Function:
            for table in self.tables:
                table(*names)(converter)
            return converter

        return enter


def numbers(node: Node, value: Any) -> Numbers:
    """An operand of either kind."""
    return Numbers(parts(node, value)) if isinstance(value, Complex) else real(value)


def given(node: Node, found: Numbers) -> Any:
    """A result of either kind."""
    return paired(node, *found.parts) if found.is_complex else found.real
