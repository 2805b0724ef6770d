"""An operator of a subgraph as its converter sees it.

    @table("SOFTMAX")
    def softmax(node, data):
        scaled = data * node.number(node.option("beta", 1.0), data)
        …

Inputs are variables of known type, or constants. Quantized tensors are their integers; what these
stand for is said by the file, for each input and each result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from relay import op
from relay.frontend.common.known_elements import KnownElements, SizedBuilder
from relay.frontend.common.quantization import ROUNDED, Affine
from relay.frontend.tflite.reader import OperatorInfo, TensorInfo
from relay.frontend.tflite.types import element_type
from relay.immutable import frozen
from relay.ir.expr import Expr, const
from relay.op.qnn import op as qnn

if TYPE_CHECKING:
    from relay.frontend.tflite.graph import GraphImporter

QUANTIZED = frozenset({"int8", "uint8", "int16"})


@frozen
class Node(SizedBuilder):
    """One operator while it is converted."""

    info: OperatorInfo
    inputs: tuple[TensorInfo | None, ...]
    results: tuple[TensorInfo, ...]
    importer: GraphImporter

    give_sizes = "give shapes with `shape_dict`"

    @property
    def known(self) -> KnownElements:
        return self.importer.known

    # --- options

    def option(self, name: str, default: Any) -> Any:
        """An option of the operator, of the type of its default."""
        found = self.info.options.get(name, default)
        kind = type(default)
        if kind is bool:
            return bool(found)
        if kind is not type(None) and not isinstance(found, kind | int):
            raise self.refused(f"option `{name}` is of another type", kind.__name__, repr(found))
        return found

    def result_type(self, place: int = 0) -> str:
        """The element type that the file declares for a result."""
        one = self.result(place)
        return element_type(one.code, one.name)

    def result(self, place: int = 0) -> TensorInfo:
        """What the file says of a result."""
        if place >= len(self.results):
            found = str(len(self.results))
            raise self.refused("the operator has too few results", f"{place + 1}", found)
        return self.results[place]

    # --- quantized tensors

    def affine(self, of: TensorInfo | None) -> Affine | None:
        """The scale and zero point of a quantized tensor, None for one that is not."""
        if of is None or of.quantization is None:
            return None
        if element_type(of.code, of.name) not in QUANTIZED:
            return None
        scale, zero = of.quantization.scale, of.quantization.zero_point
        if scale.size == 1:
            scale, zero = scale.reshape(()), zero.reshape(())
        return Affine(const(scale, "float32"), const(zero.astype("int32"), "int32"))

    def axis_of_scales(self, of: TensorInfo | None) -> int:
        """The axis of per-axis scales, otherwise the last one."""
        if of is None or of.quantization is None or of.quantization.scale.size == 1:
            return -1
        return of.quantization.axis

    def input_affine(self, place: int) -> Affine | None:
        return self.affine(self.inputs[place]) if place < len(self.inputs) else None

    def result_affine(self, place: int = 0) -> Affine | None:
        return self.affine(self.results[place]) if place < len(self.results) else None

    def both_affine(self, place: int = 0) -> tuple[Affine, Affine] | None:
        """The parameters of an input and of the result, None if they are real numbers."""
        given, result = self.input_affine(place), self.result_affine()
        if given is None or result is None:
            return None
        return given, result

    def real(self, value: Expr, place: int) -> Expr:
        """The real numbers that an input stands for."""
        by = self.input_affine(place)
        if by is None:
            return value
        axis = self.axis_of_scales(self.inputs[place])
        return self.let(qnn.dequantize(value, by.scale, by.zero_point, axis))

    def as_result(self, value: Expr, place: int = 0) -> Expr:
        """Real numbers as the file declares the result."""
        return value if place >= len(self.results) else self.quantized(value, self.results[place])

    def quantized(self, value: Expr, tensor: TensorInfo) -> Expr:
        """Real numbers as a tensor has them."""
        by = self.affine(tensor)
        if by is None:
            return value
        value = self.let(value)
        dtype = element_type(tensor.code, tensor.name)
        if self.dtype(value) == dtype != "float32":
            return value
        axis = self.axis_of_scales(tensor)
        return qnn.quantize(value, by.scale, by.zero_point, axis, dtype)

    def requantized(self, value: Expr, place: int = 0, source: int = 0) -> Expr:
        """Integers of an input as integers of a result, which may have other parameters."""
        if source >= len(self.inputs) or place >= len(self.results):
            return value
        given, result = self.inputs[source], self.results[place]
        one, other = self.affine(given), self.affine(result)
        if one is None or other is None or is_same(given, result):
            return value
        scales = (one.scale, one.zero_point, other.scale, other.zero_point)
        return qnn.requantize(value, *scales, out_dtype=self.result_type(place), **ROUNDED)

    def zero(self, data: Expr, place: int = 0) -> Expr:
        """What stands for 0 in an input."""
        by = self.input_affine(place)
        return self.number(0, data) if by is None else op.cast(by.zero_point, self.dtype(data))


def is_same(one: TensorInfo | None, other: TensorInfo | None) -> bool:
    """Whether integers of two tensors stand for the same real numbers."""
    if one is None or other is None or one.quantization is None or other.quantization is None:
        return False
    first, second = one.quantization, other.quantization
    return (
        one.code == other.code
        and np.array_equal(first.scale, second.scale)
        and np.array_equal(first.zero_point, second.zero_point)
        and (first.scale.size == 1 or first.axis == second.axis)
    )
