"""Shapes of ONNX: asked for, changed, and computed by graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from relay.errors import EvaluationError, FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import Fixed, agree, main_type, model, of_graph, ours, value

X = np.arange(24, dtype="float32").reshape(2, 3, 4)
ONES = np.arange(6, dtype="float32").reshape(1, 3, 1, 2)


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, "int64")


def result_type(given: onnx.ModelProto) -> str:
    return main_type(from_onnx(given)[0])


# --- questions


@pytest.mark.parametrize("part", [{}, {"start": 1}, {"end": -1}, {"start": -9, "end": 2}])
def test_extents(part: dict[str, int]) -> None:
    agree(model("Shape", X, opset=15, **part), X)
    given = model("Shape", X, opset=15, shapes={0: ("n", 3, "m")}, **part)
    agree(given, X)


def test_the_number_of_elements() -> None:
    agree(model("Size", X, opset=13), X)
    agree(model("Size", X, opset=13, shapes={0: ("n", 3, "m")}), X)


# --- other shapes


def test_version_1_of_reshape_has_an_attribute() -> None:
    agree(model("Reshape", X, opset=1, shape=[0, -1]), X, wanted=[X.reshape(2, 12)])


@pytest.mark.parametrize("shape", [(0, -1), (4, 6), (-1,), (2, 0, 2, 2)])
def test_reshape_by_constants_and_by_inputs(shape: tuple[int, ...]) -> None:
    agree(model("Reshape", X, Fixed(ints(*shape)), opset=13), X)
    agree(model("Reshape", X, ints(*shape), opset=13), X, ints(*shape))


def test_zero_is_an_extent_where_that_is_allowed() -> None:
    data = np.zeros((0, 3), "float32")
    agree(model("Reshape", data, Fixed(ints(3, 0)), opset=14, allowzero=1), data)


def test_where_an_extent_of_zero_is_copied_the_others_need_not_be_the_same() -> None:
    data = np.zeros((2, 3, 0, 0), "float32")
    agree(model("Reshape", data, Fixed(ints(6, 0, 0)), opset=13), data)
    agree(model("Reshape", data, ints(6, 0, 0), opset=13), data, ints(6, 0, 0))


def test_names_stay_where_a_shape_has_zeros() -> None:
    given = model("Reshape", X, Fixed(ints(0, -1)), opset=13, shapes={0: ("n", "m", 4)})
    assert result_type(given) == "Tensor[(n, 4 * m), float32]"
    agree(given, X)


@pytest.mark.parametrize("shape", [(4, 6), (-1, 6), (0, 12), (0, 2, -1)])
def test_named_dimensions_may_make_up_numbers(shape: tuple[int, ...]) -> None:
    given = model("Reshape", X, Fixed(ints(*shape)), opset=13, shapes={0: ("n", "m", 4)})
    agree(given, X if shape != (0, 2, -1) else X[:, :2])


def _regrouped(
    last: np.ndarray, *parts: int, shape: tuple[str | int, ...] = ("n", "m", 4)
) -> onnx.ModelProto:
    """Reshape(x, Concat(those elements of Shape(x), last)), as exporters write it."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "parts"], ["kept"], axis=0),
        helper.make_node("Concat", ["kept", "last"], ["wanted"], axis=0),
        helper.make_node("Reshape", ["x", "wanted"], ["y"]),
    ]
    return of_graph(
        nodes,
        [value("x", "float32", shape)],
        [onnx.ValueInfoProto(name="y")],
        [numpy_helper.from_array(ints(*parts), "parts"), numpy_helper.from_array(last, "last")],
    )


@pytest.mark.parametrize(
    ("parts", "last", "wanted"),
    [
        ((0,), (-1,), "Tensor[(n, 4 * m), float32]"),
        ((0, 1), (2, 2), "Tensor[(n, m, 2, 2), float32]"),
        ((1,), (-1,), "Tensor[(m, 4 * n), float32]"),
        ((1, 0), (4,), "Tensor[(m, n, 4), float32]"),
        ((0, 1), (-1, 2), "Tensor[(n, m, 2, 2), float32]"),
    ],
)
def test_shapes_that_a_graph_computes_keep_names(
    parts: tuple[int, ...], last: tuple[int, ...], wanted: str
) -> None:
    given = _regrouped(ints(*last), *parts)
    assert result_type(given) == wanted
    agree(given, X)


