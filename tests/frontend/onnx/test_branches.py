"""An `If` whose ways give tensors of another number of axes: what comes after goes both ways."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import relay
from relay.errors import EvaluationError, FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import agree, of_graph, ours, value

NODE = helper.make_node
ROWS = np.arange(6, dtype="float32").reshape(2, 3)


def squeezed(*rest: onnx.NodeProto, output: onnx.ValueInfoProto) -> onnx.ModelProto:
    """`squeezed` is `x` without its last axis if that has one element, as PyTorch exports it."""
    size = [
        NODE("Shape", ["x"], ["shape"], start=-1),
        NODE("Constant", [], ["one"], value_ints=[1]),
        NODE("Equal", ["shape", "one"], ["is_one"]),
    ]
    ways: dict[str, Any] = {
        "then_branch": helper.make_graph(
            [
                NODE("Constant", [], ["last"], value_ints=[-1]),
                NODE("Squeeze", ["x", "last"], ["a"]),
            ],
            "then", [], [onnx.ValueInfoProto(name="a")],
        ),
        "else_branch": helper.make_graph(
            [NODE("Identity", ["x"], ["b"])], "else", [], [onnx.ValueInfoProto(name="b")]
        ),
    }  # fmt: skip
    chosen = NODE("If", ["is_one"], ["squeezed"], name="choice", **ways)
    given = value("x", "float32", ["n", 3, "last"])
    return of_graph([*size, chosen, *rest], [given], [output])


def test_what_comes_after_is_computed_on_both_ways() -> None:
    made = squeezed(
        NODE("Relu", ["squeezed"], ["positive"]),
        NODE("ReduceSum", ["positive"], ["y"], keepdims=0),
        output=value("y", "float32", []),
    )
    for last in (1, 4):
        agree(made, np.ones((2, 3, last), "float32") * ROWS[:, :, None])


def test_a_way_on_which_the_rest_means_nothing_ends_the_run_with_the_reason() -> None:
    made = squeezed(
        NODE("Gemm", ["squeezed", "squeezed"], ["y"], transB=1, name="product"),
        output=value("y", "float32", ["n", "n"]),
    )
    agree(made, ROWS[:, :, None])
    with pytest.raises(EvaluationError, match="Gemm: ") as found:
        ours(made, np.ones((2, 3, 4), "float32"))
    assert "product" in str(found.value)


def test_the_declared_axes_of_an_output_decide() -> None:
    made = squeezed(NODE("Relu", ["squeezed"], ["y"]), output=value("y", "float32", ["n", 3]))
    agree(made, ROWS[:, :, None])
    with pytest.raises(EvaluationError, match="output `y` has another number of axes"):
        ours(made, np.ones((2, 3, 4), "float32"))


def test_results_that_have_no_type_in_common_are_refused() -> None:
    made = squeezed(NODE("Relu", ["squeezed"], ["y"]), output=onnx.ValueInfoProto(name="y"))
    with pytest.raises(FrontendError, match="the branches give values of different types"):
        from_onnx(made)


# --- many of them


def branch(operator: str, inputs: list[str], output: str) -> onnx.GraphProto:
    node = NODE(operator, inputs, [output])
    return helper.make_graph([node], output, [], [onnx.ValueInfoProto(name=output)])


def many(kind: str, count: int, rows: int | str = 1) -> onnx.ModelProto:
    """`count` nodes that go two ways. `joined`: what each gives is of one type again before the
    next; `longer`: each gives one axis more on one of its ways; `together`: all are there before
    the first is used."""
    nodes = [
        NODE("Constant", [], ["zero"], value_ints=[0]),
        NODE("Constant", [], ["row"], value_ints=[1, 3]),
    ]
    given = "x"
    for i in range(count):
        changed = "Unsqueeze" if kind == "longer" else "Squeeze"
        ways: dict[str, Any] = {
            "then_branch": branch(changed, [given, "zero"], f"a{i}"),
            "else_branch": branch("Neg", [given], f"b{i}"),
        }
        nodes.append(NODE("If", [f"c{i}"], [f"y{i}"], **ways))
        if kind == "joined":
            nodes.append(NODE("Reshape", [f"y{i}", "row"], [f"z{i}"]))
            given = f"z{i}"
        elif kind == "longer":
            given = f"y{i}"
    if kind == "together":
        given = "y0"
        for i in range(1, count):
            nodes.append(NODE("Add", [given, f"y{i}"], [f"s{i}"]))
            given = f"s{i}"
    nodes.append(NODE("ReduceSum", [given], ["y"], keepdims=0))
    conditions = [value(f"c{i}", "bool", []) for i in range(count)]
    inputs = [value("x", "float32", [rows, 3]), *conditions]
    return of_graph(nodes, inputs, [value("y", "float32", [])])


def conditions(count: int) -> list[np.ndarray]:
    drawn = np.random.default_rng(count).integers(0, 2, count)
    return [np.array(bool(one)) for one in drawn]


@pytest.mark.parametrize("kind", ["joined", "longer", "together"])
def test_what_comes_after_many_of_them_is_shared(kind: str) -> None:
    small, large = (len(from_onnx(many(kind, count))[0].astext()) for count in (7, 14))
    assert large < 6 * small  # with every one twice as much it would be 128 times as much
    agree(many(kind, 4), ROWS[:1], *conditions(4))


def test_fourteen_of_them_compile_in_seconds() -> None:
    made = many("joined", 14)
    agree(many("joined", 1), ROWS[:1], *conditions(1))  # what is loaded on first use
    started = time.process_time()
    relay.compile(made, threads=1)
    assert time.process_time() - started < 5
    agree(made, ROWS[:1], *conditions(14))


def test_what_is_shared_may_have_open_sizes() -> None:
    made = many("joined", 5, rows="n")
    agree(made, ROWS[:1], *conditions(5))
