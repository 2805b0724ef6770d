"""Triton text to machine code, without a GPU. What depends on the version of Triton stands here.

hidden parameters    every kernel has two more than its text names: scratch memory for Triton
                     itself and for profilers, both null in what is generated here
fusion of a*b + c    on by default up to 3.9, said explicitly for the versions after it
alignment            a pointer that is a multiple of 16 is declared so, or loads are not vectors
"""

from __future__ import annotations

import base64
import hashlib
import json
import linecache
from types import ModuleType
from typing import Any, Final

from relay.errors import LowerError, TargetError
from relay.target.cuda.architecture import architecture

HIDDEN_PARAMETERS: Final = 2
ALIGNED: Final = 16
_MISSING: Final = "pip install 'relay[cuda]'"


def triton_version() -> str:
    """The version of Triton, without importing it; empty if there is none."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("triton")
    except PackageNotFoundError:
        return ""


def _triton() -> Any:
    try:
        import triton
        import triton.backends.compiler
        import triton.compiler
    except ImportError as error:
        raise TargetError.of(
            "code for GPUs is made by Triton, which is not installed",
            found=str(error),
            hint=_MISSING,
        ) from None
    return triton


def module_of(source: str, name: str) -> ModuleType:
    """The functions of a text: Triton reads the lines of what it compiles back from it."""
    module = ModuleType(name)
    lines = source.splitlines(keepends=True)
    linecache.cache[name] = (len(source), None, lines, name)
    exec(compile(source, name, "exec"), module.__dict__)
    return module


def compile_kernel(text: str) -> bytes:
    """The code of a kernel: its launches with machine code, as JSON."""
    kernel = json.loads(text)
    triton = _triton()
    facts = architecture(kernel["arch"])
    name = f"relay_{hashlib.sha256(kernel['source'].encode()).hexdigest()[:16]}"
    module = module_of(kernel["source"], name)
    try:
        made = [_launch(triton, module, one, facts.capability) for one in kernel["launches"]]
    finally:
        del linecache.cache[name]
    for launch, one in zip(made, kernel["launches"], strict=True):
        if launch["shared"] > facts.shared_memory:
            raise LowerError.of(
                f"kernel `{one['function']}` needs more shared memory than {facts.name} has",
                expected=f"at most {facts.shared_memory} bytes",
                found=f"{launch['shared']} bytes",
            )
    return json.dumps({"arch": kernel["arch"], "launches": made}).encode()


def compiled(
    triton: Any, function: Any, types: list[str], warps: int, stages: int, capability: int
) -> Any:
    """One function compiled for a device of a compute capability."""
    names = function.arg_names
    source = triton.compiler.ASTSource(
        fn=function,
        signature=dict(zip(names, types, strict=True)),
        constexprs={},
        attrs={(i,): [["tt.divisibility", ALIGNED]] for i in range(len(types))},
    )
    target = triton.backends.compiler.GPUTarget("cuda", capability, 32)
    options = {"num_warps": warps, "num_stages": stages, "enable_fp_fusion": True}
    return triton.compile(source, target=target, options=options)


def _launch(triton: Any, module: ModuleType, one: dict[str, Any], capability: int) -> Any:
    function = getattr(module, one["function"])
    made = compiled(triton, function, one["types"], one["warps"], one["stages"], capability)
    meta = made.metadata
    return {
        "function": meta.name,
        "grid": one["grid"],
        "threads": meta.num_warps * 32,
        "shared": meta.shared,
        "arguments": one["arguments"],
        "cubin": base64.b85encode(made.asm["cubin"]).decode(),
    }
