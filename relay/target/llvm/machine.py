"""LLVM's target machines."""

from __future__ import annotations

from typing import Any

from relay.target.llvm.target import LLVMTarget


def target_machine(target: LLVMTarget) -> Any:
    """LLVM's target machine for `target`, which generates position-independent code."""
    from llvmlite import binding

    if LLVMTarget.here().arch == target.arch:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        binding.initialize_native_asmparser()  # without it, inline assembly aborts the process
    else:
        binding.initialize_all_targets()
        binding.initialize_all_asmprinters()
    return binding.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu,
        features=target.features,
        opt=2,
        reloc="pic" if target.system not in ("none", "unknown") else "static",
        codemodel="small",
        abiname="lp64d" if target.arch == "riscv64" else "",
    )
