"""The inputs of a model: their types, and the sizes that it leaves open.

An extent of -1 in a signature becomes a shape variable of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay import op
from relay.errors import FrontendError, did_you_mean
from relay.frontend.common.naming import quoted
from relay.frontend.common.scope import ImportScope
from relay.frontend.tflite.reader import ModelInfo, TensorInfo
from relay.frontend.tflite.types import CODES, COMPLEX, ELEMENT_TYPES, element_type
from relay.immutable import frozen
from relay.ir.dims import Dim
from relay.ir.expr import Expr, Var
from relay.ir.types import ShapeVar, TensorType, TypeVar


@frozen
class Inputs:
    """The parameters of `main` that are inputs of the model."""

    variables: Sequence[Var]
    dtypes: Sequence[str]  # of the model
    sizes: Sequence[TypeVar]  # that are left open
    as_declared: bool  # whether given shapes only say what the model leaves open

    def values(self, scope: ImportScope) -> list[Expr]:
        """The inputs of the element types of the model."""
        found: list[Expr] = []
        for one, dtype in zip(self.variables, self.dtypes, strict=True):
            ty = one.type_annotation
            same = isinstance(ty, TensorType) and ty.dtype == dtype
            found.append(one if same else scope.bind(op.cast(one, dtype), one.name_hint))
        return found


def inputs_of(
    model: ModelInfo, shapes: Mapping[str, Sequence[Dim]], dtypes: Mapping[str, str]
) -> Inputs:
    """The inputs of the first subgraph, with the shapes and element types that the user gives."""
    graph = model.subgraphs[0]
    tensors = [graph.tensors[one] for one in graph.inputs]
    names = _names(tensors)
    for name in (*shapes, *dtypes):
        if name not in names:
            raise FrontendError.of(
                f"the model has no input {quoted(name)}",
                expected=", ".join(map(quoted, names)),
                hint=did_you_mean(name, names),
            )
    sizes: list[TypeVar] = []
    found: list[Var] = []
    as_declared = True
    for name, tensor in zip(names, tensors, strict=True):
        declared = tensor.signature or tensor.shape
        given = shapes.get(name)
        shape: list[Dim] = []
        for axis, size in enumerate(declared if given is None else given):
            if isinstance(size, int) and size < 0:
                size = ShapeVar(f"n{len(sizes)}" if axis == 0 else f"d{len(sizes)}")
                sizes.append(size)
            shape.append(size)
        if given is not None:
            as_declared &= len(given) == len(declared) and all(
                old in (-1, new) for old, new in zip(declared, given, strict=True)
            )
        dtype = dtypes.get(name, element_type(tensor.code, tensor.name))
        if dtype not in ELEMENT_TYPES.values():
            message = f"there is no element type {quoted(dtype)} for input {quoted(name)}"
            raise FrontendError.of(message, expected=", ".join(sorted({*ELEMENT_TYPES.values()})))
        if CODES[tensor.code] in COMPLEX:
            shape.append(2)
        found.append(Var(name, TensorType(tuple(shape), dtype)))
    own = [element_type(one.code, one.name) for one in tensors]
    return Inputs(tuple(found), tuple(own), tuple(sizes), as_declared)


def _names(tensors: Sequence[TensorInfo]) -> list[str]:
    """A name for each input: that of its tensor, with a number where it is there already."""
    names: list[str] = []
    for place, tensor in enumerate(tensors):
        name = tensor.name or "input"
        names.append(f"{name}#{place}" if name in names else name)
    return names
