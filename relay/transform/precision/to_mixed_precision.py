"""Compute in float16 or bfloat16 where that is accurate enough:

nn.softmax(nn.relu(nn.dense(%x, %w)))
->
%0 = nn.dense(cast(%x, dtype="float16"), cast(%w, dtype="float16"), out_dtype="float32");
nn.softmax(cast(nn.relu(cast(%0, dtype="float16")), dtype="float32"))

for %x: Tensor[(2, 8), float32], %w: Tensor[(4, 8), float32]

The record of an operator gives its precision class (`relay.op.facts.Precision`). ALWAYS: arguments
and results are narrow (16 bits), and the accumulation type is float32 if there is an `out_dtype`.
FOLLOW: narrow if some arguments are, and the others are narrow too or cheap to convert: constants,
what is computed from constants alone, and parameters. NEVER: float32. A value is converted once,
however often it is used; if its float32 original exists, uses in float32 read that. A constant out
of the range of float16 (the -1e9 of a mask) keeps its users in float32.

Tuples, `let`s, branches and clauses are narrow where all alternatives are narrow or cheap to
convert. Function values, functions with callers, data and references keep their types: values are
converted at their boundaries. Only a function without callers in the module, such as `main`, may
change its result type; the option `relay.ToMixedPrecision.keep_orig_output_dtype` prevents that.
Floats of other widths than 32 are left alone. The result is an approximation: float16 has 11
significant bits, bfloat16 8.

The attribute `FTVMMixedPrecisionConversionType` of an operator overrides its record: a function of
the call and the narrow type that returns the class, and optionally the accumulation and result
types:

@relay.op.register_op_attr("my.op", "FTVMMixedPrecisionConversionType")
def my_op(call, mixed_precision_type):
    return [MIXED_PRECISION_ALWAYS, "float32", mixed_precision_type]
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final

import numpy as np

from relay import nd, tree
from relay.check.infer import infer_module
from relay.errors import PassError
from relay.immutable import frozen
from relay.ir import expr as ir
from relay.ir.function_attrs import is_sealed
from relay.ir.module import IRModule
from relay.ir.types import TensorType, TupleType, Type
from relay.op.facts import Precision
from relay.op.opdef import OpDef
from relay.op.tensor.convert import cast
from relay.transform.base import ModulePass
from relay.transform.context import PassContext
from relay.tree import Steps

__all__ = [
    "MIXED_PRECISION_ALWAYS",
    "MIXED_PRECISION_FOLLOW",
    "MIXED_PRECISION_NEVER",
    "ToMixedPrecision",
]

MIXED_PRECISION_ALWAYS: Final = Precision.ALWAYS
MIXED_PRECISION_FOLLOW: Final = Precision.FOLLOW
MIXED_PRECISION_NEVER: Final = Precision.NEVER

ATTRIBUTE: Final = "FTVMMixedPrecisionConversionType"
KEEP_RESULTS: Final = "relay.ToMixedPrecision.keep_orig_output_dtype"
WIDE: Final = "float32"
NARROW: Final = ("float16", "bfloat16")
LARGEST_FLOAT16: Final = 65504.0


@frozen
class ToMixedPrecision(ModulePass):
    """Converts to `mixed_precision_type` by the precision classes of operators.

    `missing_op_mode` is for operators without a class: 0 is an error, 1 a warning, 2 neither; with
    the latter two they compute in float32.
    """

    required = ("InferType",)
    mixed_precision_type: str = "float16"
    missing_op_mode: int = 1

    def __post_init__(self) -> None:
        if self.mixed_precision_type not in NARROW:
            raise PassError(
                f"mixed_precision_type is one of {', '.join(NARROW)}, "
                f"found {self.mixed_precision_type!r}"
            )
        if self.missing_op_mode not in (0, 1, 2):
            raise PassError(
                "missing_op_mode is 0 (error), 1 (warning) or 2 (neither), "
                f"found {self.missing_op_mode!r}"
            )

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        functions = [(n, f) for n, f in module.functions.items() if not _is_compiled_whole(f)]
        classes = _Classes(self.mixed_precision_type)
        classes.report(_unclassified(f for _, f in functions), self.missing_op_mode)
        called = {
            node.name_hint
            for function in module.functions.values()
            for node in tree.postorder(function)
            if isinstance(node, ir.GlobalVar)
        }
        changed: dict[str, ir.Function] = {}
        for name, function in functions:
            keeps = name.name_hint in called or context.option(KEEP_RESULTS)
            after = _Rewriter(classes, function).function(keeps)
            if after is not function:
                changed[name.name_hint] = after
        for name_hint, function in changed.items():
            module[name_hint] = function
        return infer_module(module) if changed else module


def _unclassified(functions: Iterable[ir.Function]) -> list[str]:
    """The called operators without a precision class, sorted."""
    found = {
        node.op.name
        for function in functions
        for node in tree.postorder(function, lambda n: not _is_compiled_whole(n))
        if isinstance(node, ir.Call) and isinstance(node.op, ir.Op) and not _is_classified(node.op)
    }
    return sorted(found)


def _is_compiled_whole(node: ir.Syntax) -> bool:
    """Whether this is a function that an external compiler or a kernel takes as a whole."""
    return isinstance(node, ir.Function) and (is_sealed(node) or bool(node.attrs.get("Composite")))


def _is_classified(op: ir.Op) -> bool:
    return isinstance(op, OpDef) and (op.precision is not None or op.has_attr(ATTRIBUTE))


# --- precision classes ----------------------------------------------------------------------------


@frozen
class _Class:
    """The precision class of a call, with its accumulation and result types."""

    category: Precision
    accumulation: str
    output: str


@frozen
class _Classes:
    narrow: str

    def report(self, operators: Sequence[str], mode: int) -> None:
        """An error or a warning about operators without a class."""
        if not operators or mode == 2:
            return
        names = ", ".join(f"`{name}`" for name in operators)
        message = (
            f"nothing is known about {names} with {self.narrow}; "
            f"give each the attribute {ATTRIBUTE}, or set missing_op_mode=2"
        )
        if mode == 0:
            raise PassError(message)
        warnings.warn(f"{message}; wide floats are used", stacklevel=2)

    def of(self, call: ir.Call) -> _Class:
        op = call.op
        if not isinstance(op, OpDef):
            return _Class(Precision.NEVER, WIDE, WIDE)
        if (own := op.get_attr(ATTRIBUTE)) is not None:
            return self._own(op, own(call, self.narrow) if callable(own) else own, call)
        category = Precision.NEVER if op.precision is None else op.precision
        return _Class(category, self._accumulation(call), self.narrow)

    def _accumulation(self, call: ir.Call) -> str:
        """The accumulation type: float32 if the operator has an `out_dtype`."""
        return WIDE if call.attrs is not None and "out_dtype" in call.attrs else self.narrow

    def _own(self, op: OpDef, said: Any, call: ir.Call) -> _Class:
        parts: list[Any] = [said] if isinstance(said, int) else list(said)
        defaults = [Precision.NEVER, self._accumulation(call), self.narrow]
        kind = _Class(*[*parts, *defaults[len(parts) :]][:3])
        types = (self.narrow, WIDE)
        if len(parts) > 3 or kind.category not in list(Precision) or kind.output not in types:
            raise PassError(
                f"{ATTRIBUTE} of `{op.name}` gives [kind, type to sum with, type to give], where "
                f"the kind is 0 (always), 1 (follow) or 2 (never), found {said!r}"
            )
        return kind


# --- types --------------------------------------------------------------------------------------


def _with_dtype(ty: Type, before: str, after: str) -> Type:
    """`ty`, a tensor or nested tuples, with element type `after` instead of `before`."""

    def visit(ty: Type) -> Steps[Type]:
        if isinstance(ty, TensorType):
            return TensorType(ty.shape, after) if ty.dtype == before else ty
        if not isinstance(ty, TupleType):
            return ty
        parts: list[Type] = yield tree.gather(visit(part) for part in ty.fields)
        return TupleType(tuple(parts))

    if isinstance(ty, TensorType):
        return TensorType(ty.shape, after) if ty.dtype == before else ty
    return tree.run(visit(ty)) if isinstance(ty, TupleType) else ty


def _like(declared: Type, found: Type) -> Type:
    """The declared type with the element types of `found`."""
    if declared == found:
        return declared

    def visit(ty: Type, other: Type) -> Steps[Type]:
        if isinstance(ty, TensorType) and isinstance(other, TensorType):
            return ty if ty.dtype == other.dtype else TensorType(ty.shape, other.dtype)
        if not isinstance(ty, TupleType) or not isinstance(other, TupleType):
            return ty
        parts: list[Type] = yield tree.gather(
            visit(one, two) for one, two in zip(ty.fields, other.fields, strict=True)
        )
        return TupleType(tuple(parts))

    return tree.run(visit(declared, found))


def _floats(ty: Type) -> set[str]:
    """The floating-point element types in `ty`, a tensor or nested tuples."""
    found: set[str] = set()
    pending = [ty]
    while pending:
        part = pending.pop()
        if isinstance(part, TensorType):
            if "float" in part.dtype:
                found.add(part.dtype)
        elif isinstance(part, TupleType):
            pending.extend(part.fields)
    return found


# --- programs -----------------------------------------------------------------------------------


class _Cost(IntEnum):
    """The cost of converting a value."""

    NOTHING = 0  # constants are folded
    ONCE = 1  # a parameter
    WORK = 2  # in every run


@frozen
class _Value:
    """A rewritten expression, its type, and the cost of converting it."""

    expr: ir.Expr
    ty: Type
    cost: _Cost = _Cost.WORK


@dataclass
class _Rewriter:
    """Rewrites one function of the module."""

    classes: _Classes
    root: ir.Function
    held: dict[int, _Value] = field(default_factory=dict)
    casts: dict[tuple[int, Type], ir.Expr] = field(default_factory=dict)
    wide: dict[int, ir.Expr] = field(default_factory=dict)  # float32 originals of narrow values

    def __post_init__(self) -> None:
        self.narrow = self.classes.narrow
        nodes = list(tree.postorder(self.root, lambda n: not _is_compiled_whole(n)))
        self.values = {n.variable: n.value for n in nodes if isinstance(n, ir.Let)}
        self.params = {p for n in nodes if isinstance(n, ir.Function) for p in n.params}
        self.nodes = nodes

    def function(self, keeps_results: bool) -> ir.Function:
        for node in self.nodes[:-1]:
            if isinstance(node, ir.Expr) and not isinstance(node, ir.Var):
                self.held[id(node)] = self.rewritten(node)
        body = self.of(self.root.body)
        result = self.root.ret_type or self.root.body.checked_type
        if keeps_results:
            return self.over(self.root, self.converted(body, self.root.body.checked_type))
        made = self.over(self.root, body.expr)
        if made is self.root:
            return made
        return tree.replace(made, ret_type=_like(result, body.ty))

    def over(self, function: ir.Function, body: ir.Expr) -> ir.Function:
        return function if body is function.body else tree.replace(function, body=body)

    # --- rewritten expressions

    def of(self, e: ir.Expr) -> _Value:
        """The rewritten `e`; variables are rewritten on first use, after their values."""
        if not isinstance(e, ir.Var):
            return self.held[id(e)]
        chain = []
        while id(e) not in self.held and isinstance(e, ir.Var):
            chain.append(e)
            value = self.values.get(e)
            if value is None or isinstance(value, ir.Function):
                # a parameter, a field of data, or a function that may call itself: unchanged
                cost = _Cost.ONCE if e in self.params else _Cost.WORK
                self.held[id(e)] = _Value(e, e.checked_type, cost)
            else:
                e = value
        for variable in reversed(chain):
            if id(variable) not in self.held:
                self.held[id(variable)] = self.variable(variable, self.held[id(e)])
            e = variable
        return self.held[id(e)]

    def variable(self, before: ir.Var, value: _Value) -> _Value:
        ty = _like(before.checked_type, value.ty)
        if ty == before.checked_type:
            return _Value(before, ty, value.cost)
        declared = before.type_annotation or before.checked_type
        after = ir.Var(before.name_hint, _like(declared, ty), span=before.span)
        return _Value(after, ty, value.cost)

    def rewritten(self, e: ir.Expr) -> _Value:
        match e:
            case ir.Constant():
                return _Value(e, e.checked_type, _Cost.NOTHING if self.fits(e) else _Cost.WORK)
            case ir.Function():
                if _is_compiled_whole(e):
                    return _Value(e, e.checked_type)
                body = self.converted(self.of(e.body), e.body.checked_type)
                return _Value(self.over(e, body), e.checked_type)
            case ir.Call(op=ir.Op()):
                return self.operation(e)
            case ir.Call(op=callee, args=args):
                parts = [self.of(callee).expr, *map(self.original, args)]
                return _Value(tree.rebuild(e, parts), e.checked_type)
            case ir.Let(variable=variable, value=value, body=body):
                inner = self.of(body)
                parts = [self.of(variable).expr, self.of(value).expr, inner.expr]
                return _Value(tree.rebuild(e, parts), inner.ty, inner.cost)
            case ir.If(cond=cond, true_branch=true_branch, false_branch=false_branch):
                alternatives = [self.of(true_branch), self.of(false_branch)]
                ty = self.joined(e, alternatives)
                branches = [self.converted(alternative, ty) for alternative in alternatives]
                return _Value(tree.rebuild(e, [self.of(cond).expr, *branches]), ty)
            case ir.Match():
                return self.match(e)
            case ir.Tuple(fields=fields):
                found = [self.of(part) for part in fields]
                ty = TupleType(tuple(part.ty for part in found))
                cost = max((part.cost for part in found), default=_Cost.WORK)
                return _Value(tree.rebuild(e, [part.expr for part in found]), ty, cost)
            case ir.TupleGetItem(tuple_value=value, index=index):
                whole = self.of(value)
                assert isinstance(whole.ty, TupleType)
                made = tree.rebuild(e, [whole.expr])
                return _Value(made, whole.ty.fields[index], whole.cost)
            case ir.RefCreate(value=value):
                return _Value(tree.rebuild(e, [self.original(value)]), e.checked_type)
            case ir.RefWrite(ref=ref, value=value):
                parts = [self.of(ref).expr, self.original(value)]
                return _Value(tree.rebuild(e, parts), e.checked_type)
        below = [self.of(part).expr for part in tree.children(e) if isinstance(part, ir.Expr)]
        made = tree.rebuild(e, below)
        # atoms may have no type: an operator, a constructor
        return _Value(made, e.ty or TupleType(()))

    def joined(self, e: ir.Expr, alternatives: Sequence[_Value]) -> Type:
        """The type of a join: that of the alternatives that are not cheap to convert."""
        types = {alternative.ty for alternative in alternatives if alternative.cost is _Cost.WORK}
        return types.pop() if len(types) == 1 else e.checked_type

    def match(self, e: ir.Match) -> _Value:
        alternatives = [self.of(clause.rhs) for clause in e.clauses]
        ty = self.joined(e, alternatives)
        clauses = []
        for clause, alternative in zip(e.clauses, alternatives, strict=True):
            rhs = self.converted(alternative, ty)
            clauses.append(clause if rhs is clause.rhs else tree.replace(clause, rhs=rhs))
        parts: list[Any] = [self.original(e.data), *clauses]
        return _Value(tree.rebuild(e, parts), ty)

    # --- operators

    def operation(self, e: ir.Call) -> _Value:
        kind = self.classes.of(e)
        args = [self.of(arg) for arg in e.args]
        if not self.is_narrow(e, kind, args):
            as_before: ir.Expr = tree.rebuild(e, [e.op, *map(self.original, e.args)])
            is_pure = isinstance(e.op, OpDef) and not e.op.stateful
            is_constant = is_pure and all(arg.cost is _Cost.NOTHING for arg in args)
            cost = _Cost.NOTHING if is_constant else _Cost.WORK
            return _Value(as_before, e.checked_type, cost)
        below = [self.converted(arg, self.narrowed(arg.ty)) for arg in args]
        attrs: Any = e.attrs
        given = self.narrow
        if attrs is not None and "out_dtype" in attrs:
            given = kind.accumulation
            attrs = dataclasses.replace(attrs, out_dtype=given)
        call = tree.replace(e, args=tuple(below), attrs=attrs, type_args=())
        result = _Value(call, _with_dtype(e.checked_type, WIDE, given))
        wanted = _with_dtype(e.checked_type, WIDE, kind.output)
        made = self.converted(result, wanted)
        if made is not call and given == WIDE:
            self.wide[id(made)] = call
        return _Value(made, wanted)

    def is_narrow(self, e: ir.Call, kind: _Class, args: Sequence[_Value]) -> bool:
        """Whether a call takes narrow arguments."""
        floats = [_floats(arg.checked_type) for arg in e.args]
        if not set().union(*floats, _floats(e.checked_type)) <= {WIDE, self.narrow}:
            return False  # other float types are left alone
        if kind.category == Precision.NEVER or not any(WIDE in f for f in floats):
            return False
        taken = [arg for arg, found in zip(args, floats, strict=True) if WIDE in found]
        if kind.category == Precision.ALWAYS:
            is_held = (
                arg.cost is _Cost.NOTHING or not isinstance(arg.expr, ir.Constant) for arg in taken
            )
            return all(is_held)
        narrow = [WIDE not in _floats(arg.ty) for arg in taken]
        return any(narrow) and all(
            is_narrow or arg.cost < _Cost.WORK for is_narrow, arg in zip(narrow, taken, strict=True)
        )

    def fits(self, constant: ir.Constant) -> bool:
        """Whether a constant is in the range of the narrow type; weights may change: assume so."""
        if self.narrow != "float16" or isinstance(constant.data, nd.Weight):
            return True
        if constant.data.dtype != WIDE:
            return True
        array = constant.data.array
        return bool(np.max(np.abs(array), initial=0.0, where=np.isfinite(array)) <= LARGEST_FLOAT16)

    # --- conversions

    def narrowed(self, ty: Type) -> Type:
        return _with_dtype(ty, WIDE, self.narrow)

    def original(self, e: ir.Expr) -> ir.Expr:
        """The rewritten `e`, converted to its original type."""
        held = self.of(e)
        return held.expr if e.ty is None else self.converted(held, e.ty)

    def converted(self, held: _Value, wanted: Type) -> ir.Expr:
        """The expression with the element types of `wanted`; memoized."""
        if held.ty == wanted or not isinstance(held.ty, TensorType | TupleType):
            return held.expr
        key = (id(held.expr), _like(held.ty, wanted))
        if key not in self.casts:
            self.casts[key] = tree.run(self.conversion(held.expr, held.ty, wanted))
        return self.casts[key]

    def conversion(self, e: ir.Expr, found: Type, wanted: Type) -> Steps[ir.Expr]:
        if isinstance(found, TensorType) and isinstance(wanted, TensorType):
            if found.dtype == wanted.dtype:
                return e
            if wanted.dtype == WIDE and id(e) in self.wide:
                return self.wide[id(e)]
            return cast(e, dtype=wanted.dtype)
        if not isinstance(found, TupleType) or not isinstance(wanted, TupleType):
            return e
        parts: list[ir.Expr] = []
        for i, (one, two) in enumerate(zip(found.fields, wanted.fields, strict=True)):
            part = e.fields[i] if isinstance(e, ir.Tuple) else ir.TupleGetItem(e, i)
            parts.append((yield self.conversion(part, one, two)))
        return ir.Tuple(tuple(parts))
