"""Kernels in C in this process: compiled by the compiler of this machine, when they are called."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from relay.errors import TargetError
from relay.program.native import workspace_name
from relay.target.c.helpers import definitions
from relay.target.c.kernels import has_workspace, helpers_of
from relay.target.c.source import PREAMBLE
from relay.target.kernel import Kernel, TensorSpec
from relay.target.llvm import abi
from relay.target.loaded import CallFrame, CallSequence, KernelCall, Loaded, Slots
from relay.target.target import Target

_OPTIONS = ("-std=c11", "-O2", "-fPIC", "-ffp-contract=off", "-w", "-c")


class CKernels(Loaded):
    """Kernels that are compiled when the first is called: a model that is exported as text only
    needs no compiler."""

    def __init__(self, kernels: Sequence[Kernel], texts: Sequence[str]) -> None:
        self.kernels = kernels
        self.texts = texts

    @cached_property
    def native(self) -> Loaded:
        """The compiled kernels, run by the runtime of this machine's target."""
        if not self.kernels:
            return Target.host().load((), (), threads=1, support={})
        data = compiled(program_text(self.kernels, self.texts))
        return Target.host().load(self.kernels, [data], threads=1, support={})

    def invoke(self, kernel: str, words: Sequence[int], where: str = "") -> None:
        self.native.invoke(kernel, words, where)

    def sequence(
        self,
        calls: Sequence[KernelCall],
        inputs: Sequence[TensorSpec] = (),
        outputs: Sequence[TensorSpec] = (),
    ) -> CallSequence:
        return _Sequence(self, calls)


class _Sequence(CallSequence):
    """A sequence that is made when it runs."""

    loaded: CKernels

    @cached_property
    def native(self) -> CallSequence:
        return self.loaded.native.sequence(self.calls)

    def frame(self, slots: Slots) -> CallFrame:
        return self.native.frame(slots)


def compiler() -> list[str]:
    """The command of the compiler: what CC says, or the first that is installed."""
    if command := shlex.split(os.environ.get("CC", "")):
        return command
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return [name]
    raise TargetError.of(
        "kernels in C are compiled to be run, and this machine has no compiler of C",
        expected="cc, gcc or clang, or the command in CC",
        hint="install one, or compile for the target `llvm`",
    )


def compiled(text: str) -> bytes:
    """The object file of a program."""
    command = compiler()
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "kernels.c", Path(folder) / "kernels.o"
        source.write_text(text)
        try:
            done = subprocess.run(
                [*command, *_OPTIONS, "-o", str(made), str(source)],
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError as error:
            raise TargetError.of(f"the compiler `{command[0]}` does not run: {error}") from None
        if done.returncode:
            message = f"`{shlex.join(command)}` does not take the code made for a kernel"
            raise TargetError.of(message, found=done.stderr.strip()[:2000])
        return made.read_bytes()


def program_text(kernels: Sequence[Kernel], texts: Sequence[str]) -> str:
    """The kernels, each under its name as a function of the binary interface of kernels."""
    used = {name for text in texts for name in helpers_of(text)}
    parts = [PREAMBLE, *definitions(used)]
    for kernel, text in zip(kernels, texts, strict=True):
        names = [kernel.name]
        names += [workspace_name(kernel.name)] * kernel.sized_workspace
        parts += [f"#define {name} {name}_code" for name in reversed(names)]
        parts.append(text)
        parts += [f"#undef {name}" for name in names]
        parts.append(_entry(kernel))
    return "\n".join(parts) + "\n"


def _entry(kernel: Kernel) -> str:
    """The function that takes the arguments of a kernel from words (`relay.target.llvm.abi`)."""
    tensors = len(kernel.inputs) + len(kernel.outputs)
    sizes = [f"(int64_t)words[{tensors + i}]" for i in range(len(kernel.sizes))]
    given = [f"(void *)words[{i}]" for i in range(tensors)] + sizes
    if has_workspace(kernel):
        given.append(f"(void *)words[{tensors + len(sizes)}]")
    lines = [f"int32_t {kernel.name}(int64_t *context, const intptr_t *words) {{"]
    lines += ["  (void)words;"] * (not given)
    if not kernel.checks:
        call = f"{kernel.name}_code({', '.join(given)})"
        lines += ["  (void)context;", f"  {call};", "  return 0;", "}"]
    else:
        details = abi.DETAILS[0] // 8
        call = f"{kernel.name}_code({', '.join([*given, f'context + {details}'])})"
        lines.append(f"  if (!{call}) return 0;")
        lines.append(f"  context[{abi.ERROR // 8}] = {abi.OUT_OF_RANGE};")
        lines += [f"  return {abi.OUT_OF_RANGE};", "}"]
    if kernel.sized_workspace:
        name = workspace_name(kernel.name)
        lines.append(f"int64_t {name}(void *context, const intptr_t *words) {{")
        lines += ["  (void)context;", f"  return {name}_code({', '.join(sizes)});", "}"]
    return "\n".join(lines)
