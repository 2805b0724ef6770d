"""Generates LLVM IR for the loops of a kernel.

A kernel is one exported function, `i32 name(ptr context, ptr args)`, which loads its arguments and
calls the body: `function.py` (statements), `expressions.py` (values and reads), `instructions.py`
(operations), `writer.py` (text).
"""

from __future__ import annotations

from collections.abc import Sequence

from relay import tree
from relay.errors import RelayError
from relay.immutable import frozen
from relay.target.kernel import KernelCode
from relay.target.llvm import abi
from relay.target.llvm.function import PER_WORKER, SHARED, Function
from relay.target.llvm.target import LLVMTarget
from relay.target.llvm.writer import ALIGNMENT, KernelContext, Value
from relay.te.expr import Const, Expr, Var, variables
from relay.te.loops import Store
from relay.te.lower import LoweredLoops
from relay.te.work import without_idle_loops


def generate(
    name: str,
    loops: LoweredLoops,
    target: LLVMTarget,
    *,
    checked: bool = False,
    may_alias: bool = False,
    sizes: Sequence[Var] = (),
) -> KernelCode:
    """The code of one kernel. With `may_alias`, outputs may overlap inputs."""
    kernel = KernelContext(name, target, checked, may_alias, has_sizes=bool(sizes))
    variants = ["body"]
    # (checked code is not vectorized)
    stores = [part for part in tree.postorder(loops.body) if isinstance(part, Store)]
    if not checked and any(store.streaming for store in stores):
        variants.append("streaming")
    statement = without_idle_loops(loops.body) if sizes else loops.body
    for variant in variants:
        kernel.streams = variant == "streaming"
        body = Function(kernel, f"{name}.{variant}")
        parameters = _parameters(body, loops, sizes)
        body.statement(statement)
        body.finish()
        kernel.functions.append(body.text(f"internal void @{name}.{variant}", parameters))
    memory = [kernel.shared.most, kernel.per_worker.most]
    for var in sorted({*variables(memory[0]), *variables(memory[1])} - {*sizes}, key=repr):
        raise RelayError(f"memory of a kernel depends on `{var.name}`, which is none of its sizes")
    known = [int(most.value) for most in memory if isinstance(most, Const)]
    takes = _Arguments(len(loops.inputs) + len(loops.outputs), len(sizes), known != [0, 0])
    entry = _entry(kernel, len(loops.inputs), takes, variants)
    if len(known) == 2:
        shared, per_worker = known
        text = "\n".join([*kernel.functions, *_amounts(kernel, sizes, memory), entry, *_METADATA])
        text = text.replace(SHARED, str(shared)).replace(PER_WORKER, str(per_worker))
        return KernelCode(text, shared, per_worker, checks=tuple(kernel.checks))
    parts = [*kernel.functions, *_amounts(kernel, sizes, memory), _workspace(kernel, takes), entry]
    text = "\n".join([*parts, *_METADATA])
    return KernelCode(text, sized_workspace=True, checks=tuple(kernel.checks))


@frozen
class _Arguments:
    """The numbers of tensors and sizes, and whether there is a workspace."""

    tensors: int
    sizes: int
    workspace: bool


def _amounts(kernel: KernelContext, sizes: Sequence[Var], memory: Sequence[Expr]) -> list[str]:
    """Functions that compute workspace bytes from the sizes: shared, and per worker."""
    if not sizes:
        return []
    made = []
    for what, most in zip(("shared", "per_worker"), memory, strict=True):
        function = Function(kernel, f"{kernel.name}.{what}")
        function.saturates = True  # the allocation then fails
        parameters = _sizes(function, sizes)
        value = function.integer(function.simplify(most))
        function.line(f"ret {value}")
        made.append(function.text(f"internal i64 @{kernel.name}.{what}", parameters))
    return made


def _workspace(kernel: KernelContext, takes: _Arguments) -> str:
    """The exported function that computes the size of the workspace."""
    given = ", ".join(f"i64 %s{i}" for i in range(takes.sizes))
    lines = _loaded([("i64", f"s{i}") for i in range(takes.sizes)], takes.tensors)
    for what in ("shared", "per_worker"):
        lines.append(f"  %{what} = call i64 @{kernel.name}.{what}({given})")
    lines += [
        f"  %threads.at = getelementptr i8, ptr %context, i64 {abi.THREADS}",
        "  %threads = load i64, ptr %threads.at, align 8",
        "  %own = call i64 @llvm.smul.fix.sat.i64(i64 %per_worker, i64 %threads, i32 0)",
        "  %bytes = call i64 @llvm.sadd.sat.i64(i64 %shared, i64 %own)",
        "  ret i64 %bytes",
    ]
    header = f"define i64 @{kernel.name}_workspace(ptr %context, ptr %args) {kernel.attributes} {{"
    return "\n".join([header, "entry:", *lines, "}"])


