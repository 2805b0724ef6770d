"""The inputs of a model: their types, and the sizes that it leaves open.

A dynamic extent becomes a shape variable of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay.errors import FrontendError, did_you_mean
from relay.frontend.common.naming import quoted
from relay.frontend.tensorflow.sources import Model
from relay.frontend.tensorflow.types import element_type
from relay.immutable import frozen
from relay.ir.dims import Dim
from relay.ir.expr import Var
from relay.ir.types import ShapeVar, TensorType, TypeVar


@frozen
class Inputs:
    """The parameters of `main` that are inputs of the model."""

    variables: Sequence[Var]
    sizes: Sequence[TypeVar]  # that are left open


def inputs_of(model: Model, shapes: Mapping[str, Sequence[Dim]]) -> Inputs:
    """The inputs of a model, with the shapes that the user gives."""
    given = {name.removesuffix(":0"): tuple(shape) for name, shape in shapes.items()}
    names = [one.name for one in model.inputs]
    for name in given:
        if name not in names:
            raise FrontendError.of(
                f"the model has no input {quoted(name)}",
                expected=", ".join(map(quoted, names)),
                hint=did_you_mean(name, names),
            )
    sizes: list[TypeVar] = []
    found: list[Var] = []
    for one in model.inputs:
        declared = given.get(one.name, one.shape)
        if declared is None:
            message = f"nothing says how many axes input {quoted(one.name)} has"
            hint = f"give its shape: shape={{{one.name!r}: (…)}}"
            raise FrontendError.of(message, hint=hint)
        shape: list[Dim] = []
        for axis, size in enumerate(declared):
            if isinstance(size, int) and size < 0:
                size = ShapeVar(f"n{len(sizes)}" if axis == 0 else f"d{len(sizes)}")
                sizes.append(size)
            shape.append(size)
        found.append(Var(one.name, TensorType(tuple(shape), element_type(one.dtype))))
    return Inputs(tuple(found), tuple(sizes))