def test_an_extent_that_a_run_finds_to_be_zero_copies() -> None:
    for parts in ((1, 2, 0), (1, 2)):
        given = _regrouped(ints(), *parts, shape=("k", "m", "m"))
        agree(given, np.zeros((2, 0, 0), "float32"))  # as 2, 0 and what is there
        agree(given, np.ones((1, 3, 3), "float32"))


def test_rows_that_are_left_keep_the_name_of_their_length() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["m"], start=2),
        helper.make_node("Concat", ["left", "m"], ["wanted"], axis=0),
        helper.make_node("Reshape", ["x", "wanted"], ["y"]),
    ]
    described = [value("x", "float32", ("n", "k", "m"))]
    constants = [numpy_helper.from_array(ints(-1), "left")]
    given = of_graph(nodes, described, [onnx.ValueInfoProto(name="y")], constants)
    assert result_type(given) == "Tensor[(k * n, m), float32]"
    agree(given, X)
    with pytest.raises(EvaluationError, match="node `y`"):  # 0 would copy k
        ours(given, X[:, :, :0])


def test_a_name_may_stand_for_a_number_that_only_a_run_finds() -> None:
    nodes = [
        helper.make_node("Shape", ["rows"], ["n"]),
        helper.make_node("Add", ["n", "one"], ["wanted"]),
        helper.make_node("Reshape", ["x", "wanted"], ["y"]),
    ]
    described = [value("x", "float32", (2, 3)), value("rows", "float32", ["n"])]
    constants = [numpy_helper.from_array(ints(1), "one")]
    given = of_graph(nodes, described, [onnx.ValueInfoProto(name="y")], constants)
    agree(given, X[0, :2, :3], np.zeros(5, "float32"))
    with pytest.raises(EvaluationError, match="the number of elements changes"):
        ours(given, X[0, :2, :3], np.zeros(4, "float32"))


def test_a_computed_shape_of_other_elements_is_refused_as_soon_as_it_is_known() -> None:
    with pytest.raises(FrontendError, match="the number of elements changes"):
        from_onnx(_regrouped(ints(5), 0, 1))
    given = model("Reshape", X, ints(5, 5), opset=13)
    with pytest.raises(EvaluationError, match="the number of elements changes"):
        ours(given, X, ints(5, 5))


@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1])
def test_flatten(axis: int) -> None:
    agree(model("Flatten", X, opset=13, axis=axis), X)
    agree(model("Flatten", X, opset=13, axis=axis, shapes={0: ("n", "m", "k")}), X)


def test_flatten_keeps_what_is_empty() -> None:
    data = np.zeros((0, 3), "float32")
    agree(model("Flatten", data, opset=13), data)
    agree(model("Flatten", data, opset=13, shapes={0: ("n", 3)}), data)


def test_axes_go_by_attribute_by_constant_and_by_input() -> None:
    agree(model("Squeeze", ONES, opset=11, axes=[0, 2]), ONES)
    agree(model("Squeeze", ONES, opset=11), ONES)
    agree(model("Squeeze", ONES, Fixed(ints(0, -2)), opset=13), ONES)
    agree(model("Squeeze", ONES, opset=13), ONES)
    agree(model("Squeeze", ONES, ints(0), opset=13), ONES, ints(0))


def _squeezed_and_joined(rank: int | None, opset: int) -> onnx.ModelProto:
    """All axes of extent 1 go, and the first two parts of what is left are put in front of it."""
    nodes = [
        helper.make_node("Squeeze", ["x"], ["s"], name="all"),
        helper.make_node("Slice", ["s", "from", "to"], ["front"]),
        helper.make_node("Concat", ["front", "s"], ["y"], axis=0),
    ]
    numbers = {"from": ints(0), "to": ints(2)}
    constants = [numpy_helper.from_array(array, name) for name, array in numbers.items()]
    shape = [None] * (rank or 0)
    result = onnx.ValueInfoProto(name="y") if rank is None else value("y", "float32", shape)
    return of_graph(nodes, [value("x", "float32", ("n", 1, 4))], [result], constants, opset)


