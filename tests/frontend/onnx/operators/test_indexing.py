"""Positions in ONNX: elements read and written by them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import Fixed, agree, main_type, model, reference

X = np.arange(24, dtype="float32").reshape(2, 3, 4)
PLACES = np.array([[0, -1], [2, -3]], "int64")


# --- read


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_places_along_an_axis_may_count_from_the_back(dtype: str) -> None:
    places = PLACES.astype(dtype)
    agree(model("Gather", X, places, opset=13, axis=1), X, places)
    agree(model("Gather", X, Fixed(places), opset=13, axis=-2), X)


def test_places_along_an_axis_of_a_named_extent() -> None:
    given = model("Gather", X, PLACES, opset=13, axis=1, shapes={0: ("n", "m", 4)})
    assert main_type(from_onnx(given)[0]) == "Tensor[(n, 2, 2, 4), float32]"
    agree(given, X, PLACES)
    agree(model("Gather", X, Fixed(PLACES), opset=13, axis=1, shapes={0: (2, "m", 4)}), X)


def test_a_single_place_takes_the_axis_away() -> None:
    place = np.array(-1, "int64")
    agree(model("Gather", X, Fixed(place), opset=13), X)


def test_a_place_for_every_element() -> None:
    places = np.array([[[2, -1, 0, 1]], [[0, 0, -3, 2]]], "int64")
    agree(model("GatherElements", X, places, opset=13, axis=1), X, places)
    agree(model("GatherElements", X, Fixed(places), opset=13, axis=-2), X)


def test_places_of_a_part_of_the_elements() -> None:
    places = np.array([[[2, -1], [0, 1]]], "int64")
    agree(model("GatherElements", X, places, opset=13, axis=1), X, places)
    given = model("GatherElements", X, places, opset=13, axis=1, shapes={0: ("n", 3, None)})
    agree(given, X, places)


@pytest.mark.parametrize("shared", [0, 1])
def test_places_of_several_indices(shared: int) -> None:
    places = np.array([[[0, 1], [-1, -2]], [[1, 2], [0, -1]]], "int64")
    agree(model("GatherND", X, places, opset=13, batch_dims=shared), X, places)
    given = model("GatherND", X, places, opset=13, batch_dims=shared, shapes={0: (2, "n", "m")})
    agree(given, X, places)


# --- written


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "min", "max"])
def test_elements_are_written_and_combined(reduction: str) -> None:
    places = np.array([[[0, -1, 2, 1]], [[2, 0, 1, -3]]], "int64")
    updates = np.array([[[5, 1, 2, 3]], [[50, -1, 2, 7]]], "float32")
    given = model("ScatterElements", X, places, updates, opset=18, axis=1, reduction=reduction)
    agree(given, X, places, updates)


def test_older_names_and_versions_of_it() -> None:
    places, updates = np.array([[[1, 0, 2, 1]]], "int64"), np.ones((1, 1, 4), "float32")
    for operator, opset in (("Scatter", 9), ("ScatterElements", 11)):
        agree(model(operator, X, places, updates, opset=opset, axis=1), X, places, updates)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "min", "max"])
def test_slices_are_written_and_combined(reduction: str) -> None:
    places = np.array([[0, 1], [1, -1]], "int64")
    updates = np.array([[1, 2, 3, 4], [50, -1, 2, 7]], "float32")
    given = model("ScatterND", X, places, updates, opset=18, reduction=reduction)
    agree(given, X, places, updates)


def test_slices_are_as_long_as_the_updates_say() -> None:
    places = np.array([[1], [0]], "int64")
    given = model("ScatterND", X, places, X, opset=18, shapes={0: ("n", 3, None), 2: (2, "m", 4)})
    assert main_type(from_onnx(given)[0]) == "Tensor[(n, 3, 4), float32]"
    agree(given, X, places, X)


@pytest.mark.parametrize("mode", ["linear", "circular"])
def test_a_cache_is_written_from_a_place_of_each_sequence_on(mode: str) -> None:
    cache = np.zeros((2, 3, 5, 2), "float32")
    update = np.arange(24, dtype="float32").reshape(2, 3, 2, 2)
    starts = np.array([1, 3 if mode == "linear" else 4], "int64")
    given = model("TensorScatter", cache, update, starts, opset=24, mode=mode)
    agree(given, cache, update, starts, oracle=reference)


def test_a_cache_is_written_from_its_beginning_on_where_nothing_is_said() -> None:
    cache, update = np.zeros((2, 5, 3), "float32"), np.ones((2, 2, 3), "float32")
    given = model("TensorScatter", cache, update, opset=24, axis=1)
    wanted = cache.copy()
    wanted[:, :2] = 1
    agree(given, cache, update, wanted=[wanted])


# --- made


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_one_place_is_on(axis: int) -> None:
    depth, values = np.array([4], "int64"), np.array([2, 5], "float32")
    agree(model("OneHot", PLACES, depth, values, opset=11, axis=axis), PLACES, depth, values)
    agree(model("OneHot", PLACES, Fixed(depth), Fixed(values), opset=11, axis=axis), PLACES)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: model("Gather", X, PLACES, opset=13, axis=3), "`axis` is out of range"),
        (
            lambda: model("ScatterND", X, PLACES, X, opset=18, reduction="mean"),
            "no such reduction",
        ),
        (
            lambda: model("GatherND", X, PLACES, opset=13, shapes={1: (2, "n")}),
            "how many indices name a place",
        ),
        (lambda: model("GatherND", X, PLACES, opset=13, batch_dims=2), "more indices than axes"),
    ],
)
def test_what_makes_no_sense_is_refused(given: Any, message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        from_onnx(given())
