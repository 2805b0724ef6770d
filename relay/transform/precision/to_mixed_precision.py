"""Compute with floats of 16 bits where that is accurate enough:

nn.softmax(nn.relu(nn.dense(%x, %w)))
->
%0 = nn.dense(cast(%x, dtype="float16"), cast(%w, dtype="float16"), out_dtype="float32");
nn.softmax(cast(nn.relu(cast(%0, dtype="float16")), dtype="float32"))

for %x: Tensor[(2, 8), float32], %w: Tensor[(4, 8), float32]

The record of an operator gives its class (`relay.op.facts.Precision`). ALWAYS: arguments are
narrow, sums have 32 bits where there is an `out_dtype`, and results are narrow. FOLLOW: narrow if
some arguments are, and all others are narrow too or can be converted for free or once (constants,
what is computed from constants alone, parameters). NEVER: float32, as before. A value is converted
once, however often it is used, and a value that was wide is used as it was. A constant too large
for float16 (the -1e9 of a mask) keeps its users wide.

Tuples, `let`s, branches and clauses hold narrow values where all alternatives are narrow, or such
constants and parameters. Function values, functions that others call, data and references keep
their types: values are converted on the way in and out. Only a function without callers in the
module, such as `main`, may change its result type; the option
`relay.ToMixedPrecision.keep_orig_output_dtype` prevents that. Floats of other widths than 32 are
left alone. The result is an approximation: float16 has 11 bits, bfloat16 8.

The attribute `FTVMMixedPrecisionConversionType` of an operator overrides its record: a function of
the call and the narrow type that gives the class, and perhaps the types of sums and results:

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
from relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    RefCreate,
    RefWrite,
    Syntax,
    Tuple,
    TupleGetItem,
    Var,
)
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
    """Converts what gains from it to `mixed_precision_type`.

    `missing_op_mode` is about operators whose record says no kind: 0 is an error, 1 a warning, 2
    nothing; with the latter two they compute with wide floats.
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
        functions = [(n, f) for n, f in module.functions.items() if not _is_one_thing(f)]
        kinds = _Kinds(self.mixed_precision_type)
        kinds.report(_without_kind(f for _, f in functions), self.missing_op_mode)
        called = {
            node.name_hint
            for function in module.functions.values()
            for node in tree.postorder(function)
            if isinstance(node, GlobalVar)
        }
        changed: dict[str, Function] = {}
        for name, function in functions:
            keeps = name.name_hint in called or context.option(KEEP_RESULTS)
            after = _Mixing(kinds, function).function(keeps)
            if after is not function:
                changed[name.name_hint] = after
        for name_hint, function in changed.items():
            module[name_hint] = function
        return infer_module(module) if changed else module


def _without_kind(functions: Iterable[Function]) -> list[str]:
    """The operators that are called and of no known kind, sorted."""
    found = {
        node.op.name
        for function in functions
        for node in tree.postorder(function, lambda n: not _is_one_thing(n))
        if isinstance(node, Call) and isinstance(node.op, Op) and not _has_kind(node.op)
    }
    return sorted(found)


def _is_one_thing(node: Syntax) -> bool:
    """Whether this is a function that is compiled as a whole."""
    return isinstance(node, Function) and (is_sealed(node) or bool(node.attrs.get("Composite")))


def _has_kind(op: Op) -> bool:
    return isinstance(op, OpDef) and (op.precision is not None or op.has_attr(ATTRIBUTE))


# --- kinds --------------------------------------------------------------------------------------


@frozen
class _Kind:
    """What becomes of a call: its kind, and the element types to sum with and to give."""

    category: Precision
    accumulation: str
    output: str


