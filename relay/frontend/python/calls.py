"""Calls of operators, functions, constructors, and supported Python functions.

relay.nn.dense(x, w)           a builder of `relay.op` is called, and builds an expression
cell(x, h), Node(l, r), f(x)   decorated and nested functions, constructors, function values
len abs min max int float bool range zip enumerate reversed map filter sum
math.sqrt(64)                  on numbers that are known at translation time
"""

from __future__ import annotations

import ast
import builtins
import inspect
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relay import dtypes, tree
from relay.errors import RelayError, did_you_mean
from relay.frontend.python import statics
from relay.frontend.python.declarations import declaration_of, is_case
from relay.frontend.python.indexing import Indexing
from relay.frontend.python.lifting import is_builder, record_of
from relay.frontend.python.types import scalar_dtype
from relay.frontend.python.unit import Unassigned, Value
from relay.ir import expr as ir
from relay.ir.dims import ANY
from relay.ir.dims import Any as AnyDim
from relay.ir.types import FuncType, IncompleteType, TensorType, TupleType, Type
from relay.op.opdef import FusionKind, OpDef
from relay.op.tensor.convert import cast
from relay.tree import Steps

# Python functions that are functions of the prelude on lists.
ON_LISTS: Mapping[Any, str] = {
    builtins.len: "length",
    builtins.reversed: "rev",
    builtins.map: "map",
    builtins.filter: "filter",
    builtins.sum: "sum",
    builtins.zip: "zip",
}
# Python functions that are operators on tensors.
ON_TENSORS: Mapping[Any, str] = {
    builtins.abs: "abs",
    builtins.min: "minimum",
    builtins.max: "maximum",
    builtins.pow: "power",
}
# What to write instead of unsupported Python functions.
INSTEAD: Mapping[Any, str] = {
    builtins.isinstance: "match x: case Node(left, right): …",
    builtins.type: "match x: case Node(left, right): …",
    builtins.print: "return the value as well, and print it outside",
    builtins.any: "relay.any(x) of a tensor; a loop over a list",
    builtins.all: "relay.all(x) of a tensor; a loop over a list",
    builtins.sorted: "relay.sort(x) of a tensor",
}
REFERENCES = (ir.RefCreate, ir.RefRead, ir.RefWrite)