@pytest.mark.parametrize("opset", [11, 17])
@pytest.mark.parametrize(("rank", "extents"), [(2, (2, 3)), (1, (1,))])
def test_the_declared_rank_says_which_sizes_squeeze_may_find(
    opset: int, rank: int, extents: tuple[int, ...]
) -> None:
    given = _squeezed_and_joined(rank, opset)
    for n in extents:
        agree(given, np.random.default_rng(0).random((n, 1, 4), "float32"))
    wrong = np.zeros((1 if rank == 2 else 3, 1, 4), "float32")
    with pytest.raises(
        EvaluationError, match="another number of axes than it is declared"
    ) as caught:
        ours(given, wrong)
    assert "node `all` (Squeeze)" in str(caught.value)


def test_squeeze_goes_both_ways_where_the_result_has_one_rank() -> None:
    given = _squeezed_and_joined(None, 17)
    given.graph.node.append(helper.make_node("ReduceSum", ["y"], ["z"], keepdims=0))
    given.graph.output[0].CopyFrom(value("z", "float32", ()))
    for n in (1, 2, 3):
        agree(given, np.random.default_rng(0).random((n, 1, 4), "float32"))


def test_squeeze_is_refused_where_nothing_tells_the_rank() -> None:
    with pytest.raises(FrontendError, match="which axes have extent 1") as caught:
        from_onnx(_squeezed_and_joined(None, 17))
    assert "node `all` (Squeeze)" in str(caught.value)


def test_squeeze_of_many_open_axes_has_the_rank_that_is_declared() -> None:
    node = helper.make_node("Squeeze", ["x"], ["y"])
    shape = (None, None, None, 4, "n")
    given = of_graph([node], [value("x", "float32", shape)], [value("y", "float32", ("p", "q"))])
    for extents in ((1, 1, 1, 4, 3), (1, 1, 5, 4, 1), (2, 1, 1, 4, 1)):
        agree(given, np.random.default_rng(0).random(extents, "float32"))
    with pytest.raises(EvaluationError, match="another number of axes than is declared"):
        ours(given, np.zeros((1, 2, 3, 4, 1), "float32"))


def test_axes_come_by_attribute_by_constant_and_by_input() -> None:
    agree(model("Unsqueeze", X, opset=11, axes=[0, 4]), X)
    agree(model("Unsqueeze", X, Fixed(ints(-1, 1)), opset=13), X)
    agree(model("Unsqueeze", X, ints(0, -2), opset=13), X, ints(0, -2))


def test_transpose() -> None:
    agree(model("Transpose", X, opset=13, perm=[2, 0, 1]), X)
    agree(model("Transpose", X, opset=13), X)
    given = model("Transpose", X, opset=13, perm=[2, 0, 1], shapes={0: ("n", 3, 4)})
    assert result_type(given) == "Tensor[(4, n, 3), float32]"


# --- stretched


@pytest.mark.parametrize("shape", [(2, 1, 3, 1, 2), (3, 1, 1), (4, 1, 5, 1), (1,)])
def test_data_and_a_shape_stretch_each_other(shape: tuple[int, ...]) -> None:
    agree(model("Expand", ONES, Fixed(ints(*shape)), opset=13), ONES)
    agree(model("Expand", ONES, ints(*shape), opset=13), ONES, ints(*shape))


def test_a_named_dimension_is_stretched_by_one_or_not_at_all() -> None:
    data = X[:, :1]
    given = model("Expand", data, Fixed(ints(1, 5, 1)), opset=13, shapes={0: ("n", 1, 4)})
    assert result_type(given) == "Tensor[(n, 5, 4), float32]"
    agree(given, data)
    given = model("Expand", data, Fixed(ints(2, 5, 1)), opset=13, shapes={0: ("n", "m", 4)})
    assert result_type(given) == "Tensor[(2, 5, 4), float32]"
    agree(given, data)
    agree(given, data[:1])


