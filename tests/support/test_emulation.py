"""AVX-512 kernels on a machine that lacks AVX-512."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from relay.target.llvm.compile import assembly, compile_module
from relay.target.llvm.jit import load
from relay.target.target import Target
from tests.support.emulation import emulated, runnable, x86_level

HOST = Target.host()
on_x86 = pytest.mark.skipif(HOST.arch != "x86_64", reason="instructions of x86-64")

NARROW = Target.x86("avx2")
WIDE = Target("llvm -level=avx512 -mattr=+avx512vnni")


def text(name: str, lanes: int, item: str, *, total: bool) -> str:
    """A kernel that calls one instruction on what its arguments point to."""
    kind, parts = f"<{lanes} x i32>", f"<{lanes * 32 // int(item[1:])} x {item}>"
    first = f"{kind} %total, " if total else ""
    return f"""
    define i32 @kernel(ptr %out, ptr %left, ptr %right) {{
      %total = load {kind}, ptr %out, align 1
      %a = load {parts}, ptr %left, align 1
      %b = load {parts}, ptr %right, align 1
      %sum = call {kind} @llvm.x86.avx512.{name}.{32 * lanes}({first}{parts} %a, {parts} %b)
      store {kind} %sum, ptr %out, align 1
      ret i32 0
    }}"""


@on_x86
def test_a_supported_target_is_left_alone():
    assert runnable(NARROW) == (NARROW if HOST.supports(NARROW) else HOST)
    code = text("vpdpbusd", 16, "i8", total=True)
    assert emulated(code, WIDE) is code
    assert "vpdpbusd" in assembly([code], WIDE)


@on_x86
def test_avx512_includes_vnni_on_other_hosts():
    assert x86_level("avx512").vector_bits == 512
    assert HOST.supports(x86_level("avx512")) or x86_level("avx512").has_vnni
    assert x86_level("baseline") == Target.x86("baseline")


@on_x86
@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize(
    ("name", "item", "signed", "total"),
    [
        ("vpdpbusd", "i8", (False, True), True),
        ("vpdpwssd", "i16", (True, True), True),
        ("pmaddw.d", "i16", (True, True), False),
    ],
)
def test_dot_product_intrinsics_become_functions(name, item, signed, total, lanes):
    code = emulated(text(name, lanes, item, total=total), NARROW)
    assert "llvm.x86" not in code
    library = load(compile_module([code], Target.x86("baseline")), ["kernel"])
    bits = int(item[1:])
    kinds = [np.dtype(f"{'i' if one else 'u'}{bits // 8}") for one in signed]
    random = np.random.default_rng(lanes)
    left, right = (
        random.integers(np.iinfo(kind).min, np.iinfo(kind).max, lanes * 32 // bits, kind, True)
        for kind in kinds
    )
    out = random.integers(-1000, 1000, lanes, np.int32)
    wanted = (left.astype(np.int64) * right).reshape(lanes, -1).sum(1) + (out if total else 0)
    function = ctypes.CFUNCTYPE(ctypes.c_int32, *3 * [ctypes.c_void_p])(library.address("kernel"))
    function(*(array.ctypes.data for array in (out, left, right)))
    np.testing.assert_array_equal(out, wanted.astype(np.int32))


@on_x86
@pytest.mark.parametrize("lanes", [9, 14, 16, 32])
def test_masked_loads_are_split(lanes):
    code = emulated(
        f"""
    define i32 @kernel(ptr %out, ptr %data, ptr %flags) {{
      %bytes = load <{lanes} x i8>, ptr %flags, align 1
      %mask = icmp ne <{lanes} x i8> %bytes, zeroinitializer
      %all = load <{lanes} x float>, ptr %out, align 4
      %v = call <{lanes} x float> @llvm.masked.load.v{lanes}f32.p0(
        ptr align 4 %data, <{lanes} x i1> %mask, <{lanes} x float> %all)
      store <{lanes} x float> %v, ptr %out, align 4
      ret i32 0
    }}""",
        NARROW,
    )
    assert f"masked.load.v{lanes}f32.p0" not in code
    library = load(compile_module([code], Target.x86("baseline")), ["kernel"])
    random = np.random.default_rng(lanes)
    out, data = random.random((2, lanes), np.float32)
    flags = random.integers(0, 2, lanes, np.uint8)
    wanted = np.where(flags, data, out)
    function = ctypes.CFUNCTYPE(ctypes.c_int32, *3 * [ctypes.c_void_p])(library.address("kernel"))
    function(*(array.ctypes.data for array in (out, data, flags)))
    np.testing.assert_array_equal(out, wanted)