def _loaded(slots: Sequence[tuple[str, str]], first: int = 0) -> list[str]:
    """Load arguments from their slots."""
    lines = []
    for position, (kind, name) in enumerate(slots, first):
        lines.append(f"  %{name}.at = getelementptr i8, ptr %args, i64 {8 * position}")
        lines.append(f"  %{name} = load {kind}, ptr %{name}.at, align 8")
    return lines


def _parameters(body: Function, loops: LoweredLoops, sizes: Sequence[Var]) -> list[str]:
    may_alias = body.kernel.may_alias
    parameters = ["ptr %context", "ptr %workspace"]
    for i, buffer in enumerate((*loops.inputs, *loops.outputs)):
        read_only = " readonly" if i < len(loops.inputs) and not may_alias else ""
        parameters.append(f"ptr{'' if may_alias else ' noalias'}{read_only} %b{i}")
        body.pointers[id(buffer)] = f"%b{i}"
    if sizes:
        parameters += ["i64 %shared", "i64 %per_worker", *_sizes(body, sizes)]
    return parameters


def _sizes(body: Function, sizes: Sequence[Var]) -> list[str]:
    """Parameters of the dynamic sizes."""
    for i, size in enumerate(sizes):
        body.variables[size] = Value(f"%s{i}", "i64")
        body.simplify.ranges[size] = (0, None)
    return [f"i64 %s{i}" for i in range(len(sizes))]


# no unrolling; nontemporal stores
_METADATA = (
    "!0 = distinct !{!0, !1}",
    '!1 = !{!"llvm.loop.unroll.disable"}',
    "!2 = !{i32 1}",
)


def _entry(kernel: KernelContext, inputs: int, takes: _Arguments, variants: Sequence[str]) -> str:
    """The exported function, which loads the arguments and calls the body."""
    tensors = [("ptr", f"b{i}") for i in range(takes.tensors)]
    sizes = [("i64", f"s{i}") for i in range(takes.sizes)]
    memory = [("ptr", "workspace")] if takes.workspace else []
    lines = ["entry:", *_loaded([*tensors, *sizes, *memory])]
    given = ["ptr %context", "ptr %workspace" if takes.workspace else "ptr null"]
    given += [f"{kind} %{name}" for kind, name in tensors]
    if sizes:
        all_sizes = ", ".join(f"{kind} %{name}" for kind, name in sizes)
        for what in ("shared", "per_worker"):
            lines.append(f"  %{what} = call i64 @{kernel.name}.{what}({all_sizes})")
            given.append(f"i64 %{what}")
        given.append(all_sizes)
    arguments = ", ".join(given)
    if len(variants) > 1:
        lines += _aligned([f"%b{i}" for i in range(inputs, takes.tensors)])
        lines += ["  br i1 %aligned, label %streaming, label %plain", "streaming:"]
        streaming = f"  call void @{kernel.name}.streaming({arguments})"
        lines += [streaming, "  br label %done", "plain:"]
    lines.append(f"  call void @{kernel.name}.body({arguments})")
    if len(variants) > 1:
        lines += ["  br label %done", "done:"]
    status = "0"
    if kernel.checks or kernel.may_stop:
        lines.append(f"  %error.at = getelementptr i8, ptr %context, i64 {abi.ERROR}")
        lines.append("  %error = load i64, ptr %error.at, align 8")
        lines.append("  %code = trunc i64 %error to i32")
        status = "%code"
    lines.append(f"  ret i32 {status}")
    header = f"define i32 @{kernel.name}(ptr %context, ptr %args) {kernel.attributes} {{"
    return "\n".join([header, *lines, "}"])


def _aligned(pointers: Sequence[str]) -> list[str]:
    """`%aligned`: whether all pointers are aligned to vectors."""
    lines = ["  %bits0 = or i64 0, 0"]
    for i, pointer in enumerate(pointers):
        lines.append(f"  %at{i} = ptrtoint ptr {pointer} to i64")
        lines.append(f"  %bits{i + 1} = or i64 %bits{i}, %at{i}")
    lines.append(f"  %low = and i64 %bits{len(pointers)}, {ALIGNMENT - 1}")
    lines.append("  %aligned = icmp eq i64 %low, 0")
    return lines
