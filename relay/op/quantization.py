"""How quantization treats an operator: its rule, a field of its record.

    define("nn.dense", …, quantization=product(lambda attrs: 0))

A rule says which arguments become integers, and when. `relay.quantize` reads it; what the operator
is on integers is known to the passes of quantized networks (`FakeQuantizationToInteger`). Operators
that only move or choose elements, average them, or compute element by element need no rule of their
own: theirs follows from the other facts of the record.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from relay.immutable import frozen

if TYPE_CHECKING:
    from relay.ir.expr import Call
    from relay.op.opdef import OpDef

# The attribute of an operator that overrides its record: a rule.
ATTRIBUTE: Final = "FTVMQuantization"


class Kind(Enum):
    """When arguments become integers, and what the result is then."""

    PRODUCT = "product"  # always; sums, which elementwise operators take up before they are rounded
    THROUGH = "through"  # if the result is to be integers; these are integers of the argument
    MEAN = "mean"  # if the result is to be integers; it has a scale of its own
    JOIN = "join"  # the same for all fields of a tuple
    ELEMENTS = "elements"  # if they are integers for another reason; it fuses with what is around
    FLOAT = "float"  # never


@frozen
class Quantization:
    """The rule of an operator."""

    kind: Kind
    # of a product: (attributes) -> the axis of the second argument that has an extent for each
    # output, which may have scales of their own; None where that has one scale
    outputs: Callable[[Any], int | None] | None = None
    # whether it holds for a call; other calls compute with floats
    when: Callable[[Call], bool] | None = None


THROUGH: Final = Quantization(Kind.THROUGH)
MEAN: Final = Quantization(Kind.MEAN)
JOIN: Final = Quantization(Kind.JOIN)
ELEMENTS: Final = Quantization(Kind.ELEMENTS)
FLOAT: Final = Quantization(Kind.FLOAT)


def product(outputs: Callable[[Any], int | None]) -> Quantization:
    """The rule of products with weights."""
    return Quantization(Kind.PRODUCT, outputs)


def by_layout(attrs: Any) -> int | None:
    """The axis of output channels in the weight of a convolution."""
    layout: str = attrs.kernel_layout
    return layout.index("O") if layout.isalpha() else None


def quantization_of(op: OpDef) -> Quantization:
    """The rule of an operator: what is attached to it, or that of its record, or what follows from
    its facts."""
    from relay.op.facts import Trait
    from relay.op.opdef import FusionKind

    if (attached := op.get_attr(ATTRIBUTE)) is not None:
        assert isinstance(attached, Quantization)
        return attached
    if op.quantization is not None:
        return op.quantization
    if op.traits & (Trait.MOVES | Trait.CHOOSES):
        return THROUGH
    if Trait.AVERAGES in op.traits:
        return MEAN
    if op.fusion <= FusionKind.BROADCAST and op.is_repeatable:
        return ELEMENTS
    return FLOAT