# --- space


def test_space_becomes_channels_and_channels_space() -> None:
    data = np.arange(64, dtype="float32").reshape(1, 4, 4, 4)
    agree(model("SpaceToDepth", data, opset=13, blocksize=2), data)
    for mode in ("DCR", "CRD"):
        agree(model("DepthToSpace", data, opset=13, blocksize=2, mode=mode), data)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: model("Unsqueeze", X, opset=11, axes=[5]), "an axis is out of range"),
        (lambda: model("Unsqueeze", X, opset=11, axes=[1, 1]), "an axis is named twice"),
        (lambda: model("Unsqueeze", X, opset=11), "`axes` is missing"),
        (lambda: model("Flatten", X, opset=13, axis=4), "`axis` is out of range"),
        (lambda: model("Reshape", X, Fixed(ints(5, 5)), opset=13), "number of elements changes"),
        (lambda: model("Expand", X, Fixed(ints(5, 4)), opset=13), "does not broadcast"),
        (
            lambda: model("Squeeze", ONES, opset=13, shapes={0: (None, None, None, 2)}),
            "which axes have extent 1",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(given: Any, message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        from_onnx(given())


def test_what_onnx_runtime_takes_beyond_the_standard() -> None:
    """A scalar in place of a list of one element, and an empty list of axes for none at all."""
    one = np.ones(1, "float32")
    agree(model("Expand", one, Fixed(np.array(3)), opset=17), one)
    data = np.ones((3, 1, 4), "float32")
    agree(model("Unsqueeze", data, np.array(1), opset=17), data, np.array(1))
    empty = np.zeros(0, "int64")
    agree(model("Squeeze", data, Fixed(empty), opset=17), data)
    agree(model("Squeeze", data, empty, opset=17), data, empty)


def test_a_computed_extent_may_be_the_code_for_what_is_left() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "first"], ["n"]),
        helper.make_node("Sub", ["n", "four"], ["less"]),
        helper.make_node("Concat", ["less", "two"], ["wanted"], axis=0),
        helper.make_node("Reshape", ["x", "wanted"], ["y"]),
    ]
    numbers = {"first": [0], "four": [4], "two": [2]}
    constants = [numpy_helper.from_array(np.array(v, "int64"), k) for k, v in numbers.items()]
    given = of_graph(
        nodes, [value("x", "float32", ["n", 4])], [value("y", "float32", [None, None])], constants
    )
    for count in (3, 8):
        data = np.arange(4 * count, dtype="float32").reshape(count, 4)
        if count == 3:  # n - 4 is -1
            agree(given, data)
        else:  # 4 x 2 elements are not 32
            with pytest.raises(EvaluationError):
                ours(given, data)


def _by_two(operator: str) -> onnx.ModelProto:
    """Reshape(x, Concat(what an operator makes of two extents of x, the third))."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Split", ["shape", "ones"], ["n", "m", "k"], axis=0),
        helper.make_node(operator, ["n", "m"], ["first"]),
        helper.make_node("Concat", ["first", "k"], ["wanted"], axis=0),
        helper.make_node("Reshape", ["x", "wanted"], ["y"]),
    ]
    constants = [numpy_helper.from_array(ints(1, 1, 1), "ones")]
    described = [value("x", "float32", ["n", "m", "k"])]
    return of_graph(nodes, described, [value("y", "float32", [None, None])], constants)


def test_a_computed_extent_of_nothing_may_be_the_code_for_what_is_left() -> None:
    given = _by_two("Sub")
    agree(given, np.zeros((0, 1, 3), "float32"))  # n - m is -1
    agree(given, np.zeros((2, 3, 4), "float32"))


def test_a_computed_extent_may_be_a_quotient_of_names() -> None:
    agree(_by_two("Div"), np.ones((4, 1, 3), "float32"))
