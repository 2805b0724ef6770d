"""Parts of tensors in ONNX: joined, sliced, cut and picked out."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from relay.errors import EvaluationError, FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import Fixed, agree, main_type, model, of_graph, ours, value

X = np.arange(60, dtype="float32").reshape(3, 4, 5)


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, "int64")


# --- joined


def test_concat_and_its_first_version() -> None:
    agree(model("Concat", X, X[:1], opset=13, axis=0), X, X[:1])
    agree(model("Concat", X, X[..., :1], opset=13, axis=-1), X, X[..., :1])
    agree(model("Concat", X, X, opset=1), X, X, wanted=[np.concatenate([X, X], 1)])
    agree(model("Concat", X, opset=13, axis=1), X)


def test_named_dimensions_are_added_up() -> None:
    given = model("Concat", X, X, opset=13, axis=0, shapes={0: ("n", 4, 5), 1: ("m", 4, 5)})
    assert main_type(from_onnx(given)[0]) in (
        "Tensor[(n + m, 4, 5), float32]",
        "Tensor[(m + n, 4, 5), float32]",
    )
    agree(given, X, X[:1])


def test_other_dimensions_must_be_the_same_in_a_run() -> None:
    shapes = {0: ("n", "m", 5), 1: (1, 4, "k"), 2: (None, "j", 5)}
    given = model("Concat", X, X[:1], X, opset=13, axis=0, shapes=shapes)
    assert main_type(from_onnx(given)[0]) == "Tensor[(?, 4, 5), float32]"
    agree(given, X, X[:1], X)
    with pytest.raises(EvaluationError):
        ours(given, X, X[:1], X[:, :2])


# --- slices

SLICES: list[tuple[list[int], list[int], list[int], list[int]]] = [
    ([0, 1], [2, 4], [0, 2], [1, 1]),
    ([-2, 0], [2**63 - 1, -1], [1, 2], [1, 2]),
    ([4, 2], [-(2**63), 0], [2, 0], [-1, -1]),
    ([1], [1], [0], [1]),
    ([10], [20], [1], [1]),
]


@pytest.mark.parametrize(("starts", "ends", "axes", "steps"), SLICES)
def test_slices_by_constants_and_by_inputs(
    starts: list[int], ends: list[int], axes: list[int], steps: list[int]
) -> None:
    lists = [ints(*one) for one in (starts, ends, axes, steps)]
    agree(model("Slice", X, *map(Fixed, lists), opset=13), X)
    agree(model("Slice", X, *lists, opset=13), X, *lists)


def test_slices_along_known_axes_that_a_run_bounds() -> None:
    starts, ends = np.array([1, -3], "int32"), np.array([3, 100], "int32")
    axes = Fixed(np.array([0, -1], "int32"))
    agree(model("Slice", X, starts, ends, axes, opset=13), X, starts, ends)
    agree(model("Slice", X, starts, ends, opset=13), X, starts, ends)


def test_the_first_version_of_slices_has_attributes() -> None:
    agree(model("Slice", X, opset=9, starts=[1, 0], ends=[3, -1], axes=[0, 2]), X)
    agree(model("Slice", X, opset=9, starts=[1], ends=[1000]), X)


def test_a_slice_up_to_a_named_dimension_has_its_name() -> None:
    nodes = [
        helper.make_node("Shape", ["y"], ["shape"]),
        helper.make_node("Slice", ["shape", "zero", "one"], ["end"]),
        helper.make_node("Slice", ["x", "zero", "end", "zero"], ["z"]),
    ]
    given = of_graph(
        nodes,
        [value("x", "float32", (512, 4)), value("y", "float32", ("n", 4))],
        [onnx.ValueInfoProto(name="z")],
        [numpy_helper.from_array(ints(0), "zero"), numpy_helper.from_array(ints(1), "one")],
    )
    assert main_type(from_onnx(given)[0]) == "Tensor[(min(512, n), 4), float32]"
    data = np.arange(2048, dtype="float32").reshape(512, 4)
    agree(given, data, np.zeros((7, 4), "float32"))


# --- pieces


def test_pieces_of_equal_and_other_sizes() -> None:
    agree(model("Split", X, opset=11, outputs=2, axis=1), X)
    agree(model("Split", X, opset=11, outputs=2, axis=1, split=[1, 3]), X)
    agree(model("Split", X, Fixed(ints(2, 3)), opset=13, outputs=2, axis=-1), X)
    agree(model("Split", X, opset=13, outputs=3), X)


def test_version_1_has_sizes_as_an_input_too() -> None:
    given = model("Split", X, Fixed(ints(1, 3)), opset=1, outputs=2, axis=1)
    agree(given, X, wanted=np.split(X, [1], 1))


def test_sizes_of_a_run() -> None:
    given = model("Split", X, ints(1, 3), opset=13, outputs=2, axis=1)
    agree(given, X, ints(1, 3))


def test_from_version_18_on_the_last_piece_may_be_smaller() -> None:
    agree(model("Split", X, opset=18, outputs=2, axis=2, num_outputs=2), X)
    given = model("Split", X, opset=18, outputs=2, axis=2, num_outputs=2, shapes={0: (3, 4, "n")})
    agree(given, X)


def test_pieces_of_a_named_dimension() -> None:
    given = model(
        "Split", X, Fixed(ints(2, 3)), opset=13, outputs=2, axis=2, shapes={0: (3, 4, "n")}
    )
    wanted = "(Tensor[(3, 4, 2), float32], Tensor[(3, 4, 3), float32])"
    assert main_type(from_onnx(given)[0]) == wanted
    agree(given, X)


def test_an_output_that_nobody_wants() -> None:
    given = model("Split", X, opset=13, outputs=["", "second"], axis=1)
    agree(given, X, wanted=[X[:, 2:]])


# --- picked out


def test_what_truth_values_pick() -> None:
    some = np.array([False, True, True])
    agree(model("Compress", X, some, opset=11, axis=0), X, some)
    agree(model("Compress", X, some, opset=11), X, some)
    agree(model("Compress", X, Fixed(some), opset=11, axis=-2), X)


def test_sequences_are_turned_around() -> None:
    lengths = ints(1, 2, 3, 3)
    agree(model("ReverseSequence", X, lengths, opset=10), X, lengths)
    lengths = ints(4, 2, 3)
    given = model("ReverseSequence", X, lengths, opset=10, time_axis=1, batch_axis=0)
    agree(given, X, lengths)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: model("Split", X, Fixed(ints(1, 1)), opset=13, outputs=2, axis=1), "fit the axis"),
        (lambda: model("Split", X, Fixed(ints(4)), opset=13, outputs=2, axis=1), "fit the outputs"),
        (lambda: model("Split", X, opset=13, outputs=2, axis=3), "`axis` is out of range"),
        (lambda: model("Concat", X, X, opset=13), "`axis` is missing"),
    ],
)
def test_what_makes_no_sense_is_refused(given: Any, message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        from_onnx(given())


@pytest.mark.parametrize("step", [2, -1])
def test_a_start_before_the_first_element_of_an_axis_counted_from_the_back(step: int) -> None:
    lists = ints(-9), ints(9 if step > 0 else -9), ints(-1), ints(step)
    given = model("Slice", X, *lists[:2], Fixed(lists[2]), lists[3], opset=13)
    agree(given, X, *lists[:2], lists[3])
