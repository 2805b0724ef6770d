"""Control flow: calls, branches, loops."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from relay import op
from relay.frontend.common.scope import ImportScope
from relay.frontend.tensorflow.converters import Table
from relay.frontend.tensorflow.flow import branch, loop
from relay.frontend.tensorflow.node import Node
from relay.frontend.tensorflow.values import Nothing, Value
from relay.ir.expr import Expr, const

table = Table()

MOST_BRANCHES = 64


@table(
    "Identity",
    "IdentityN",
    "StopGradient",
    "PreventGradient",
    "Snapshot",
    "CheckNumerics",
    "CheckNumericsV2",
    "EnsureShape",
    "Enter",
    "RefEnter",
    "LoopCond",
    "NextIteration",
    "RefNextIteration",
    "RefIdentity",
    "PlaceholderWithDefault",
    "OptimizationBarrier",
    "XlaOptimizationBarrier",
    "DebugIdentityV2",
    "GuaranteeConst",
)
def same(node: Node, *values: Value) -> Sequence[Value]:
    return list(values)


@table("NoOp", "ControlTrigger")
def nothing(node: Node, *values: Value) -> Sequence[Value]:
    return []


# --- functions -----------------------------------------------------------------------------------


@table("PartitionedCall", "StatefulPartitionedCall")
def partitioned_call(node: Node, *inputs: Value) -> Sequence[Value]:
    return node.importer.call(node, node.text("f"), inputs, node.scope)


@table("If", "StatelessIf")
def if_(node: Node, condition: Expr, *inputs: Value) -> Sequence[Value]:
    yes, no = (
        partial(node.importer.call, node, node.text(name), inputs)
        for name in ("then_branch", "else_branch")
    )
    return branch(node, condition, yes, no)


@table("Case", "StatelessCase")
def case(node: Node, index: Expr, *inputs: Value) -> Sequence[Value]:
    """Case: an index out of range selects the last branch."""
    names = [str(one) for one in node.attribute("branches", [], list)]
    if not 0 < len(names) <= MOST_BRANCHES:
        raise node.refused("there are too many branches", str(MOST_BRANCHES), str(len(names)))
    number = node.scalar(index)

    def chosen(place: int, scope: ImportScope) -> Sequence[Value]:
        there = node.within(scope)
        side = partial(node.importer.call, node, names[place], inputs)
        if place == len(names) - 1:
            return side(scope)
        test = there.let(op.equal(number, const(place, "int32")))
        return branch(there, test, side, partial(chosen, place + 1))

    return chosen(0, node.scope)


@table("While", "StatelessWhile")
def while_(node: Node, *inputs: Value) -> Sequence[Value]:
    def call(name: str, scope: ImportScope, values: Sequence[Value]) -> Sequence[Value]:
        return node.importer.call(node, node.text(name), values, scope)

    return loop(node, inputs, partial(call, "cond"), partial(call, "body"))


# --- Switch and Merge ----------------------------------------------------------------------------


@table("Switch", "RefSwitch")
def switch(node: Node, data: Value, predicate: Expr) -> Sequence[Value]:
    """Switch inside of a converted branch: the data, on the side that is taken."""
    switches = node.importer.switches(node.context.graph)
    if switches.predicate(node.info.inputs[1]) not in node.context.taken:
        raise node.refused("it is read outside of a branch", "a `Merge` that ends the branch")
    return [data, data]


@table("Merge", "RefMerge")
def merge(node: Node) -> Sequence[Value]:
    context, importer = node.context, node.importer
    found = importer.switches(context.graph).branch(node.info.name)
    predicate = context.value(found.predicate)
    if not isinstance(predicate, Expr):
        raise node.refused("the predicate is no tensor")

    def side(truth: bool, scope: ImportScope) -> Sequence[Value]:
        inner = context.inner(scope, {found.predicate: truth})
        ends = [
            context.graph.node(name).inputs[place]
            for name, place in zip(found.merges, found.sides[truth], strict=True)
        ]
        return importer.run(inner, ends)

    values = branch(node, predicate, partial(side, True), partial(side, False))
    yes, no = (found.sides[truth] for truth in (True, False))
    for place, (name, value) in enumerate(zip(found.merges, values, strict=True)):
        numbers = [const(one[place], "int32") for one in (yes, no)]
        importer.enter_values(context, name, [value, node.let(op.where(predicate, *numbers))])
    return [context.value((node.info.name, 0)), context.value((node.info.name, 1))]


@table("Exit", "RefExit")
def exit_(node: Node) -> Sequence[Value]:
    context, importer = node.context, node.importer
    found = importer.switches(context.graph).loop(node.info.name)

    def turn(results: Sequence[tuple[str, int]], scope: ImportScope, values: Sequence[Value]):  # type: ignore[no-untyped-def]
        inner = context.inner(scope)
        for variable, value in zip(found.variables, values, strict=True):
            importer.enter_values(inner, variable.merge, [value, Nothing()])
            if variable.switch is not None:
                importer.enter_values(inner, variable.switch, [value, value])
        return importer.run(inner, results)

    condition = partial(turn, [found.condition])
    body = partial(turn, [one.following for one in found.variables])
    begin = [context.value(one.begin) for one in found.variables]
    for variable, value in zip(found.variables, loop(node, begin, condition, body), strict=True):
        for name in variable.exits:
            importer.enter_values(context, name, [value])
    return [context.value((node.info.name, 0))]
