"""Whole programs as models of ONNX: what ONNX Runtime makes of them is what Relay does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import relay
from relay.check.infer import infer_module
from relay.errors import ExportError
from relay.export.onnx.exporter import OLDEST
from relay.frontend.onnx.importer import from_onnx
from relay.interpreter.evaluate import evaluate
from relay.ir.module import IRModule
from relay.testing import (
    dcgan,
    densenet,
    dqn,
    lstm,
    mlp,
    mobilenet,
    resnet,
    resnet_3d,
    squeezenet,
    transformer,
    vgg,
)
from tests.export.onnx.running import in_runtime

Network = Callable[[], tuple[IRModule, dict[str, Any]]]

# Small images: what is written is the same.
ZOO: dict[str, Network] = {
    "mlp": lambda: mlp.get_workload(2),
    "dcgan": lambda: dcgan.get_workload(1, ngf=8),
    "dqn": lambda: dqn.get_workload(1),
    "resnet-18": lambda: resnet.get_workload(1, 10, 18, (3, 32, 32)),
    "resnet-50": lambda: resnet.get_workload(1, 10, 50, (3, 32, 32)),
    "resnet-3d": lambda: resnet_3d.get_workload(1, 10, 18, (3, 8, 16, 16)),
    "mobilenet": lambda: mobilenet.get_workload(1, 10, (3, 64, 64)),
    "mobilenet-nhwc": lambda: mobilenet.get_workload(1, 10, (64, 64, 3), layout="NHWC"),
    "squeezenet": lambda: squeezenet.get_workload(1, 10, "1.1", (3, 64, 64)),
    "lstm": lambda: lstm.get_workload(3, 4),
    "transformer": lambda: transformer.get_workload(),
    "densenet": lambda: densenet.get_workload(121, 10, 1, (3, 224, 224)),
    "vgg": lambda: vgg.get_workload(1, 10, (3, 32, 32), num_layers=11),
}
SLOW = (
    "transformer",
    "squeezenet",
    "mobilenet",
    "densenet",
    "vgg",
    "resnet-50",
    "resnet-3d",
    "mobilenet-nhwc",
    "dqn",
)


def inputs_of(module: IRModule, params: dict[str, Any]) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    return {
        param.name_hint: random.normal(size=param.checked_type.shape).astype(
            param.checked_type.dtype
        )
        for param in module["main"].params
        if param.name_hint not in params
    }


def agrees(network: Network) -> None:
    module, params = network()
    model = relay.to_onnx(module, params)
    onnx.checker.check_model(model, full_check=True)
    given = inputs_of(infer_module(module), params)
    wanted = np.asarray(relay.compile(module, params)(**given))
    (found,) = in_runtime(model, given)
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)
    back, weights = from_onnx(model)
    again = np.asarray(relay.compile(back, weights)(*given.values()))
    np.testing.assert_allclose(again, wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.rotate(2)
@pytest.mark.parametrize("name", [name for name in ZOO if name not in SLOW])
def test_a_network_is_the_same_in_onnx_runtime_and_when_it_comes_back(name: str) -> None:
    agrees(ZOO[name])


@pytest.mark.full
@pytest.mark.parametrize("name", SLOW)
def test_a_larger_network_is_the_same_in_onnx_runtime_and_when_it_comes_back(name: str) -> None:
    agrees(ZOO[name])


# --- programs ------------------------------------------------------------------------------------


def same(text: str, *inputs: np.ndarray) -> onnx.ModelProto:
    """A program that means the same in ONNX Runtime, and when it comes back; its model."""
    module = relay.parse('#[version = "0.0.5"]\n' + text)
    model = relay.to_onnx(module)
    onnx.checker.check_model(model, full_check=True)
    given = dict(zip([one.name for one in model.graph.input], inputs, strict=True))
    found = in_runtime(model, given)
    wanted = _flat(relay.create_executor("debug", module).evaluate()(*inputs))
    back, _ = from_onnx(model)
    again = _flat(relay.create_executor("debug", back).evaluate()(*inputs))
    for theirs, mine, returned in zip(found, wanted, again, strict=True):
        np.testing.assert_allclose(theirs, mine, rtol=1e-5)
        np.testing.assert_allclose(returned, mine, rtol=1e-5)
    return model


def _flat(value: Any) -> list[np.ndarray]:
    if hasattr(value, "fields"):
        return [array for one in value.fields for array in _flat(one)]
    return [value.numpy()]


X = np.array([[1.0, -2.0, 3.0], [0.5, 0.0, -1.0]], "float32")


def test_tuples_and_lets() -> None:
    same(
        """def @main(%x: Tensor[(2, 3), float32]) {
          let %a = (exp(%x), (negative(%x), %x));
          let %b = %a.1;
          (add(%a.0, %b.0), (%b.1, %b.1), %a.0)
        }""",
        X,
    )


@pytest.mark.parametrize("low", [0.0, 9.0])
def test_an_if_sees_what_is_around_it(low: float) -> None:
    model = same(
        """def @main(%x: Tensor[(2, 3), float32], %low: float32) {
          let %y = exp(%x);
          let %best = max(%x);
          if (greater(%best, %low)) {
            let %z = add(%y, %x);
            if (greater(%best, 2f)) { (%z, %y) } else { (%x, %z) }
          } else { (negative(%y), %x) }
        }""",
        X,
        np.array(low, "float32"),
    )
    assert [node.op_type for node in model.graph.node].count("If") == 1


def test_functions_are_written_out() -> None:
    same(
        """def @twice(%x: Tensor[(2, 3), float32]) { add(%x, %x) }
        def @main(%x: Tensor[(2, 3), float32]) {
          let %scale = fn (%v: Tensor[(2, 3), float32]) { multiply(%v, exp(%x)) };
          %scale(@twice(%scale(@twice(%x))))
        }""",
        X,
    )


def test_what_is_used_twice_is_computed_once() -> None:
    x = relay.var("x", shape=(2, 3))
    shared = relay.exp(x)
    model = relay.to_onnx(relay.Function([x], relay.add(shared, relay.tanh(shared))))
    assert [node.op_type for node in model.graph.node].count("Exp") == 1


def test_results_that_are_inputs_or_the_same_have_names_of_their_own() -> None:
    model = same("def @main(%x: Tensor[(2, 3), float32]) { (%x, %x, 1f) }", X)
    assert len({one.name for one in model.graph.output}) == 3


def test_names_that_are_taken_are_changed() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("x", shape=(2,))
    model = relay.to_onnx(relay.Function([x, y], relay.add(x, y)))
    assert [one.name for one in model.graph.input] == ["x", "x_1"]


def test_named_dimensions_stay_where_nobody_asks_for_numbers() -> None:
    module = relay.parse(
        '#[version = "0.0.5"]\n'
        "def @main[n: Shape](%x: Tensor[(n, 3), float32]) { nn.softmax(add(%x, %x)) }"
    )
    model = relay.to_onnx(module)
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "n"
    for rows in (1, 5):
        x = np.ones((rows, 3), "float32")
        (found,) = in_runtime(model, {"x": x})
        np.testing.assert_allclose(found, np.full((rows, 3), 1 / 3), rtol=1e-6)


def test_a_program_of_many_steps() -> None:
    x = relay.var("x", shape=(2,))
    body: Any = x
    for _ in range(3000):
        body = relay.negative(body)
    model = relay.to_onnx(relay.Function([x], body))
    assert len(model.graph.node) == 3001


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint16", "int64", "bool"])
def test_constants_of_all_types(dtype: str) -> None:
    array = np.array([[0, 1, 3]]).astype(dtype)
    model = relay.to_onnx(relay.Function([], relay.copy(relay.const(array))))
    (found,) = in_runtime(model, {})
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize("dtype", ["int4", "uint4", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_constants_of_narrow_types_come_back(dtype: str) -> None:
    array = np.array([0, 1, 3, 2, 7]).astype(relay.dtypes.to_numpy(dtype))
    constant = relay.const(relay.nd.array(array), dtype)
    back, _ = from_onnx(relay.to_onnx(relay.Function([], relay.cast(constant, "float32"))))
    result = evaluate(relay.Call(back["main"], ()))
    np.testing.assert_array_equal(result.numpy(), array.astype("float32"))


# --- weights in another file ---------------------------------------------------------------------


def test_weights_go_to_a_file_beside_the_model(tmp_path: Path) -> None:
    module, params = mlp.get_workload(1)
    model = relay.to_onnx(module, params, weights=tmp_path / "mlp.bin")
    assert model.ByteSize() < 20_000
    path = tmp_path / "mlp.onnx"
    path.write_bytes(model.SerializeToString())
    onnx.checker.check_model(str(path))
    given = inputs_of(infer_module(module), params)
    wanted = np.asarray(relay.compile(module, params)(**given))
    np.testing.assert_allclose(in_runtime(str(path), given)[0], wanted, rtol=1e-4)
    np.testing.assert_allclose(
        np.asarray(relay.compile(str(path))(*given.values())), wanted, rtol=1e-4
    )


def test_what_fails_leaves_no_file(tmp_path: Path) -> None:
    x = relay.var("x", shape=(600,))
    weight = relay.const(np.ones(600, "float32"))
    body = relay.nn.dilate(relay.add(x, weight), strides=[2])
    with pytest.raises(ExportError):
        relay.to_onnx(relay.Function([x], body), weights=tmp_path / "w.bin")
    assert not list(tmp_path.iterdir())


def test_weights_beyond_protobuf_ask_for_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relay.export.onnx.exporter.LARGEST", 1000)
    with pytest.raises(ExportError, match="weights="):
        relay.to_onnx(*mlp.get_workload(1))


# --- errors --------------------------------------------------------------------------------------


def said(program: Any, **options: Any) -> str:
    if isinstance(program, str):
        program = relay.parse('#[version = "0.0.5"]\n' + program)
    with pytest.raises(ExportError) as error:
        relay.to_onnx(program, **options)
    return str(error.value)


def test_all_that_cannot_be_written_is_named_at_once() -> None:
    message = said(
        """def @main(%x: Tensor[(2, 3, 4, 4), float32], %i: Tensor[(4), int32]) {
          let %a = nn.dilate(%x, strides=[1, 1, 2, 2]);
          let %b = nn.dilate(nn.relu(%a), strides=[1, 1, 2, 2]);
          (%b, left_shift(%i, %i), nn.mirror_pad(%x, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]]))
        }"""
    )
    lines = message.splitlines()
    assert lines[0] == "the program has what cannot be written in ONNX:"
    assert [line.split(", ")[0].strip() for line in lines[1:]] == [
        "operator left_shift: BitShift of ONNX takes no int32 for `X`",
        "operator nn.dilate: there is nothing like it in ONNX",
        "operator nn.mirror_pad: Pad of ONNX does not repeat the elements at the edge",
    ]
    assert ", 2 times" in lines[2]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "def @f(%x: float32) -> float32 { @f(%x) } def @main(%x: float32) { @f(%x) }",
            "it calls itself",
        ),
        ("def @main(%x: float32) { let %r = ref(%x); ref_read(%r) }", "only tensors and tuples"),
        ("def @main(%f: fn (float32) -> float32) { %f(1f) }", "parameter `f` has no form"),
        (
            "type Box { Boxed(float32) } def @main(%x: float32) { Boxed(%x) }",
            "constructor Boxed: data types have no form, 1 time",
        ),
        ("def @main(%x: float32) { fn (%y: float32) { %x } }", "function"),
    ],
)
def test_programs_of_higher_order_are_refused(text: str, reason: str) -> None:
    assert reason in said(text)


def test_parameters_and_versions_that_are_not_there() -> None:
    x = relay.var("x", shape=(2,))
    module = IRModule.from_expr(relay.Function([x], relay.exp(x)))
    assert "no parameter `w`" in said(module, params={"w": np.ones(2, "float32")})
    for version in (1, OLDEST - 1, 1000):
        assert "version" in said(module, opset=version)


def test_the_newest_operators_are_written_too() -> None:
    newest = onnx.defs.onnx_opset_version()
    model = relay.to_onnx(*mlp.get_workload(1), opset=newest)
    onnx.checker.check_model(model, full_check=True)
    assert model.opset_import[0].version == newest
