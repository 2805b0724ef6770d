"""Nodes that are not written as the standard says."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import of_graph, value


def written(
    operator: str, inputs: list[str], outputs: int = 1, **attributes: Any
) -> onnx.ModelProto:
    results = [f"y{place}" for place in range(outputs)]
    node = helper.make_node(operator, inputs, results, **attributes)
    return of_graph([node], [value("x", "float32", (2, 3))], [onnx.ValueInfoProto(name="y0")])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (written("Add", ["x"]), "input `B` is missing"),
        (written("Add", ["x", ""]), "input `B` is missing"),
        (written("Add", ["x", "x", "x"]), "too many inputs"),
        (written("Concat", [], axis=0), "input `inputs` is missing"),
        (written("Concat", ["x", ""], axis=0), "one of `inputs` is missing"),
        (written("SwiGLU", ["x"]), "input `B` is missing"),
        (written("Relu", ["x"], 2), "too many outputs"),
        (written("Concat", ["x", "x"]), "attribute `axis` is missing"),
        (written("Concat", ["x", "x"], axis="last"), "attribute `axis` is of another type"),
        (written("Elu", ["x"], alpha=[1.0]), "attribute `alpha` is of another type"),
    ],
)
def test_they_are_refused(given: onnx.ModelProto, message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        from_onnx(given)


MICROSOFT = "com.microsoft"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (written("FusedMatMul", ["x"], domain=MICROSOFT), "input `right` is missing"),
        (written("FusedMatMul", ["x", ""], domain=MICROSOFT), "input `right` is missing"),
        (written("FusedMatMul", ["x"] * 3, domain=MICROSOFT), "too many inputs"),
        (written("Attention", ["x", "x"], domain=MICROSOFT, num_heads=[2]), "of another type"),
        (written("GroupQueryAttention", ["x"], domain=MICROSOFT), "input `lasts` is missing"),
    ],
)
def test_operators_that_the_standard_does_not_know_are_refused_by_their_converters(
    given: onnx.ModelProto, message: str
) -> None:
    given.opset_import.append(helper.make_opsetid(MICROSOFT, 1))
    with pytest.raises(FrontendError, match=message):
        from_onnx(given)


def test_inputs_that_may_be_left_out_are() -> None:
    from_onnx(written("Clip", ["x", "", ""]))
    from_onnx(written("Clip", ["x"]))


def test_lists_are_of_one_axis_and_one_length() -> None:
    for lists in ((np.array(0), np.array(1)), (np.array([0, 1]), np.array([1]))):
        names = ["start", "end"]
        constants = [
            onnx.numpy_helper.from_array(one, name) for one, name in zip(lists, names, strict=True)
        ]
        node = helper.make_node("Slice", ["x", *names], ["y"])
        outputs = [onnx.ValueInfoProto(name="y")]
        given = of_graph([node], [value("x", "float32", (2, 3))], outputs, constants)
        with pytest.raises(FrontendError, match="list"):
            from_onnx(given)
