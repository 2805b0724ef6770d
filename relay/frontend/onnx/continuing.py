"""What follows when a graph has gone several ways: once for all ways that bring the same.

After n nodes that go two ways each there are 2^n ways through a graph. But what comes after depends
only on the types of what a way has made so far, and of those there are few: from the third on, the
rest of the graph is a function of these values, and of what it needs from before. Ways that bring
values of the same types call the same one.

    if (%a) { if (%b) { …; @rest(%y, %x) } else { …; @rest(%z, %x) } } else { …; @rest(%w, %x) }
    def @rest(%y: Tensor[(3), float32], %x: …) { … }
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from onnx import NodeProto

from relay.check.infer import infer_expr
from relay.errors import FrontendError
from relay.frontend.onnx.branches import Way, closed, filled
from relay.frontend.onnx.scope import Scope, is_nothing, type_of
from relay.immutable import frozen
from relay.ir.dims import Dim
from relay.ir.expr import Call, Constant, Expr, Function, GlobalVar, TupleGetItem, Var, bind
from relay.ir.names import UniqueNames
from relay.ir.types import TupleType, Type
from relay.ir.variables import free_type_vars, free_vars

SEPARATE = 2  # nodes that go two ways, after which each way still has its own copy of the rest


@frozen
class Continuation:
    """A function of what a way brings, and the types of its results."""

    function: GlobalVar
    types: list[Type]
    outside: list[Var]  # what it needs from before the first node that goes two ways


@dataclass
class Paths:
    """The ways from one node on: `root` is the scope in which the first of them goes two ways."""

    root: Scope
    forks: int = 0  # how many there are on this way
    made: dict[object, Continuation | FrontendError] = field(default_factory=dict)

    def further(self) -> Paths:
        """The same after one more."""
        return Paths(self.root, self.forks + 1, self.made)

    @property
    def is_shared(self) -> bool:
        """Whether the rest is one for all ways."""
        return self.forks > SEPARATE


@dataclass
class Brought:
    """What a way has made, as far as the rest of the graph uses it: values that are the same for
    all who call, and variables, each with the parameter that stands for it."""

    scope: Scope
    key: object
    arguments: list[Var]
    parameters: list[Var]

    def call(self, to: Continuation, inner: Scope) -> Way:
        """The results of the rest of the graph, in the scope of the way."""
        whole = inner.bind(Call(to.function, (*self.arguments, *to.outside)), "after")
        if len(to.types) == 1:
            return inner, [whole]
        fields = [TupleGetItem(whole, place) for place in range(len(to.types))]
        return inner, [inner.bind(one, "part") for one in fields]

    def close(self, results: Sequence[Expr], root: Scope) -> Continuation:
        """The rest of the graph, translated, as a function."""
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


def brought(inner: Scope, root: Scope, used: Iterable[str], place: object) -> Brought:
    """What the way that ends in `inner` brings to the nodes at `place`, which use those names."""
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
        assert scope.parent is not None  # the root is around all ways
        scope = scope.parent
    there = Scope(root.module, root, elements=root.elements)
    numbers: dict[Expr, int] = {}
    found = Brought(there, None, [], [])
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


def used_soon(nodes: Sequence[NodeProto], reads: Sequence[set[str]]) -> list[NodeProto]:
    """The nodes in another order: those that may go two ways come as late as they can, so that
    little waits for them to have been gone."""
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
