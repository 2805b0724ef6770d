"""Expressions: from a node of Python's syntax tree to a Python value or a Relay expression.

All are generators that yield to their parts (`relay.tree.run`), so `a + b + c + …` may be as long
as Python's own compiler allows.
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from typing import Any

import numpy as np

from relay import tree
from relay.errors import did_you_mean
from relay.frontend.python import statics
from relay.frontend.python.blocks import FunctionFrame, Locals
from relay.frontend.python.calls import Calls
from relay.frontend.python.declarations import declaration_of
from relay.frontend.python.definitions import definition_of
from relay.frontend.python.lifting import as_floats
from relay.frontend.python.unit import Unassigned, Value
from relay.ir import expr as ir
from relay.ir.types import IncompleteType, TensorType, TypeCall
from relay.op.tensor.convert import cast
from relay.op.tensor.indexing import take
from relay.op.tensor.rearrange import transpose
from relay.op.tensor.shape import shape_of
from relay.tree import Steps


class Expressions(Calls):
    """Translates expressions."""

    @abstractmethod
    def lambda_(self, node: ast.Lambda, scope: Locals) -> Value:
        """A function without a name."""

    @abstractmethod
    def comprehension(self, node: ast.ListComp, scope: Locals) -> Steps[Value]:
        """`[… for …]`"""

    def expression(self, node: ast.expr, scope: Locals) -> Steps[Value]:
        """The value of a Python expression."""
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return self.lookup(node, scope)
            case ast.Attribute():
                return self._attribute((yield self.expression(node.value, scope)), node)
            case ast.BinOp():
                left = yield self.expression(node.left, scope)
                right = yield self.expression(node.right, scope)
                return (yield self.arithmetic(node.op, left, right, node))
            case ast.UnaryOp():
                value = yield self.expression(node.operand, scope)
                if isinstance(node.op, ast.Not):
                    return (yield self.negation(value, node))
                return (yield self.unary(node.op, value, node))
            case ast.Compare():
                return (yield self._comparisons(node, scope))
            case ast.BoolOp():
                return (yield self._logic(node, scope))
            case ast.Call():
                return (yield self._call(node, scope))
            case ast.Subscript():
                value = yield self.expression(node.value, scope)
                index = yield self._index(node.slice, scope)
                return (yield self.item(value, index, node))
            case ast.IfExp():
                return (yield self._conditional(node, scope))
            case ast.Tuple():
                return tuple((yield self._elements(node.elts, scope)))
            case ast.List():
                return (yield self._list(node, scope))
            case ast.Lambda():
                return self.lambda_(node, scope)
            case ast.ListComp():
                return (yield self.comprehension(node, scope))
        raise self.error(node, f"`{type(node).__name__}` has no meaning in a Relay function")

    # --- names and attributes

    def lookup(self, node: ast.Name, scope: Locals) -> Value:
        """The value of a name: a variable, or something from outside the function."""
        name = node.id
        if name in scope.values:
            found = scope.values[name]
            if isinstance(found, Unassigned):
                raise self.error(node, found.why, hint=found.hint)
            return found
        if name in scope.frame.locals:
            hint = None
            if scope.frame.parent is not None and name in scope.frame.parent.locals:
                hint = f"the `{name}` around `{scope.frame.name}` is read, not changed: return it"
            raise self.error(node, f"`{name}` is used before it has a value", hint=hint)
        self._check_enclosing(node, scope.frame)
        found = self.names.find(name)
        if found is statics.MISSING:
            known = [*scope.values, *self.names.known()]
            raise self.error(node, f"name `{name}` is not defined", hint=did_you_mean(name, known))
        return self._from_outside(found, node)

    def _from_outside(self, value: Value, node: ast.expr) -> Value:
        """A value from outside the function, as it is used inside."""
        if isinstance(value, ir.GlobalVar) and self.program.is_library(value):
            return self.program.library(value.name_hint)
        if isinstance(value, ir.Expr) and not isinstance(
            value, ir.Constant | ir.Op | ir.Constructor
        ):
            raise self.error(
                node,
                "an expression from outside does not belong to the program",
                "a constant, an array, a number, an operator or a decorated function",
                f"a {type(value).__name__}",
                "pass it as an argument",
            )
        return value

    def _check_enclosing(self, node: ast.Name, frame: FunctionFrame) -> None:
        inside, outside = frame, frame.parent
        while outside is not None:
            if node.id in outside.locals:
                raise self.error(
                    node,
                    f"`{node.id}` has no value where `{inside.name}` is defined",
                    hint=f"assign `{node.id}` before the definition of `{inside.name}`",
                )
            inside, outside = outside, outside.parent

    def _attribute(self, value: Value, node: ast.Attribute) -> Value:
        if isinstance(value, ir.Expr):
            return self._attribute_of_value(value, node)
        if statics.is_array(value) and not isinstance(value, np.generic):
            return self._attribute_of_value(self.constant(value, node), node)
        found = statics.attribute(value, node.attr)
        if found is statics.MISSING:
            raise self._no_attribute(node, f"`{ast.unparse(node.value)}`", value)
        return self._from_outside(found, node)

    def _no_attribute(self, node: ast.Attribute, whose: str, value: Any = None) -> Exception:
        known = dir(value) if not isinstance(value, ir.Expr | None) else []
        return self.error(
            node, f"{whose} has no attribute `{node.attr}`", hint=did_you_mean(node.attr, known)
        )

    def _attribute_of_value(self, value: ir.Expr, node: ast.Attribute) -> Value:
        """`x.shape` of a tensor, `p.x` of a data type with one constructor."""
        ty = self.type_of(value)
        if isinstance(ty, TensorType):
            match node.attr:
                case "shape":
                    return tuple(self.extent(value, axis, node) for axis in range(ty.ndim))
                case "dtype":
                    return ty.dtype
                case "ndim":
                    return ty.ndim
                case "T":
                    return self.placed(transpose(value), node, value)
            raise self._no_attribute(node, f"a tensor ({ty})")
        if isinstance(ty, TypeCall):
            return self._field_of_data(value, ty, node)
        if isinstance(ty, IncompleteType):
            raise self.error(
                node,
                "what this attribute means is not known: the type of the value is open here",
                found=ast.unparse(node.value),
                hint="annotate the variable or the parameter that it comes from",
            )
        raise self._no_attribute(node, f"a value of type {ty}")

    def _field_of_data(self, value: ir.Expr, ty: TypeCall, node: ast.Attribute) -> ir.Expr:
        cls = self.program.data.get(ty.func.name_hint)  # type: ignore[attr-defined]
        declaration = declaration_of(cls) if cls is not None else None
        if declaration is None:
            raise self._no_attribute(node, f"a value of type {ty}")
        if len(declaration.cases) != 1:
            raise self.error(
                node,
                f"`{declaration.name}` has several constructors: which one it is must be asked",
                f"match {ast.unparse(node.value)}: case …",
                found=ast.unparse(node),
            )
        names = [f.name for f in declaration.cases[0].fields]
        if node.attr not in names:
            raise self.error(
                node,
                f"`{declaration.name}` has no field `{node.attr}`",
                hint=did_you_mean(node.attr, names),
            )
        span = self.span(node)
        variable = ir.Var(node.attr, span=span)
        patterns = [
            ir.PatternVar(variable, span=span)
            if name == node.attr
            else ir.PatternWildcard(span=span)
            for name in names
        ]
        constructor = definition_of(declaration).constructors[0]
        clause = ir.Clause(ir.PatternConstructor(constructor, tuple(patterns), span=span), variable)
        return self.placed(ir.Match(value, (clause,)), node, value)

    def extent(self, value: ir.Expr, axis: int, node: ast.AST) -> Value:
        """The extent of an axis: a number where it is static, else `shape_of`."""
        ty = self.type_of(value)
        assert isinstance(ty, TensorType)
        if isinstance(known := ty.shape[axis], int):
            return known
        whole = self.placed(shape_of(value, "int32"), node, value)
        place = self.number(axis, node, None, open_=False)
        return self.placed(take(whole, place, axis=0), node, whole, place)

    # --- logic

    def _comparisons(self, node: ast.Compare, scope: Locals) -> Steps[Value]:
        """`a < b`, or `a < b < c`, in which b is computed once."""
        left = yield self.expression(node.left, scope)
        if len(node.ops) == 1:
            right = yield self.expression(node.comparators[0], scope)
            return (yield self.comparison(node.ops[0], left, right, node))
        around, parts = [], []
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = yield self.expression(comparator, scope)
            if isinstance(right, ir.Expr) and not ir.is_atom(right):
                right, binding = self.named("between", right, comparator)
                around.append(binding)
            parts.append((yield self.comparison(op, left, right, node)))
            left = right
        result = yield self.chain(parts, True, node)
        if isinstance(result, ir.Expr):
            for binding in reversed(around):
                result = binding(result)
        return result

    def _logic(self, node: ast.BoolOp, scope: Locals) -> Steps[Value]:
        parts: list[Value] = []
        stops = isinstance(node.op, ast.Or)
        for part in node.values:
            value = yield self.expression(part, scope)
            value = self.condition(value, part)
            if value is stops:
                if not parts:
                    return stops
                parts.append(value)
                break
            parts.append(value)
        return (yield self.chain(parts, not stops, node))

    def chain(self, parts: list[Value], unit: bool, node: ast.AST) -> Steps[Value]:
        """Short-circuit conjunction (`unit` True) or disjunction (`unit` False) of conditions."""
        result: Value = unit
        for part in reversed(parts):
            if not isinstance(part, ir.Expr):
                result = result if bool(part) is unit else not unit
                continue
            if result is unit:
                result = part
                continue
            rest = yield self.lift(result, node)
            stop = yield self.lift(not unit, node)
            result = self.choice(part, *((rest, stop) if unit else (stop, rest)), node)
        return result

    def _conditional(self, node: ast.IfExp, scope: Locals) -> Steps[Value]:
        """`a if c else b`"""
        test = self.condition((yield self.expression(node.test, scope)), node.test)
        if isinstance(test, bool):
            return (yield self.expression(node.body if test else node.orelse, scope))
        then = yield self.expression(node.body, scope)
        other = yield self.expression(node.orelse, scope)
        then, other = as_floats((then, other))
        if statics.is_number(then) or then is None:
            other = yield self.lift(other, node.orelse, open_=True)
            then = yield self.lift(then, node.body, self.type_of(other), open_=True)
        else:
            then = yield self.lift(then, node.body, open_=True)
            other = yield self.lift(other, node.orelse, self.type_of(then), open_=True)
        return self.choice(test, then, other, node)

    # --- parts

    def _elements(self, nodes: list[ast.expr], scope: Locals) -> Steps[list[Value]]:
        """The elements of a tuple, or arguments; `*pair` is unpacked."""
        values: list[Value] = []
        for node in nodes:
            if not isinstance(node, ast.Starred):
                values.append((yield self.expression(node, scope)))
                continue
            several = yield self.expression(node.value, scope)
            if (parts := self.fields_of(several, node)) is None:
                raise self.error(node, "how many values these are is not known", "a tuple")
            values.extend(parts)
        return values

    def fields_of(self, value: Value, node: ast.AST) -> list[Value] | None:
        """The elements of a value if their number is known; else None."""
        if isinstance(value, tuple | list | range):
            return list(value)
        if isinstance(value, ir.Expr):
            fields = getattr(self.type_of(value), "fields", None)
            if fields is not None:
                return [self.projection(value, i, node) for i in range(len(fields))]
        return None

    def _list(self, node: ast.List, scope: Locals) -> Steps[Value]:
        """`[a, b]`; with a Relay list in it, `[a, *rest]`, it is one itself."""
        whole: ir.Expr | None = None
        values: list[Value] = []  # in front of `whole`, from the right
        for part in reversed(node.elts):
            if not isinstance(part, ast.Starred):
                values.insert(0, (yield self.expression(part, scope)))
                continue
            several = yield self.expression(part.value, scope)
            if (parts := self.fields_of(several, part)) is not None:
                values[:0] = parts
                continue
            first = yield self.lift(several, part)
            if whole is None and not values:
                whole = first
                continue
            rest = yield self.list_of(values, node, self.type_of(first), whole)
            concat = self.program.library("concat")
            whole, values = (yield self.apply(concat, [first, rest], node)), []
        if whole is None:
            return values
        return (yield self.list_of(values, node, None, whole))

    def _index(self, node: ast.expr, scope: Locals) -> Steps[Value]:
        """The index between the brackets."""
        if isinstance(node, ast.Slice):
            parts = []
            for part in (node.lower, node.upper, node.step):
                parts.append(None if part is None else (yield self.expression(part, scope)))
            return slice(*parts)
        if isinstance(node, ast.Tuple):
            places = yield tree.gather(self._index(part, scope) for part in node.elts)
            return tuple(places)
        return (yield self.expression(node, scope))

    def _call(self, node: ast.Call, scope: Locals) -> Steps[Value]:
        if isinstance(node.func, ast.Attribute):
            base = yield self.expression(node.func.value, scope)
            if isinstance(base, ir.Expr):
                return (yield self._method(base, node, node.func, scope))
            callee = self._attribute(base, node.func)
        else:
            callee = yield self.expression(node.func, scope)
        keywords = {}
        args = yield self._elements(node.args, scope)
        for keyword in node.keywords:
            assert keyword.arg is not None
            keywords[keyword.arg] = yield self.expression(keyword.value, scope)
        return (yield self.call(callee, args, keywords, node))

    def _method(
        self, value: ir.Expr, node: ast.Call, func: ast.Attribute, scope: Locals
    ) -> Steps[Value]:
        """`x.astype("float16")`; everything else that can be done with a tensor is a function."""
        ty = self.type_of(value)
        if func.attr == "astype" and isinstance(ty, TensorType) and len(node.args) == 1:
            given = yield self.expression(node.args[0], scope)
            dtype = self.reader.element_type(given, self.span(node.args[0]))
            return self.placed(cast(value, dtype), node, value)
        if func.attr in ("append", "extend", "insert", "pop") and self.is_list(ty):
            raise self.error(
                node,
                f"`{func.attr}` changes a list, and values do not change",
                hint="xs = [x, *xs] puts an element in front, xs = xs + [x] behind",
            )
        if isinstance(ty, TypeCall) and func.attr not in dir(ty):
            callee = self._attribute_of_value(value, func)
            self.no_keywords({str(k.arg): k for k in node.keywords}, node)
            args = yield self._elements(node.args, scope)
            return (yield self.apply(callee, args, node, node.args))
        raise self.error(
            node,
            f"values have no method `{func.attr}`",
            "a function",
            ast.unparse(func),
            f"relay.{func.attr}({ast.unparse(func.value)}, …)",
        )
