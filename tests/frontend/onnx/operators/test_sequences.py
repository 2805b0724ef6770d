"""Sequences as lists, optionals as options."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from relay import create_executor, onnx_backend
from relay.errors import EvaluationError, FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import agree, of_graph, ours, reference, value

X = np.arange(6, dtype="float32").reshape(2, 3)


def name(of: str) -> onnx.ValueInfoProto:
    return onnx.ValueInfoProto(name=of)


def of_sequence(*nodes: onnx.NodeProto) -> onnx.ModelProto:
    """What is done to the sequence [x, -x, x]."""
    before = [
        helper.make_node("Neg", ["x"], ["n"]),
        helper.make_node("SequenceConstruct", ["x", "n", "x"], ["s"]),
    ]
    inputs = [value("x", "float32", ("rows", 3)), value("at", "int64", ())]
    return of_graph([*before, *nodes], inputs, [name("y")])


@pytest.mark.parametrize("at", [0, 1, 2, -1, -3])
def test_elements_are_found_by_position(at: int) -> None:
    agree(of_sequence(helper.make_node("SequenceAt", ["s", "at"], ["y"])), X, np.array(at))


@pytest.mark.parametrize("at", [0, 2, -2])
def test_elements_are_put_in_and_taken_out(at: int) -> None:
    whole = helper.make_node("ConcatFromSequence", ["t"], ["y"], axis=0)
    insert = helper.make_node("SequenceInsert", ["s", "x", "at"], ["t"])
    erase = helper.make_node("SequenceErase", ["s", "at"], ["t"])
    agree(of_sequence(insert, whole), X, np.array(at))
    agree(of_sequence(erase, whole), X, np.array(at))


def test_at_the_end_by_default() -> None:
    whole = helper.make_node("ConcatFromSequence", ["t"], ["y"], axis=1, new_axis=1)
    nodes = [helper.make_node("Exp", ["x"], ["e"])]
    insert = helper.make_node("SequenceInsert", ["s", "e"], ["t"])
    erase = helper.make_node("SequenceErase", ["s"], ["t"])
    agree(of_sequence(*nodes, insert, whole), X, np.array(0))
    agree(of_sequence(*nodes, erase, whole), X, np.array(0))


def test_how_many_there_are() -> None:
    agree(of_sequence(helper.make_node("SequenceLength", ["s"], ["y"])), X, np.array(0))


def test_an_empty_sequence_takes_its_type_from_what_is_put_in() -> None:
    nodes = [
        helper.make_node("SequenceEmpty", [], ["none"]),
        helper.make_node("SequenceInsert", ["none", "x"], ["one"]),
        helper.make_node("SequenceAt", ["one", "at"], ["y"]),
    ]
    agree(of_sequence(*nodes), X, np.array(0))


def of_any_rank(*nodes: onnx.NodeProto, output: onnx.ValueInfoProto) -> onnx.ModelProto:
    """What is done to a sequence of a matrix and one of its rows."""
    before = [
        helper.make_node("Gather", ["x", "at"], ["row"]),
        helper.make_node("SequenceConstruct", ["x", "row"], ["both"]),
    ]
    inputs = [value("x", "float32", ("rows", 3)), value("at", "int64", ())]
    return of_graph([*before, *nodes], inputs, [output])


def agree_on_sequence(model: onnx.ModelProto, *inputs: Any, wanted: Any = None) -> None:
    """The one result of the compiled model, in arrays, is that of the reference or `wanted`."""
    (found,) = onnx_backend.run_model(model, list(inputs))
    theirs = reference(model, *inputs)[0] if wanted is None else wanted
    assert [one.shape for one in found] == [one.shape for one in theirs]
    for mine, one in zip(found, theirs, strict=True):
        np.testing.assert_allclose(mine, one, rtol=1e-5)


def test_elements_have_any_number_of_axes() -> None:
    same = helper.make_node("Identity", ["both"], ["y"])
    agree_on_sequence(of_any_rank(same, output=name("y")), X, np.array(1))
    insert = helper.make_node("SequenceInsert", ["both", "at", "at"], ["y"])
    with pytest.raises(FrontendError, match="elements of a sequence are of different types"):
        from_onnx(of_any_rank(insert, output=name("y")))
    more = [
        helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0),
        helper.make_node("SequenceInsert", ["both", "sum", "at"], ["three"]),
        helper.make_node("SequenceErase", ["three"], ["y"]),
    ]
    agree_on_sequence(of_any_rank(*more, output=name("y")), X, np.array(1))


def test_how_many_axes_one_of_them_has_is_declared() -> None:
    at = helper.make_node("SequenceAt", ["both", "at"], ["y"])
    agree(of_any_rank(at, output=value("y", "float32", ("n",))), X, np.array(1))
    agree(of_any_rank(at, output=value("y", "float32", ("n", 3))), X, np.array(0))
    with pytest.raises(EvaluationError):
        ours(of_any_rank(at, output=value("y", "float32", ("n",))), X, np.array(0))
    with pytest.raises(FrontendError, match="may have any number of axes"):
        from_onnx(of_any_rank(at, output=name("y")))


def sequence(of: str, is_optional: bool = False) -> onnx.ValueInfoProto:
    """An input that says nothing about the shapes of its elements."""
    ty = helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, None))
    whole = helper.make_optional_type_proto(ty) if is_optional else ty
    return helper.make_value_info(of, whole)


@pytest.mark.parametrize("given", [[], [X], [X, X[0]]])
def test_a_sequence_whose_elements_are_not_declared(given: list[np.ndarray]) -> None:
    nodes = [helper.make_node("SequenceInsert", ["s", "x"], ["y"])]
    inputs = [sequence("s"), value("x", "float32", (2, 3))]
    agree_on_sequence(of_graph(nodes, inputs, [name("y")]), given, X, wanted=[*given, X])


@pytest.mark.parametrize("turns", [0, 1, 3])
@pytest.mark.parametrize("given", [None, [X[0]]])
def test_a_loop_makes_a_sequence_of_an_optional_one(turns: int, given: Any) -> None:
    ways = {
        "then_branch": helper.make_graph(
            [helper.make_node("OptionalGetElement", ["before"], ["a"])], "then", [], [name("a")]
        ),
        "else_branch": helper.make_graph(
            [helper.make_node("SequenceConstruct", ["x"], ["b"])], "else", [], [name("b")]
        ),
    }
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["go_on"]),
            helper.make_node("OptionalHasElement", ["before"], ["is_there"]),
            helper.make_node("If", ["is_there"], ["now"], **ways),
            helper.make_node("SequenceInsert", ["now", "x"], ["after"]),
        ],
        "body",
        [value("i", "int64", ()), value("go", "bool", ()), sequence("before", is_optional=True)],
        [value("go_on", "bool", ()), sequence("after")],
    )
    nodes = [helper.make_node("Loop", ["turns", "", "s"], ["y"], body=body)]
    inputs = [
        value("turns", "int64", ()),
        sequence("s", is_optional=True),
        value("x", "float32", (2, 3)),
    ]
    model = of_graph(nodes, inputs, [name("y")])
    if turns == 0 and given is None:
        assert onnx_backend.run_model(model, [np.array(turns), given, X]) == (None,)
        return
    wanted = given if turns == 0 else [*(given or [X]), *[X] * turns]
    agree_on_sequence(model, np.array(turns), given, X, wanted=wanted)


@pytest.mark.parametrize("sizes", [None, np.array(2), np.array([1, 3, 1])])
@pytest.mark.parametrize("fixed", [True, False])
def test_a_tensor_in_parts(sizes: np.ndarray | None, fixed: bool) -> None:
    x = np.arange(10, dtype="float32").reshape(2, 5)
    inputs = [value("x", "float32", (2, 5))]
    constants, given = [], [x]
    if sizes is not None and fixed:
        constants = [onnx.numpy_helper.from_array(sizes, "n")]
    elif sizes is not None:
        inputs.append(value("n", "int64", sizes.shape))
        given.append(sizes)
    names = ["x"] if sizes is None else ["x", "n"]
    nodes = [
        helper.make_node("SplitToSequence", names, ["s"], axis=1),
        helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0),
    ]
    if sizes is not None:
        nodes[1] = helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=1)
    agree(of_graph(nodes, inputs, [name("y")], constants), *given)


def test_optionals() -> None:
    nodes = [
        helper.make_node("Optional", ["x"], ["o"]),
        helper.make_node("OptionalHasElement", ["o"], ["there"]),
        helper.make_node("OptionalGetElement", ["o"], ["got"]),
        helper.make_node("Where", ["there", "got", "n"], ["y"]),
    ]
    agree(of_sequence(*nodes), X, np.array(0), wanted=[X])


@pytest.mark.parametrize("keep", [0, 1])
def test_an_axis_of_any_size_is_split_into_single_rows(keep: int) -> None:
    nodes = [
        helper.make_node("SplitToSequence", ["x"], ["rows"], axis=0, keepdims=keep),
        helper.make_node("ConcatFromSequence", ["rows"], ["y"], axis=0),
        helper.make_node("SequenceLength", ["rows"], ["count"]),
    ]
    made = of_graph(nodes, [value("x", "float32", ["n", 3])], [name("y"), name("count")])
    for rows in (1, 4):
        agree(made, np.arange(3 * rows, dtype="float32").reshape(rows, 3))


@pytest.mark.parametrize(("operator", "at"), [("At", 3), ("At", -4), ("At", 2**32), ("Erase", 3)])
def test_a_position_out_of_range_ends_the_run_at_the_node(operator: str, at: int) -> None:
    node = helper.make_node(f"Sequence{operator}", ["s", "at"], ["found"], name="chosen")
    nodes = [node, helper.make_node("SequenceLength", ["found"], ["y"])]
    if operator == "At":
        nodes = [node, helper.make_node("Identity", ["found"], ["y"])]
    run = create_executor("debug", from_onnx(of_sequence(*nodes))[0]).evaluate()
    with pytest.raises(EvaluationError, match="the position is out of range") as caught:
        run(X, np.array(at))
    said = caught.value.diagnostics[0]
    assert "node `chosen`" in str(said.span)
    assert (said.expected, said.found) == ("a position of 3 elements", str(at))


def test_a_constant_position_out_of_range_ends_the_run_at_the_node() -> None:
    at = helper.make_node("Constant", [], ["fourth"], value_int=3)
    node = helper.make_node("SequenceAt", ["s", "fourth"], ["y"], name="chosen")
    with pytest.raises(EvaluationError, match="the position is out of range") as caught:
        ours(of_sequence(at, node), X, np.array(0))
    assert "node `chosen`" in str(caught.value)
