"""Quantized networks on the accelerator, bit by bit against the same network on the CPU."""

import subprocess
import sys

import numpy as np
import pytest

import relay
from relay import nn, quantize
from relay.errors import LowerError, TargetError
from relay.external.compiler import Part
from relay.external.divide import external_functions
from relay.frontend.python.standard import Rose
from relay.target import Target
from relay.target.accel.code import AccelCode
from relay.target.accel.config import Config
from relay.target.accel.memory import Machine
from relay.target.accel.offload import offloaded
from relay.target.accel.parts import compile_part
from relay.target.accel.scheme import SCHEME
from relay.target.accel.simulator import simulate
from relay.target.kernel import TensorSpec
from relay.testing import dcgan, resnet, tree_lstm
from tests.support.sampling import some_of
from tests.target.accel.plain_model import Plain

CHANCE = np.random.default_rng(0)


def weight(*shape):
    return relay.const(CHANCE.normal(0, 0.2, shape).astype("float32"))


def images(*shape):
    return [CHANCE.standard_normal(shape).astype("float32") for _ in range(2)]


def quantized(body, x):
    shape = x.type_annotation.concrete_shape
    found = images(*shape)
    scheme = quantize.Scheme(**{**vars(SCHEME), "first": True})
    return quantize.quantize(relay.Function([x], body), None, found, scheme=scheme), found[0]


def parts(module, config):
    """The functions for the accelerator, and the operators that stay."""
    divided = offloaded(module, config)
    stay = {
        node.op.name
        for node in relay.tree.postorder(divided["main"])
        if isinstance(node, relay.Call) and isinstance(node.op, relay.Op)
    }
    return external_functions(divided), stay


def assert_same(module, *arguments, config="1x16x16"):
    expected = relay.compile(module)(*arguments)
    found = relay.compile(module, target=f"accel -config={config}")(*arguments)
    np.testing.assert_array_equal(found, expected)


CONVOLUTIONS = [
    ((1, 16, 8, 8), (32, 16, 3, 3), {"padding": 1}),
    ((2, 20, 9, 7), (40, 20, 3, 2), {"padding": (1, 0, 2, 1), "strides": (2, 1)}),
    ((1, 48, 7, 7), (17, 48, 1, 1), {"strides": (2, 2)}),
    ((5, 16, 6, 11), (16, 16, 3, 3), {"dilation": (2, 2), "padding": 2}),
    ((1, 3, 12, 12), (16, 3, 7, 7), {"padding": 3, "strides": (3, 3)}),
]
DESIGNS = [
    "1x16x16",
    "4x16x16",
    "1x8x8,log_inp=11,log_wgt=12,log_acc=12,log_uop=9",
    "2x16x16,log_inp=12,log_wgt=14,log_acc=14,queue=8,tokens=4,dram_bytes=32,dram_latency=0",
]


@pytest.mark.rotate(2)
@pytest.mark.parametrize(("data", "kernel", "attributes"), CONVOLUTIONS)
def test_convolutions(data, kernel, attributes):
    x = relay.var("x", shape=data)
    body = nn.conv2d(x, weight(*kernel), **attributes)
    body = nn.relu(nn.bias_add(body, weight(kernel[0])))
    module, image = quantized(body, x)
    for design in DESIGNS:
        functions, stay = parts(module, Config.of_text(design))
        assert len(functions) == 1 and not stay & {"qnn.conv2d", "qnn.requantize", "maximum"}
        assert_same(module, image, config=design)


@pytest.mark.rotate(2)
@pytest.mark.parametrize(
    ("data", "kernel", "attributes"),
    [
        ((1, 16, 4, 4), (16, 24, 4, 4), {"strides": (2, 2), "padding": (1, 1)}),
        ((2, 20, 5, 3), (20, 16, 3, 2), {"strides": (3, 2), "output_padding": (1, 1)}),
        ((1, 16, 4, 5), (16, 16, 2, 2), {"strides": (3, 3)}),
        ((1, 16, 4, 5), (16, 16, 3, 3), {"padding": (2, 1, 0, 1)}),
    ],
)
def test_transposed_convolutions(data, kernel, attributes):
    x = relay.var("x", shape=data)
    size = {"channels": kernel[1], "kernel_size": kernel[2:]}
    module, image = quantized(nn.conv2d_transpose(x, weight(*kernel), **size, **attributes), x)
    for design in DESIGNS:
        assert "qnn.conv2d_transpose" not in parts(module, Config.of_text(design))[1]
        assert_same(module, image, config=design)


