"""Sequences as lists, optionals as options."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.judge import agree, of_graph, value

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


def test_elements_of_different_ranks_are_refused() -> None:
    nodes = [
        helper.make_node("Gather", ["x", "at"], ["row"]),
        helper.make_node("SequenceConstruct", ["x", "row"], ["y"]),
    ]
    with pytest.raises(FrontendError, match="elements of a sequence are of different types"):
        from_onnx(of_sequence(*nodes))


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
