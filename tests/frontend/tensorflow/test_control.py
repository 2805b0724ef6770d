"""Loops, branches, functions, arrays and variables of graphs."""

import numpy as np
import pytest

import relay
from relay.errors import FrontendError
from relay.frontend import from_tensorflow
from tests.frontend.tensorflow.graphs import Function, Graph, Type, node
from tests.frontend.tensorflow.models import PROGRAMS, agree, load
from tests.support import sampling
from tests.support.looping import naming


def test_programs_give_what_tensorflow_gave() -> None:
    for one in sampling.part_of(load(PROGRAMS), 6):
        with naming(one.name):
            agree(one)


def test_compiled_programs_give_what_tensorflow_gave() -> None:
    for one in sampling.part_of(load(PROGRAMS), 20):
        with naming(one.name):
            agree(one, compiled=True)


@pytest.mark.full
@pytest.mark.timeout(1200)
def test_all_programs_give_what_tensorflow_gave() -> None:
    for one in load(PROGRAMS):
        with naming(one.name):
            agree(one)
            agree(one, compiled=True)


def halving() -> Graph:
    """while (sum(x) > 1) { x = x / 2 }"""
    graph = Graph()
    graph.input("x", None)
    condition = [
        node("axis", "Const", dtype=Type("int32"), value=np.array([0], "int32")),
        node("one", "Const", dtype=Type("float32"), value=np.array(1, "float32")),
        node("total", "Sum", ["x", "axis:output:0"]),
        node("more", "Greater", ["total:output:0", "one:output:0"]),
    ]
    graph.function("condition", {"x": "float32"}, condition, {"p": ("bool", "more:z:0")})
    body = [
        node("half", "Const", dtype=Type("float32"), value=np.array(0.5, "float32")),
        node("less", "Mul", ["x", "half:output:0"]),
    ]
    graph.function("body", {"x": "float32"}, body, {"y": ("float32", "less:z:0")})
    functions = {"cond": Function("condition"), "body": Function("body")}
    graph.node("loop", "StatelessWhile", ["x"], **functions)
    return graph


def test_a_loop_is_a_recursive_function() -> None:
    mod, params = from_tensorflow(halving().bytes())
    text = mod.astext()
    assert "let %loop = fn (%state_0: Tensor[(n0), float32])" in text
    assert "if (%more)" in text
    exe = relay.compile(mod, params)
    np.testing.assert_allclose(exe(np.array([3, 4], "float32")), [0.375, 0.5])
    np.testing.assert_allclose(exe(np.array([0.25], "float32")), [0.25])


def counter(op: str = "AssignAddVariableOp") -> Graph:
    """What a step adds to a variable, which it gives before and after."""
    graph = Graph()
    graph.input("x", 2)
    graph.node("v", "VarHandleOp", dtype=Type("float32"), shared_name="total")
    body = [
        node("before", "ReadVariableOp", ["v"], dtype=Type("float32")),
        node("add", op, ["v", "x", "^before"], dtype=Type("float32")),
        node("after", "ReadVariableOp", ["v", "^add"], dtype=Type("float32")),
    ]
    results = {name: ("float32", f"{name}:value:0") for name in ("before", "after")}
    arguments = {"v": "resource", "x": "float32"}
    graph.function("step", arguments, body, results, effects=["add"])
    graph.node("call", "StatefulPartitionedCall", ["v", "x"], f=Function("step"))
    return graph


def test_variables_that_are_written_are_state() -> None:
    from relay.frontend.tensorflow import sources

    begin = {"total": np.array([1, 2], "float32")}
    model = sources.read(counter().bytes(), ["call:0", "call:1"], None, None)
    held = sources.with_variables(model, begin)
    mod, params = from_tensorflow(held)
    exe = relay.compile(mod, params)
    x = np.array([1, 1], "float32")
    for turn in range(3):
        before, after = exe(x)
        np.testing.assert_array_equal(before, begin["total"] + turn)
        np.testing.assert_array_equal(after, begin["total"] + turn + 1)
    np.testing.assert_array_equal(exe.state["total"], [4, 5])


def test_a_variable_without_a_value_is_named() -> None:
    with pytest.raises(FrontendError, match="variable `total` has no value"):
        from_tensorflow(counter().bytes(), outputs=["call:0"])


def test_elements_of_lists_have_one_number_of_axes() -> None:
    graph = Graph()
    graph.input("x", 2)
    graph.constant("any", np.array(-1, "int32"))
    graph.constant("count", np.array(2, "int32"))
    graph.constant("zero", np.array(0, "int32"))
    graph.constant("row", np.zeros((1, 2), "float32"))
    graph.node("list", "TensorListReserve", ["any", "count"], element_dtype=Type("float32"))
    graph.node("first", "TensorListSetItem", ["list", "zero", "x"])
    graph.node("second", "TensorListSetItem", ["first", "zero", "row"])
    graph.node("all", "TensorListStack", ["second", "any"], element_dtype=Type("float32"))
    with pytest.raises(FrontendError, match="different numbers of axes"):
        from_tensorflow(graph.bytes())
