"""List comprehensions: loops inside expressions.

[f(x) for x in xs if x > 0]     a loop that prepends elements to a list, and `rev`
[w * 2 for w in weights]        over Python data: unrolled
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from relay.frontend.python import liveness
from relay.frontend.python.blocks import Block, FunctionFrame, Locals
from relay.frontend.python.loops import Iteration
from relay.frontend.python.statements import Statements
from relay.frontend.python.unit import Value
from relay.ir.types import IncompleteType
from relay.tree import Steps

FOUND = ".found"  # no name of Python: a comprehension has no variables but its targets


class Comprehensions(Statements):
    """Translates comprehensions."""

    def comprehension(self, node: ast.ListComp, scope: Locals) -> Steps[Value]:
        loop = _loop(node.generators, node.elt, node)
        start = _placed(ast.Assign([ast.Name(FOUND, ast.Store())], ast.List([], ast.Load())), node)
        end = _placed(ast.Return(ast.Name(FOUND, ast.Load())), node)
        statements: list[ast.stmt] = [start, loop, end]
        own = liveness.assigned(statements)
        live = liveness.liveness(statements)
        frame = FunctionFrame("a comprehension", IncompleteType(), False, live, own, scope.frame)
        block = Block()
        found = yield self.iteration(loop, scope, block)  # the first source is evaluated outside
        inner = Locals(frame, {k: v for k, v in scope.values.items() if k not in own})
        if not isinstance(found, Iteration):
            return (yield self._written(node.generators, node.elt, found, inner, node))
        yield self.statement(start, inner, block)
        flow = yield self.for_each(loop, found, inner, block)
        rev = self.program.library("rev")
        result = yield self.apply(rev, [flow.values[FOUND]], node)
        made = yield block.close(result)
        return self.typed(made, self.type_of(result))

    def _written(
        self,
        generators: Sequence[ast.comprehension],
        element: ast.expr,
        items: Sequence[Value],
        scope: Locals,
        node: ast.ListComp,
    ) -> Steps[list[Value]]:
        """The elements, one for each of the items of the first generator that pass its tests."""
        generator, *others = generators
        found: list[Value] = []
        for item in items:
            inner = scope.copy()
            self._bind_parts(generator.target, item, inner, node)
            if not (yield self._passes(generator.ifs, inner)):
                continue
            if not others:
                found.append((yield self.expression(element, inner)))
                continue
            loop = _loop(others, element, node)
            more = yield self.iteration(loop, inner, Block())
            if isinstance(more, Iteration):
                raise self.error(
                    others[0].iter,
                    "values of Python and of the program are gone through in different ways",
                    hint="write a comprehension in a comprehension, or loops",
                )
            found.extend((yield self._written(others, element, more, inner, node)))
        return found

    def _passes(self, tests: Sequence[ast.expr], scope: Locals) -> Steps[bool]:
        for test in tests:
            holds = self.condition((yield self.expression(test, scope)), test)
            if not isinstance(holds, bool):
                raise self.error(
                    test,
                    "whether there is an element is not known when the program is made",
                    "a test of values of Python, or elements of a list of the program",
                )
            if not holds:
                return False
        return True

    def _bind_parts(self, target: ast.expr, value: Value, scope: Locals, node: ast.AST) -> None:
        """`target = value` without a statement: names stand for the parts themselves."""
        if isinstance(target, ast.Name):
            scope.values[target.id] = value
            return
        parts = self.fields_of(value, node)
        targets: list[ast.expr] = getattr(target, "elts", [])
        if parts is None or len(parts) != len(targets):
            found = "no tuple" if parts is None else f"{len(parts)} parts"
            raise self.error(target, "the targets do not fit", f"{len(targets)} parts", found)
        for part, item in zip(targets, parts, strict=True):
            self._bind_parts(part, item, scope, node)


def _loop(
    generators: Sequence[ast.comprehension], element: ast.expr, node: ast.ListComp
) -> ast.For:
    """The loops of a comprehension as statements."""
    before = ast.Starred(ast.Name(FOUND, ast.Load()), ast.Load())
    longer = ast.List([element, before], ast.Load())
    body: Any = ast.Assign([ast.Name(FOUND, ast.Store())], longer)
    for generator in reversed(generators):
        for test in reversed(generator.ifs):
            body = ast.If(test, [body], [])
        body = ast.For(generator.target, generator.iter, [body], [])
    made: ast.For = _placed(body, node)
    return made


def _placed(node: Any, at: ast.AST) -> Any:
    """`node` and the new nodes below it, with the source location of `at`."""
    return ast.fix_missing_locations(ast.copy_location(node, at))
