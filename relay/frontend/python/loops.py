"""Loops as recursive functions.

    while c: …            let %while = fn (%x) { if (c) { … %while(new x) } else { %x } };
                          let %x = %while(x);

    for i in range(n)     a counter              for x in xs    the rest of a list
    for row in x          a counter, and `take`  enumerate, zip, reversed    of these
    for w in weights      a tuple or a list of Python: written out, once for each element

The loop-carried variables are parameters: those set in an iteration and read in a later one, or
behind the loop. `continue` calls the function again, `break` returns the variables. In a loop with
a `return` the function's result is that of the whole function, so the code behind the loop is at
its end.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from relay import tree
from relay.frontend.python import statics
from relay.frontend.python.blocks import Block, Flow, Locals, call, join_function
from relay.frontend.python.liveness import jumps_in_loop, returns
from relay.frontend.python.patterns import Patterns
from relay.frontend.python.standard import Cons, Nil
from relay.frontend.python.unit import Unassigned, Value
from relay.ir import expr as ir
from relay.ir.types import TensorType, Type, TypeCall
from relay.op.tensor.indexing import take
from relay.tree import Steps

# Makes the body of the loop's function from an iteration and from the exit at the loop's end.
Head = Callable[[ir.Expr, Callable[[], ir.Expr]], ir.Expr]


@dataclass
class Exit:
    """An exit of a loop: the variables there, and the expression once all exits are known."""

    scope: Locals
    result: Callable[[], ir.Expr] | None = None

    def make(self) -> ir.Expr:
        assert self.result is not None
        return self.result()


@dataclass
class Loop:
    """A loop being translated."""

    function: ir.Var
    names: list[str]  # of the loop-carried variables
    params: list[ir.Var]  # for them
    following: list[ir.Expr] = field(default_factory=list)  # the next states of the iterators
    head: Exit | None = None  # the exit when the iterators are exhausted
    exits: list[Exit] = field(default_factory=list)


@dataclass
class Turn:
    """One iteration over a source: the item, the next state, and the test for an item."""

    item: ir.Expr
    following: ir.Expr
    head: Head


@dataclass
class Iterated:
    """An iterator: the initial state, and what an iteration does with a state."""

    name: str
    start: ir.Expr
    turn: Callable[[ir.Var], Turn]
    ends: bool = True


@dataclass
class Iteration:
    """Sources that are iterated together, and how their items are combined."""

    sources: list[Iterated]
    item: Callable[[list[ir.Expr]], Value]


class Loops(Patterns):
    """Translates loops."""

    # --- while

    def while_(self, node: ast.While, scope: Locals, block: Block) -> Flow:
        if isinstance(node.test, ast.Constant) and not node.test.value:
            return scope
        loop, starts, inner = yield self._enter(node, "while_loop", scope)
        test = self.condition((yield self.expression(node.test, inner)), node.test)
        if test is False:
            return scope

        def head(turn: ir.Expr, leave: Callable[[], ir.Expr]) -> ir.Expr:
            return (
                turn if isinstance(test, bool) else ir.If(test, turn, leave(), span=self.span(node))
            )

        ends = int(test is not True)
        return (yield self._loop(node, loop, starts, [], head, ends, inner, Block(), scope, block))

    # --- for

    def for_(self, node: ast.For, scope: Locals, block: Block) -> Flow:
        found = yield self.iteration(node, scope, block)
        if isinstance(found, list):
            return (yield self._written_out(node, found, scope, block))
        return (yield self.for_each(node, found, scope, block))

    def iteration(self, node: ast.For, scope: Locals, block: Block) -> Steps[Any]:
        """The iteration of a loop; a list of items, where it is over a Python value."""
        name = node.target.id if isinstance(node.target, ast.Name) else "element"
        return (yield self._iteration(node.iter, scope, block, name))

    def for_each(self, node: ast.For, found: Iteration, scope: Locals, block: Block) -> Flow:
        """A loop of the program."""
        sources = found.sources
        for source in sources:
            source.start = self._fixed(source.name, source.start, node.iter, block)
        loop, starts, inner = yield self._enter(node, "for_loop", scope)
        states = [
            self.variable(s.name, self.type_of(s.start), self.span(node.iter)) for s in sources
        ]
        turns = [source.turn(state) for source, state in zip(sources, states, strict=True)]
        loop.following = [turn.following for turn in turns]
        body = Block()
        yield self.assign(node.target, found.item([t.item for t in turns]), inner, body, node)

        def head(turn: ir.Expr, leave: Callable[[], ir.Expr]) -> ir.Expr:
            for part in reversed(turns):
                turn = part.head(turn, leave)
            return turn

        starts = [source.start for source in sources] + starts
        ends = sum(source.ends for source in sources)
        return (yield self._loop(node, loop, starts, states, head, ends, inner, body, scope, block))

    def _fixed(self, name: str, value: ir.Expr, node: ast.AST, block: Block) -> ir.Expr:
        """A value that is computed once, before the loop."""
        return value if ir.is_atom(value) else self.bind(name, value, node, block)

    def _written_out(self, node: ast.For, items: list[Value], scope: Locals, block: Block) -> Flow:
        """An unrolled loop over a Python value: its body once for each item."""
        if (jump := jumps_in_loop(node.body)) is not None:
            raise self.error(
                jump,
                "a loop over a tuple or a list of Python is written out, and cannot be left",
                "a loop over range(…), a list of the program, or a tensor",
                hint="put the rest of the iteration into an `if`",
            )
        flow: Locals | None = scope
        for item in items:
            yield self.assign(node.target, item, scope, block, node)
            flow = yield self.statements(node.body, scope, block)
            if flow is None:
                return None
            scope = flow
        return scope

    # --- iterators

    def _iteration(self, node: ast.expr, scope: Locals, block: Block, name: str) -> Steps[Any]:
        """How to iterate over an expression; a list of items, where it is a Python value."""
        if isinstance(node, ast.Call):
            callee = yield self.expression(node.func, scope)
            keywords = [k for k in node.keywords if not self._is_loose(callee, k)]
            plain = not keywords and not any(isinstance(a, ast.Starred) for a in node.args)
            if plain and callee is builtins.range:
                return (yield self._range(node, scope, block, name))
            if plain and callee is builtins.enumerate and node.args:
                return (yield self._enumerate(node, scope, block, name))
            if plain and callee is builtins.zip and node.args:
                return (yield self._zip(node, scope, block, name))
            if plain and callee is builtins.reversed and _is_range(node.args):
                inner: Any = node.args[0]
                return (yield self._range(inner, scope, block, name, backwards=True))
        value = yield self.expression(node, scope)
        if isinstance(value, dict | tuple | list | range):
            return list(value)
        value = self._fixed("source", (yield self.lift(value, node)), node, block)
        ty = self.type_of(value)
        if (fields := self.fields_of(value, node)) is not None:
            return fields
        if self.is_list(ty):
            return Iteration([self._list_source(value, node, name)], lambda items: items[0])
        if isinstance(ty, TensorType) and ty.shape:
            return (yield self._rows(value, node, block))
        raise self.error(
            node, "this cannot be gone through", "range(…), a list, a tuple or a tensor", str(ty)
        )

    def _is_loose(self, callee: Value, keyword: ast.keyword) -> bool:
        """Whether it is the `strict=False` of a `zip`, the default."""
        if callee is not builtins.zip or keyword.arg != "strict":
            return False
        if isinstance(keyword.value, ast.Constant) and keyword.value.value is False:
            return True
        raise self.error(
            keyword.value,
            "a program cannot fail where one of several things ends before the others",
            "strict=False",
        )

    def _list_source(self, value: ir.Expr, node: ast.AST, name: str) -> Iterated:
        """The elements of a list; the state is the rest of it."""
        span = self.span(node)

        def turn(state: ir.Var) -> Turn:
            ty = self.type_of(state)
            assert isinstance(ty, TypeCall)
            element = self.variable(name, ty.args[0], span)
            rest = self.variable("rest", ty, span)
            parts = (ir.PatternVar(element, span=span), ir.PatternVar(rest, span=span))
            some = ir.PatternConstructor(self.constructor(Cons), parts, span=span)
            none = ir.PatternConstructor(self.constructor(Nil), (), span=span)

            def head(body: ir.Expr, leave: Callable[[], ir.Expr]) -> ir.Expr:
                clauses = (ir.Clause(some, body, span=span), ir.Clause(none, leave(), span=span))
                return ir.Match(state, clauses, span=span)

            return Turn(element, rest, head)

        return Iterated("list", value, turn)

    def _counter(
        self,
        name: str,
        start: ir.Expr,
        stop: ir.Expr | None,
        step: int,
        node: ast.AST,
        item: Callable[[ir.Var], ir.Expr] = lambda state: state,
    ) -> Iterated:
        """A counter with step `step`, up to `stop` if given."""

        def turn(state: ir.Var) -> Turn:
            by = self.number(step, node, self.type_of(state), open_=False)
            following = self.operation("add", state, by, node)
            if stop is None:
                return Turn(item(state), following, lambda body, leave: body)
            test = self.operation("less" if step > 0 else "greater", state, stop, node)
            span = self.span(node)
            return Turn(
                item(state), following, lambda body, leave: ir.If(test, body, leave(), span=span)
            )

        return Iterated(name, start, turn, stop is not None)

    def _range(
        self, node: ast.Call, scope: Locals, block: Block, name: str, backwards: bool = False
    ) -> Steps[Iteration]:
        values = yield tree.gather(self.expression(part, scope) for part in node.args)
        if not 1 <= len(values) <= 3:
            raise self.error(node, "range takes one, two or three numbers", found=str(len(values)))
        start, stop, step = (0, *values, 1) if len(values) == 1 else (*values, 1)[:3]
        if type(step) is not int or step == 0:
            raise self.error(
                node, "the step of a range must be known when the program is made, and not 0"
            )
        if backwards:
            if step != 1:
                raise self.error(node, "only a range of step 1 can be reversed")
            start = yield self.arithmetic(ast.Sub(), stop, 1, node)
            stop = yield self.arithmetic(ast.Sub(), values[0] if len(values) > 1 else 0, 1, node)
            step = -1
        dynamic = [v for v in (start, stop) if isinstance(v, ir.Expr)]
        wanted = self.type_of(dynamic[0]) if dynamic else None
        first = yield self.lift(start, node, wanted)
        last = yield self.lift(stop, node, wanted)
        self.unify(self.type_of(last), self.type_of(first), node, "the bounds of the range differ")
        last = self._fixed("stop", last, node, block)
        return Iteration([self._counter(name, first, last, step, node)], lambda items: items[0])

    def _rows(self, value: ir.Expr, node: ast.expr, block: Block) -> Steps[Iteration]:
        """A tensor along its first axis."""
        count = yield self.lift(self.extent(value, 0, node), node)
        count = self._fixed("rows", count, node, block)
        start = self.number(0, node, self.type_of(count), open_=False)

        def row(state: ir.Var) -> ir.Expr:
            return self.placed(take(value, state, axis=0, mode="fast"), node, value, state)

        return Iteration([self._counter("row", start, count, 1, node, row)], lambda items: items[0])

    def _enumerate(self, node: ast.Call, scope: Locals, block: Block, name: str) -> Steps[Any]:
        inner = yield self._iteration(node.args[0], scope, block, name)
        first = (yield self.expression(node.args[1], scope)) if len(node.args) > 1 else 0
        if isinstance(inner, list) and type(first) is int:
            return list(enumerate(inner, first))
        if isinstance(inner, list):
            raise self.error(node, "the first number must be known when the program is made")
        start = yield self.lift(first, node)
        counter = self._counter("count", start, None, 1, node)
        item = inner.item
        return Iteration([counter, *inner.sources], lambda items: (items[0], item(items[1:])))

    def _zip(self, node: ast.Call, scope: Locals, block: Block, name: str) -> Steps[Any]:
        parts: list[Any] = yield tree.gather(
            self._iteration(part, scope, block, name) for part in node.args
        )
        if all(isinstance(part, list) for part in parts):
            return list(zip(*parts, strict=False))
        if any(isinstance(part, list) for part in parts):
            raise self.error(
                node,
                "values of Python and of the program are gone through in different ways",
                hint="make a list of the program of both, or write the loop out by hand",
            )

        def item(items: list[ir.Expr]) -> Value:
            found, at = [], 0
            for part in parts:
                count = len(part.sources)
                found.append(part.item(items[at : at + count]))
                at += count
            return tuple(found)

        return Iteration([source for part in parts for source in part.sources], item)

    # --- the function that a loop is

    def _enter(
        self, node: ast.While | ast.For, name: str, scope: Locals
    ) -> Steps[tuple[Loop, list[ir.Expr], Locals]]:
        """A new loop, its initial values, and the scope inside it."""
        frame = scope.frame
        needed = frame.liveness.head[node]
        inner = scope.copy()
        loop = Loop(ir.Var(name, span=self.span(node)), [], [])
        starts: list[ir.Expr] = []
        for variable in sorted(frame.liveness.stores[node]):
            value = scope.values.get(variable, statics.MISSING)
            if variable not in needed or value is statics.MISSING or isinstance(value, Unassigned):
                continue
            if not self.is_liftable(value):
                inner.values[variable] = Unassigned(
                    f"`{variable}` changes in the loop, and is no value of a program"
                )
                continue
            declared = frame.declared.get(variable)
            start = yield self.lift(value, node, declared)
            ty = declared or self.type_of(start)
            param = self.variable(variable, ty, self.span(node))
            inner.values[variable] = param
            loop.names.append(variable)
            loop.params.append(param)
            starts.append(start)
        inner.loop = loop
        loop.head = Exit(inner.copy())
        return loop, starts, inner

    def _loop(
        self,
        node: ast.While | ast.For,
        loop: Loop,
        starts: Sequence[ir.Expr],
        states: Sequence[ir.Var],
        head: Head,
        ends: int,
        inner: Locals,
        body: Block,
        scope: Locals,
        block: Block,
    ) -> Flow:
        """Translate the body, and add the loop to `block`. It has `ends` exits at its head;
        `starts` are the initial values of its `states` and variables."""
        span = self.span(node)
        at_head = loop.head
        assert at_head is not None
        if ends:
            loop.exits.append(at_head)
        flow = yield self.statements(node.body, inner, body)
        if flow is not None:
            yield self.next_turn(flow, body, node)
        params = (*states, *loop.params)
        start = call(loop.function, starts, span)

        def around(rest: ir.Expr) -> Steps[ir.Expr]:
            turn = yield body.close()
            function = ir.Function(params, head(turn, at_head.make), span=span)
            return ir.Let(loop.function, function, rest, span=span)

        if not loop.exits:
            if not returns(node.body):
                raise self.error(
                    node, "nothing leads out of this loop", "a condition, `break` or `return`"
                )
            block.end(lambda: around(start))
            return None
        if not returns(node.body):
            behind, merge = yield self.merge([way.scope for way in loop.exits], node, scope)
            for index, way in enumerate(loop.exits):
                way.result = partial(merge.tuple_from, index, span)
            block.contexts.append(around)
            merge.bind_all(block, lambda: start, span)
        elif loop.exits == [at_head] and ends == 1:
            behind = at_head.scope.copy()
            block.contexts.append(lambda rest: _ending_with(rest, at_head, around(start)))
            block.leaves = True
        else:
            behind, merge = yield self.merge([way.scope for way in loop.exits], node, scope)
            join, bind = join_function("after", merge.variables, span)
            for index, way in enumerate(loop.exits):
                way.result = partial(call, join, merge.values[index], span)

            def with_join(rest: ir.Expr) -> Steps[ir.Expr]:
                return bind(rest, (yield around(start)))

            block.contexts.append(with_join)
            block.leaves = True
        behind.loop = scope.loop
        return behind

    def next_turn(self, scope: Locals, block: Block, node: ast.stmt) -> Steps[None]:
        """End a block with the next iteration of its loop."""
        loop = scope.loop
        assert loop is not None
        values: list[ir.Expr] = []
        for name, param in zip(loop.names, loop.params, strict=True):
            held = scope.values.get(name, Unassigned(f"`{name}` has no value for the next turn"))
            wanted = self.type_of(param)
            value = yield self.lift(held, node, wanted)
            if self.fits(self.type_of(value), wanted) is None:
                self._report_change(name, wanted, self.type_of(value), node)
            values.append(value)
        arguments = (*loop.following, *values)
        span = self.span(node)
        block.end(lambda: ir.Call(loop.function, arguments, span=span))

    def _report_change(self, name: str, start: Type, now: Type, node: ast.stmt) -> None:
        hint = f"start with a value of that type, or give `{name}` another name in the loop"
        alike = isinstance(start, TensorType) and isinstance(now, TensorType)
        if alike and start.dtype == now.dtype and start.ndim == now.ndim:  # type: ignore[attr-defined]
            hint = f"annotate `{name}` before the loop: relay.Any() is an extent that changes"
        self.report(node, f"`{name}` changes its type in the loop", str(start), str(now), hint)

    def break_(self, node: ast.Break, scope: Locals, block: Block) -> None:
        loop = scope.loop
        assert loop is not None
        way = Exit(scope.copy())
        loop.exits.append(way)
        block.end(way.make)


def _ending_with(rest: ir.Expr, way: Exit, made: Steps[ir.Expr]) -> Steps[ir.Expr]:
    """`made`, with `rest` at the end of an exit of the loop."""
    way.result = lambda: rest
    return made


def _is_range(args: Sequence[ast.expr]) -> bool:
    return (
        len(args) == 1
        and isinstance(args[0], ast.Call)
        and isinstance(args[0].func, ast.Name)
        and args[0].func.id == "range"
    )
