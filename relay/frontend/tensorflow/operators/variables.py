"""Variables: what is read and written of them."""

from __future__ import annotations

from collections.abc import Sequence

from relay import op
from relay.frontend.common.builder import static
from relay.frontend.common.indices import in_range
from relay.frontend.tensorflow.converters import Table
from relay.frontend.tensorflow.node import Node
from relay.frontend.tensorflow.saved_model import variable_name
from relay.frontend.tensorflow.values import Value, Variable
from relay.ir.expr import Expr, const

table = Table()


@table("VarHandleOp", "VariableV2", "Variable")
def handle(node: Node) -> Value:
    is_reference = node.operator != "VarHandleOp"
    shape = node.info.attribute("shape")
    known = shape if isinstance(shape, tuple) else None
    return Variable(variable_name(node.info), node.named_type("dtype"), known, is_reference)


@table("ReadVariableOp")
def read(node: Node, variable: Variable) -> Expr:
    return node.importer.states.read(node, variable)


@table("AssignVariableOp")
def assign_variable(node: Node, variable: Variable, value: Expr) -> Sequence[Value]:
    node.importer.states.write(node, variable, value)
    return []


@table("Assign")
def assign(node: Node, variable: Variable, value: Expr) -> Value:
    node.importer.states.write(node, variable, value)
    return variable


@table("AssignAddVariableOp", "AssignSubVariableOp", "AssignAdd", "AssignSub")
def assign_sum(node: Node, variable: Variable, value: Expr) -> Sequence[Value]:
    old = node.importer.states.read(node, variable)
    combine = op.add if "Add" in node.operator else op.subtract
    node.importer.states.write(node, variable, node.let(combine(old, value)))
    return [] if node.operator.endswith("Op") else [variable]


@table("VariableShape")
def variable_shape(node: Node, variable: Variable) -> Expr:
    found = node.whole_shape(node.importer.states.read(node, variable))
    return node.as_dtype(found, node.named_type("out_type", "int32"))


@table("ResourceGather")
def gather(node: Node, variable: Variable, indices: Expr) -> Expr:
    data = node.importer.states.read(node, variable)
    batch = node.integer("batch_dims")
    return op.take(data, in_range(node, indices, data, [batch]), axis=batch, batch_dims=batch)


@table("ResourceGatherNd")
def gather_nd(node: Node, variable: Variable, indices: Expr) -> Expr:
    data = node.importer.states.read(node, variable)
    depth = node.static_extent(indices, -1, "how many axes are indexed")
    order = (node.rank(indices) - 1, *range(node.rank(indices) - 1))
    first = node.let(op.transpose(indices, order))
    return op.gather_nd(data, in_range(node, first, data, range(depth)))


_SCATTER = {"Update": "update", "Add": "add", "Mul": "mul", "Max": "max", "Min": "min"}


@table(*(f"ResourceScatter{name}" for name in (*_SCATTER, "Sub")))
def scatter(node: Node, variable: Variable, indices: Expr, updates: Expr) -> Sequence[Value]:
    """Rows of a variable are combined with updates."""
    data = node.importer.states.read(node, variable)
    name = node.operator.removeprefix("ResourceScatter")
    if name == "Sub":
        name, updates = "Add", node.let(op.negative(updates))
    rest = node.rank(data) - 1
    if node.rank(updates) == 0 != node.rank(indices) + rest:
        shape = static((*node.shape(indices), *node.shape(data)[1:]))
        if shape is None:
            raise node.refused("a single update is for rows of known number")
        updates = node.let(op.broadcast_to(updates, shape))
    at = node.let(op.expand_dims(in_range(node, indices, data), 0))
    found = node.let(op.scatter_nd(data, at, updates, mode=_SCATTER[name]))
    node.importer.states.write(node, variable, found)
    return []


@table(*(f"ResourceScatterNd{name}" for name in (*_SCATTER, "Sub") if name != "Mul"))
def scatter_nd(node: Node, variable: Variable, positions: Expr, updates: Expr) -> Sequence[Value]:
    """Parts of a variable are combined with updates."""
    data = node.importer.states.read(node, variable)
    name = node.operator.removeprefix("ResourceScatterNd")
    if name == "Sub":
        name, updates = "Add", node.let(op.negative(updates))
    depth = node.static_extent(positions, -1, "how many axes are indexed")
    last = node.rank(positions) - 1
    first = node.let(op.transpose(positions, (last, *range(last))))
    at = in_range(node, first, data, range(depth))
    found = node.let(op.scatter_nd(data, at, updates, mode=_SCATTER[name]))
    node.importer.states.write(node, variable, found)
    return []


@table("VarIsInitializedOp", "IsVariableInitialized")
def is_initialized(node: Node, variable: Variable) -> Expr:
    return const(True, "bool")


@table("DestroyResourceOp")
def destroy(node: Node, value: Value) -> Sequence[Value]:
    return []
