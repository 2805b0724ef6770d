"""Scalar instructions for tensor expressions of rank 0: loop counters, predicates, sizes.

    fn (%i: int32, Primitive=1) { less(add(%i, 1), 10) }
    ->   %1: int32 = 1;  %2: int32 = add %0, %1;  %3: int32 = 10;  %4: bool = lt %2, %3

What needs a loop becomes a kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay import tree
from relay.errors import LowerError
from relay.extents import EXPECTED, is_size
from relay.ir import dims
from relay.ir.dims import Dim, DimCall, DimExpr
from relay.lower.to_compute import Computed
from relay.program.builder import Builder
from relay.program.program import ComputeSize, Literal, Register, Scalar, ScalarSpec
from relay.te.compute import Computation
from relay.te.expr import Binary, Bitcast, Call, Cast, Compare, Const, Expr, Read, Select, Unary

SIZE = "int64"


def is_scalar(computed: Computed) -> bool:
    """Whether only scalars are computed, without loops."""
    pending = list(computed.outputs)
    seen = {id(tensor) for tensor in computed.inputs}
    if any(tensor.shape for tensor in computed.inputs):
        return False
    while pending:
        tensor = pending.pop()
        if id(tensor) in seen:
            continue
        seen.add(id(tensor))
        op = tensor.op
        if tensor.shape or not isinstance(op, Computation) or op.reduction is not None:
            return False
        pending += op.inputs
    return True


def emit_computed(builder: Builder, computed: Computed, args: Sequence[Register]) -> list[Register]:
    """Append the instructions that compute scalars from scalars; returns the results."""
    known: dict[int, Register] = dict(zip(map(id, computed.inputs), args, strict=True))
    made: dict[Expr, Register] = {}
    pending = list(computed.outputs)
    while pending:
        tensor = pending[-1]
        op = tensor.op
        if id(tensor) in known:
            pending.pop()
            continue
        assert isinstance(op, Computation)
        waiting = [one for one in op.inputs if id(one) not in known]
        pending += waiting
        if not waiting:
            body = op.bodies[tensor.position]
            known[id(tensor)] = _emit(builder, body, known, made)
    return [known[id(tensor)] for tensor in computed.outputs]


def _emit(
    builder: Builder, root: Expr, known: Mapping[int, Register], made: dict[Expr, Register]
) -> Register:
    for part in tree.postorder(root, lambda e: e not in made and not isinstance(e, Read)):
        if part in made:
            continue
        if isinstance(part, Read):
            made[part] = known[id(part.source)]
        elif isinstance(part, Const):
            made[part] = literal(builder, part.value, part.dtype)
        else:
            op, operands = _operation(part)
            made[part] = operation(builder, op, [made[one] for one in operands], part.dtype)
    return made[root]


def _operation(part: Expr) -> tuple[str, tuple[Expr, ...]]:
    match part:
        case Binary() | Compare():
            return part.op, (part.left, part.right)
        case Unary():
            return part.op, (part.operand,)
        case Select():
            return "select", (part.condition, part.if_true, part.if_false)
        case Cast():
            return "cast", (part.operand,)
        case Bitcast():
            return "bitcast", (part.operand,)
        case Call():
            return part.function, part.args
    raise AssertionError(f"{type(part).__name__} in an expression without loops")


def literal(builder: Builder, value: bool | int | float, dtype: str) -> Register:
    return builder.emit(ScalarSpec(dtype), Literal, value)


def operation(builder: Builder, op: str, inputs: Sequence[Register], dtype: str) -> Register:
    return builder.emit(ScalarSpec(dtype), Scalar, op, tuple(inputs))


# --- sizes


def emit_dim(
    builder: Builder, dim: Dim, sizes: Mapping[dims.Symbol, Register], where: str = ""
) -> Register:
    """The value of a dimension over known sizes; overflow ends the run at `where` in the source."""
    register: Register = tree.run(_emit_dim(builder, dim, sizes, where))
    return register


def size_operation(
    builder: Builder, op: str, left: Register, right: Register, where: str
) -> Register:
    """The sum or the product of two sizes."""
    return builder.emit(ScalarSpec(SIZE), ComputeSize, op, left, right, where)


def _emit_dim(
    builder: Builder, dim: Dim, sizes: Mapping[dims.Symbol, Register], where: str
) -> tree.Steps[Register]:
    if isinstance(dim, int):
        return _size(builder, dim)
    if dim in sizes:
        return sizes[dim]
    if isinstance(dim, DimCall):
        op = {"//": "floordiv", "min": "min", "max": "max"}[dim.function]
        total: Register = yield _emit_dim(builder, dim.args[0], sizes, where)
        for arg in dim.args[1:]:
            other = yield _emit_dim(builder, arg, sizes, where)
            total = operation(builder, op, (total, other), SIZE)
        return total
    assert isinstance(dim, DimExpr), f"nothing says how much `{dim}` is"
    found: Register | None = None
    for monomial, factor in dim.terms.items():
        product = _size(builder, factor) if factor != 1 or not monomial else None
        for atom, power in sorted(monomial, key=lambda item: str(item[0])):
            value = yield _emit_dim(builder, atom, sizes, where)
            for _ in range(power):
                product = (
                    value
                    if product is None
                    else size_operation(builder, "mul", product, value, where)
                )
        assert product is not None
        found = product if found is None else size_operation(builder, "add", found, product, where)
    assert found is not None, "a sum without terms is a number"
    return found


def _size(builder: Builder, number: int) -> Register:
    if not is_size(number):
        raise LowerError.of(f"a size would be {number}", expected=EXPECTED)
    return literal(builder, number, SIZE)


def evaluable(dim: Dim, sizes: Mapping[dims.Symbol, Register]) -> bool:
    """Whether a dimension can be computed from known sizes."""
    if isinstance(dim, dims.Any):
        return False
    return isinstance(dim, int) or all(atom in sizes for atom in dims.atoms(dim))