def test_dense_layers_follow_each_other_in_one_part():
    x = relay.var("x", shape=(6, 50))
    body = nn.relu(nn.bias_add(nn.dense(x, weight(70, 50)), weight(70)))
    module, image = quantized(nn.softmax(nn.dense(body, weight(10, 70))), x)
    for design in some_of(DESIGNS, 2):
        functions, stay = parts(module, Config.of_text(design))
        assert len(functions) == 1
        assert stay == {"qnn.quantize", "clip", "qnn.dequantize", "nn.softmax"}
        assert_same(module, image, config=design)


def test_residual_additions_stay_in_the_device():
    x = relay.var("x", shape=(1, 16, 10, 10))
    first = nn.conv2d(x, weight(16, 16, 3, 3), padding=1)
    for _ in range(2):
        inner = nn.conv2d(nn.relu(first), weight(16, 16, 3, 3), padding=1)
        first = relay.add(nn.conv2d(nn.relu(inner), weight(16, 16, 3, 3), padding=1), first)
    module, image = quantized(nn.conv2d(first, weight(16, 16, 1, 1)), x)
    for design in some_of(DESIGNS, 2):
        functions, stay = parts(module, Config.of_text(design))
        assert len(functions) == 1 and not stay & {"add", "multiply", "qnn.requantize"}
        assert_same(module, image, config=design)


def test_what_is_no_layer_stays_on_the_cpu():
    x = relay.var("x", shape=(1, 16, 8, 8))
    grouped = nn.conv2d(x, weight(16, 2, 3, 3), padding=1, groups=8)
    body = nn.max_pool2d(nn.relu(nn.conv2d(grouped, weight(32, 16, 3, 3))), (2, 2))
    body = nn.avg_pool2d(nn.conv2d(body, weight(16, 32, 1, 1)), (3, 3))
    module, image = quantized(body, x)
    functions, stay = parts(module, Config())
    assert len(functions) == 2 and {"nn.max_pool2d", "qnn.conv2d"} <= stay
    assert_same(module, image)
    # floats
    module = relay.IRModule.from_expr(relay.Function([x], body))
    assert not parts(module, Config())[0]
    assert_same(module, image)


def test_scales_that_are_no_powers_of_two_are_not_shifts():
    x = relay.var("x", shape=(1, 16, 8, 8))
    body = nn.conv2d(nn.relu(nn.conv2d(x, weight(16, 16, 3, 3))), weight(16, 16, 3, 3))
    symmetric = quantize.Integers()
    scheme = quantize.Scheme("bytes", data=symmetric, weight=symmetric, rounding="UPWARD")
    image = images(1, 16, 8, 8)
    module = quantize.quantize(relay.Function([x], body), None, image, scheme=scheme)
    functions, stay = parts(module, Config())
    assert len(functions) == 2 and "qnn.requantize" in stay  # sums only
    assert_same(module, image[0])


def test_sums_that_could_overflow_stay_on_the_cpu():
    x = relay.var("x", shape=(1, 16, 1, 1), dtype="int8")
    scale, zero = relay.const(0.5), relay.const(0)

    def module(bias):
        ones = relay.const(np.ones((16, 16, 1, 1), "int8"))
        sums = relay.qnn.conv2d(x, ones, zero, zero, scale, scale, (1, 1), 16)
        bias = relay.const(np.full((16, 1, 1), bias, "int32"))
        return relay.IRModule.from_expr(relay.Function([x], relay.add(sums, bias)))

    image = np.full((1, 16, 1, 1), 3, "int8")
    for bias, stays in ((2**31 - 1 - 16 * 128, False), (2**31 - 16 * 128, True)):
        typed = relay.transform.InferType()(module(bias))
        assert ("add" in parts(typed, Config())[1]) == stays
        assert_same(typed, image)