@frozen
class _Kinds:
    narrow: str

    def report(self, operators: Sequence[str], mode: int) -> None:
        """An error or a warning about operators of no known kind."""
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

    def of(self, call: Call) -> _Kind:
        op = call.op
        if not isinstance(op, OpDef):
            return _Kind(Precision.NEVER, WIDE, WIDE)
        if (own := op.get_attr(ATTRIBUTE)) is not None:
            return self._own(op, own(call, self.narrow) if callable(own) else own, call)
        category = Precision.NEVER if op.precision is None else op.precision
        return _Kind(category, self._accumulation(call), self.narrow)

    def _accumulation(self, call: Call) -> str:
        """Sums of narrow elements are wide where the operator can give them so."""
        return WIDE if call.attrs is not None and "out_dtype" in call.attrs else self.narrow

    def _own(self, op: OpDef, said: Any, call: Call) -> _Kind:
        parts: list[Any] = [said] if isinstance(said, int) else list(said)
        defaults = [Precision.NEVER, self._accumulation(call), self.narrow]
        kind = _Kind(*[*parts, *defaults[len(parts) :]][:3])
        types = (self.narrow, WIDE)
        if len(parts) > 3 or kind.category not in list(Precision) or kind.output not in types:
            raise PassError(
                f"{ATTRIBUTE} of `{op.name}` gives [kind, type to sum with, type to give], where "
                f"the kind is 0 (always), 1 (follow) or 2 (never), found {said!r}"
            )
        return kind


# --- types --------------------------------------------------------------------------------------


def _with_dtype(ty: Type, before: str, after: str) -> Type:
    """`ty` with another element type, in the tensors and tuples that it consists of."""

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
    """What is declared, with the element types that were found."""
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
    """The element types that are floats, in the tensors and tuples that `ty` consists of."""
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
    """What it costs to convert a value."""

    NOTHING = 0  # constants are folded
    ONCE = 1  # a parameter
    WORK = 2


@dataclass(frozen=True, slots=True)
class _Held:
    """An expression of the result, the type it has there, and what converting it costs."""

    expr: Expr
    ty: Type
    cost: _Cost = _Cost.WORK


