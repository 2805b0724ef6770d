"""Names, types and numbers as LLVM spells them; values remembered for as long as they hold."""

from __future__ import annotations

import math

import pytest

from relay import dtypes, te
from relay.target.llvm.writer import (
    KernelContext,
    Value,
    Writer,
    item_bytes,
    literal,
    llvm_type,
    memory_type,
    suffix,
)
from relay.target.target import Target


def writer(lanes: int = 0) -> Writer:
    made = Writer(KernelContext("kernel", Target.x86("avx512")), "kernel.body")
    made.lanes = lanes
    return made


def test_every_element_type_has_a_register_and_a_memory_type() -> None:
    for dtype in dtypes.NAMES:
        assert llvm_type(dtype)
        stored = memory_type(dtype)
        bits = {"float": 32, "double": 64}.get(stored) or int(stored[1:])
        assert bits == 8 * item_bytes(dtype), dtype


def test_truth_is_a_bit_in_registers_and_a_byte_in_memory() -> None:
    assert llvm_type("bool") == "i1"
    assert memory_type("bool") == "i8"


def test_floats_without_instructions_are_moved_as_bits() -> None:
    assert [llvm_type(name) for name in ("float16", "bfloat16", "float8_e5m2")] == [
        "i16",
        "i16",
        "i8",
    ]


def test_intrinsics_are_named_after_their_types() -> None:
    assert suffix("float", 16) == "v16f32"
    assert suffix("double", 0) == "f64"
    assert suffix("i8", 3) == "v3i8"


@pytest.mark.parametrize(
    ("value", "dtype", "wanted"),
    [
        (True, "bool", "true"),
        (False, "bool", "false"),
        (-3, "int8", "-3"),
        (2**64 - 1, "uint64", "18446744073709551615"),
        (0.0, "float32", "0.0"),
        (-0.0, "float32", "0x8000000000000000"),
        (1.0, "float64", "0x3FF0000000000000"),
        (math.inf, "float32", "0x7FF0000000000000"),
        (math.nan, "float32", "0x7FF8000000000000"),
        (0.1, "float32", "0x3FB99999A0000000"),  # rounded to float32 first
    ],
)
def test_numbers_are_written_by_their_bits(value: float, dtype: str, wanted: str) -> None:
    assert literal(te.const(value, dtype)) == wanted


def test_narrow_floats_are_never_written() -> None:
    with pytest.raises(TypeError, match="float16 is computed as float32"):
        literal(te.const(1.0, "float16"))


def test_what_is_computed_inside_is_not_known_after() -> None:
    w = writer()
    w.remember("outside", Value("%a", "i64"))
    with w.scope():
        assert w.recall("outside") == Value("%a", "i64")
        w.remember("inside", Value("%b", "i64"))
    assert w.recall("inside") is None


def test_what_was_read_is_forgotten_when_it_is_written() -> None:
    w = writer()
    w.remember("x", Value("%x", "float", 0, frozenset({1})))
    w.remember("y", Value("%y", "float", 0, frozenset({2})))
    w.invalidate({1})
    assert w.recall("x") is None
    assert w.recall("y") is not None


def test_a_scalar_is_broadcast_once() -> None:
    w = writer(lanes=4)
    first, second = w.broadcast(Value("%x", "float")), w.broadcast(Value("%x", "float"))
    assert first == second
    assert len(w.lines) == 2  # one insertion, one shuffle
    assert w.broadcast(Value("1", "i64")).text == "splat (i64 1)"
    assert len(w.lines) == 2  # a number needs no instruction


def test_names_are_never_used_twice() -> None:
    w = writer()
    assert len({w.fresh(), w.fresh("i"), w.fresh(), w.label("loop"), w.label("loop")}) == 5


@pytest.mark.parametrize(("level", "bits"), [("avx512", 512), ("avx2", 256), ("baseline", 128)])
def test_functions_say_how_wide_vectors_are(level: str, bits: int) -> None:
    attributes = KernelContext("kernel", Target.x86(level)).attributes
    assert f'"prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}"' in attributes
    assert attributes.startswith("nounwind ")
