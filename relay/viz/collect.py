"""What a page about a model shows, as plain data: every pass, graphs, kernels, memory, time.

data = collect(module, weights)
data["steps"][3]            the program after a pass, as numbers of lines
data["graphs"][-1]          the compiled program, boxes in boxes
data["kernels"]["relay_…"]  expressions, loops, LLVM IR, assembly, time
data["memory"]["blocks"]    who is where in the arena, and when
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from relay import __version__
from relay.driver import compile_program
from relay.errors import RelayError, Span
from relay.executors.executable import Executable
from relay.executors.make import make_executable
from relay.executors.report import KernelInfo
from relay.executors.straight_line import StraightLineExecutable
from relay.frontend.model import as_module
from relay.ir import expr as ir
from relay.ir.module import IRModule
from relay.lower.kernel import Options
from relay.pipeline import ALGORITHMS
from relay.program import program as isa
from relay.program.explain import Explained, explain
from relay.program.plan import Arena, last_uses
from relay.program.primitives import Primitive
from relay.progress import Progress, silent
from relay.transform.catalogue import is_pass
from relay.transform.context import PassContext
from relay.transform.infer_type import InferType
from relay.transform.instruments import PassInstrument
from relay.transform.pass_info import PassInfo
from relay.viz.graph import Graph, graph_of
from relay.viz.trace import trace

# The arguments for a call of an executable.
CallOf = Callable[[Executable], tuple[tuple[Any, ...], dict[str, Any]]]

MOST_TEXT: Final = 300_000  # letters of one text
MEMBERS: Final = 80  # of a box; more are put into boxes of so many
MOST_EVENTS: Final = 5_000


def collect(
    module: IRModule,
    weights: Mapping[str, Any] | None = None,
    *,
    title: str = "a program",
    target: Any = None,
    level: int = 3,
    threads: int | None = None,
    call: CallOf = Executable.example_call,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Compile a module and run it; `call` makes the arguments, by default random ones."""
    module, _ = as_module(module)
    weights = dict(weights or {})
    module = InferType()(module)
    record = _Record(module)
    found: list[tuple[IRModule, Sequence[Primitive]]] = []
    with PassContext(opt_level=level, instruments=[record]):
        made = compile_program(
            module,
            weights,
            target=target,
            level=level,
            progress=progress,
            watch=lambda fused, primitives: found.append((fused, primitives)),
        )
    ((fused, primitives),) = found
    parts = made.program, made.code, made.weights, threads
    exe = make_executable(*parts, state=made.state, convention=made.convention)
    options = Options(exact=level < ALGORITHMS)
    explained: dict[int, list[Explained]] = {}
    known: dict[str, list[Explained]] = {}  # many layers are the same
    for number, one in enumerate(primitives):
        progress("texts", number, len(primitives))
        key = f"{one.constant} {one.function}"
        if key not in known:
            known[key] = explain(one, made.code.target, options)
        explained[id(one.function)] = known[key]
    data: dict[str, Any] = {"title": title, "version": __version__, "notes": []}
    notes: list[str] = data["notes"]
    data |= record.data()
    given = {str(name) for name in weights}
    packed = _parameters(fused) - _parameters(module)  # what `prepare` makes of weights
    data["graphs"] = [
        _plain(graph_of(module, given), "imported", {}),
        _plain(graph_of(fused, given | packed), "compiled", explained),
    ]
    progress("assembly", 0, 0)
    data["kernels"] = _kernels(exe, explained)
    data["memory"] = _memory(exe, notes)
    progress("run", 0, 0)
    data |= _times(exe, data["kernels"], call, notes)
    return data


def _parameters(module: IRModule) -> set[str]:
    return {param.name_hint for param in module["main"].params}


# --- passes --------------------------------------------------------------------------------------


@dataclass
class _Running:
    name: str
    start: float


