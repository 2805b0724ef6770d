"""The tables of processors against the instructions LLVM selects for them."""

import re
import subprocess
import sys

import pytest

from relay.target import Target
from relay.target.llvm import features
from relay.target.llvm.compile import assembly

ADD = """
define void @add(ptr %p, ptr %q) "prefer-vector-width"="512" "min-legal-vector-width"="512" {
  %a = load <64 x i8>, ptr %p
  %b = load <64 x i8>, ptr %q
  %c = add <64 x i8> %a, %b
  store <64 x i8> %c, ptr %p
  ret void
}
"""
FMA = """
define <4 x float> @fma(<4 x float> %x) {
  %y = call <4 x float> @llvm.fma.v4f32(<4 x float> %x, <4 x float> %x, <4 x float> %x)
  ret <4 x float> %y
}
"""
HALF = """
define float @half(ptr %p) {
  %h = load half, ptr %p
  %f = fpext half %h to float
  ret float %f
}
"""
WIDE_PRODUCT = """
define <8 x i64> @product(<8 x i64> %x, <8 x i64> %y)
    "prefer-vector-width"="512" "min-legal-vector-width"="512" {
  %z = mul <8 x i64> %x, %y
  ret <8 x i64> %z
}
"""
BITS = """
define i32 @ones(i32 %x) {
  %y = call i32 @llvm.ctpop.i32(i32 %x)
  ret i32 %y
}
define i32 @zeros(i32 %x) {
  %y = call i32 @llvm.ctlz.i32(i32 %x, i1 false)
  ret i32 %y
}
define i32 @rotate(i32 %x, i32 %n) {
  %y = shl i32 %x, %n
  ret i32 %y
}
define <16 x i8> @reverse(<16 x i8> %x) {
  %y = call <16 x i8> @llvm.bitreverse.v16i8(<16 x i8> %x)
  ret <16 x i8> %y
}
define <16 x i32> @counts(<16 x i32> %x)
    "prefer-vector-width"="512" "min-legal-vector-width"="512" {
  %y = call <16 x i32> @llvm.ctpop.v16i32(<16 x i32> %x)
  ret <16 x i32> %y
}
define <64 x i8> @shuffle(<64 x i8> %x, ptr %p)
    "prefer-vector-width"="512" "min-legal-vector-width"="512" {
  %y = shufflevector <64 x i8> %x, <64 x i8> poison, <64 x i32> <%order>
  ret <64 x i8> %y
}
""".replace("<%order>", "<" + ", ".join(f"i32 {(i * 37 + 5) % 64}" for i in range(64)) + ">")


def x86(cpu):
    return Target(f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}")


@pytest.mark.parametrize("cpu", features.X86_PROCESSORS)
def test_the_table_of_x86_processors_is_what_llvm_knows(cpu):
    have = x86(cpu).enabled
    text = assembly([ADD, FMA, HALF, WIDE_PRODUCT, BITS], x86(cpu), opt=0)

    def uses(pattern):
        return re.search(pattern, text) is not None

    assert uses("%zmm") == ("avx512bw" in have)
    assert uses(r"vpaddb.*%[yz]mm") == ("avx2" in have)
    assert uses("vfmadd") == ("fma" in have)
    assert uses("vcvtph2ps|vcvtsh2ss") == ("f16c" in have)
    assert uses("vcvtsh2ss") == ("avx512fp16" in have)
    assert uses("vpmullq") == ("avx512dq" in have)
    assert uses("popcntl") == ("popcnt" in have)
    assert uses("lzcntl") == ("lzcnt" in have)
    assert uses("shlx") == ("bmi2" in have)
    assert uses("gf2p8affine") == ("gfni" in have)
    assert uses("vpopcntd") == ("avx512vpopcntdq" in have)
    assert uses(r"vpermb|vpermi2b") == ("avx512vbmi" in have)


DOT = """
define <{lanes} x i32> @dot(<{lanes} x i32> %s, <{bytes} x i8> %x, <{bytes} x i8> %y)
    "prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}" {{
  %r = call <{lanes} x i32> @llvm.x86.avx512.vpdpbusd.{bits}(<{lanes} x i32> %s,
    <{bytes} x i8> %x, <{bytes} x i8> %y)
  ret <{lanes} x i32> %r
}}
"""


