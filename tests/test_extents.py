"""Sizes that a run computes are checked: what does not fit is refused, by every engine."""

import re

import numpy as np
import pytest

import relay
from relay import extents
from tests.executors.engines import assert_agreement, engines, interpreter

SMALLEST, LARGEST = -(2**63), 2**63 - 1


def module(text):
    return relay.parse(f'#[version = "0.0.5"]\n{text}')


def ints(*numbers):
    return np.array(numbers, "int64")


def floats(*shape):
    return np.arange(np.prod(shape), dtype="float32").reshape(shape)


TILE = "def @main(%x: Tensor[(4), float32], %r: Tensor[(1), int64]) { dyn.tile(%x, %r) }"
TILE_OPEN = "def @main(%x: Tensor[(?, ?), float32], %r: Tensor[(2), int64]) { dyn.tile(%x, %r) }"
EXPAND = (
    "def @main(%x: Tensor[(?, ?), float32], %s: Tensor[(2), int64]) { dyn.broadcast_to(%x, %s) }"
)
PAD = "def @main(%x: Tensor[(?, ?), float32], %w: Tensor[(2, 2), int64]) { dyn.nn.pad(%x, %w, 0f) }"
RESHAPE = "def @main(%x: Tensor[(?), float32], %s: Tensor[(2), int64]) { dyn.reshape(%x, %s) }"
FULL = "def @main(%s: Tensor[(3), int64]) { dyn.full(1f, %s, dtype='int8') }".replace("'", '"')


@pytest.mark.parametrize(
    ("text", "args", "asked"),
    [
        (TILE, (floats(4), ints(2**62)), "4 * 4611686018427387904"),
        (TILE_OPEN, (floats(4, 4), ints(2**62, 2**62)), "4 * 4611686018427387904"),
        (
            TILE_OPEN,
            (floats(1, 1), ints(2**62, 2**62)),
            "4611686018427387904 x 4611686018427387904",
        ),
        (TILE_OPEN, (floats(0, 1), ints(1, 2**62)), "0 x 4611686018427387904"),
        (EXPAND, (floats(1, 1), ints(2**31, 2**31)), "2147483648 x 2147483648 elements of float32"),
        (PAD, (floats(2, 4), np.full((2, 2), LARGEST)), "9223372036854775807"),
        (RESHAPE, (floats(0), ints(-1, 2**62)), "0 x 4611686018427387904"),
        (FULL, (ints(2**40, 0, 2**40),), "1099511627776 x 0 x 1099511627776 elements of int8"),
    ],
)
def test_sizes_that_do_not_fit_are_refused_with_what_was_asked_for(text, args, asked):
    program = module(text)
    with pytest.raises(relay.RelayError):
        interpreter(program)(*args)
    for run in engines(program).values():
        with pytest.raises(relay.RelayError, match=re.escape(asked)):
            run(*args)


def test_the_place_in_the_source_is_named():
    with pytest.raises(relay.RelayError, match="from_string:2:"):
        relay.compile(module(EXPAND))(floats(1, 1), ints(2**31, 2**31))


@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_a_range_is_as_long_as_its_numbers_say(dtype):
    text = f"def @main(%a: int64, %b: int64, %c: int64) {{ arange(%a, %b, %c, dtype={dtype!r}) }}"
    numbers = [
        (SMALLEST, LARGEST, 2**62),
        (LARGEST, SMALLEST, -(2**62)),
        (LARGEST, SMALLEST, SMALLEST),
        (SMALLEST, LARGEST, LARGEST),
        (SMALLEST, LARGEST, 1),
        (0, LARGEST, 1),
        (0, 5, LARGEST),
        (0, -5, SMALLEST),
        (5, 0, 1),
        (0, 7, 2),
        (7, 0, -2),
        (1, 2, 0),
    ]
    assert_agreement(
        module(text.replace("'", '"')), lambda: [[*map(np.int64, each)] for each in numbers]
    )


SLICES = [
    (LARGEST, SMALLEST, SMALLEST),
    (4, -6, SMALLEST),
    (SMALLEST, LARGEST, LARGEST),
    (SMALLEST, LARGEST, 1),
    (0, LARGEST, 2**62),
    (-(2**62), 2**62, 2**62),
    (LARGEST, SMALLEST, -1),
    (-1, SMALLEST, -2),
    (1, 4, 2),
]


