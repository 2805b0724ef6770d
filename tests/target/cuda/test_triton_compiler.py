"""Kernels of all templates compiled for several architectures, without a GPU."""

import json
from dataclasses import replace

import pytest

import relay
from relay.errors import LowerError
from relay.target.cuda import triton_compiler
from relay.target.cuda.architecture import ARCHITECTURES
from relay.target.cuda.triton_compiler import compile_kernel, compiled, module_of
from tests.support.gpu_cases import CASES, module
from tests.support.gpu_texts import texts

triton = pytest.importorskip("triton", reason="the extra `cuda` is not installed")

ARCHS = ("sm_80", "sm_90", "sm_100")


@pytest.mark.rotate(32)
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", CASES)
def test_kernels_compile(name, arch):
    for text in texts(module(name)[0], arch):
        made = json.loads(compile_kernel(text))
        assert made["arch"] == arch
        for launch in made["launches"]:
            assert launch["cubin"] and launch["shared"] <= ARCHITECTURES[arch].shared_memory


def assembly(text):
    """The PTX of the functions of a kernel."""
    kernel = json.loads(text)
    functions = module_of(kernel["source"], "assembled")
    capability = ARCHITECTURES[kernel["arch"]].capability
    made = [
        compiled(
            triton,
            getattr(functions, one["function"]),
            one["types"],
            one["warps"],
            one["stages"],
            capability,
        )
        for one in kernel["launches"]
    ]
    return "\n".join(one.asm["ptx"] for one in made)


def product(rows, columns, inner):
    x = relay.var("x", shape=(rows, inner), dtype="float16")
    w = relay.var("w", shape=(columns, inner), dtype="float16")
    return relay.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w)))


@pytest.mark.rotate(3)
@pytest.mark.parametrize(
    "arch, instruction",
    [("sm_80", "mma.sync"), ("sm_90", "wgmma.mma_async"), ("sm_100", "tcgen05.mma")],
)
def test_products_run_on_the_tensor_cores_of_the_architecture(arch, instruction):
    (text,) = texts(product(2048, 2048, 512), arch)
    ptx = assembly(text)
    assert instruction in ptx
    assert "cp.async.cg.shared.global" in ptx  # 16 bytes each


def test_elementwise_kernels_load_and_store_vectors():
    x = relay.var("x", shape=(1 << 20,), dtype="float16")
    mod = relay.IRModule.from_expr(
        relay.Function([x], relay.nn.relu(x) * relay.const(2.0, "float16"))
    )
    ptx = assembly(texts(mod)[0])
    assert "ld.global.v4.b32" in ptx and "st.global.v4.b32" in ptx


def test_a_kernel_that_needs_too_much_shared_memory_is_refused(monkeypatch):
    (text,) = texts(product(64, 64, 64))
    little = replace(ARCHITECTURES["sm_80"], shared_memory=64)
    monkeypatch.setitem(ARCHITECTURES, "sm_80", little)
    with pytest.raises(LowerError, match="needs more shared memory than sm_80 has"):
        compile_kernel(text)


def test_kernels_have_as_many_hidden_parameters_as_the_runtime_passes():
    ptx = assembly(texts(module("elementwise")[0])[0])
    entry = ptx[ptx.index(".visible .entry") : ptx.index(")\n", ptx.index(".visible .entry"))]
    assert entry.count(".param") == 3 + triton_compiler.HIDDEN_PARAMETERS


@pytest.mark.rotate(32)
@pytest.mark.parametrize("name", CASES)
def test_kernels_compile_for_gpus_of_amd(name):
    """There is no target for these: the texts of kernels need nothing of NVIDIA's before sm_90."""
    target = triton.backends.compiler.GPUTarget("hip", "gfx942", 64)
    for text in texts(module(name)[0], "sm_80"):
        kernel = json.loads(text)
        functions = module_of(kernel["source"], "of AMD")
        for one in kernel["launches"]:
            function = getattr(functions, one["function"])
            source = triton.compiler.ASTSource(
                fn=function,
                signature=dict(zip(function.arg_names, one["types"], strict=True)),
                constexprs={},
            )
            options = {"num_warps": one["warps"], "num_stages": 2, "enable_fp_fusion": True}
            made = triton.compile(source, target=target, options=options)
            assert made.asm["hsaco"] and made.metadata.shared <= 64 << 10
            if "tl.dot" in kernel["source"] and "float16" in name:
                assert "mfma" in made.asm["amdgcn"]