class Calls(Indexing):
    """Translates calls, given the callee and the arguments."""

    @abstractmethod
    def call_function(
        self, function: Value, args: list[Value], keywords: dict[str, Value], node: ast.Call
    ) -> Steps[Value]:
        """A call of a translated function."""

    def call(
        self, callee: Value, args: list[Value], keywords: dict[str, Value], node: ast.Call
    ) -> Steps[Value]:
        """`callee(*args, **keywords)`"""
        if isinstance(callee, Unassigned):
            raise self.error(node.func, callee.why, hint=callee.hint)
        if self.is_function(callee):
            return (yield self.call_function(callee, args, keywords, node))
        if isinstance(callee, OpDef) or is_builder(callee):
            return (yield self._operator(callee, args, keywords, node))
        if isinstance(callee, ir.Expr):
            self.no_keywords(keywords, node)
            return (yield self.apply(callee, args, node, node.args))
        if is_case(callee):
            return (yield self._construct(callee, args, keywords, node))
        if callee is ir.const:
            return self._constant(args, keywords, node)
        if isinstance(callee, type) and callee in REFERENCES:
            return (yield self._reference(callee, args, keywords, node))
        if callee is AnyDim:
            return ANY
        return (yield self._python(callee, args, keywords, node))

    def no_keywords(self, keywords: Mapping[str, Value], node: ast.Call) -> None:
        if keywords:
            name = next(iter(keywords))
            raise self.error(node, f"this function does not name its parameters, such as `{name}`")

    # --- functions and constructors

    def apply(
        self, callee: ir.Expr, args: Sequence[Value], node: ast.AST, places: Sequence[ast.AST] = ()
    ) -> Steps[ir.Expr]:
        """A call of an expression. Function arguments are lifted last, when the types of their
        parameters are known."""
        signature = self.type_of(callee)
        wanted: list[Type] = [IncompleteType() for _ in args]
        if isinstance(signature, FuncType) and len(signature.arg_types) == len(args):
            signature = self.generator.solver.unifier.instantiate(signature)
            wanted = list(signature.arg_types)
        parts: dict[int, ir.Expr] = {}
        for last in (False, True):
            for index, value in enumerate(args):
                if self.is_function(value) is last:
                    place = places[index] if len(places) == len(args) else node
                    part = yield self.lift(value, place, wanted[index])
                    self.fits(self.type_of(part), wanted[index])  # the call says where it does not
                    parts[index] = part
        given = tuple(parts[i] for i in range(len(args)))
        return self.placed(ir.Call(callee, given), node, callee, *given)

    def _construct(
        self, cls: type, args: list[Value], keywords: dict[str, Value], node: ast.Call
    ) -> Steps[Any]:
        declaration = declaration_of(cls)
        assert declaration is not None
        case = declaration.case(cls)
        assert case is not None
        names = [f.name for f in case.fields]
        defaults = {f.name: f.default for f in case.fields}
        values = self.arguments(case.name, names, defaults, args, keywords, node)
        return (yield self.construct(cls, values, node))

    def arguments(
        self,
        name: str,
        params: Sequence[str],
        defaults: Mapping[str, Value],
        args: Sequence[Value],
        keywords: Mapping[str, Value],
        node: ast.Call,
    ) -> list[Value]:
        """The arguments in the order of the parameters, with defaults filled in."""
        signature = f"{name}({', '.join(params)})"
        if len(args) > len(params):
            raise self.error(
                node, f"too many arguments for `{name}`", signature, f"{len(args)} arguments"
            )
        given = dict(zip(params, args, strict=False))
        for keyword, value in keywords.items():
            if keyword not in params:
                hint = did_you_mean(keyword, params)
                raise self.error(
                    node, f"`{name}` has no parameter `{keyword}`", signature, hint=hint
                )
            if keyword in given:
                raise self.error(node, f"two arguments for `{keyword}`", signature)
            given[keyword] = value
        for param in params:
            if param not in given:
                if defaults.get(param, statics.MISSING) is statics.MISSING:
                    raise self.error(node, f"no argument for `{param}`", signature)
                given[param] = defaults[param]
        return [given[param] for param in params]

    # --- operators

    def _operator(
        self,
        builder: Callable[..., Any],
        args: list[Value],
        keywords: dict[str, Value],
        node: ast.Call,
    ) -> Steps[ir.Expr]:
        """Call a builder. Numbers and arrays become constants where it takes tensors."""
        tensors = _tensors_of(builder)
        wanted = self._type_of_numbers(builder, [*args, *keywords.values()])
        known: list[ir.Expr] = []
        given: list[Value] = []
        named: dict[str, Value] = {}
        for index, value in enumerate(args):
            given.append((yield self._operand(value, tensors(index), wanted, node, known)))
        for name, value in keywords.items():
            named[name] = yield self._operand(value, tensors(name), wanted, node, known)
        try:
            made: Any = builder(*given, **named)
        except (RelayError, TypeError, ValueError) as error:
            raise self.error(node, _sentence(error, node)) from None
        if not isinstance(made, ir.Expr | ir.TupleWrapper):
            raise self.error(node.func, "this function of `relay.op` builds no expression")
        return self.placed(ir.as_expr(made), node, *known)

    def _operand(
        self,
        value: Value,
        is_tensor: bool,
        wanted: Callable[[Value], Type | None],
        node: ast.Call,
        known: list[ir.Expr],
    ) -> Steps[Value]:
        """An argument of a builder; expressions are noted in `known`."""
        if isinstance(value, tuple | list):
            parts = yield tree.gather(
                self._operand(part, False, wanted, node, known) for part in value
            )
            return parts
        if statics.is_number(value) and is_tensor:
            value = self.number(value, node, wanted(value), open_=False)
        elif statics.is_array(value) or self.is_function(value):
            value = yield self.lift(value, node)
        if isinstance(value, ir.Expr):
            known.append(value)
        return value

    def _type_of_numbers(
        self, builder: Any, values: Sequence[Value]
    ) -> Callable[[Value], Type | None]:
        """The types of number arguments: for binary operators that of the other side, otherwise
        floats have the element type of the first tensor of floats."""
        types = [self.type_of(value) for value in values if isinstance(value, ir.Expr)]
        tensors = [TensorType((), ty.dtype) for ty in types if isinstance(ty, TensorType)]
        floats = [ty for ty in tensors if dtypes.is_float(ty.dtype)]
        record = record_of(builder)
        if record and len(record.arguments) == 2 and record.fusion is FusionKind.BROADCAST:
            return lambda number: tensors[0] if tensors else None
        return lambda number: floats[0] if floats and isinstance(number, float) else None

    def _reference(
        self, cls: Any, args: list[Value], keywords: dict[str, Value], node: ast.Call
    ) -> Steps[ir.Expr]:
        names = {ir.RefCreate: ["value"], ir.RefRead: ["ref"], ir.RefWrite: ["ref", "value"]}[cls]
        values = self.arguments(cls.__name__, names, {}, args, keywords, node)
        parts: list[ir.Expr] = []
        for value in values:
            held = self.type_of(parts[0]) if parts else None
            wanted = getattr(held, "value", None)  # what the reference holds
            parts.append((yield self.lift(value, node, wanted)))
        return self.placed(cls(*parts), node, *parts)

    def _constant(self, args: list[Value], keywords: dict[str, Value], node: ast.Call) -> ir.Expr:
        """`relay.const(…)` of a value known at translation time."""
        if any(isinstance(value, ir.Expr) for value in (*args, *keywords.values())):
            raise self.error(
                node, "relay.const takes a value that is known when the program is made"
            )
        try:
            made = ir.const(*args, **keywords)
        except (RelayError, TypeError, ValueError) as error:
            raise self.error(node, _sentence(error, node)) from None
        return self.placed(made, node)

    # --- Python functions

    def _python(
        self, callee: Value, args: list[Value], keywords: dict[str, Value], node: ast.Call
    ) -> Steps[Value]:
        dynamic = [a for a in args if not statics.is_static(a)]
        if not dynamic and not keywords and _is_pure(callee):
            try:
                return statics.compute(callee, args, keywords)
            except RelayError as error:
                raise self.error(node, str(error)) from None
        if callee in (range, enumerate, zip, reversed) and not dynamic:
            return tuple(callee(*args))
        if isinstance(callee, type) and (dtype := scalar_dtype(callee)) and len(args) == 1:
            value = yield self.lift(args[0], node)
            return self.placed(cast(value, dtype), node, value)
        if callee is builtins.len and isinstance(args[0], tuple | list):
            return len(args[0])
        if callee in (tuple, list) and len(args) == 1 and isinstance(args[0], tuple | list):
            return callee(args[0])
        if isinstance(callee, type | Callable) and _hashable(callee):
            if callee in ON_LISTS and self._has_list(args):
                function = self.program.library(ON_LISTS[callee])
                return (yield self.apply(function, args, node, node.args))
            if callee is builtins.len and len(args) == 1:
                return self._length(args[0], node)
            if callee in ON_TENSORS and args:
                return (yield self._fold(ON_TENSORS[callee], args, node))
        raise self._refused(callee, node)

    def _has_list(self, args: Sequence[Value]) -> bool:
        return any(isinstance(a, ir.Expr) and self.is_list(self.type_of(a)) for a in args)

    def _length(self, value: Value, node: ast.Call) -> Value:
        ty = self.type_of(value)
        if isinstance(ty, TupleType):
            return len(ty.fields)
        if isinstance(ty, TensorType) and ty.shape:
            return self.extent(value, 0, node)
        raise self.error(node, "this value has no length", "a list, a tuple or a tensor", str(ty))

    @abstractmethod
    def extent(self, value: ir.Expr, axis: int, node: ast.AST) -> Value:
        """The extent of an axis: a number where it is static."""

    def _fold(self, name: str, args: list[Value], node: ast.Call) -> Steps[Any]:
        """An operator over all arguments, from left to right."""
        if len(args) == 1:
            part = yield self.lift(args[0], node)
            return self.placed(ir.Call(ir.get_op(name), (part,)), node, part)
        result: Any = args[0]
        for value in args[1:]:
            left, right = yield self.operands(result, value, node)
            result = self.operation(name, left, right, node)
        return result

    def _refused(self, callee: Value, node: ast.Call) -> Exception:
        text = ast.unparse(node.func)
        name = getattr(callee, "__name__", None) or type(callee).__name__
        hint = "decorate it with @relay.function" if inspect.isfunction(callee) else None
        if _hashable(callee) and callee in INSTEAD:
            hint = INSTEAD[callee]
        elif name in ir.op_names() or name in ("sum", "max", "min", "mean", "round"):
            hint = f"relay.{name} is an operator"
        elif isinstance(callee, type):
            hint = "declare it with @relay.data" if inspect.isclass(callee) else None
        return self.error(
            node,
            f"`{text}` cannot be called in a Relay function",
            "an operator of relay, a @relay.function, a constructor, or a function of the program",
            f"the {type(callee).__name__} `{name}`",
            hint,
        )


def _is_pure(callee: Value) -> bool:
    return _hashable(callee) and callee in statics.PURE


def _hashable(value: Value) -> bool:
    return type(value).__hash__ is not None


def _sentence(error: Exception, node: ast.Call) -> str:
    """The message of a builder's error, with the name the user wrote for the function."""
    text = str(error).rstrip(".")
    head, found, tail = text.partition("() ")
    return f"`{ast.unparse(node.func)}` {tail}" if found and " " not in head else text


def _tensors_of(builder: Any) -> Callable[[int | str], bool]:
    """Which arguments of a builder, by position or name, are tensors."""
    if isinstance(builder, OpDef):
        order = [name for name, _ in builder.arguments]
        tensors = set(order)
    else:
        params = inspect.signature(builder).parameters.values()
        order = [p.name for p in params]
        tensors = {p.name for p in params if p.annotation in ("Expr", "Expr | None")}

    def is_tensor(key: int | str) -> bool:
        if isinstance(key, int):
            return key < len(order) and order[key] in tensors
        return key in tensors

    return is_tensor
