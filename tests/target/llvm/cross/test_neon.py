"""Inner loops for AArch64: nearly all their instructions multiply and add."""

import numpy as np
import pytest

import relay
from relay.cache import Cache
from relay.driver import compile_program
from relay.target import Target
from tests.support.emulators import needs, run_model

CORTEX = Target("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76")
BRANCHES = ("b.", "cb", "tb")
chance = np.random.default_rng(0)


def numbers(dtype, *shape):
    if dtype == "float32":
        return chance.standard_normal(shape).astype(dtype)
    low, high = (0, 256) if dtype == "uint8" else (-128, 128)
    return chance.integers(low, high, shape).astype(dtype)


def convolution(dtype, window, channels, outputs, size):
    x = relay.var("x", shape=(1, channels, size, size), dtype=dtype)
    weight = relay.const(numbers(dtype, outputs, channels, window, window))
    how = {} if dtype == "float32" else {"out_dtype": "int32"}
    pad = (window // 2, window // 2)
    made = relay.nn.conv2d(
        x, weight, padding=pad, channels=outputs, kernel_size=(window, window), **how
    )
    return relay.IRModule.from_expr(relay.Function([x], made))


def product(dtype, other, rows, columns, depth):
    x = relay.var("x", shape=(rows, depth), dtype=dtype)
    how = {} if dtype == "float32" else {"out_dtype": "int32"}
    made = relay.nn.dense(x, relay.const(numbers(other, columns, depth)), **how)
    return relay.IRModule.from_expr(relay.Function([x], made))


def inner_loops(assembly):
    """The instructions of every loop without branches inside."""
    lines = [line.partition("//")[0].strip() for line in assembly.splitlines()]
    labels = {line[:-1]: place for place, line in enumerate(lines) if line.endswith(":")}
    for end, line in enumerate(lines):
        begin = labels.get(line.split()[-1], end) if line.startswith(BRANCHES) else end
        body = lines[begin + 1 : end + 1]
        if begin < end and not any(one.endswith(":") for one in body):
            yield [one for one in body if one and not one.startswith(".")]


@pytest.mark.parametrize(
    ("module", "instruction"),
    [
        (convolution("float32", 3, 64, 64, 56), "fmla"),
        (convolution("float32", 1, 256, 64, 28), "fmla"),
        (product("float32", "float32", 128, 256, 256), "fmla"),
        (convolution("int8", 3, 64, 64, 56), "sdot"),
        (product("int8", "int8", 128, 256, 256), "sdot"),
        (product("uint8", "uint8", 128, 256, 256), "udot"),
    ],
    ids=["window", "pixel", "product", "window of bytes", "product of bytes", "unsigned"],
)
def test_at_most_a_third_of_an_inner_loop_is_anything_else(module, instruction):
    made = compile_program(module, {}, target=CORTEX, exact=True, cache=Cache(None))
    text = CORTEX.assembly([one.ir for one in made.program.kernels if "prepare" not in one.name])
    found = max(inner_loops(text), key=lambda body: count(body, instruction))
    useful = count(found, instruction)
    assert useful >= 32
    assert (len(found) - useful) / useful <= 0.35
    assert not [one for one in found if "[sp" in one]


def count(body, instruction):
    return sum(one.startswith(instruction) for one in body)


@pytest.mark.rotate(4)
@pytest.mark.parametrize("left", ["int8", "uint8"])
@pytest.mark.parametrize("right", ["int8", "uint8"])
@pytest.mark.parametrize("depth", [32, 13])
def test_dot_products_of_bytes_of_both_kinds(left, right, depth, tmp_path):
    machine = needs("aarch64")
    module = product(left, right, 7, 20, depth)
    x = numbers(left, 7, depth)
    (found,) = run_model(machine, relay.compile(module, target=machine.target), tmp_path, [x])
    np.testing.assert_array_equal(found, relay.compile(module)(x))