@dataclass
class _Mixing:
    """Rewrites one function of the module."""

    kinds: _Kinds
    root: Function
    held: dict[int, _Held] = field(default_factory=dict)
    casts: dict[tuple[int, Type], Expr] = field(default_factory=dict)
    wide: dict[int, Expr] = field(default_factory=dict)  # what narrow ones were made of

    def __post_init__(self) -> None:
        self.narrow = self.kinds.narrow
        nodes = list(tree.postorder(self.root, lambda n: not _is_one_thing(n)))
        self.values = {n.variable: n.value for n in nodes if isinstance(n, Let)}
        self.params = {p for n in nodes if isinstance(n, Function) for p in n.params}
        self.nodes = nodes

    def function(self, keeps_results: bool) -> Function:
        for node in self.nodes[:-1]:
            if isinstance(node, Expr) and not isinstance(node, Var):
                self.held[id(node)] = self.rewritten(node)
        body = self.of(self.root.body)
        result = self.root.ret_type or self.root.body.checked_type
        if keeps_results:
            return self.over(self.root, self.converted(body, self.root.body.checked_type))
        made = self.over(self.root, body.expr)
        if made is self.root:
            return made
        return tree.replace(made, ret_type=_like(result, body.ty))

    def over(self, function: Function, body: Expr) -> Function:
        return function if body is function.body else tree.replace(function, body=body)

    # --- what stands for an expression

    def of(self, e: Expr) -> _Held:
        """What stands for `e`; a variable stands for its value until it gets its own."""
        if not isinstance(e, Var):
            return self.held[id(e)]
        chain = []
        while id(e) not in self.held and isinstance(e, Var):
            chain.append(e)
            value = self.values.get(e)
            if value is None or isinstance(value, Function):
                # a parameter, a part of data, or a function that may call itself: as it was
                cost = _Cost.ONCE if e in self.params else _Cost.WORK
                self.held[id(e)] = _Held(e, e.checked_type, cost)
            else:
                e = value
        for variable in reversed(chain):
            if id(variable) not in self.held:
                self.held[id(variable)] = self.variable(variable, self.held[id(e)])
            e = variable
        return self.held[id(e)]

    def variable(self, before: Var, value: _Held) -> _Held:
        ty = _like(before.checked_type, value.ty)
        if ty == before.checked_type:
            return _Held(before, ty, value.cost)
        declared = before.type_annotation or before.checked_type
        after = Var(before.name_hint, _like(declared, ty), span=before.span)
        return _Held(after, ty, value.cost)

    def rewritten(self, e: Expr) -> _Held:
        match e:
            case Constant():
                return _Held(e, e.checked_type, _Cost.NOTHING if self.fits(e) else _Cost.WORK)
            case Function():
                if _is_one_thing(e):
                    return _Held(e, e.checked_type)
                body = self.converted(self.of(e.body), e.body.checked_type)
                return _Held(self.over(e, body), e.checked_type)
            case Call(op=Op()):
                return self.operation(e)
            case Call(op=callee, args=args):
                parts = [self.of(callee).expr, *map(self.original, args)]
                return _Held(tree.rebuild(e, parts), e.checked_type)
            case Let(variable=variable, value=value, body=body):
                inner = self.of(body)
                parts = [self.of(variable).expr, self.of(value).expr, inner.expr]
                return _Held(tree.rebuild(e, parts), inner.ty, inner.cost)
            case If(cond=cond, true_branch=true_branch, false_branch=false_branch):
                ways = [self.of(true_branch), self.of(false_branch)]
                ty = self.joined(e, ways)
                branches = [self.converted(way, ty) for way in ways]
                return _Held(tree.rebuild(e, [self.of(cond).expr, *branches]), ty)
            case Match():
                return self.match(e)
            case Tuple(fields=fields):
                found = [self.of(part) for part in fields]
                ty = TupleType(tuple(part.ty for part in found))
                cost = max((part.cost for part in found), default=_Cost.WORK)
                return _Held(tree.rebuild(e, [part.expr for part in found]), ty, cost)
            case TupleGetItem(tuple_value=value, index=index):
                whole = self.of(value)
                assert isinstance(whole.ty, TupleType)
                made = tree.rebuild(e, [whole.expr])
                return _Held(made, whole.ty.fields[index], whole.cost)
            case RefCreate(value=value):
                return _Held(tree.rebuild(e, [self.original(value)]), e.checked_type)
            case RefWrite(ref=ref, value=value):
                parts = [self.of(ref).expr, self.original(value)]
                return _Held(tree.rebuild(e, parts), e.checked_type)
        below = [self.of(part).expr for part in tree.children(e) if isinstance(part, Expr)]
        made = tree.rebuild(e, below)
        # of what has no parts there may be no type: an operator, a constructor
        return _Held(made, e.ty or TupleType(()))

    def joined(self, e: Expr, ways: Sequence[_Held]) -> Type:
        """The type of what comes from one of several ways: that of those with work to convert."""
        types = {way.ty for way in ways if way.cost is _Cost.WORK}
        return types.pop() if len(types) == 1 else e.checked_type

    def match(self, e: Match) -> _Held:
        ways = [self.of(clause.rhs) for clause in e.clauses]
        ty = self.joined(e, ways)
        clauses = []
        for clause, way in zip(e.clauses, ways, strict=True):
            rhs = self.converted(way, ty)
            clauses.append(clause if rhs is clause.rhs else tree.replace(clause, rhs=rhs))
        parts: list[Any] = [self.original(e.data), *clauses]
        return _Held(tree.rebuild(e, parts), ty)

    # --- operators

    def operation(self, e: Call) -> _Held:
        kind = self.kinds.of(e)
        args = [self.of(arg) for arg in e.args]
        if not self.is_narrow(e, kind, args):
            as_before: Expr = tree.rebuild(e, [e.op, *map(self.original, e.args)])
            is_pure = isinstance(e.op, OpDef) and not e.op.stateful
            is_constant = is_pure and all(arg.cost is _Cost.NOTHING for arg in args)
            cost = _Cost.NOTHING if is_constant else _Cost.WORK
            return _Held(as_before, e.checked_type, cost)
        below = [self.converted(arg, self.narrowed(arg.ty)) for arg in args]
        attrs: Any = e.attrs
        given = self.narrow
        if attrs is not None and "out_dtype" in attrs:
            given = kind.accumulation
            attrs = dataclasses.replace(attrs, out_dtype=given)
        call = tree.replace(e, args=tuple(below), attrs=attrs, type_args=())
        result = _Held(call, _with_dtype(e.checked_type, WIDE, given))
        wanted = _with_dtype(e.checked_type, WIDE, kind.output)
        made = self.converted(result, wanted)
        if made is not call and given == WIDE:
            self.wide[id(made)] = call
        return _Held(made, wanted)

    def is_narrow(self, e: Call, kind: _Kind, args: Sequence[_Held]) -> bool:
        """Whether a call gets narrow arguments."""
        floats = [_floats(arg.checked_type) for arg in e.args]
        if not set().union(*floats, _floats(e.checked_type)) <= {WIDE, self.narrow}:
            return False  # other floats are there for a reason
        if kind.category == Precision.NEVER or not any(WIDE in f for f in floats):
            return False
        taken = [arg for arg, found in zip(args, floats, strict=True) if WIDE in found]
        if kind.category == Precision.ALWAYS:
            is_held = (
                arg.cost is _Cost.NOTHING or not isinstance(arg.expr, Constant) for arg in taken
            )
            return all(is_held)
        narrow = [WIDE not in _floats(arg.ty) for arg in taken]
        return any(narrow) and all(
            is_narrow or arg.cost < _Cost.WORK for is_narrow, arg in zip(narrow, taken, strict=True)
        )

    def fits(self, constant: Constant) -> bool:
        """Whether a constant is finite as a narrow one; a weight may change, and is not read."""
        if self.narrow != "float16" or isinstance(constant.data, nd.Weight):
            return True
        if constant.data.dtype != WIDE:
            return True
        array = constant.data.array
        return bool(np.max(np.abs(array), initial=0.0, where=np.isfinite(array)) <= LARGEST_FLOAT16)

    # --- conversions

    def narrowed(self, ty: Type) -> Type:
        return _with_dtype(ty, WIDE, self.narrow)

    def original(self, e: Expr) -> Expr:
        """`e` as it was typed."""
        held = self.of(e)
        return held.expr if e.ty is None else self.converted(held, e.ty)

    def converted(self, held: _Held, wanted: Type) -> Expr:
        """The expression with the element types of another type; the same one every time."""
        if held.ty == wanted or not isinstance(held.ty, TensorType | TupleType):
            return held.expr
        key = (id(held.expr), _like(held.ty, wanted))
        if key not in self.casts:
            self.casts[key] = tree.run(self.conversion(held.expr, held.ty, wanted))
        return self.casts[key]

    def conversion(self, e: Expr, found: Type, wanted: Type) -> Steps[Expr]:
        if isinstance(found, TensorType) and isinstance(wanted, TensorType):
            if found.dtype == wanted.dtype:
                return e
            if wanted.dtype == WIDE and id(e) in self.wide:
                return self.wide[id(e)]
            return cast(e, dtype=wanted.dtype)
        if not isinstance(found, TupleType) or not isinstance(wanted, TupleType):
            return e
        parts: list[Expr] = []
        for i, (one, two) in enumerate(zip(found.fields, wanted.fields, strict=True)):
            part = e.fields[i] if isinstance(e, Tuple) else TupleGetItem(e, i)
            parts.append((yield self.conversion(part, one, two)))
        return Tuple(tuple(parts))
