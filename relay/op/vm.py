"""Operators of lowered programs: shapes at run time, and calls with results in given memory."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from relay import dtypes
from relay.errors import EvaluationError, RelayError
from relay.ir import dims
from relay.ir.attrs import Attrs, DictAttrs, attrs
from relay.ir.dims import Dim
from relay.ir.expr import Call, Expr
from relay.ir.types import UNIT, FuncType, IncompleteType, Occurs, TensorType, TupleType, Type
from relay.nd import NDArray, StoredTensor
from relay.op.gradient_rules import LOWERED
from relay.op.memory import flatten_tuple_type
from relay.op.opdef import DType, define, sample
from relay.op.relations import size
from relay.op.site import INTEGER, Site

# --- shapes ------------------------------------------------------------------------------------


@attrs
class ShapeOfAttrs(Attrs):
    """dtype: the element type of the result; None is int64"""

    dtype: DType | None = None


def _shape_of_type(site: Site) -> Type | None:
    """One element per axis."""
    tensor = site.tensor(0)
    return None if tensor is None else TensorType((len(tensor.shape),), site.attrs.dtype or "int64")


def shape_of(expr: Expr) -> Call:
    """The extents of a tensor, as int64."""
    return SHAPE_OF(expr, dtype="int64")


SHAPE_OF = define(
    "vm.shape_of",
    doc="The extents of a tensor.",
    arguments=[("tensor", "the input")],
    attrs=ShapeOfAttrs,
    relation=_shape_of_type,
    reference=lambda tensor, dtype: np.array(tensor.shape, dtypes.to_numpy(dtype or "int64")),
    helper=shape_of,
    samples=[sample((2, 3)), sample((4, 0), attrs={"dtype": "int32"}), sample((), dtype="bool")],
    gradient=LOWERED,
)


@attrs
class ReshapeTensorAttrs(Attrs):
    """newshape: the static extents of the new shape; -1 for dynamic dimensions"""

    newshape: tuple[int, ...]


def _reshape_tensor_type(site: Site) -> Type | None:
    """Data with the new shape."""
    site.require_elements(1, INTEGER)
    data, shape = site.tensor(0), site.tensor(1, rank=1)
    if data is None or shape is None:
        return None
    known: Sequence[int] = site.attrs.newshape
    site.require(
        all(extent >= -1 for extent in known),
        "`newshape` does not fit",
        "extents of 0 or more, or -1",
        f"newshape = {known}",
    )
    site.require_equal(shape.shape[0], len(known), "the ranks of `shape` and `newshape`")
    extents: list[Dim] = [dims.ANY if extent == -1 else extent for extent in known]
    if -1 not in known:
        site.require_equal(size(data.shape), size(extents), "numbers of elements")
    return TensorType(tuple(extents), data.dtype)


def _new_extents(data: np.ndarray, shape: np.ndarray, newshape: Sequence[int]) -> tuple[int, ...]:
    """The new shape, checked against the static extents."""
    extents = tuple(int(extent) for extent in shape)
    known = all(wanted in (-1, found) for wanted, found in zip(newshape, extents, strict=True))
    if not known or min(extents, default=0) < 0 or prod(extents) != data.size:
        raise EvaluationError.of(
            "`vm.reshape_tensor`: the new shape does not fit",
            expected=f"{data.size} elements in the shape {tuple(newshape)}",
            found=f"the shape {extents}",
        )
    return extents


def reshape_tensor(data: Expr, shape: Expr, newshape: Sequence[int]) -> Call:
    """Data with another shape, without a copy."""
    known = [-1 if isinstance(extent, dims.Any) else extent for extent in newshape]
    return RESHAPE_TENSOR(data, shape, newshape=known)


RESHAPE_TENSOR = define(
    "vm.reshape_tensor",
    doc="Data with another shape, as a view of the same memory.",
    arguments=[("data", "the input"), ("shape", "the new extents")],
    attrs=ReshapeTensorAttrs,
    relation=_reshape_tensor_type,
    reference=lambda data, shape, newshape: data.reshape(_new_extents(data, shape, newshape)),
    runtime_shape=_new_extents,
    helper=reshape_tensor,
    samples=[
        sample((2, 3), np.array([3, 2]), newshape=(3, 2)),
        sample((2, 3), np.array([1, 6], "int32"), newshape=(-1, 6), dtype="int8"),
        sample((), np.zeros(0, "int64"), newshape=()),
        sample((0, 3), np.array([5, 0]), newshape=(-1, -1)),
    ],
    gradient=LOWERED,
)

# --- calls -------------------------------------------------------------------------------------

# A reference calls a function by yielding it with its arguments.
Calling = Generator[tuple[Any, Iterable[Any]], Any, Any]


def _function(site: Site) -> FuncType | None:
    """The type of the called function; None while it is unknown."""
    ty = site.args[0]
    if isinstance(ty, IncompleteType):
        return None
    if not isinstance(ty, FuncType) or ty.type_params:
        site.fail(
            f"{site.argument(0)} cannot be called", "a function without type parameters", str(ty)
        )
    site.assign(1, TupleType(ty.arg_types))
    return ty


def _call_lowered_type(site: Site) -> Type | None:
    """The result of the function."""
    function = _function(site)
    return None if function is None else function.ret_type


def _call_lowered(func: Any, call_args: Iterable[Any], metadata: Any) -> Calling:
    return (yield func, call_args)


@attrs
class CallLoweredAttrs(Attrs):
    """metadata: compiler metadata of the function; None is nothing"""

    metadata: DictAttrs | None = None


call_lowered = define(
    "call_lowered",
    doc="The result of a compiled function for a tuple of arguments.",
    arguments=[("func", "a function"), ("call_args", "a tuple of its arguments")],
    attrs=CallLoweredAttrs,
    relation=_call_lowered_type,
    reference=_call_lowered,
    on_values=True,
    gradient=LOWERED,
)


def _invoke_type(site: Site) -> Type | None:
    """The empty tuple; the outputs have the types of the results of the function."""
    function = _function(site)
    if function is None or function.ret_type.occurs & Occurs.HOLE:
        return None
    try:
        site.assign(2, TupleType(tuple(flatten_tuple_type(function.ret_type))))
    except RelayError as error:
        site.fail("the result cannot be written", "tensors and tuples", str(error))
    return UNIT


def _invoke(op: Any, ins: Iterable[Any], outs: Sequence[NDArray]) -> Calling:
    results = list(_tensors((yield op, ins)))
    if len(results) != len(outs):
        raise RelayError(f"there are {len(outs)} outputs for {len(results)} results")
    for target, result in zip(outs, results, strict=True):
        if not isinstance(target, StoredTensor):
            raise RelayError("an output does not lie in a storage; make it with alloc_tensor")
        target.write(result)
    return ()


def _tensors(value: Any) -> Iterator[NDArray]:
    """The tensors in a value, from left to right."""
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, NDArray):
            yield part
        else:
            pending.extend(reversed(tuple(part)))


def invoke_tvm_op(func: Expr, inputs: Expr, outputs: Expr) -> Call:
    """Call `func` with its results written to memory; inputs and outputs are tuples."""
    return INVOKE_TVM_OP(func, inputs, outputs)


INVOKE_TVM_OP = define(
    "vm.invoke_tvm_op",
    doc="Write the results of a function to tensors in storage. Nested tuples are flattened.",
    arguments=[
        ("op", "a function"),
        ("ins", "a tuple of its arguments"),
        ("outs", "a tuple of tensors in storage, one for each tensor of the result"),
    ],
    relation=_invoke_type,
    reference=_invoke,
    helper=invoke_tvm_op,
    stateful=True,
    on_values=True,
    gradient=LOWERED,
)

__all__ = ["call_lowered", "invoke_tvm_op", "reshape_tensor", "shape_of"]
