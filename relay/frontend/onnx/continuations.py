"""Forks in sequence: control-flow paths that arrive with values of the same types share the rest.

After n forks there are 2^n paths through a graph. But the rest of the graph depends only on the
types of the values on a path, and of those there are few: from the third fork on, the rest of the
graph is a function of these values, and of the values from before the first fork.

    if (%a) { if (%b) { …; @rest(%y, %x) } else { …; @rest(%z, %x) } } else { …; @rest(%w, %x) }
    def @rest(%y: Tensor[(3), float32], %x: …) { … }
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from onnx import NodeProto

from relay.check.infer import infer_expr
from relay.errors import FrontendError
from relay.frontend.common.scope import is_nothing, type_of
from relay.frontend.onnx.branches import Branch, closed, filled
from relay.frontend.onnx.scope import GraphScope
from relay.immutable import frozen
from relay.ir.dims import Dim
from relay.ir.expr import Call, Constant, Expr, Function, GlobalVar, TupleGetItem, Var, bind
from relay.ir.names import UniqueNames
from relay.ir.types import TupleType, Type
from relay.ir.variables import free_type_vars, free_vars

SEPARATE = 2  # forks after which each path still has its own copy of the rest


@frozen
class Continuation:
    """The rest of the graph as a function, and the types of its results."""

    function: GlobalVar
    types: list[Type]
    outside: list[Var]  # the values it uses from before the first fork


@dataclass
class Paths:
    """The paths from the first fork on; `root` is the scope of that fork."""

    root: GraphScope
    forks: int = 0  # on this path
    made: dict[object, Continuation | FrontendError] = field(default_factory=dict)

    def further(self) -> Paths:
        """The paths after one more fork."""
        return Paths(self.root, self.forks + 1, self.made)

    @property
    def is_shared(self) -> bool:
        """Whether paths share the rest."""
        return self.forks > SEPARATE


@dataclass
class LiveValues:
    """The live values of a path: those that all callers share, and variables, each with the
    parameter of the continuation that stands for it."""

    scope: GraphScope
    key: object
    arguments: list[Var]
    parameters: list[Var]

    def call(self, to: Continuation, inner: GraphScope) -> Branch:
        """The results of the continuation, in the scope of the path."""
        whole = inner.bind(Call(to.function, (*self.arguments, *to.outside)), "after")
        if len(to.types) == 1:
            return inner, [whole]
        fields = [TupleGetItem(whole, place) for place in range(len(to.types))]
        return inner, [inner.bind(one, "part") for one in fields]

    def close(self, results: Sequence[Expr], root: GraphScope) -> Continuation:
        """The converted rest of the graph as a function."""
        types = [filled(type_of(one)) for one in results]
        body = closed(self.scope, results, types)
        result = types[0] if len(types) == 1 else TupleType(tuple(types))
        own = set(self.parameters)
        outside = [one for one in free_vars(body) if one not in own]
        params = (*self.parameters, *(Var(one.name_hint, type_of(one)) for one in outside))
        renamed = bind(body, dict(zip(outside, params[len(own) :], strict=True)))
        plain = Function(params, renamed, result)
        function = Function(params, renamed, result, tuple(free_type_vars(plain)))
        names = UniqueNames({one.name_hint for one in root.module.get_global_vars()})
        variable = GlobalVar(names.fresh("rest"))
        root.module[variable] = infer_expr(function, root.module)
        return Continuation(variable, types, outside)


def live_values(
    inner: GraphScope, root: GraphScope, used: Iterable[str], place: object
) -> LiveValues:
    """The live values at the end of a path, for the nodes at `place`, which read those names."""
    wanted = set(used)
    live: dict[str, Expr] = {}
    facts: dict[Dim | tuple[Expr, int], bool] = {}
    scope = inner
    while scope is not root:
        for name, value in scope.values.items():
            if name in wanted:
                live.setdefault(name, value)
        for size, is_one in scope.ones.items():
            facts.setdefault(size, is_one)
        assert scope.parent is not None  # the root encloses all paths
        scope = scope.parent
    there = root.inner()
    numbers: dict[Expr, int] = {}
    found = LiveValues(there, None, [], [])
    key: list[object] = []
    for name in sorted(live):
        value = live[name]
        if isinstance(value, Constant):
            array = value.data.array
            key.append((name, array.shape, str(array.dtype), array.tobytes()))
            there.values[name] = value
        elif is_nothing(value):
            key.append((name, str(value)))
            there.values[name] = value
        elif isinstance(value, Var):
            if value not in numbers:
                numbers[value] = len(numbers)
                parameter = Var(name, type_of(value))
                found.arguments.append(value)
                found.parameters.append(parameter)
                if (known := root.elements.get(value)) is not None:
                    root.elements[parameter] = known
            number = numbers[value]
            there.values[name] = found.parameters[number]
            key.append((name, number, type_of(value), root.elements.get(value)))
    known_sizes: list[object] = []
    for size, is_one in facts.items():
        if isinstance(size, tuple) and size[0] in numbers:
            number = numbers[size[0]]
            there.ones[found.parameters[number], size[1]] = is_one
            known_sizes.append((number, size[1], is_one))
        else:
            there.ones[size] = is_one
            known_sizes.append((size, is_one))
    found.key = (place, tuple(key), frozenset(known_sizes))
    return found


def with_forks_last(nodes: Sequence[NodeProto], reads: Sequence[set[str]]) -> list[NodeProto]:
    """The nodes in an order in which those that may fork come as late as possible."""
    makers = {name: at for at, node in enumerate(nodes) for name in node.output if name}
    order: list[NodeProto] = []
    placed: set[int] = set()
    for at, node in enumerate(nodes):
        if node.op_type == "If":
            continue
        pending = [at]
        while pending:
            top = pending[-1]
            missing = [
                makers[name]
                for name in sorted(reads[top], reverse=True)
                if name in makers and makers[name] not in placed
            ]
            if missing:
                pending += missing
                continue
            pending.pop()
            if top not in placed:
                placed.add(top)
                order.append(nodes[top])
    return order + [node for at, node in enumerate(nodes) if at not in placed]
