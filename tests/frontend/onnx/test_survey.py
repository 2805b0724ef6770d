"""What cannot be translated is said all at once."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.hostile_models import X, function, named, node, with_functions
from tests.frontend.onnx.oracle import of_graph, value


def said(model: onnx.ModelProto) -> str:
    with pytest.raises(FrontendError) as error:
        from_onnx(model)
    return str(error.value)


def test_operators_and_types_are_named_with_how_often_and_where() -> None:
    inner = helper.make_graph([helper.make_node("Gone", ["x"], ["z"], "deep")], "g", [], named("z"))
    nodes = [
        *(helper.make_node("Nope", ["x"], [f"n{i}"], name=f"first_{i}") for i in range(7)),
        helper.make_node("Thing", ["x"], ["t"], domain="other"),
        helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=inner),
        helper.make_node("Relu", ["x"], ["fine"]),
        helper.make_node("Cast", ["x"], ["text"], "to_text", to=TensorProto.STRING),
        helper.make_node("Constant", [], ["word"], "word", value_string="a"),
    ]
    words = helper.make_tensor_value_info("words", TensorProto.STRING, [1])
    model = of_graph(nodes, [X, value("c", "bool", ()), words], named("y"))
    assert said(model) == (
        "the model has what cannot be translated:\n"
        "    operator `Gone`, 2 times: `deep`, `deep`\n"
        "    operator `Nope`, 7 times: `first_0`, `first_1`, `first_2`, `first_3`, `first_4`, …\n"
        "    operator `other.Thing`, 1 time: `t`\n"
        "    tensors of string, 3 times: `words`, `to_text`, `word`\n"
        "     hint:     operators of your own: from_onnx(model, operators=[table])"
    )


def test_image_codecs_are_refused_with_the_line_to_write_instead() -> None:
    file = value("file", "uint8", ("n",))
    decode = helper.make_node("ImageDecoder", ["file"], ["y"], "decode")
    assert said(of_graph([decode], [file], named("y"), opset=20)) == (
        "the model has what cannot be translated:\n"
        "    operator `ImageDecoder`, 1 time: `decode`\n"
        "     hint:     decode images before the call, with Pillow: "
        'numpy.asarray(PIL.Image.open(path).convert("RGB"))'
    )


def test_types_alone_come_without_a_hint_about_operators() -> None:
    words = helper.make_tensor_value_info("words", TensorProto.STRING, [1])
    message = said(of_graph([node("Identity", "words")], [words], named("y")))
    assert "tensors of string, 1 time: `words`" in message
    assert "hint" not in message


def test_weights_of_subgraphs_and_functions_are_looked_at_too() -> None:
    tensor = helper.make_tensor("s", TensorProto.STRING, [1], [b"a"])
    branch = helper.make_graph([node("Relu", "x", to="z")], "g", [], named("z"), [tensor])
    decision = node("If", "c", then_branch=branch, else_branch=branch)
    message = said(of_graph([decision], [X, value("c", "bool", ())], named("y")))
    assert "tensors of string" in message
    message = said(with_functions(function("f", [helper.make_node("Nope", ["x"], ["y"])])))
    assert "operator `Nope`, 1 time: `y`" in message