@dataclass
class _Record(PassInstrument):
    """The program after every pass that is not part of another one."""

    first: IRModule
    steps: list[dict[str, Any]] = field(default_factory=list)
    events: list[tuple[str, float, float, int]] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)
    running: list[_Running] = field(default_factory=list)
    functions: dict[str, int] = field(default_factory=dict)  # identities in the last step
    last: IRModule | None = None
    own: float = 0.0  # seconds of this record, which are not those of passes

    def __post_init__(self) -> None:
        self.begun = time.perf_counter()
        self._step("imported", 0.0, self.first)

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        inside = any(is_pass(above.name) for above in self.running)
        if is_pass(info.name) and not inside and not self._is_last(mod):  # weights were bound, say
            self._step("(between passes)", 0.0, mod)
        self.running.append(_Running(info.name, self._now()))

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        one = self.running.pop()
        seconds = self._now() - one.start
        self.events.append((one.name, one.start, seconds, len(self.running)))
        names = [info.name, *(above.name for above in self.running)]
        if is_pass(names[0]) and not any(map(is_pass, names[1:])):  # the others are sequences
            self._step(one.name, seconds, mod)

    def pass_failed(self, mod: IRModule, info: PassInfo, error: Exception) -> None:
        self.running.pop()

    def _now(self) -> float:
        return time.perf_counter() - self.begun - self.own

    def _is_last(self, module: IRModule) -> bool:
        """Whether these are the functions of the last step."""
        functions = {str(name): id(function) for name, function in module.functions.items()}
        return functions == self.functions

    def _step(self, name: str, seconds: float, module: IRModule) -> None:
        start = time.perf_counter()
        if self._is_last(module):
            numbers = self.steps[-1]["lines"]
        else:
            text = module.astext(show_meta_data=False)
            numbers = [self.lines.setdefault(line, len(self.lines)) for line in text.splitlines()]
        same = bool(self.steps) and self.steps[-1]["lines"] == numbers
        self.last = module.copy()  # keeps functions alive, and so their identities
        self.functions = {str(name): id(f) for name, f in module.functions.items()}
        if same and name == "(between passes)":
            return
        self.steps.append({"name": name, "seconds": seconds, "lines": numbers, "same": same})
        self.own += time.perf_counter() - start

    def data(self) -> dict[str, Any]:
        """Steps share their lines: most passes change few."""
        events = []
        shift = end = 0.0
        for name, start, seconds, depth in sorted(self.events, key=lambda one: (one[1], one[3])):
            if depth == 0:  # what ran between is no pass
                shift, end = end - start, end + seconds
            events.append([name, start + shift, seconds, depth, False])
        return {
            "lines": list(self.lines),
            "steps": [
                step | {"lines": None if step["same"] else step["lines"]} for step in self.steps
            ],
            "passes": events,
        }


# --- graphs --------------------------------------------------------------------------------------


def _plain(graph: Graph, name: str, explained: Mapping[int, list[Explained]]) -> dict[str, Any]:
    """A graph as lists; boxes with many members get boxes in between."""
    nodes: list[list[Any]] = []
    for node in graph.nodes:
        kernels: list[str] = []
        text = node.text
        if isinstance(node.expr, ir.Call) and isinstance(node.expr.op, ir.Function):
            kernels = [one.kernel.name for one in explained.get(id(node.expr.op), ())]
            text = text or _cut(str(node.expr.op))
        elif node.is_box and isinstance(node.expr, ir.Expr):
            text = _cut(str(node.expr))
        nodes.append(
            [
                node.label,
                node.kind,
                node.parent,
                node.type,
                text,
                _source(node.expr),
                node.reads,
                kernels,
            ]
        )
    for number, members in list(graph.children().items()):
        _in_groups(nodes, number, members)
    edges = sorted({(edge.source, edge.target, edge.type) for edge in graph.edges})
    types: dict[str, int] = {}
    plain = [[source, target, types.setdefault(ty, len(types))] for source, target, ty in edges]
    return {"name": name, "nodes": nodes, "edges": plain, "types": list(types)}


def _in_groups(nodes: list[list[Any]], box: int, members: list[int]) -> None:
    """Puts the members of a box into groups of neighbors, until there are few enough."""
    while len(members) > MEMBERS:
        groups = []
        for start in range(0, len(members), MEMBERS):
            part = members[start : start + MEMBERS]
            first, last = nodes[part[0]][0], nodes[part[-1]][0]
            label = f"{first} … {last} ({len(part)})"
            groups.append(len(nodes))
            nodes.append([label, "group", box, "", "", "", [], []])
            for member in part:
                nodes[member][2] = groups[-1]
        members = groups


def _source(e: ir.Syntax | None) -> str:
    """Where an expression comes from, and the line there."""
    span = getattr(e, "span", None)
    if span is None:
        return ""
    line = span.source_name.line(span.line) if isinstance(span, Span) else None
    return f"{span}\n{line}" if line else str(span)


