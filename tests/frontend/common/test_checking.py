"""What is refused of constants is refused of values that a run finds, in the same words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnxruntime
import pytest

from relay import create_executor
from relay.driver import compile as compile_model
from relay.errors import EvaluationError, FrontendError, RelayError
from relay.frontend.onnx.importer import from_onnx
from relay.ir.module import IRModule
from tests.frontend.onnx.oracle import Fixed, agree, model


def evaluate(module: IRModule, *args: np.ndarray) -> Any:
    return create_executor("debug", module).evaluate()(*args)


Shapes = Mapping[int, Sequence[str | int | None]]


def data(*shape: int) -> np.ndarray:
    return np.arange(int(np.prod(shape)), dtype="float32").reshape(shape)


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, "int64")


def one(number: float, dtype: str = "int64") -> np.ndarray:
    return np.array(number, dtype)


def factors(number: float) -> np.ndarray:
    return np.array([1, 1, number, 1], "float32")


@dataclass(frozen=True)
class Case:
    """A node, of which the last input is a value that does not fit."""

    operator: str
    opset: int
    inputs: tuple[np.ndarray | None, ...]
    message: str
    found: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    shapes: Shapes = field(default_factory=dict)
    outputs: int = 1
    constant: bool = True  # whether the same is refused of a constant
    oracle_refuses: bool = True  # whether ONNX Runtime refuses it too

    def __str__(self) -> str:
        return f"{self.operator}-{self.message.replace(' ', '_')}-{self.found}"

    def model(self, *inputs: Any) -> Any:
        known = {"opset": self.opset, "shapes": self.shapes, "outputs": self.outputs}
        return model(self.operator, *inputs, **known, **self.attributes)


X = data(2, 3)
IMAGE = data(1, 1, 2, 2)
TWO = {"outputs": 2}
CASES = [
    # the reference of the standard refuses it, ONNX Runtime takes what is there
    Case("Compress", 11, (X, np.ones(9, bool)), "longer than the axis", "place 8", {"axis": 0},
         oracle_refuses=False),
    Case("Expand", 13, (data(3), ints(5)), "the shape does not broadcast", "5"),
    Case("Expand", 13, (data(3), ints(0)), "the shape does not broadcast", "0"),
    Case("TopK", 11, (X, ints(-1)), "`k` is negative", "k = -1", **TWO),
    Case("Split", 13, (data(5), ints(2, 4)), "do not fit the axis", "6 in all", **TWO,
         constant=False),
    Case("Split", 13, (data(5), ints(-1, 6)), "do not fit the axis", "-1", **TWO, constant=False),
    Case("Split", 13, (data(5),), "equal parts", "5", **TWO, shapes={0: (None,)}, constant=False),
    Case("Split", 18, (data(1),), "fewer elements than parts", "1", {"num_outputs": 2},
         {0: (None,)}, **TWO, constant=False),
    Case("CumSum", 14, (X, one(2)), "the axis is out of range", "2"),
    Case("CumSum", 14, (data(3), one(-2)), "the axis is out of range", "-2"),
    Case("ReduceSum", 13, (X, ints(2)), "an axis is out of range", constant=False),
    Case("ReduceSum", 13, (X, ints(0, 0)), "an axis is named twice", oracle_refuses=False),
    Case("ReduceMax", 18, (X, ints(1, -1)), "an axis is named twice", oracle_refuses=False),
    Case("Resize", 13, (IMAGE, None, factors(np.nan)), "factor is not positive", "nan"),
    Case("Resize", 13, (IMAGE, None, factors(0)), "factor is not positive", "0"),
    Case("Resize", 13, (IMAGE, None, factors(-1)), "factor is not positive", "-1"),
    Case("Resize", 13, (IMAGE, None, None, ints(1, 1, -4, 4)), "a size is negative", "-4"),
    Case("BatchNormalization", 15, (data(2, 1, 3), *[data(3)] * 4), "each channel", "3",
         shapes={0: (2, None, 3), **dict.fromkeys(range(1, 5), (None,))}, constant=False),
    Case("LayerNormalization", 17, (data(2, 1), data(3)), "scales and offsets does not", "3",
         shapes={0: (2, None), 1: (None,)}, constant=False),
    Case("Slice", 13, (data(4), ints(0), ints(4), ints(1)), "an axis is out of range",
         constant=False),
    Case("Slice", 13, (X, ints(0, 0), ints(1, 1), ints(0, -2)), "an axis is named twice",
         constant=False),
    Case("Pad", 18, (X, ints(1, 0), None, ints(2)), "an axis is out of range", constant=False),
    Case("Unsqueeze", 13, (X, ints(5)), "an axis is out of range", constant=False),
    Case("Unsqueeze", 13, (X, ints(0, 0)), "an axis is named twice"),
    Case("Reshape", 14, (X, ints(-3)), "neither an extent nor -1", "-3"),
    Case("OneHot", 11, (ints(0, 1), one(0), data(2)), "the depth is not positive", "0",
         constant=False),
    Case("ReverseSequence", 10, (data(4, 2), ints(5, 1)), "longer than there are steps", "5"),
    Case("Dropout", 13, (X, one(2, "float32"), one(1, "bool")), "ratio is out of range", "2",
         constant=False),
    Case("SplitToSequence", 11, (data(4), one(0)), "parts have no elements", "0"),
    Case("SplitToSequence", 11, (data(4), ints(2, 1)), "do not fit the axis", "3 in all",
         constant=False),
    Case("DFT", 20, (data(1, 4, 1), None, one(3)), "the axis is not one of the signal", "3"),
    Case("STFT", 17, (data(1, 8, 1), one(0), None, one(4)), "lengths are positive", "0",
         constant=False),
    Case("AffineGrid", 20, (data(2, 2, 3), ints(1, 1, 2, 2)), "a matrix for each image", "2"),
    Case("NonMaxSuppression", 11, (data(1, 2, 4), data(1, 1, 2), one(1), one(2, "float32")),
         "overlap is out of range", "2"),
    Case("RoiAlign", 16, (data(1, 1, 4, 4), data(2, 4), ints(0, 1)), "an index along axis 0", "1",
         constant=False),
    Case("RNN", 14, (data(2, 1, 2), data(1, 3, 2), data(1, 3, 3), None, np.array([5], "int32")),
         "longer than there are steps", "5", {"hidden_size": 3}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_run_refuses_what_does_not_fit(case: Case) -> None:
    given = case.model(*case.inputs)
    module, _ = from_onnx(given)
    with pytest.raises(EvaluationError) as caught:
        evaluate(module, *(given for given in case.inputs if given is not None))
    said = caught.value.diagnostics[0]
    assert case.message in said.message and case.found in (said.found or "")
    assert f"({case.operator})" in str(said.span)


@pytest.mark.parametrize("case", [case for case in CASES if case.constant], ids=str)
def test_the_same_is_said_of_constants(case: Case) -> None:
    *before, last = case.inputs
    assert last is not None
    with pytest.raises(FrontendError, match=case.message) as caught:
        from_onnx(case.model(*before, Fixed(last)))
    assert f"({case.operator})" in str(caught.value)


@pytest.mark.parametrize("case", [case for case in CASES if case.oracle_refuses], ids=str)
def test_onnx_runtime_refuses_it_too(case: Case) -> None:
    onnxruntime.set_default_logger_severity(4)
    feed = {f"x{n}": given for n, given in enumerate(case.inputs) if given is not None}
    with pytest.raises(Exception, match="ONNXRuntimeError"):
        session = onnxruntime.InferenceSession(case.model(*case.inputs).SerializeToString())
        session.run(None, feed)


@pytest.mark.parametrize("number", [1, 3, 13], ids=lambda number: str(CASES[number]))
def test_native_code_refuses_it_in_the_same_words(number: int) -> None:
    case = CASES[number]
    exe = compile_model(case.model(*case.inputs))
    with pytest.raises(RelayError, match=case.message) as caught:
        exe(*(given for given in case.inputs if given is not None))
    assert f"({case.operator})" in str(caught.value) and case.found in str(caught.value)


def test_what_fits_is_computed() -> None:
    condition = np.array([False, True] + [False] * 7)
    agree(model("Compress", X, condition, opset=11, axis=0), X, condition)
    agree(model("Expand", data(3), ints(1), opset=13), data(3), ints(1))
    agree(model("Split", data(6), opset=13, outputs=2, shapes={0: (None,)}), data(6))


def test_the_declared_rank_says_how_many_axes_go() -> None:
    given = model("ReduceSum", X, ints(1), opset=13, shapes={1: (None,)}, keepdims=0)
    with pytest.raises(FrontendError, match="how many axes go"):
        from_onnx(given)
    kind = given.graph.output[0].type.tensor_type
    kind.elem_type = 1
    kind.shape.dim.add()
    agree(given, X, ints(1))
    with pytest.raises(EvaluationError):
        evaluate(from_onnx(given)[0], X, ints(0, 1))
