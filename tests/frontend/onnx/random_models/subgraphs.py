"""Graphs inside graphs."""

from __future__ import annotations

from onnx import TensorProto, helper

from tests.frontend.onnx.oracle import value
from tests.frontend.onnx.random_models.making import Maker, Rules, Tensor

rule = Rules()


def inner(make: Maker, prefix: str) -> Maker:
    """A graph that sees what is around it."""
    return Maker(
        make.choices, make.opset, values=list(make.values), prefix=f"{make.prefix}{prefix}"
    )


@rule(2)
def decision(make: Maker) -> None:
    data = make.some(lambda one: one.dtype == "float32" and one.exact)
    most = make.node("ReduceMax", data.name, keepdims=0)[0]
    condition = make.node("Greater", most, make.constant(1, "float32"))[0]
    given = make.some(lambda one: one.dtype == "float32")
    branches = []
    large = 0
    for number in range(2):
        there = inner(make, f"_{make.count}_{number}_")
        body = given
        for _ in range(make.choices.number(1, 2)):
            operator = there.choices.choice(["Tanh", "Abs", "Neg", "Identity", "Add"])
            inputs = [body, body] if operator == "Add" else [body]
            wide = body.large * 2
            body = there.add(operator, inputs, "float32", given.shape, False, wide)
        large = max(large, body.large)
        result = value(body.name, "float32", [None] * given.rank)
        branches.append(helper.make_graph(there.nodes, "branch", [], [result]))
    make.add(
        "If", [condition], "float32", given.shape, False, large,
        then_branch=branches[0], else_branch=branches[1],
    )  # fmt: skip


@rule(2)
def loop(make: Maker) -> None:
    state = make.some(lambda one: one.dtype == "float32" and one.rank > 0 and one.large <= 50)
    turns = make.choices.number(0, 3)
    there = inner(make, f"_{make.count}_l_")
    names = [f"{there.prefix}{name}" for name in ("turn", "going", "state")]
    body = Tensor(names[2], "float32", state.shape, False, state.large)
    for _ in range(make.choices.number(1, 2)):
        operator = make.choices.choice(["Tanh", "Neg", "Sigmoid", "Add"])
        inputs = [body, state] if operator == "Add" else [body]
        body = there.add(operator, inputs, "float32", state.shape, False, body.large + state.large)
    (going,) = there.node("Identity", names[1])
    (row,) = there.node("ReduceMax", body.name, keepdims=0)
    shape = [None] * state.rank
    inputs_of = [
        helper.make_tensor_value_info(names[0], TensorProto.INT64, []),
        helper.make_tensor_value_info(names[1], TensorProto.BOOL, []),
        value(names[2], "float32", shape),
    ]
    outputs = [
        helper.make_tensor_value_info(going, TensorProto.BOOL, []),
        value(body.name, "float32", shape),
        helper.make_tensor_value_info(row, TensorProto.FLOAT, []),
    ]
    graph = helper.make_graph(there.nodes, "body", inputs_of, outputs)
    limit, start = make.numbers(turns), make.constant(True, "bool")
    last, rows = make.node("Loop", limit, start, state.name, outputs=2, body=graph)
    large = state.large * 4
    make.keep(Tensor(last, "float32", state.shape, False, large))
    if turns:
        make.keep(Tensor(rows, "float32", (turns,), False, large))