def _cut(text: str) -> str:
    return text if len(text) <= MOST_TEXT else text[:MOST_TEXT] + "\n… and more"


# --- kernels -------------------------------------------------------------------------------------


def _kernels(exe: Executable, explained: Mapping[int, list[Explained]]) -> dict[str, Any]:
    texts = {one.kernel.name: one for several in explained.values() for one in several}
    target = exe.code.target
    found: dict[str, Any] = {}
    for kernel in exe.program.kernels:
        info = KernelInfo.of(kernel, 1)
        made = texts.get(kernel.name)
        try:
            assembly = target.assembly([kernel.ir])
        except RelayError as error:
            assembly = str(error)
        found[kernel.name] = {
            "operators": info.operators,
            "flops": info.flops,
            "bytes": info.bytes,
            "algorithm": info.algorithm,
            "expressions": _cut(made.expressions if made else ""),
            "loops": _cut(made.loops if made else ""),
            "llvm": _cut(kernel.ir),
            "asm": _cut(assembly),
            "calls": 0,
            "seconds": None,
        }
    return found


# --- memory --------------------------------------------------------------------------------------


def _memory(exe: Executable, notes: list[str]) -> dict[str, Any] | None:
    """The blocks of the arena: name, offset, size, first and last step that need it."""
    if not isinstance(exe, StraightLineExecutable):
        notes.append("memory: a program with functions and branches allocates while it runs")
        return None
    function, plan = exe.bound.function, exe.bound.plan
    kernels = exe.program.kernel_table
    last = last_uses(function)
    steps: list[str] = []
    numbers: dict[int, int] = {}  # position of an instruction -> step
    made: dict[int, int] = {}
    for position, instruction in enumerate(function.straight_line):
        numbers[position] = len(steps)
        if isinstance(instruction, isa.InvokeKernel):
            made.update(dict.fromkeys(instruction.outputs, position))
            steps.append(instruction.kernel)
        elif isinstance(instruction, isa.ViewTensor):
            made[instruction.output] = position
    blocks = []
    for register, place in plan.places.items():
        if isinstance(place, Arena) and register in made:
            first, final = made[register], last.get(register, made[register])
            size = isa.nbytes(function.registers[register])
            blocks.append([f"%{register}", place.offset, size, numbers[first], numbers[final]])
    for position, offset in plan.workspaces.items():
        call = function.straight_line[position]
        assert isinstance(call, isa.InvokeKernel)
        kernel = kernels[call.kernel]
        size = kernel.workspace + kernel.worker_workspace * exe.threads
        step = numbers[position]
        blocks.append([f"workspace of {kernel.name}", offset, size, step, step])
    return {"arena": plan.arena, "steps": steps, "blocks": blocks}


# --- time ----------------------------------------------------------------------------------------


def _times(
    exe: Executable, kernels: dict[str, Any], call: CallOf, notes: list[str]
) -> dict[str, Any]:
    """The events of a run; the times of kernels are written into `kernels`."""
    data: dict[str, Any] = {"events": [], "roof": None, "seconds": None}
    try:
        args, named = call(exe)
        profile = exe.profile(*args, repeat=5, **named)
    except RelayError as error:
        notes.append(f"time: {str(error).splitlines()[0]}")
        return data
    try:
        events = trace(exe, *args, **named)
    except RelayError as error:
        notes.append(f"one run: {str(error).splitlines()[0]}")
        events = []
    data["seconds"] = profile.seconds
    for step in profile:
        entry = kernels[step.kernel.name]
        entry["calls"] += step.kernel.calls
        entry["seconds"] = (entry["seconds"] or 0.0) + step.seconds
    data["events"] = [
        [event.name, event.start, event.seconds, event.depth, event.kernel]
        for event in events[:MOST_EVENTS]
    ]
    if len(events) > MOST_EVENTS:
        notes.append(f"time: the first {MOST_EVENTS} of {len(events)} events are shown")
    return data


def with_roof(data: dict[str, Any], threads: int | None = None) -> dict[str, Any]:
    """The same with the roof of this machine, which is measured."""
    from relay.machine import measure

    found = measure(threads)
    return data | {"roof": {"flops": found.flops, "bandwidth": found.bandwidth}}
