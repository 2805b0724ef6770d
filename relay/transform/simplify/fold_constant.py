"""Evaluate constant expressions at compile time:

add(%x, multiply(2f, 3f))  ->  add(%x, 6f)

Known values are propagated through tuples, data and names: a `let` of a constant is removed, a
projection of a known tuple is its field, an `if` on a known condition is one of its branches, and a
`match` on known data is one of its clauses. The interpreter evaluates calls of operators and
primitive functions on known tensors. An evaluation that fails is dropped, and the call is left for
the run to report. Shapes are known from types, also where some extents are dynamic:

take(shape_of(%x), 1)  ->  3

for %x: Tensor[(?, 3), float32]

Not folded are operators with effects, random numbers, annotations, and, unless `fold_qnn` is set,
quantized operators.

A result must be worth storing: not much larger than the constants it is computed from
(`relay.analysis.precompute`). So weights are converted and laid out once, while a large tensor of
zeros, or a broadcast one, is computed in every run, which is as fast as reading it. Folded values
count as what they were computed from, so that a chain of calls does not grow without end.

Folding may find extents that inference did not know. Where others rely on the type (branches,
clauses, arguments of functions, data and references), it is kept:

ref(arange(0f, 3f, 1f, dtype="float32"))
->
ref({ let %known: Tensor[(?), float32] = %folded; %known })
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from relay import dtypes, tree
from relay.analysis import shape_values
from relay.analysis.precompute import is_worth_storing, size_of
from relay.analysis.purity import Purity
from relay.immutable import frozen
from relay.interpreter.evaluate import evaluate, matches
from relay.interpreter.operators import operate
from relay.interpreter.values import ConstructorValue, TupleValue, Value
from relay.ir import expr as ir
from relay.ir.function_attrs import is_opaque
from relay.ir.module import IRModule
from relay.ir.types import TensorType, Type, is_dynamic
from relay.ir.variables import all_vars, free_vars
from relay.nd import NDArray, Weight
from relay.op.opdef import OpDef
from relay.op.shapes import output_type, value_type
from relay.transform.base import FunctionPass
from relay.transform.context import PassContext
from relay.tree import Steps

N = TypeVar("N", bound=ir.Syntax)
R = TypeVar("R")

# Steps that end with a folded expression, or with more steps to be taken instead.
Folded = Steps[Any]


# Operators whose result depends on the type of their argument alone.
OF_SHAPES = frozenset({"shape_of", "ndarray_size", "vm.shape_of"})

__all__ = ["FoldConstant", "FoldConstantExpr"]


@frozen
class FoldConstant(FunctionPass):
    """Evaluates constant expressions; `fold_qnn` includes quantized operators."""

    opt_level = 2
    required = ("InferType",)
    fold_qnn: bool = False

    def transform_function(
        self, function: ir.Function, module: IRModule, context: PassContext
    ) -> ir.Function:
        result = FoldConstantExpr(function, module, self.fold_qnn)
        assert isinstance(result, ir.Function)
        return result


def FoldConstantExpr(expr: ir.Expr, mod: IRModule | None = None, fold_qnn: bool = False) -> ir.Expr:
    """`expr` with constant parts evaluated. Older programs give a `mod`; nothing depends on it."""
    result: ir.Expr = tree.run(_Folding(expr, fold_qnn).fold(expr))
    return result


class _Folding:
    """Folds an expression. The steps are those of evaluation, as far as values are known.

    A known tensor stands in the folded program as a constant. Tuples and data stay what they are,
    and their values are remembered: that of `%x` in `let %x = (1, 2); …` too.
    """

    def __init__(self, root: ir.Expr, fold_qnn: bool) -> None:
        self._root = root
        self._fold_qnn = fold_qnn
        self._done: dict[int, ir.Expr] = {}
        self._values: dict[ir.Expr, Value] = {}  # of folded expressions and of variables
        self._tuples: dict[
            ir.Var, ir.Tuple
        ] = {}  # what variables are bound to; some fields are known
        self._extents: dict[
            ir.Expr, shape_values.Dims
        ] = {}  # of folded expressions that shapes are computed with
        self._unfolded: dict[ir.Tuple, ir.Tuple] = {}  # what folded tuples were
        self._standing: set[ir.Var] = set()  # variables that the folded program mentions
        self._constants: dict[int, ir.Constant] = {}  # by the tensor in it
        self._origins: dict[int, int] = {}  # of tensors that folding made: from how many bytes
        self._purity: Purity | None = None

    # --- expressions

    def fold(self, e: ir.Expr) -> Folded:
        if ir.is_atom(e):
            return self._atom(e)
        if id(e) not in self._done:
            self._done[id(e)] = yield self._compute(e)
        return self._done[id(e)]

    def _atom(self, e: ir.Expr) -> ir.Expr:
        if isinstance(e, ir.Constant):
            self._constants.setdefault(id(e.data), e)
        elif isinstance(e, ir.Var):
            if isinstance(known := self._values.get(e), NDArray):
                return self._constant(known)
            self._standing.add(e)
        return e

    def _compute(self, e: ir.Expr) -> Folded:
        match e:
            case ir.Call(op=callee):
                # an argument of an operator may turn out to be of a more precise type
                args = yield self._all(e.args, keeping_types=not isinstance(callee, ir.Op))
                function = yield self.fold(callee)
                return self._call(e, _over(e, function, *args))
            case ir.Let(variable=variable):
                value = yield self.fold(e.value)
                known = self._value(value)
                if _is_ascription(e):
                    return self._known(_over(e, variable, value, variable), known)
                if known is not None:
                    self._values[variable] = known
                elif isinstance(value, ir.Tuple):
                    self._tuples[variable] = value
                elif value in self._extents:
                    self._extents[variable] = self._extents[value]
                body = yield self.fold(e.body)
                return body if isinstance(known, NDArray) else _over(e, variable, value, body)
            case ir.If():
                cond = yield self.fold(e.cond)
                if isinstance(known := self._value(cond), NDArray):
                    return self.fold(e.true_branch if bool(known) else e.false_branch)
                branches = yield self._all((e.true_branch, e.false_branch), keeping_types=True)
                return _over(e, cond, *branches)
            case ir.Match():
                data = yield self.fold(e.data)
                if (known := self._value(data)) is not None:
                    for clause in e.clauses:
                        if (found := matches(clause.lhs, known)) is not None:
                            return self._clause(clause, found)
                results = yield self._all([c.rhs for c in e.clauses], keeping_types=True)
                clauses = [_over(c, c.lhs, r) for c, r in zip(e.clauses, results, strict=True)]
                return _over(e, data, *clauses)
            case ir.Tuple():
                fields = yield self._all(e.fields)
                values = self._all_values(fields)
                result = _over(e, *fields)
                self._unfolded[result] = e
                return self._known(result, None if values is None else TupleValue(values))
            case ir.TupleGetItem():
                return self._field(e, (yield self.fold(e.tuple_value)))
            case ir.Function() if is_opaque(e):
                return self._opaque(e)
            case ir.Function():
                return _over(e, *e.params, (yield self.fold(e.body)))
            case ir.RefCreate():
                return _over(e, *(yield self._all((e.value,), keeping_types=True)))
            case ir.RefRead(ref=ref):
                return _over(e, (yield self.fold(ref)))
            case ir.RefWrite():
                return _over(e, *(yield self._all((e.ref, e.value))))
        return e

    def _all(self, parts: Iterable[ir.Expr], keeping_types: bool = False) -> Steps[list[ir.Expr]]:
        folded = []
        for part in parts:
            result = self._atom(part) if ir.is_atom(part) else (yield self.fold(part))
            folded.append(self._with_type(part, result) if keeping_types else result)
        return folded

    def _with_type(self, before: ir.Expr, after: ir.Expr) -> ir.Expr:
        """`after` with the type of `before`, where folding may have refined its type."""
        ty = _type(before)
        if after is before or ty is None or not is_dynamic(ty):
            return after
        if isinstance(after, ir.Let) and _is_ascription(after) and _type(after.variable) == ty:
            return after
        known = ir.Var("known", ty)
        return self._known(ir.Let(known, after, known), self._value(after))

    def _opaque(self, function: ir.Function) -> ir.Expr:
        """The function as it is, but for variables that are not bound any more."""
        seeds: dict[ir.Syntax, ir.Syntax] = {}
        for variable in all_vars(function):
            if (constant := self._atom(variable)) is not variable:
                seeds[variable] = constant
        return tree.transform(function, lambda _, after: after, seeds) if seeds else function

    def _clause(self, clause: ir.Clause, found: Mapping[ir.Var, Value]) -> Folded:
        """The right side of a clause that is known to be taken."""
        for variable, value in found.items():
            self._values[variable] = value
        result: ir.Expr = yield self.fold(clause.rhs)
        for variable, value in found.items():
            if variable in self._standing:
                result = ir.Let(variable, self._quoted(value), result)
        return result

    def _field(self, e: ir.TupleGetItem, value: ir.Expr) -> ir.Expr:
        known = self._value(value)
        if isinstance(known, TupleValue) and e.index < len(known):
            field = known[e.index]
            result = self._quoted(field) if _is_tensors(field) else _over(e, value)
            return self._known(result, field)
        held = self._tuples.get(value) if isinstance(value, ir.Var) else value
        if isinstance(held, ir.Tuple) and e.index < len(held):
            field_expr = held[e.index]
            # a name keeps its tuple; without one the other fields are not evaluated any more
            if ir.is_atom(field_expr) if held is not value else self._may_take(held, e.index):
                return field_expr
        return _over(e, value)

    def _may_take(self, folded: ir.Tuple, index: int) -> bool:
        """Whether one field may stand for a projection of the tuple: the others do nothing."""
        fields = self._unfolded[folded].fields
        return all(
            ir.is_atom(after) or self._is_pure(before)
            for i, (after, before) in enumerate(zip(folded.fields, fields, strict=True))
            if i != index
        )

    # --- calls

    def _call(self, before: ir.Call, after: ir.Call) -> ir.Expr:
        values = self._all_values(after.args)
        match after.op:
            case OpDef(name=name) as op if name in OF_SHAPES and values is None:
                return self._shape(op, before) or self._from_shapes(op, before, after)
            case OpDef() as op if values is not None and self._is_foldable(op):
                return self._evaluated(op, after, values) or after
            case OpDef() as op if self._extents and self._is_foldable(op):
                return self._from_shapes(op, before, after)
            case ir.Constructor() as constructor if values is not None:
                return self._known(after, ConstructorValue(constructor.tag, values, constructor))
            case ir.Function() as function if values is not None and self._is_kernel(function):
                return self._run(before, after, values) or after
        return after

    def _is_foldable(self, op: OpDef) -> bool:
        return is_foldable(op, self._fold_qnn)

    def _is_kernel(self, function: ir.Function) -> bool:
        """Whether calling the function is evaluating operators that can be folded."""
        if not function.attrs.get("Primitive") or free_vars(function):
            return False
        return all(
            self._is_foldable(n)
            if isinstance(n, OpDef)
            else isinstance(
                n,
                ir.Function | ir.Call | ir.Tuple | ir.TupleGetItem | ir.Let | ir.Var | ir.Constant,
            )
            for n in tree.postorder(function)
        )

    def _shape(self, op: OpDef, call: ir.Call) -> ir.Expr | None:
        """The shape of a tensor that is not known, but for its type."""
        (tensor,) = call.args
        ty = _type(tensor)
        if not isinstance(ty, TensorType) or size_of(ty) is None or not self._is_pure(tensor):
            return None
        # all elements are in one place, so this takes no memory
        stand_in = np.broadcast_to(np.zeros((), dtypes.to_numpy(ty.dtype)), ty.concrete_shape)
        return self._evaluated(op, call, [NDArray(stand_in)])

    def _from_shapes(self, op: OpDef, before: ir.Call, after: ir.Call) -> ir.Expr:
        """A call of shape arithmetic on integers, some of which may be constants."""
        ty = _type(before)
        if not isinstance(ty, TensorType) or ty.dtype not in shape_values.INTEGERS:
            return after
        found: shape_values.Dims | None = None
        if op.name not in OF_SHAPES:
            args = [self._integers(arg) for arg in after.args]
            if not any(arg is None for arg in args):
                found = _attempt(shape_values.computed, op, args, after)
        elif op.name != "ndarray_size" and isinstance(given := _type(before.args[0]), TensorType):
            found = shape_values.of_shape(given)
        if found is None:
            return after
        array = shape_values.in_type(found, ty.dtype)
        if array is not None and self._is_pure(before):
            known = NDArray(array)
            return self._known(self._constant(known), known)
        self._extents[after] = shape_values.within(found, ty.dtype)
        return after

    def _integers(self, e: ir.Expr) -> shape_values.Dims | tuple[shape_values.Dims, ...] | None:
        """The elements of an argument, or of the fields of one."""
        held = self._tuples.get(e) if isinstance(e, ir.Var) else e
        if isinstance(held, ir.Tuple):
            fields = [self._integers(field) for field in held]
            is_flat = all(isinstance(field, np.ndarray) for field in fields)
            return tuple(fields) if is_flat else None  # type: ignore[arg-type]
        if isinstance(known := self._value(e), NDArray):
            return shape_values.of_tensor(known.array)
        return self._extents.get(e)

    def _evaluated(self, op: OpDef, call: ir.Call, values: Sequence[Value]) -> ir.Expr | None:
        result = operator_result(op, call, values, lambda ty: self._is_worth_storing(ty, values))
        return None if result is None else self._kept(result, values)

    def _run(self, before: ir.Call, after: ir.Call, values: Sequence[Value]) -> ir.Expr | None:
        """A call of a primitive function, evaluated."""
        if before.ty is None or not self._is_worth_storing(before.ty, values):
            return None
        variables = [ir.Var(f"x{i}") for i in range(len(values))]
        call = ir.Call(after.op, tuple(variables), after.attrs, after.type_args)
        bindings = dict(zip(variables, values, strict=True))
        result = _attempt(evaluate, call, bindings=bindings)
        return None if result is None else self._kept(result, values)

    # --- sizes

    def _is_worth_storing(self, ty: Type, values: Sequence[Value]) -> bool:
        size = size_of(ty)
        return size is not None and is_worth_storing(size, self._origin(values))

    def _origin(self, values: Iterable[Value]) -> int:
        """The bytes of the constants that these values are computed from."""
        tensors = {id(t): t for v in values for t in _tensors(v)}
        return sum(self._origins.get(key, t.array.nbytes) for key, t in tensors.items())

    def _kept(self, result: Value, made_of: Sequence[Value]) -> ir.Expr:
        origin = self._origin(made_of)
        kept = [NDArray(_contiguous(t.array)) for t in _tensors(result)]
        for tensor in kept:
            self._origins[id(tensor)] = min(origin, tensor.array.nbytes)
        value = kept[0] if isinstance(result, NDArray) else TupleValue(kept)
        return self._known(self._quoted(value), value)

    # --- what is known

    def _value(self, e: ir.Expr) -> Value | None:
        """The value of a folded expression, if it is known; weights may change."""
        if isinstance(e, ir.Constant):
            return None if isinstance(e.data, Weight) else e.data
        return self._values.get(e)

    def _known(self, e: ir.Expr, value: Value | None) -> ir.Expr:
        """`e`, a folded expression, with its value noted if there is one."""
        if value is not None:
            self._values[e] = value
        return e

    def _all_values(self, parts: Iterable[ir.Expr]) -> list[Value] | None:
        values = [self._value(part) for part in parts]
        return None if None in values else values  # type: ignore[return-value]

    def _is_pure(self, e: ir.Expr) -> bool:
        """Whether an expression of the program as it was need not be evaluated."""
        if ir.is_atom(e):
            return True
        if self._purity is None:
            self._purity = Purity(self._root)
        return self._purity.is_pure(e)

    def _constant(self, tensor: NDArray) -> ir.Constant:
        """The constant of a tensor, shared by all its uses."""
        return self._constants.setdefault(id(tensor), ir.Constant(tensor))

    def _quoted(self, value: Value) -> ir.Expr:
        """An expression of that value."""
        result: ir.Expr = tree.run(self._quote(value))
        return result

    def _quote(self, value: Value) -> Steps[ir.Expr]:
        if isinstance(value, NDArray):
            return self._constant(value)
        assert isinstance(value, TupleValue | ConstructorValue)
        fields = yield tree.gather(self._quote(field) for field in value.fields)
        if isinstance(value, TupleValue):
            return ir.Tuple(tuple(fields))
        return ir.Call(value.constructor, tuple(fields))


def is_foldable(op: OpDef, fold_qnn: bool = False) -> bool:
    """Whether calls of the operator on known tensors are evaluated."""
    is_left = op.name.startswith("qnn.") and not fold_qnn
    return op.is_repeatable and op.reference is not None and not is_left


def operator_result(
    op: OpDef, call: ir.Call, values: Sequence[Value], may_store: Callable[[Type], bool]
) -> Value | None:
    """The result of a call on known values, if its type may be stored; None where it fails."""
    if not all(map(_is_tensors, values)):
        return None
    attrs = op.make_attrs({}) if call.attrs is None else call.attrs
    arrays: list[Any] = [_arrays(value) for value in values]
    ty = _attempt(output_type, op, list(map(value_type, arrays)), attrs, arrays, call.span)
    if ty is None or not may_store(ty):
        return None
    return _attempt(operate, op, values, attrs, call.span, proven=True)


def _over(e: N, *parts: ir.Syntax) -> N:
    """`e` with these parts; `e` itself if they are the same."""
    result: Any = tree.rebuild(e, parts)
    return result  # type: ignore[no-any-return]


def _type(e: ir.Expr) -> Type | None:
    return e.type_annotation if e.ty is None and isinstance(e, ir.Var) else e.ty


def _is_ascription(e: ir.Let) -> bool:
    """`let %x: T = v; %x`, where T says less than the type of v may say."""
    ty = e.variable.type_annotation
    return e.body is e.variable and ty is not None and is_dynamic(ty)


def _tensors(value: Value) -> Iterator[NDArray]:
    """The tensors of a tensor, or of a tuple of tensors."""
    parts = value.fields if isinstance(value, TupleValue) else (value,)
    return (part for part in parts if isinstance(part, NDArray))


def _arrays(value: Value) -> Any:
    """The array of a tensor, or a tuple of arrays, as references take them."""
    arrays = tuple(tensor.array for tensor in _tensors(value))
    return arrays if isinstance(value, TupleValue) else arrays[0]


def _is_tensors(value: Value) -> bool:
    """Whether the value is what operators take and give: a tensor, or a tuple of tensors."""
    parts = value.fields if isinstance(value, TupleValue) else (value,)
    return all(isinstance(part, NDArray) for part in parts)


def _contiguous(array: np.ndarray) -> np.ndarray:
    return array if array.flags.c_contiguous else array.copy(order="C")


def _attempt(compute: Callable[..., R], *args: Any, **keywords: Any) -> R | None:
    """What `compute` gives; None where it fails: the run reports it, if it ever gets there. Code of
    operators is called with values that it may have never seen, so the failure may be of any kind.
    """
    try:
        return compute(*args, **keywords)
    except Exception:
        return None
