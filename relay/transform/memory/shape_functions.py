"""Shape functions: the result sizes of a kernel, from the sizes of its arguments:

fn (%p0: Tensor[(n, 4), float32], Primitive=1) { concatenate((%p0, %p0)) }
->
fn (%s0: Tensor[(2), int64], Primitive=1) {
  %0 = multiply(take(%s0, 0i64, axis=0), 2i64);
  (stack((%0, 4i64)), multiply(%0, 16i64))            the extents, and the number of bytes
}

They are derived from the types of the kernel. Where extents of parameters are unknown, or computed
from extents that the kernel does not have, they get names, and the kernel is typed again. Kernels
whose result sizes depend on values (`argwhere`), or on which of two operands is broadcast, have no
shape function.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import count

from relay import dtypes, tree
from relay.check.infer import infer_module
from relay.errors import RelayError
from relay.immutable import frozen
from relay.ir import dims
from relay.ir.dims import Dim, DimCall, DimExpr, Symbol
from relay.ir.expr import Expr, Function, Tuple, Var, const
from relay.ir.module import IRModule
from relay.ir.types import ShapeVar, TensorType, TupleType, Type, TypeVar
from relay.ir.variables import all_type_vars
from relay.op.memory import flatten_tuple_type
from relay.op.tensor.binary import add, floor_divide, maximum, minimum, multiply
from relay.op.tensor.indexing import take
from relay.op.tensor.rearrange import stack

CALLS = {"//": floor_divide, "min": minimum, "max": maximum}

Argument = tuple[int, int | None]  # the index of an argument, and of a tuple the field


@frozen
class ShapeFunction:
    """`function` of the shapes of some of the kernel's arguments.

    It returns a tuple: for every result of the kernel with a dynamic shape, the extents and then
    the number of bytes.
    """

    function: Function
    arguments: tuple[Argument, ...]


def is_dynamic_shape(ty: TensorType) -> bool:
    """Whether the tensor has a dynamic dimension, named or unknown."""
    return not all(isinstance(extent, int) for extent in ty.shape)


def shape_function(kernel: Function) -> ShapeFunction | None:
    """The shape function of a kernel with dynamic result shapes; None if it has none."""
    named = _named(kernel)
    if named is None:
        return None
    results = [ty for ty in flatten_tuple_type(named.body.checked_type) if is_dynamic_shape(ty)]
    needed = dict.fromkeys(a for ty in results for extent in ty.shape for a in dims.atoms(extent))
    tensors = dict(_tensors(named.params))
    axes: dict[Dim, tuple[Argument, int]] = {}
    for argument, ty in tensors.items():
        for axis, extent in enumerate(ty.shape):
            axes.setdefault(extent, (argument, axis))
    unknown = any(isinstance(extent, dims.Any) for ty in results for extent in ty.shape)
    if unknown or not axes.keys() >= needed.keys():
        return None
    params: dict[Argument, Var] = {}
    sizes: dict[Symbol, Expr] = {}
    for atom in needed:
        argument, axis = axes[atom]
        rank = len(tensors[argument].shape)
        shape = params.setdefault(argument, Var(f"s{len(params)}", TensorType((rank,), "int64")))
        sizes[atom] = take(shape, const(axis, "int64"), axis=0)
    fields: list[Expr] = []
    for ty in results:
        fields.append(stack([_expression(extent, sizes) for extent in ty.shape], axis=0))
        elements = reduce(dims.multiply, ty.shape)
        width = dtypes.to_numpy(ty.dtype).itemsize
        if isinstance(elements, dims.Any):  # too large for one polynomial
            fields.append(_product([*(_expression(e, sizes) for e in ty.shape), _number(width)]))
        else:
            fields.append(_expression(dims.multiply(elements, width), sizes))
    function = Function(tuple(params.values()), Tuple(tuple(fields)))
    return ShapeFunction(function.with_attr("Primitive", 1), tuple(params))


def _tensors(params: Sequence[Var]) -> Iterator[tuple[Argument, TensorType]]:
    """The parameters that are tensors, and the tensor fields of those that are tuples."""
    for index, param in enumerate(params):
        ty = param.checked_type
        if isinstance(ty, TensorType):
            yield (index, None), ty
        elif isinstance(ty, TupleType):
            for number, part in enumerate(ty.fields):
                if isinstance(part, TensorType):
                    yield (index, number), part


def _named(kernel: Function) -> Function | None:
    """The kernel with a name for every extent of a parameter that is no polynomial over others;
    None where it is then ill-typed."""
    seen = {extent for _, ty in _tensors(kernel.params) for extent in ty.shape}
    names: dict[Dim, TypeVar] = {}
    fresh = (ShapeVar(f"d{number}") for number in count())

    def named(extent: Dim) -> Dim:
        if isinstance(extent, dims.Any):
            return next(fresh)  # equal to no other
        if all(atom in seen for atom in dims.atoms(extent)):
            return extent
        return names.setdefault(extent, next(fresh))

    def tensor(ty: Type) -> Type:
        if not isinstance(ty, TensorType):
            return ty
        return TensorType(tuple(map(named, ty.shape)), ty.dtype)

    types = {
        param: TupleType(tuple(map(tensor, ty.fields))) if isinstance(ty, TupleType) else tensor(ty)
        for param in kernel.params
        for ty in (param.checked_type,)
    }
    if all(ty == param.ty for param, ty in types.items()):
        return kernel
    params = tuple(Var(param.name_hint, ty) for param, ty in types.items())
    seeds = dict(zip(kernel.params, params, strict=True))
    body = tree.transform(kernel.body, lambda _, after: after, seeds)
    variables = all_type_vars(TupleType(tuple(types.values())))
    own = Function(params, body, type_params=tuple(variables))
    try:
        found: Function = infer_module(IRModule({"kernel": own}))["kernel"]
    except RelayError:
        return None
    return found


def _expression(extent: Dim, sizes: Mapping[Symbol, Expr]) -> Expr:
    """An extent, computed; extents nest no deeper than `dims.MAX_NESTING`."""
    match extent:
        case int():
            return _number(extent)
        case DimCall(function=function, args=args):
            return reduce(CALLS[function], [_expression(arg, sizes) for arg in args])
        case DimExpr(terms=terms):
            summands = []
            for monomial, coefficient in terms.items():
                factors = [
                    _expression(atom, sizes)
                    for atom, power in sorted(monomial, key=str)
                    for _ in range(power)
                ]
                if coefficient != 1 or not factors:
                    factors.append(_number(coefficient))
                summands.append(_product(factors))
            return reduce(add, summands)
    return sizes[extent]


def _number(value: int) -> Expr:
    return const(value, "int64")


def _product(factors: list[Expr]) -> Expr:
    return reduce(multiply, factors)
