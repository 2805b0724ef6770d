"""Rewriting: replace every match of a pattern by the result of a callback, to a fixed point.

    class Fuse(DFPatternCallback):
        def __init__(self):
            super().__init__()
            self.x = wildcard()
            self.pattern = is_op("nn.relu")(is_op("nn.relu")(self.x))

        def callback(self, pre, post, node_map):
            return relay.nn.relu(node_map[self.x][0])

    rewrite(Fuse(), expr)

A sweep finds matches that do not overlap, then rebuilds the program bottom-up and calls back at
each match. So a callback sees its arguments already rewritten: `post` and `node_map` are of the new
program, `pre` is of the old one. Sweeps are repeated until none changes anything. Unchanged
expressions keep their identity.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from relay import tree
from relay.check.infer import infer_expr
from relay.dataflow_pattern.equality import same_expression
from relay.dataflow_pattern.graph import NumberedGraph
from relay.dataflow_pattern.matcher import Bindings, Matcher
from relay.dataflow_pattern.patterns import DFPattern
from relay.dataflow_pattern.prepare import Prepared, prepare
from relay.dataflow_pattern.regions import Claims, Region, find_regions
from relay.errors import AnySpan, RelayError
from relay.ir.expr import Call, Expr, Syntax, Var, as_expr, is_atom
from relay.ir.module import IRModule
from relay.ir.variables import binders

# What every pattern of a match is bound to: a list, because some are bound several times.
NodeMap = dict[DFPattern, list[Expr]]
# Callbacks that still change something after so many rounds never finish.
ROUNDS = 100
# Rewriting ends if the program grows by this factor over so many rounds.
GROWTH, GROWING_ROUNDS = 16, 5


class DFPatternCallback:
    """A pattern and how to rewrite its matches. Set `pattern`, define `callback`.

    `require_type`: the program is typed first. `rewrite_once`: stop after the first sweep that
    rewrote something. `keep_shared`: rewrite also where an expression inside the match has other
    users; it stays for them.
    """

    pattern: DFPattern
    require_type: bool = False
    rewrite_once: bool = False
    keep_shared: bool = False

    def __init__(
        self, require_type: bool = False, rewrite_once: bool = False, keep_shared: bool = False
    ) -> None:
        self.require_type = require_type
        self.rewrite_once = rewrite_once
        self.keep_shared = keep_shared

    def callback(self, pre: Expr, post: Expr, node_map: NodeMap) -> Expr:
        """The replacement of the match; `post` to leave it as it is.

        `pre` is the match in the old program, `post` the same over rewritten parts. `node_map[p]`
        lists what pattern `p` is bound to in the new program.
        """
        raise RelayError(f"{type(self).__name__} must define callback(pre, post, node_map)")

    def on_match(self, pre: Expr, post: Expr, node_map: NodeMap, found: Bindings) -> Expr:
        """Called by the rewriter; `found` are the bindings in the old program."""
        return self.callback(pre, post, node_map)

    def rewrite(self, expr: Expr) -> Expr:
        """`expr` rewritten by this callback alone."""
        return rewrite(self, expr)


def rewrite(
    callbacks: DFPatternCallback | Sequence[DFPatternCallback],
    expr: Expr,
    mod: IRModule | None = None,
) -> Expr:
    """`expr` rewritten until no callback changes it; `expr` itself when none ever did.

    Where matches of several callbacks overlap, the one given first has precedence.
    """
    given = [callbacks] if isinstance(callbacks, DFPatternCallback) else list(callbacks)
    rewriter = Rewriter(given, mod)
    result = rewriter.run(as_expr(expr), ROUNDS)
    if rewriter.unsettled:
        names = ", ".join(sorted({type(c).__name__ for c in rewriter.unsettled}))
        raise RelayError(
            f"rewriting has not come to an end after {len(rewriter.sizes)} rounds: {names} still "
            "changed something; callbacks that undo each other's work never finish, and one that "
            "makes its own pattern again needs rewrite_once=True"
        )
    return result


class Rewriter:
    """Runs callbacks over a program, round by round."""

    def __init__(self, callbacks: Iterable[DFPatternCallback], module: IRModule | None) -> None:
        self._module = module
        self._live: list[tuple[DFPatternCallback, Prepared]] = []
        for callback in callbacks:
            if not isinstance(getattr(callback, "pattern", None), DFPattern):
                raise RelayError(f"{type(callback).__name__} must set `pattern` to a pattern")
            self._live.append((callback, prepare(callback.pattern)))
        self.unsettled: list[DFPatternCallback] = []  # those that rewrote in the last round
        self.sizes: list[int] = []  # of the program in every round

    def run(self, program: Expr, rounds: int) -> Expr:
        """`program` after as many rounds as needed, at most `rounds`."""
        result = program
        for _ in range(rounds):
            self.unsettled = []
            self.sizes.append(0)
            for batch in self._batches():
                result = self._sweep(result, batch)
            if not self.unsettled or self._explodes():
                break
        return result

    def _explodes(self) -> bool:
        earlier = self.sizes[-1 - GROWING_ROUNDS] if len(self.sizes) > GROWING_ROUNDS else None
        return earlier is not None and self.sizes[-1] > GROWTH * (earlier + 100)

    def _batches(self) -> Iterator[list[tuple[DFPatternCallback, Prepared]]]:
        """Callbacks that share a sweep; one with `rewrite_once` has a sweep of its own."""
        batch: list[tuple[DFPatternCallback, Prepared]] = []
        for entry in self._live:
            if entry[0].rewrite_once:
                if batch:
                    yield batch
                yield [entry]
                batch = []
            else:
                batch.append(entry)
        if batch:
            yield batch

    def _sweep(self, program: Expr, batch: list[tuple[DFPatternCallback, Prepared]]) -> Expr:
        graph = NumberedGraph(program)
        self.sizes[-1] = len(graph.nodes)
        batch = [entry for entry in batch if graph.with_head(entry[1].root.heads)]
        # a rebuilt program has no type, so a typed one is typed throughout
        if program.ty is None and any(callback.require_type for callback, _ in batch):
            graph = NumberedGraph(infer_expr(program, self._module))
        claims = Claims(graph)
        found: dict[int, tuple[DFPatternCallback, Region]] = {}
        for callback, prepared in batch:
            matcher = Matcher(prepared, graph.root, self._module, graph)
            for region in find_regions(graph, matcher, claims):
                if claims.claim(region, callback.keep_shared):
                    found[region.root] = (callback, region)
        if not found:
            return program
        sweep = _Rebuilding(graph, found)
        result = sweep.run()
        for callback in sweep.effective:
            self.unsettled.append(callback)
            if callback.rewrite_once:
                self._live = [entry for entry in self._live if entry[0] is not callback]
        return result if sweep.effective else program


class _Rebuilding:
    """One walk over a program, bottom-up, that rewrites the matches."""

    def __init__(
        self, graph: NumberedGraph, found: dict[int, tuple[DFPatternCallback, Region]]
    ) -> None:
        self._graph = graph
        self._found = found
        self._new: dict[int, Syntax] = {}  # number of a node -> its replacement, if different
        self._rebuilt: set[int] = set()  # ids of the replacements
        self.effective: list[DFPatternCallback] = []  # those that changed something

    def run(self) -> Expr:
        graph, new, found = self._graph, self._new, self._found
        for i, children in enumerate(graph.children):
            node = after = graph.nodes[i]
            if new and any(child in new for child in children):
                after = self._over_new_parts(node, children)
            if i in found:
                assert isinstance(node, Expr) and isinstance(after, Expr)
                after = self._call_back(*found[i], node, after)
            if after is not node:
                new[i] = after
                self._rebuilt.add(id(after))
        root = new.get(len(graph.nodes) - 1, graph.root)
        assert isinstance(root, Expr)
        return root

    def _over_new_parts(self, node: Syntax, children: tuple[int, ...]) -> Syntax:
        nodes, new = self._graph.nodes, self._new
        parts: list[Any] = [new.get(child, nodes[child]) for child in children]
        if type(node) is Call:
            return Call(parts[0], tuple(parts[1:]), node.attrs, node.type_args, span=node.span)
        # binders come first, and can be replaced by variables only
        for position, variable in enumerate(binders(node)):
            if not isinstance(parts[position], Var):
                parts[position] = variable
        return tree.rebuild(node, parts)  # type: ignore[no-any-return]

    def _call_back(
        self, callback: DFPatternCallback, region: Region, pre: Expr, post: Expr
    ) -> Expr:
        number, new = self._graph.number, self._new
        node_map: NodeMap = {}
        for step, expr in region.bindings:
            if step.pattern is not None:
                now: Any = post if expr is pre else new.get(number[id(expr)], expr)
                node_map.setdefault(step.pattern, []).append(now)
        result = callback.on_match(pre, post, node_map, region.bindings)
        if result is None:
            raise RelayError(
                f"{type(callback).__name__}.callback returned None; "
                "return `post` to leave a match as it is"
            )
        result = as_expr(result)
        if result is post or same_expression(result, post, self._is_made):
            return post
        if not any(callback is known for known in self.effective):
            self.effective.append(callback)
        return self._with_span(result, pre.span) if pre.span is not None else result

    def _is_made(self, e: Syntax) -> bool:
        """Whether the current callback made it: it is part of neither program so far."""
        return id(e) not in self._graph.number and id(e) not in self._rebuilt

    def _with_span(self, result: Expr, span: AnySpan) -> Expr:
        """`result` with that span on everything the callback made without one."""

        def is_without(e: Syntax) -> bool:
            return e.span is None and not is_atom(e) and self._is_made(e)

        done: dict[int, Syntax] = {}
        for e in tree.postorder(result, enter=is_without):
            if is_without(e):
                after = tree.rebuild(e, [done.get(id(c), c) for c in tree.children(e)])
                done[id(e)] = tree.replace(after, span=span)
        placed = done.get(id(result), result)
        assert isinstance(placed, Expr)
        return placed