def test_slices_that_a_run_finds_may_have_any_bounds():
    text = """def @main(%x: Tensor[(?), float32], %b: Tensor[(1), int64], %e: Tensor[(1), int64],
                        %s: Tensor[(1), int64]) { dyn.strided_slice(%x, %b, %e, %s) }"""
    arguments = [[floats(n), *map(ints, each)] for each in SLICES for n in (5, 1, 0)]
    assert_agreement(module(text), lambda: arguments)


@pytest.mark.parametrize("bounds", SLICES)
def test_slices_with_any_bounds_are_those_of_python(bounds):
    begin, end, stride = bounds
    text = f"strided_slice(%x, begin=[{begin}], end=[{end}], strides=[{stride}])"
    run = interpreter(module(f"def @main(%x: Tensor[(?), float32]) {{ {text} }}"))
    static = relay.compile(module(f"def @main(%x: Tensor[(5), float32]) {{ {text} }}"))
    for n in (5, 1, 0):
        np.testing.assert_array_equal(run(floats(n)).array, floats(n)[begin:end:stride])
    np.testing.assert_array_equal(static(floats(5)), floats(5)[begin:end:stride])


def test_slices_of_open_axes_may_have_any_bounds():
    parts = [f"strided_slice(%x, begin=[{b}], end=[{e}], strides=[{s}])" for b, e, s in SLICES]
    text = f"def @main(%x: Tensor[(?), float32]) {{ ({', '.join(parts)}) }}"
    assert_agreement(module(text), lambda: [[floats(n)] for n in (5, 1, 0)])


@pytest.mark.parametrize(
    "body",
    [
        "zeros(shape=[4611686018427387904, 4611686018427387904], dtype='float32')",
        "sum(zeros(shape=[4611686018427387904, 4611686018427387904], dtype='float32'))",
        "tile(%x, reps=[4611686018427387904, 4611686018427387904])",
        "nn.pad(%x, 0f, pad_width=[[9223372036854775807, 9223372036854775807]])",
        "broadcast_to(%x, shape=[1099511627776, 1099511627776, 4])",
    ],
)
@pytest.mark.parametrize("size", ["4", "?"])
def test_types_that_no_tensor_can_have_are_refused(body, size):
    program = module(f"def @main(%x: Tensor[({size}), float32]) {{ {body} }}".replace("'", '"'))
    with pytest.raises(relay.RelayError):
        interpreter(program)(floats(4))
    with pytest.raises(relay.RelayError):
        relay.compile(program)(floats(4))


def test_a_size_is_an_int64():
    assert extents.is_size(LARGEST)
    assert extents.is_size(SMALLEST)
    assert not extents.is_size(LARGEST + 1)
    assert not extents.is_size(SMALLEST - 1)


@pytest.mark.parametrize("shape", [(2**60,), (2**30, 2**30), (0, 2**60), (), (0,)])
def test_a_tensor_has_room_below_the_limit(shape):
    assert extents.has_room(shape, "int8")


@pytest.mark.parametrize("shape", [(2**62,), (2**31, 2**31), (0, 2**62), (-1,), (0, -1)])
def test_a_tensor_has_no_room_beyond_the_limit(shape):
    assert not extents.has_room(shape, "int8")


def test_numbers_fill_a_text_as_far_as_there_are_any():
    assert extents.filled("? x 8 x ?", [2]) == "2 x 8 x ?"
    assert extents.filled("? x 8 x ?", [2, 3, 4]) == "2 x 8 x 3"


def test_an_array_that_repeats_its_elements_needs_memory_for_all_of_them():
    repeated = np.lib.stride_tricks.as_strided(np.zeros(1, "float32"), (2**28, 2**28), (0, 0))
    text = "def @main(%x: Tensor[(SIZES), float32]) { sum(%x) }"
    for sizes in ("?, ?", "268435456, 268435456"):
        program = module(text.replace("SIZES", sizes))
        for run in (relay.compile(program), *engines(program).values(), interpreter(program)):
            with pytest.raises(relay.RelayError, match="268435456 x 268435456"):
                run(repeated)
