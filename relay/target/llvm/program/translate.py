"""Programs to LLVM IR.

    translated = translate(own(program), target)
    compile_module([translated.ir], target, opt=3, imports=translated.imports)

Every function but `prepare` becomes an LLVM function (`function.py`), called directly or through
the code of a closure. Exported functions also have an entry with the C calling convention, which
takes its arguments, with their references, from an array of words and stores the results in
another.

    i32 relay_entry_main(ptr context, ptr args, ptr results)

A nonzero status says why a run ended: those of kernels, and of `relay.native.layout`; the context
has the index of the site. Nothing is freed on the way out: the heap knows its objects.

The short functions of `relay.native.objects` are part of the text, so that LLVM inlines them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from relay.immutable import frozen
from relay.native import layout, objects
from relay.program.native import Site
from relay.program.program import MAIN, PREPARE, Function, Program, flatten
from relay.target.llvm.program.function import ATTRIBUTES, FunctionText
from relay.target.llvm.program.signature import Signature
from relay.target.llvm.program.types import symbol
from relay.target.llvm.program.unit import (
    Device,
    Unit,
    closure_name,
    parameter_specs,
    recursive_functions,
    symbol_name,
)
from relay.target.llvm.program.words import arrange
from relay.target.llvm.target import LLVMTarget


@frozen
class Translated:
    """The code of a program, and its tables."""

    ir: str
    entries: Mapping[str, str]  # exported function -> symbol of its entry
    sites: tuple[Site, ...]  # by number
    constants: tuple[str, ...]  # the constants in the array of the context, in order
    kernels: tuple[str, ...]  # symbols of called kernels, and of their workspace functions

    @property
    def imports(self) -> tuple[str, ...]:
        """The external functions: kernels, and those of the runtime."""
        return (*self.kernels, *objects.PROGRAM_IMPORTS)


def translate(
    program: Program,
    target: LLVMTarget,
    exports: Sequence[str] = (MAIN,),
    device: Device | None = None,
) -> Translated:
    """The LLVM IR of a program with reference counting (`relay.program.ownership`); of one whose
    tensors lie in memory of a `device`, without frames."""
    functions = [function for function in program.functions if function.name != PREPARE]
    table = {function.name: function for function in functions}
    unit = Unit(program, target, table, recursive_functions(functions), device)
    bodies = [FunctionText(unit, function).text_of_function() for function in functions]
    wrappers = [_closure(unit, name, captured) for name, captured in unit.closures]
    entries = [_entry(unit, program[name]) for name in exports]
    kernels = [f"declare i32 {symbol(name)}(ptr, ptr)" for name in unit.kernels]
    if device is not None:
        kernels = [device.text(tuple(unit.kernels))]
    kernels += [f"declare i64 {symbol(name)}(ptr, ptr)" for name in unit.workspaces]
    parts = [objects.inline_text(), *kernels, *bodies, *wrappers, *entries, _METADATA]
    return Translated(
        "\n".join(parts) + "\n",
        {name: entry_name(name) for name in exports},
        tuple(unit.sites),
        tuple(unit.constants),
        (*unit.kernels, *unit.workspaces),
    )


def entry_name(function: str) -> str:
    """The symbol of the entry of a function."""
    return f"relay_entry_{function}"


# --- closures -----------------------------------------------------------------------------------


def _closure(unit: Unit, name: str, captured: int) -> str:
    """The code of closures of a function: captured values are its first arguments."""
    function = unit.functions[name]
    writer = FunctionText(unit, function)
    specs = parameter_specs(function)
    signature = unit.signature(name)
    own = Signature(signature.params[captured:], signature.results, unit.uniform)
    positions = arrange(specs[:captured]).positions
    taken = writer.load_rest(own.rest(closure=True), specs[captured:])
    values = []
    for spec, position in zip(specs, positions, strict=False):
        place = layout.CLOSURE_WORDS + 8 * position
        values.append(writer.load_word(spec, "%closure", place))
        writer.retain(spec, values[-1])
    if captured:
        writer.line("call void @relay_release_object(ptr %ctx, ptr %closure)")
    names = [f"a{index}" for index in range(captured, len(specs))]
    values += [taken.get(index, f"%{one}") for index, one in enumerate(names)]
    writer.store_rest(signature.rest(), specs, values)
    given = signature.arguments(values, "%out")
    kind = signature.returned
    code = closure_name(name, captured)
    lines = [
        f"define internal {own.convention}{kind} {symbol(code)}"
        f"({own.parameters(names, closure=True)}) {ATTRIBUTES} {{",
        "entry:",
        *writer.lines,
        f"  %found = musttail call {own.convention}{kind} {symbol(symbol_name(name))}({given})",
        f"  ret {kind} %found",
        "}",
    ]
    if not captured:
        fields = f"i64 {layout.IMMORTAL}, i32 {layout.CLOSURE}, i32 0, i32 0, i32 0"
        made = f"{{ {fields}, ptr {symbol(code)} }}"
        lines.append(
            f"{symbol(f'{code}.object')} = internal constant "
            f"{{ i64, i32, i32, i32, i32, ptr }} {made}, align 16"
        )
    return "\n".join(lines)


# --- entries ------------------------------------------------------------------------------------


def _entry(unit: Unit, function: Function) -> str:
    """The entry: loads arguments from words, stores results to words."""
    writer = FunctionText(unit, function)
    signature = unit.signature(function.name)
    results = flatten(function.results)
    specs = parameter_specs(function)
    values = [writer.load_word(spec, "%args", 8 * index) for index, spec in enumerate(specs)]
    rest = signature.rest()
    if most := max(unit.rest, len(rest)):
        writer.line(f"%rest = alloca [{most} x i64], align 16")
        writer.store("ptr", "%rest", "%ctx", layout.REST)
    writer.store_rest(rest, specs, values)
    given = signature.arguments(values, "%results")
    kind = signature.returned
    callee = symbol(symbol_name(function.name))
    found = writer.make(f"call {signature.convention}{kind} {callee}({given})", kind).text
    status = found
    if not signature.is_bare:
        status = writer.make(f"extractvalue {kind} {found}, 0", "i32").text
        fine = writer.make(f"icmp eq i32 {status}, 0", "i1").text
        writer.line(f"br i1 {fine}, label %fine, label %done")
        writer.begin("fine")
        for index, spec in enumerate(results):
            code = f"extractvalue {kind} {found}, {index + 1}"
            value = writer.make(code, signature.results[index]).text
            writer.store_word(spec, value, "%results", 8 * index)
        writer.line("br label %done")
        writer.begin("done")
    writer.line(f"ret i32 {status}")
    header = f"define i32 {symbol(entry_name(function.name))}(ptr %ctx, ptr %args, ptr %results)"
    return "\n".join([f"{header} nounwind {{", "entry:", *writer.lines, "}"])


_METADATA: Final = """\
!0 = !{!"branch_weights", i32 1, i32 1048576}"""