def dot_product(target):
    bits = max(target.vector_bits, 256)
    return DOT.format(lanes=bits // 32, bytes=bits // 8, bits=bits)


WITH_DOT_PRODUCTS = [cpu for cpu in features.X86_PROCESSORS if x86(cpu).has_vnni]


@pytest.mark.parametrize("cpu", WITH_DOT_PRODUCTS)
def test_processors_with_dot_products_of_bytes(cpu):
    assert "vpdpbusd" in assembly([dot_product(x86(cpu))], x86(cpu))


@pytest.mark.full
@pytest.mark.parametrize("cpu", sorted(set(features.X86_PROCESSORS) - set(WITH_DOT_PRODUCTS)))
def test_processors_without_dot_products_of_bytes(cpu):
    # LLVM ends the process over an instruction it cannot select
    code = (
        "import sys; from relay.target import Target; from relay.target.llvm.compile import *\n"
        "assembly([sys.argv[2]], Target(sys.argv[1]))"
    )
    target = x86(cpu)
    done = subprocess.run(
        [sys.executable, "-c", code, str(target), dot_product(target)], capture_output=True
    )
    assert done.returncode != 0
    assert b"Cannot select" in done.stderr or b"Do not know how to split" in done.stderr


ARM_HALF = """
define <8 x half> @add(<8 x half> %x) {
  %y = fadd <8 x half> %x, %x
  ret <8 x half> %y
}
define i64 @count(ptr %p) {
  %old = atomicrmw add ptr %p, i64 1 seq_cst
  ret i64 %old
}
"""


@pytest.mark.parametrize("cpu", features.PROCESSORS["aarch64"])
def test_the_table_of_arm_processors_is_what_llvm_knows(cpu):
    target = Target.aarch64(cpu)
    text = assembly([ARM_HALF, FMA], target)
    assert (re.search(r"fadd\s+v\d+\.8h", text) is not None) == ("fullfp16" in target.enabled)
    assert (re.search(r"ldaddal", text) is not None) == ("lse" in target.enabled)
    assert re.search(r"fmla\s+v\d+\.4s", text)


def test_adding_brings_what_is_included_and_removing_takes_what_includes():
    have = features.enabled("x86_64", "x86-64", ["+avx512vnni"])
    assert {"avx512vnni", "avx512f", "avx2", "fma", "f16c", "avx", "sse4.2"} <= have
    assert not {name for name in features.enabled("x86_64", "znver5", ["-avx"]) if "avx" in name}


@pytest.mark.parametrize("arch", features.FEATURES)
def test_the_difference_makes_one_processor_of_another(arch):
    processors = features.PROCESSORS[arch]
    for cpu in processors:
        for other, have in processors.items():
            changes = features.difference(arch, cpu, have)
            assert features.enabled(arch, cpu, changes) == have, (cpu, other)


@pytest.mark.parametrize("arch", features.FEATURES)
def test_processors_have_known_features_and_all_they_include(arch):
    for cpu, have in features.PROCESSORS[arch].items():
        for name in have:
            assert features.included(arch, name) <= have, (cpu, name)


def test_llvm_applies_the_changes_as_the_table_does():
    target = Target("llvm -mtriple=x86_64-linux-gnu -mcpu=icelake-server -mattr=-avx2")
    text = assembly([ADD, FMA], target)
    assert "zmm" not in text
    assert "vfmadd" in text
    target = Target("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64 -mattr=+avx512bw")
    text = assembly([ADD, FMA, HALF], target)
    assert "zmm" in text
    assert "vfmadd" in text
    assert "vcvtph2ps" in text


class Binding:
    """An LLVM that finds itself on another machine."""

    def __init__(self, cpu, **told):
        self.get_process_triple = lambda: "x86_64-unknown-linux-gnu"
        self.get_host_cpu_name = lambda: cpu
        self.get_host_cpu_features = lambda: told


@pytest.fixture
def host_of(monkeypatch):
    import llvmlite

    def ask(cpu, **told):
        told = {name.replace("_", "."): value for name, value in told.items()}
        monkeypatch.setattr(llvmlite, "binding", Binding(cpu, **told))
        features.host.cache_clear()
        return features.host()

    yield ask
    monkeypatch.undo()
    features.host.cache_clear()


def test_a_virtual_machine_that_hides_extensions(host_of):
    triple, cpu, changes = host_of("haswell", avx2=False, avx=True, fma=True, aes=True)
    assert (triple, cpu) == ("x86_64-unknown-linux-gnu", "haswell")
    assert changes == ("+aes", "-avx2")
    _, _, changes = host_of("icelake-server", avx512f=False, avx512bw=True)
    assert "avx512bw" not in features.enabled("x86_64", "icelake-server", changes)


def test_a_processor_younger_than_the_tables(host_of):
    base = {name.replace(".", "_"): True for name in features.X86_PROCESSORS["x86-64-v3"]}
    assert host_of("novelake", **base) == ("x86_64-unknown-linux-gnu", "x86-64-v3", ())
    _, cpu, changes = host_of("novelake", **base, avxvnni=True)
    assert (cpu, changes) == ("x86-64-v3", ("+avxvnni",))
