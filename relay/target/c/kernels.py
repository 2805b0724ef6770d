"""The function of a kernel: statements in C.

    /* calls relay_max_float32 */
    static void relay_dense_relu_0123456789abcdef(
        const float *restrict x, const float *restrict w, float *restrict y) {
      for (int64_t i = 0; i < 16; i++) {
        …

Its parameters are the inputs, the outputs, the dynamic sizes, the workspace if it needs one, and
where to say which index was out of range if one may be: it then returns whether one was.

Loops are serial, and loops over vector lanes are loops, which C's compiler vectorizes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from relay import dtypes, tree
from relay.errors import RelayError
from relay.target.c.types import c_type, memory_type
from relay.target.c.values import ADD, UNARY, Writer
from relay.target.kernel import Kernel, KernelCode
from relay.te import loops
from relay.te.expr import INDEX, Const, Expr, Var, const, variables
from relay.te.lower import LoweredLoops
from relay.te.work import without_idle_loops
from relay.te.workspace import Workspace
from relay.tree import Steps

STACK: Final = 1024  # bytes; larger buffers are in the workspace
_CALLS: Final = re.compile(r"/\* calls (.*) \*/\n")


def generate(
    name: str,
    lowered: LoweredLoops,
    *,
    checked: bool = False,
    may_alias: bool = False,
    sizes: Sequence[Var] = (),
) -> KernelCode:
    """The function of a kernel. With `may_alias`, outputs may overlap inputs."""
    body = _Function(checked=checked)
    for buffer in (*lowered.inputs, *lowered.outputs):
        body.name_buffer(buffer)
    for size in sizes:
        body.variables[size] = body.fresh(size.name)
        body.simplify.ranges[size] = (0, None)
    body.statement(without_idle_loops(lowered.body) if sizes else lowered.body)
    most = body.workspace.most
    for var in sorted(variables(most) - {*sizes}, key=repr):
        raise RelayError(f"memory of a kernel depends on `{var.name}`, which is none of its sizes")
    fixed = int(most.value) if isinstance(most, Const) else None
    parameters = []
    for i, buffer in enumerate((*lowered.inputs, *lowered.outputs)):
        kind = memory_type(buffer.dtype)
        kind = f"const {kind}" if i < len(lowered.inputs) else kind
        alias = "" if may_alias else "restrict "
        parameters.append(f"{kind} *{alias}{body.buffers[id(buffer)]}")
    parameters += [f"int64_t {body.variables[size]}" for size in sizes]
    parameters += ["unsigned char *workspace"] * (fixed != 0)
    parameters += ["int64_t *failure"] * bool(body.checks)
    text = "\n".join(body.body())
    for parameter in parameters:
        own = parameter.rpartition("*")[2].split()[-1]
        if not re.search(rf"\b{own}\b", text):
            text = f"  (void){own};\n{text}"
    kind = "int" if body.checks else "void"
    lines = [_head(kind, name, parameters), text, *["  return 0;"] * bool(body.checks), "}"]
    if fixed is None:
        lines += _workspace(name, most, sizes, body.helpers)
    if body.helpers:
        lines.insert(0, f"/* calls {' '.join(sorted(body.helpers))} */")
    checks = tuple(body.checks)
    if fixed is not None:
        return KernelCode("\n".join(lines), fixed, checks=checks)
    return KernelCode("\n".join(lines), sized_workspace=True, checks=checks)


def helpers_of(text: str) -> list[str]:
    """The helpers that the text of a kernel calls."""
    found = _CALLS.match(text)
    return found[1].split() if found else []


def has_workspace(kernel: Kernel) -> bool:
    return kernel.workspace > 0 or kernel.sized_workspace


def _head(kind: str, name: str, parameters: Sequence[str]) -> str:
    """The first line of a function, broken where it is long."""
    text = f"static {kind} {name}({', '.join(parameters) or 'void'}) {{"
    if len(text) <= 100:
        return text
    lines = [f"static {kind} {name}("]
    for parameter in parameters:
        if len(lines[-1]) + len(parameter) > 98 or len(lines) == 1:
            lines.append("   ")
        lines[-1] += f" {parameter},"
    return "\n".join([*lines[:-1], lines[-1].removesuffix(",") + ") {"])


def _workspace(name: str, most: Expr, sizes: Sequence[Var], helpers: set[str]) -> list[str]:
    """The function that computes the size of the workspace; beyond 2**63 the largest number, which
    no memory has."""
    function = _Function()
    function.saturates = True
    for size in sizes:
        function.variables[size] = function.fresh(size.name)
        function.simplify.ranges[size] = (0, None)
    function.line(f"return {function.plain(function.simplify(most))};")
    helpers |= function.helpers
    parameters = [f"int64_t {function.variables[size]}" for size in sizes]
    unused = [
        f"  (void){given};"
        for size in sizes
        if size not in variables(most)
        for given in (function.variables[size],)
    ]
    head = _head("int64_t", f"{name}_workspace", parameters)
    return [head, *unused, *function.body(), "}"]


class _Function(Writer):
    """Writes the statements of one kernel."""

    def __init__(self, checked: bool = False) -> None:
        super().__init__()
        self.checked = checked
        self.checks: list[str] = []  # what each check guards
        self.workspace = Workspace()
        self.fresh("workspace")
        self.fresh("failure")

    def name_buffer(self, buffer: loops.Buffer) -> None:
        self.buffers[id(buffer)] = self.fresh(buffer.name)

    def statement(self, statement: loops.Statement) -> None:
        tree.run(self._statement(statement))

    def _statement(self, statement: loops.Statement) -> Steps[None]:
        match statement:
            case loops.Block():
                for step in statement.steps:
                    if isinstance(step, loops.Allocate) and step is not statement.steps[-1]:
                        self.line("{")  # its memory is free for what follows
                        with self.indented():
                            yield self._statement(step)
                        self.line("}")
                    else:
                        yield self._statement(step)
            case loops.For():
                yield self._for(statement)
            case loops.While():
                yield self._while(statement)
            case loops.Store():
                yield self._store(statement)
            case loops.If():
                yield self._if(statement)
            case loops.Let():
                yield self._let(statement)
            case loops.Allocate():
                yield self._allocate(statement)
            case loops.Fail():
                index, extent = self.plain(statement.index), self.plain(statement.extent)
                self.fail(statement.what, index, extent)
            case loops.Prefetch():
                pass  # a hint

    def _for(self, loop: loops.For) -> Steps[None]:
        extent = self.value(loop.extent).at(ADD)
        self.simplify.bind(loop.var, loop.extent)
        with self.scope():
            name = self.variables[loop.var] = self.fresh(loop.var.name)
            self.line(f"for (int64_t {name} = 0; {name} < {extent}; {name}++) {{")
            with self.indented():
                yield self._statement(loop.body)
            self.line("}")

    def _while(self, loop: loops.While) -> Steps[None]:
        self.line("for (;;) {")
        with self.indented():
            condition = self.value(loop.condition)
            self.line(f"if (!{condition.at(UNARY)}) break;")
            yield self._statement(loop.body)
        self.line("}")

    def _if(self, statement: loops.If) -> Steps[None]:
        condition = self.plain(statement.condition)
        self.line(f"if ({condition}) {{")
        with self.indented():
            yield self._statement(statement.then)
        if statement.otherwise is not None:
            self.line("} else {")
            with self.indented():
                yield self._statement(statement.otherwise)
        self.line("}")

    def _let(self, statement: loops.Let) -> Steps[None]:
        var = statement.var
        value = self.plain(statement.value)
        if var.dtype == INDEX:
            self.simplify.limit(var, self.simplify.interval(statement.value))
        name = self.variables[var] = self.unique(var.name)
        self.line(f"const {c_type(var.dtype)} {name} = {value};")
        yield self._statement(statement.body)

    def _store(self, statement: loops.Store) -> Steps[None]:
        value = self.plain(statement.value)
        place = yield self.element(statement.buffer, statement.indices)
        self.line(f"{place} = {value};")

    def _allocate(self, statement: loops.Allocate) -> Steps[None]:
        """A local array, a local variable for one element, or a part of the workspace."""
        buffer = statement.buffer
        item = dtypes.to_numpy(buffer.dtype).itemsize
        count: Expr = const(1, INDEX)
        for extent in buffer.shape:
            count = count * extent
        kept = buffer.scope is not loops.MemoryScope.WORKSPACE
        known = int(count.value) if isinstance(count, Const) else None
        self.name_buffer(buffer)
        name, kind = self.buffers[id(buffer)], memory_type(buffer.dtype)
        if known is not None and (kept or known * item <= STACK):
            if known == 1:
                self.scalars.add(id(buffer))
            self.line(f"{kind} {name};" if known == 1 else f"{kind} {name}[{max(1, known)}];")
            begin = len(self.lines)
            yield self._statement(statement.body)
            if not self._is_read(name, begin):
                self.line(f"(void){name};")
            return
        with self.workspace.take(count * item) as offset:
            start = self.value(offset).at(ADD)
            at = "workspace" if start == "0" else f"(workspace + {start})"
            self.line(f"{kind} *restrict const {name} = ({kind} *){at};")
            yield self._statement(statement.body)

    def _is_read(self, name: str, begin: int) -> bool:
        """Whether the lines from `begin` do more with a variable than to set it, also from what it
        was."""
        stored = re.compile(rf" *{name}(\[[^=]*\])? = ")
        word = re.compile(rf"\b{name}\b")
        return any(word.search(one) and not stored.match(one) for one in self.lines[begin:])

    def fail(self, what: str, index: str, extent: str) -> None:
        details = [str(len(self.checks)), index, extent]
        self.checks.append(what)
        self.line("{")
        with self.indented():
            for place, detail in enumerate(details):
                self.line(f"failure[{place}] = {detail};")
            self.line("return 1;")
        self.line("}")
