"""Statements: assignments, `if`, `return`, and what the other files add.

A statement adds its context to a block and returns the scope behind it, or None if unreachable.
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Sequence

from relay.errors import Span
from relay.frontend.python.blocks import Block, Branch, Flow, Locals
from relay.frontend.python.branches import may_act
from relay.frontend.python.loops import Loops
from relay.frontend.python.unit import Unassigned, Value
from relay.ir.expr import Expr, If, Tuple, Var, is_atom
from relay.ir.types import UNIT, IncompleteType
from relay.tree import Steps


class Statements(Loops):
    """Translates statements."""

    @abstractmethod
    def definition(self, node: ast.FunctionDef, scope: Locals, block: Block) -> Steps[None]:
        """A nested function."""

    @abstractmethod
    def named_lambda(self, name: str, value: Value, block: Block) -> Value:
        """A lambda that is assigned to a name."""

    def statements(self, nodes: Sequence[ast.stmt], scope: Locals, block: Block) -> Flow:
        """Add statements to `block`; the scope behind them, None if unreachable."""
        for node in nodes:
            following = yield self.statement(node, scope, block)
            if following is None:
                return None
            scope = following
        return scope

    def statement(self, node: ast.stmt, scope: Locals, block: Block) -> Flow:
        match node:
            case ast.Assign():
                value = yield self.expression(node.value, scope)
                for target in node.targets:
                    yield self.assign(target, value, scope, block, node)
            case ast.AugAssign(target=ast.Name() as target):
                read = ast.copy_location(ast.Name(target.id, ast.Load()), target)
                left = yield self.expression(read, scope)
                right = yield self.expression(node.value, scope)
                value = yield self.arithmetic(node.op, left, right, node)
                yield self.assign(target, value, scope, block, node)
            case ast.AnnAssign(target=ast.Name() as target):
                yield self._declare(node, target, scope, block)
            case ast.Expr():
                yield self._effect(node, scope, block)
            case ast.Pass():
                pass
            case ast.Return():
                yield self._return(node, scope, block)
                return None
            case ast.If():
                return (yield self._if(node, scope, block))
            case ast.Match():
                return (yield self.match(node, scope, block))
            case ast.While():
                return (yield self.while_(node, scope, block))
            case ast.For():
                return (yield self.for_(node, scope, block))
            case ast.Break():
                self.break_(node, scope, block)
                return None
            case ast.Continue():
                yield self.next_turn(scope, block, node)
                return None
            case ast.FunctionDef():
                yield self.definition(node, scope, block)
            case _:
                raise self.error(
                    node, f"`{type(node).__name__}` has no meaning in a Relay function"
                )
        return scope

    # --- assignments

    def assign(
        self, target: ast.expr, value: Value, scope: Locals, block: Block, node: ast.stmt
    ) -> Steps[None]:
        """`target = value`; a tuple of targets unpacks a tuple."""
        if isinstance(target, ast.Tuple | ast.List):
            parts = yield self._parts_for(target, value, block, node)
            for part, element in zip(target.elts, parts, strict=True):
                yield self.assign(part, element, scope, block, node)
            return
        assert isinstance(target, ast.Name)  # everything else was refused
        name = target.id
        if (declared := scope.frame.declared.get(name)) is not None:
            value = yield self.lift(value, node, declared)
            self.unify(
                self.type_of(value), declared, node, f"`{name}` does not have its declared type"
            )
            if not is_atom(value) or self.type_of(value) != declared:
                variable = Var(name, declared, span=self.span(target))
                self.typed(variable, declared)
                block.bind(variable, value, self.span(node))
                value = variable
        scope.values[name] = self.bound(name, value, block, self.span(node))

    def bound(self, name: str, value: Value, block: Block, span: Span) -> Value:
        """`value` with everything computed in it bound to variables."""
        if isinstance(value, Expr) and not is_atom(value):
            return self.bind(name, value, span, block)
        if isinstance(value, tuple | list):
            parts = [self.bound(f"{name}_{i}", v, block, span) for i, v in enumerate(value)]
            return type(value)(parts)
        return self.named_lambda(name, value, block)

    def _parts_for(
        self, target: ast.Tuple | ast.List, value: Value, block: Block, node: ast.stmt
    ) -> Steps[list[Value]]:
        if not isinstance(value, tuple | list):
            value = yield self.lift(value, node)
            if not is_atom(value):
                value = self.bind("tuple", value, node, block)
            if isinstance(self.type_of(value), IncompleteType):
                # how many fields there are is what the assignment says
                return [self.projection(value, i, node) for i in range(len(target.elts))]
        parts = self.fields_of(value, node)
        if parts is None:
            found = str(self.type_of(value))
            raise self.error(node, "only a tuple can be taken apart", "a tuple", found)
        if len(parts) != len(target.elts):
            raise self.error(
                node,
                "the number of variables is not that of the values",
                f"{len(parts)} variables",
                f"{len(target.elts)}",
            )
        return parts

    def _declare(
        self, node: ast.AnnAssign, target: ast.Name, scope: Locals, block: Block
    ) -> Steps[None]:
        """`x: T = value`: from here on, x is of type T."""
        ty = self.reader.read(node.annotation, self.span(node.annotation))
        scope.frame.declared[target.id] = ty
        if node.value is not None:
            value = yield self.expression(node.value, scope)
            yield self.assign(target, value, scope, block, node)

    def _effect(self, node: ast.Expr, scope: Locals, block: Block) -> Steps[None]:
        """An expression statement; strings are comments."""
        if isinstance(node.value, ast.Constant):
            return
        value = yield self.expression(node.value, scope)
        if isinstance(value, Expr) and not is_atom(value):
            self.bind("_", value, node, block)

    # --- the end of a function

    def _return(self, node: ast.Return, scope: Locals, block: Block) -> Steps[None]:
        frame = scope.frame
        value = None if node.value is None else (yield self.expression(node.value, scope))
        if isinstance(value, Unassigned):
            raise self.error(node, value.why, hint=value.hint)
        place = node if node.value is None else node.value
        result = yield self.lift(value, place, frame.result, open_=True)
        message = (
            f"the result of `{frame.name}` does not have the declared type"
            if frame.has_declared_result
            else f"`{frame.name}` returns values of different types"
        )
        self.unify(self.type_of(result), frame.result, place, message)
        frame.returned = True
        block.end(lambda: result)

    def body(self, nodes: Sequence[ast.stmt], scope: Locals, name: Span) -> Steps[Expr]:
        """The body of a function as one expression."""
        block = Block()
        flow = yield self.statements(nodes, scope, block)
        frame = scope.frame
        if flow is not None:
            if frame.returned or (frame.has_declared_result and frame.result != UNIT):
                if frame.partial:
                    match, missing = frame.partial[-1]
                    raise self.error(
                        match,
                        f"the match leaves cases out, and then `{frame.name}` has no result",
                        "a case for every constructor, or a `return` behind the match",
                        f"no case for {missing}",
                    )
                raise self.error(
                    name,
                    f"`{frame.name}` may end without a result",
                    "a `return` on every way through the function",
                )
            self.unify(UNIT, frame.result, name, f"`{frame.name}` has no result")
            unit = self.placed(Tuple(()), name)
            block.end(lambda: unit)
        made: Expr = yield block.close()
        return made

    # --- if

    def _if(self, node: ast.If, scope: Locals, block: Block) -> Flow:
        test = self.condition((yield self.expression(node.test, scope)), node.test)
        if isinstance(test, bool):
            return (yield self.statements(node.body if test else node.orelse, scope, block))
        branches = []
        for body in (node.body, node.orelse):
            inside = Block()
            flow = yield self.statements(body, scope.copy(), inside)
            branches.append(Branch(inside, flow))
        span = self.span(node)

        def build(parts: list[Expr]) -> Expr:
            return If(test, *parts, span=span)

        return (yield self.join(branches, build, node, block, may_act(test)))
