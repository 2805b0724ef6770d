"""Loops become LLVM IR, as text.

One exported function per kernel, `i32 name(ptr context, ptr args)`, which unpacks its arguments and
calls the body. The files below it: `function.py` (statements), `expressions.py` (values and reads),
`instructions.py` (operations), `writer.py` (the text itself).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relay import tree
from relay.target import abi
from relay.target.llvm.function import PER_WORKER, SHARED, Function
from relay.target.llvm.writer import ALIGNMENT, Kernel, Value
from relay.target.target import Target
from relay.te.expr import Var
from relay.te.loops import Statement, Store
from relay.te.lower import Lowered


@dataclass(frozen=True)
class Code:
    """A kernel as LLVM IR, and the memory it wants besides its arguments."""

    ir: str
    workspace: int = 0  # bytes for all workers together
    worker_workspace: int = 0  # bytes more for each
    checks: tuple[str, ...] = ()


def generate(
    name: str,
    loops: Lowered,
    target: Target,
    *,
    checked: bool = False,
    may_alias: bool = False,
    sizes: Sequence[Var] = (),
) -> Code:
    """The code of one kernel. With `may_alias`, outputs may lie where inputs do."""
    kernel = Kernel(name, target, checked, may_alias)
    variants = ["body"]
    # (checked code goes element by element)
    if not checked and any(map(_is_streaming, tree.postorder(loops.body))):
        variants.append("streaming")
    for variant in variants:
        kernel.streams = variant == "streaming"
        body = Function(kernel, f"{name}.{variant}")
        parameters = _parameters(body, loops, sizes)
        body.statement(loops.body)
        body.finish()
        kernel.functions.append(body.text(f"internal void @{name}.{variant}", parameters))
    entry = _entry(kernel, len(loops.inputs), len(loops.outputs), len(sizes), variants)
    text = "\n".join([*kernel.functions, entry, *_METADATA])
    text = text.replace(SHARED, str(kernel.shared.most))
    text = text.replace(PER_WORKER, str(kernel.per_worker.most))
    return Code(text, kernel.shared.most, kernel.per_worker.most, tuple(kernel.checks))


def _is_streaming(statement: Statement) -> bool:
    return isinstance(statement, Store) and statement.streaming


def _parameters(body: Function, loops: Lowered, sizes: Sequence[Var]) -> list[str]:
    may_alias = body.kernel.may_alias
    parameters = ["ptr %context", "ptr %workspace"]
    for i, buffer in enumerate((*loops.inputs, *loops.outputs)):
        read_only = " readonly" if i < len(loops.inputs) and not may_alias else ""
        parameters.append(f"ptr{'' if may_alias else ' noalias'}{read_only} %b{i}")
        body.pointers[id(buffer)] = f"%b{i}"
    for i, size in enumerate(sizes):
        parameters.append(f"i64 %s{i}")
        body.variables[size] = Value(f"%s{i}", "i64")
        body.simplify.ranges[size] = (0, None)
    return parameters


# the loops come in their final form; what is stored past the caches is used once
_METADATA = (
    "!0 = distinct !{!0, !1}",
    '!1 = !{!"llvm.loop.unroll.disable"}',
    "!2 = !{i32 1}",
)


def _entry(kernel: Kernel, inputs: int, outputs: int, sizes: int, variants: Sequence[str]) -> str:
    """The exported function: arguments out of their slots, and the body called."""
    lines = ["entry:"]
    slots = [("ptr", f"b{i}") for i in range(inputs + outputs)]
    slots += [("i64", f"s{i}") for i in range(sizes)]
    arguments = [f"{kind} %{name}" for kind, name in slots]
    workspace = "ptr null"
    if kernel.shared.most or kernel.per_worker.most:
        slots.append(("ptr", "workspace"))
        workspace = "ptr %workspace"
    for position, (kind, name) in enumerate(slots):
        lines.append(f"  %{name}.at = getelementptr i8, ptr %args, i64 {8 * position}")
        lines.append(f"  %{name} = load {kind}, ptr %{name}.at, align 8")
    given = ", ".join(["ptr %context", workspace, *arguments])
    if len(variants) > 1:
        lines += _aligned([f"%b{i}" for i in range(inputs, inputs + outputs)])
        lines += ["  br i1 %aligned, label %streaming, label %plain", "streaming:"]
        lines += [f"  call void @{kernel.name}.streaming({given})", "  ret i32 0", "plain:"]
    lines.append(f"  call void @{kernel.name}.body({given})")
    status = "0"
    if kernel.checked:
        lines.append(f"  %error.at = getelementptr i8, ptr %context, i64 {abi.ERROR}")
        lines.append("  %error = load i64, ptr %error.at, align 8")
        lines.append("  %code = trunc i64 %error to i32")
        status = "%code"
    lines.append(f"  ret i32 {status}")
    header = f"define i32 @{kernel.name}(ptr %context, ptr %args) {kernel.attributes} {{"
    return "\n".join([header, *lines, "}"])


def _aligned(pointers: Sequence[str]) -> list[str]:
    """`%aligned`: whether all begin at a vector."""
    lines = ["  %bits0 = or i64 0, 0"]
    for i, pointer in enumerate(pointers):
        lines.append(f"  %at{i} = ptrtoint ptr {pointer} to i64")
        lines.append(f"  %bits{i + 1} = or i64 %bits{i}, %at{i}")
    lines.append(f"  %low = and i64 %bits{len(pointers)}, {ALIGNMENT - 1}")
    lines.append("  %aligned = icmp eq i64 %low, 0")
    return lines