def test_the_program_of_a_layer_computes_what_the_plain_model_says():
    """Instructions as they are emitted, executed one after another in plain Python."""
    x = relay.var("x", shape=(1, 8, 5, 5))
    body = nn.relu(nn.bias_add(nn.conv2d(x, weight(8, 8, 3, 3), padding=1), weight(8)))
    module, _ = quantized(body, x)
    config = Config.of_text("2x4x4,log_inp=8,log_wgt=8,log_acc=10,log_uop=8")
    ((name, function),) = external_functions(offloaded(module, config)).items()
    (data,), made = function.params, function.body.checked_type
    specs = [(TensorSpec(ty.concrete_shape, ty.dtype),) for ty in (data.checked_type, made)]
    code = compile_part(Part(name, function, *specs), config)
    assert AccelCode.of_bytes(code.to_bytes()) == code
    machine = Machine(config, code.memory)
    machine.dram[:] = CHANCE.integers(0, 256, len(machine.dram), "uint8")
    for address, block in code.contents:
        machine.dram[address : address + len(block)] = np.frombuffer(block, np.uint8)
    plain = Plain(config, machine.dram)
    simulate(machine, code.program)
    plain.run(code.program)
    assert machine.dram.tobytes() == bytes(plain.dram)


def test_a_tree_lstm_has_its_products_on_the_device_and_its_control_flow_on_the_host():
    module, params = tree_lstm.get_workload(30, 20)

    def node(*children):
        return Rose(CHANCE.standard_normal((1, 30)).astype("float32"), list(children))

    tree = node(node(), node(node(), node(node())))
    integers = quantize.dynamic()(module, params)
    assert len(external_functions(offloaded(integers, Config()))) == 4
    expected = relay.compile(integers)(tree)
    for design in some_of(DESIGNS[:2], 2):
        found = relay.compile(integers, target=f"accel -config={design}")(tree)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


def test_what_was_saved_runs_in_another_process(tmp_path):
    x = relay.var("x", shape=(1, 16, 4, 4))
    module, image = quantized(nn.relu(nn.conv2d(x, weight(16, 16, 3, 3))), x)
    exe = relay.compile(module, target="accel -config=4x16x16")
    exe.save(tmp_path / "conv.relayx")
    np.save(tmp_path / "image.npy", image)
    code = (
        "import sys, relay, numpy as np\n"
        "np.save(sys.argv[3], relay.load(sys.argv[1])(np.load(sys.argv[2])))\n"
        "print('relay.target.accel.tiling' in sys.modules, 'relay.lower.lower' in sys.modules)"
    )
    paths = [tmp_path / name for name in ("conv.relayx", "image.npy", "out.npy")]
    command = [sys.executable, "-c", code, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    np.testing.assert_array_equal(np.load(paths[2]), relay.compile(module)(image))
    assert done.stdout == "False False\n"


def test_the_target_is_text_with_a_design_and_a_host():
    target = Target("accel -config=4x16x16 -mcpu=skylake-avx512")
    assert str(target).startswith("accel -config=4x16x16 -mtriple=")
    assert Target(str(target)) == target != Target("accel") and target.is_named
    assert Target("accel").config == Config()
    with pytest.raises(TargetError, match="says nothing about an accelerator"):
        Target("accel -config=big")
    with pytest.raises(TargetError, match="block_in and block_out"):
        Target("accel -config=1x16x32")


def test_code_that_is_none_is_refused():
    with pytest.raises(TargetError, match="no code of an accelerator"):
        AccelCode.of_bytes(b"nothing")
    x = relay.var("x", shape=(1, 16), dtype="int8")
    function = relay.Function([x], relay.exp(relay.cast(x, "float32")))
    typed = relay.transform.InferType()(relay.IRModule.from_expr(function))["main"]
    with pytest.raises(LowerError, match="has layers only"):
        compile_part(Part("f", typed, (), ()), Config())


@pytest.mark.full
@pytest.mark.parametrize("layers", [18, 34, 50])
@pytest.mark.parametrize("design", ["1x16x16", "4x16x16"])
def test_residual_networks(layers, design):
    module, params = resnet.get_workload(num_layers=layers, image_shape=(3, 224, 224))
    main = module["main"]  # without the softmax, which is the host's and rounds floats
    module["main"] = relay.Function(main.params, main.body.args[0])
    image = images(1, 3, 224, 224)[:1]
    integers = quantize.quantize(module, params, image, scheme=SCHEME)
    assert_same(integers, image[0], config=design)


@pytest.mark.full
@pytest.mark.parametrize("design", ["1x16x16", "4x16x16"])
def test_a_generator_of_images(design):
    module, params = dcgan.get_workload(1)
    code = images(1, 100)[:1]
    assert_same(quantize.quantize(module, params, code, scheme=SCHEME), code[0], config=design)
