"""Pictures in models: decoded by compiled code, against Pillow."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

from relay.driver import compile as compile_model
from relay.errors import EvaluationError, FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.judge import Fixed, main_type, model, of_graph, reference, value
from tests.op.pictures import noise, saved

FILE = np.frombuffer(saved(noise(6, 8), "png"), np.uint8)


@pytest.mark.parametrize("pixel_format", ["RGB", "BGR", "Grayscale"])
def test_the_bytes_of_a_picture_give_its_pixels(pixel_format: str) -> None:
    given = model("ImageDecoder", FILE, opset=20, shapes={0: ("n",)}, pixel_format=pixel_format)
    channels = 1 if pixel_format == "Grayscale" else 3
    assert main_type(from_onnx(given)[0]) == f"Tensor[(?, ?, {channels}), uint8]"
    run = compile_model(given)
    for form in ("png", "bmp", "jpeg"):
        file = np.frombuffer(saved(noise(6, 8), form), np.uint8)
        np.testing.assert_array_equal(run(file), reference(given, file)[0])


def test_a_graph_that_prepares_a_picture_is_compiled_as_a_whole() -> None:
    """Any picture, scaled to one size, with the channels in front."""
    nodes = [
        helper.make_node("ImageDecoder", ["file"], ["pixels"]),
        helper.make_node("Cast", ["pixels"], ["floats"], to=1),
        helper.make_node("Resize", ["floats", "", "", "size"], ["small"], mode="linear"),
        helper.make_node("Transpose", ["small"], ["out"], perm=[2, 0, 1]),
    ]
    size = helper.make_tensor("size", 7, [3], [4, 4, 3])
    inputs, outputs = [value("file", "uint8", ("n",))], [value("out", "float32", (3, 4, 4))]
    given = of_graph(nodes, inputs, outputs, [size], opset=20)
    run = compile_model(given)
    for image in (noise(6, 8), noise(9, 5)):
        file = np.frombuffer(saved(image, "tiff"), np.uint8)
        np.testing.assert_allclose(run(file), reference(given, file)[0], atol=1e-3)


def test_a_picture_inside_of_the_model_is_a_constant() -> None:
    given = model("ImageDecoder", Fixed(FILE), opset=20)
    assert main_type(from_onnx(given)[0]) == "Tensor[(6, 8, 3), uint8]"


def test_bytes_that_are_no_picture_end_the_run() -> None:
    run = compile_model(model("ImageDecoder", FILE, opset=20, shapes={0: ("n",)}))
    file = np.frombuffer(saved(noise(4, 4), "webp"), np.uint8)
    with pytest.raises(EvaluationError, match="are a WebP picture; BMP, JPEG, PNM, PNG and TIFF"):
        run(file)


def test_other_formats_of_pixels_are_refused() -> None:
    with pytest.raises(FrontendError, match="there is no such pixel format"):
        from_onnx(model("ImageDecoder", FILE, opset=20, pixel_format="CMYK"))
