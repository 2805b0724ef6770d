"""Models of TFLite as modules: weights, names, sizes that are left open, what is refused."""

from pathlib import Path

import numpy as np
import pytest
import tflite

import relay
from relay.errors import FrontendError
from relay.frontend import from_tflite
from tests.frontend.tflite.models import Case, Given, Out, Writer, build, fixed, litert

SCALES = np.random.default_rng(3)


def real(*shape: int) -> np.ndarray:
    return SCALES.standard_normal(shape).astype("float32")


def convolution(**more: int) -> Case:
    data = Given(real(2, 6, 8, 3), **more)
    held = [Given(real(*shape), fixed=True) for shape in ((4, 3, 3, 3), (4,))]
    return Case("CONV_2D", [data, *held], [Out()], "Conv2DOptions", {"strideH": 2, "strideW": 1})


def test_weights_of_layers_are_parameters_by_name() -> None:
    mod, params = from_tflite(build(convolution()))
    assert {name: one.shape for name, one in params.items()} == {"x1": (4, 3, 3, 3), "x2": (4,)}
    assert [one.name_hint for one in mod["main"].params] == ["x0", "x1", "x2"]


def test_images_stay_as_they_are() -> None:
    mod, _ = from_tflite(build(convolution()))
    assert 'data_layout="NHWC"' in mod.astext()


def test_a_file_is_known_by_its_content(tmp_path: Path) -> None:
    case = convolution()
    data = build(case)
    path = tmp_path / "net.model"
    path.write_bytes(data)
    (wanted,) = litert(data, case.feeds)
    for form in (path, str(path), data, tflite.Model.GetRootAs(data, 0)):
        found = relay.compile(form)(*case.feeds)
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def test_sizes_that_are_left_open_are_variables() -> None:
    data = build(convolution(open=(0, 1)))
    mod, params = from_tflite(data)
    assert "Tensor[(n0, d1, 8, 3), float32]" in str(mod["main"].checked_type)
    exe = relay.compile(mod, params)
    for batch, height in ((1, 5), (2, 6), (7, 9)):
        x = real(batch, height, 8, 3)
        np.testing.assert_allclose(exe(x), litert(data, [x])[0], rtol=1e-4, atol=1e-4)


def test_shapes_and_element_types_can_be_given() -> None:
    data = build(convolution(open=(0, 1)))
    mod, _ = from_tflite(data, {"x0": (1, 9, 8, 3)}, {"x0": "float16"})
    assert "Tensor[(1, 9, 8, 3), float16]" in str(mod["main"].checked_type)
    for given in ({"y": (1,)}, None):
        with pytest.raises(FrontendError, match="has no input `y`"):
            from_tflite(data, given, None if given else {"y": "int8"})


def test_all_unsupported_operators_are_named_at_once() -> None:
    writer = Writer()
    graph = writer.graph()
    numbers = [writer.tensor(graph, f"t{place}", "float32", (2,)) for place in range(4)]
    writer.operator(graph, "MyOperator", numbers[:1], numbers[1:2], custom=b"x")
    writer.operator(graph, "SKIP_GRAM", numbers[1:2], numbers[2:3])
    writer.operator(graph, "MyOperator", numbers[2:3], numbers[3:])
    graph.inputs, graph.outputs = numbers[:1], numbers[3:]
    with pytest.raises(FrontendError) as caught:
        from_tflite(writer.bytes())
    text = str(caught.value)
    assert "custom operator `MyOperator`, 2 times: `t1`, `t3`" in text
    assert "operator `SKIP_GRAM`, 1 time: `t2`" in text


def test_errors_name_the_operator() -> None:
    case = Case("TRANSPOSE", [real(2, 3), fixed((0, 0))], [Out()])
    with pytest.raises(FrontendError, match="operator 0 TRANSPOSE `y0`"):
        from_tflite(build(case))


def test_the_number_of_an_operator_is_read_from_either_field() -> None:
    case = Case("NEG", [real(3)])
    writer = Writer()
    graph = writer.graph()
    numbers = [writer.tensor(graph, name, "float32", (3,)) for name in "xy"]
    writer.operator(graph, "NEG", numbers[:1], numbers[1:])
    graph.inputs, graph.outputs = numbers[:1], numbers[1:]
    writer.model.operatorCodes[0].deprecatedBuiltinCode = 0
    np.testing.assert_array_equal(relay.compile(writer.bytes())(*case.feeds), -case.feeds[0])


def test_shapes_that_a_model_computes_keep_their_names() -> None:
    writer = Writer()
    graph = writer.graph()
    data = writer.tensor(graph, "x", "float32", (2, 3, 4), signature=(-1, 3, 4))
    whole = writer.tensor(graph, "whole", "int32", (3,))
    zero, one, rest = (
        writer.tensor(graph, name, "int32", (size,), np.full(size, value, "int32"))
        for name, size, value in (("zero", 1, 0), ("one", 1, 1), ("rest", 1, 12))
    )
    batch = writer.tensor(graph, "batch", "int32", (1,))
    wanted = writer.tensor(graph, "wanted", "int32", (2,))
    result = writer.tensor(graph, "y", "float32", (2, 12))
    writer.operator(graph, "SHAPE", [data], [whole], "ShapeOptions", {"outType": 2})
    writer.operator(graph, "STRIDED_SLICE", [whole, zero, one, one], [batch], "StridedSliceOptions")
    writer.operator(graph, "CONCATENATION", [batch, rest], [wanted], "ConcatenationOptions")
    writer.operator(graph, "RESHAPE", [data, wanted], [result], "ReshapeOptions")
    graph.inputs, graph.outputs = [data], [result]
    mod, _ = from_tflite(writer.bytes())
    assert str(mod["main"].checked_type).endswith("-> Tensor[(n0, 12), float32]")
