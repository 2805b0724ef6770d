"""Models on a microcontroller: the board MPS2 AN386 (a Cortex-M4), which QEMU emulates."""

import re
import shutil
import subprocess

import numpy as np
import pytest

import relay
from relay.errors import RelayError, TargetError
from relay.testing import tree_lstm

CORTEX_M4 = "llvm -mtriple=thumbv7em-none-eabihf -mcpu=cortex-m4"
TOOLS = ("arm-none-eabi-gcc", "qemu-system-arm", "make")
MISSING = [tool for tool in TOOLS if shutil.which(tool) is None]
needs_board = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")


def keyword_spotting(channels=64):
    """DS-CNN: a convolution of a spectrum, four depthwise separable ones, all of bytes."""
    chance = np.random.default_rng(0)

    def weight(*shape):
        return relay.const(chance.integers(-127, 128, shape).astype("int8"))

    def convolved(x, shape, **how):
        size = {"channels": channels, "kernel_size": shape[2:], "out_dtype": "int32"}
        sums = relay.nn.conv2d(x, weight(*shape), **size, **how)
        bias = relay.const(chance.integers(-2000, 2000, (channels,)).astype("int32"))
        zero, one = relay.const(0), relay.const(np.float32(1))
        scale = relay.const(np.float32(0.004))
        sums = relay.nn.bias_add(sums, bias)
        return relay.nn.relu(
            relay.qnn.op.requantize(sums, scale, zero, one, zero, out_dtype="int8")
        )

    x = relay.var("x", shape=(1, 1, 49, 10), dtype="int8")
    y = convolved(x, (channels, 1, 10, 4), strides=(2, 2), padding=(4, 1, 5, 1))
    for _ in range(4):
        y = convolved(y, (channels, 1, 3, 3), padding=(1, 1), groups=channels)
        y = convolved(y, (channels, channels, 1, 1))
    y = relay.nn.global_avg_pool2d(relay.cast(y, "int32"))
    y = relay.cast(relay.reshape(y, (1, channels)), "int8")
    y = relay.nn.dense(y, weight(12, channels), out_dtype="int32")
    return relay.IRModule.from_expr(relay.Function([x], y))


@pytest.fixture(scope="module")
def spotting():
    module = keyword_spotting()
    return module, relay.compile(module, target=CORTEX_M4, threads=1)


def run_on_board(exe, folder, inputs):
    """The results of a folder, built and run."""
    exe.export(folder, "folder", name="net")
    for number, array in enumerate(inputs):
        array.tofile(folder / f"input{number}")
    flags = "CFLAGS=-Os -Wall -Wextra -Werror -ffreestanding"
    subprocess.run(["make", "-s", "-C", str(folder), flags], check=True)
    done = subprocess.run(
        ["make", "-s", "-C", str(folder), "run"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return [
        np.fromfile(folder / f"output{number}", info.dtype).reshape(info.shape)
        for number, info in enumerate(exe.outputs)
    ]


@needs_board
def test_keyword_spotting_is_the_same_to_the_bit(spotting, tmp_path):
    module, exe = spotting
    x = np.random.default_rng(1).integers(-128, 128, (1, 1, 49, 10)).astype("int8")
    (found,) = run_on_board(exe, tmp_path / "net", [x])
    np.testing.assert_array_equal(found, relay.compile(module)(x))


def test_keyword_spotting_is_small(spotting, tmp_path):
    from relay.target.llvm.objects import section_sizes

    _, exe = spotting
    header = exe.export(tmp_path / "net", "folder")
    sizes = section_sizes((tmp_path / "net" / "net.o").read_bytes())
    told = {name: int(n) for name, n in re.findall(r"#define NET_(\w+) (\d+)", header.read_text())}
    assert sizes.code + sizes.constants - told["WEIGHT_BYTES"] <= 32 << 10
    # what lives at once, at the step of the program that has most
    assert told["ARENA_BYTES"] <= 1.1 * lower_bound(exe)
    assert sizes.written <= told["MEMORY_BYTES"] + 64


def lower_bound(exe):
    """The most bytes of intermediate results and workspaces that live at one call."""
    from relay.program.program import InvokeKernel, nbytes

    main, plan = exe.program["main"], exe.bound.plan
    steps = list(main.straight_line)
    first, last = {}, {}
    for number, step in enumerate(steps):
        if isinstance(step, InvokeKernel):
            for register in (*step.inputs, *step.outputs):
                first.setdefault(register, number)
                last[register] = number
    kernels = {kernel.name: kernel for kernel in exe.bound.kernels}
    inside = {r for r, place in plan.places.items() if type(place).__name__ == "Arena"}
    most = 0
    for number, step in enumerate(steps):
        if isinstance(step, InvokeKernel):
            kernel = kernels[step.kernel]
            live = [r for r in inside if first.get(r, number + 1) <= number <= last.get(r, -1)]
            held = sum(nbytes(main.registers[register]) for register in live)
            most = max(most, held + kernel.workspace + kernel.worker_workspace)
    return most


@needs_board
def test_floats_and_state(tmp_path):
    x, n = relay.var("x", shape=(4, 5)), relay.var("n", shape=(5,))
    made = relay.nn.softmax(relay.exp(x) + n) + relay.max(x)
    main = relay.Function([x, n], relay.Tuple([made, n + relay.sum(x, axis=[0])]))
    model = main.with_attr("State", ("n",)), {"n": np.zeros(5, "float32")}
    (given,) = relay.compile(*model).example_inputs()
    (found,) = run_on_board(relay.compile(*model, target=CORTEX_M4), tmp_path / "net", [given])
    np.testing.assert_allclose(found, relay.compile(*model)(given), atol=1e-6)


def test_what_does_not_fit_is_refused_with_its_sizes(spotting, tmp_path):
    _, exe = spotting
    with pytest.raises(RelayError, match=r"bytes of RAM, an arena of .*, and there are 16,384"):
        exe.export(tmp_path / "net", "folder", ram=16 << 10)
    with pytest.raises(RelayError, match=r"bytes of flash, .* bytes of code, .* of weights"):
        exe.export(tmp_path / "net", "folder", ram=1 << 20, flash=16 << 10)
    assert not (tmp_path / "net").exists()
    with pytest.raises(RelayError, match="folders for microcontrollers"):
        exe.export(tmp_path / "net.o", ram=1 << 20)


def test_programs_with_data_are_refused():
    mod, params = tree_lstm.get_workload(4, 3)
    with pytest.raises(TargetError, match="memory that grows"):
        relay.compile(mod, params, target=CORTEX_M4)
