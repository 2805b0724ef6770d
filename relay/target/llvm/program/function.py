"""Functions of programs to LLVM IR: blocks, calls, loops.

A block becomes a basic block. Its parameters are phis, and so are those of a function that calls
itself last, which is a jump to its head. Registers are written once, and blocks are in an order in
which definitions precede uses, so a register is an LLVM value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from relay.native import layout
from relay.program import program as isa
from relay.program.uses import reverse_postorder
from relay.target.llvm.program.building import Building, building_calls
from relay.target.llvm.program.objects import Objects
from relay.target.llvm.program.signature import Signature
from relay.target.llvm.program.types import symbol
from relay.target.llvm.program.unit import Unit, symbol_name
from relay.target.llvm.writer import Value

# Only `musttail` calls are tail calls: those that LLVM finds might move the stack, after it has
# changed the arguments of functions.
ATTRIBUTES = 'nounwind "disable-tail-calls"="true"'
_TURNS = 1 << 16  # iterations of a loop without calls between two polls
_LONG = (isa.CallFunction, isa.CallClosure, isa.InvokeKernel)


class FunctionText(Objects):
    """Generates code for one function."""

    def __init__(self, unit: Unit, function: isa.Function) -> None:
        super().__init__(unit, function)
        self.signature = unit.signature(function.name)
        instructions = list(function.instructions)
        self.building = building_calls(function)
        self.loops = bool(self.building) or any(
            isinstance(i, isa.TailCall) and i.function == function.name for i in instructions
        )
        # iterations without long instructions are counted in a register
        long = sum(isinstance(instruction, _LONG) for instruction in instructions)
        self.counts_turns = self.loops and long == len(self.building)
        self.position: dict[int, int] = {}  # of blocks, in the order of the code
        self.incoming: dict[int, list[tuple[str, list[str]]]] = {}  # by block; -1 for the head

    def text_of_function(self) -> str:
        function = self.function
        names = [f"a{register}" for register in function.inputs]
        order = reverse_postorder(function)
        self.position = {number: place for place, number in enumerate(order)}
        self._begin()
        placeholders: list[tuple[int, int, list[str], list[str]]] = []
        inputs = [self.values[register].text for register in function.inputs]
        if self.loops:
            types, heads = list(self.signature.params), [f"%p{r}" for r in function.inputs]
            if self.building:
                types, heads = ["ptr", *types], ["%open", *heads]
                inputs = [self.stack("result", 1), *inputs]
            if self.counts_turns:
                types, heads = ["i64", *types], ["%turns", *heads]
                inputs = [str(_TURNS), *inputs]
            self.incoming[-1] = [(self.block, inputs)]
            self.enter("head")
            placeholders.append((-1, len(self.lines), types, heads))
            for register in function.inputs:
                self.set(register, f"%p{register}")
        self.line("br label %b0")
        for number in order:
            block = function.blocks[number]
            self.begin(f"b{number}")
            self.loaded = {}
            if block.params:
                for register in block.params:
                    self.set(register, f"%r{register}")
                types = [self.values[register].type for register in block.params]
                names_ = [f"%r{register}" for register in block.params]
                placeholders.append((number, len(self.lines), types, names_))
            self.plan_moves(block)
            building = self.building.get(number)
            end = len(block) if building is None else building.position
            for position, instruction in enumerate(block.instructions[:end]):
                self.instruction(position, instruction, number)
            if building is not None:
                self._build(building, number)
        body = self._with_phis(placeholders)
        return self._assemble(names, [*body, *self._failure_blocks()])

    def _begin(self) -> None:
        """The prologue: arguments, stack check, frame."""
        inputs = self.function.inputs
        for register in inputs:
            self.set(register, f"%a{register}")
        specs = [self.spec(register) for register in inputs]
        for index, value in self.load_rest(self.signature.rest(), specs).items():
            self.set(inputs[index], value)
        if self.function.name in self.unit.recursive:
            here = self.make("call ptr @llvm.stackaddress.p0()", "ptr").text
            limit = self.load("ptr", "%ctx", layout.STACK_LIMIT)
            deep = self.make(f"icmp ult ptr {here}, {limit}", "i1").text
            self.fail_if(deep, str(layout.STACK_OVERFLOW), self.site(f"`@{self.function.name}`"))
            self.poll()
        if self.frame.size:
            self.frame_begin = self.allocate_frame(str(self.frame.size))

    def _free_frame(self) -> None:
        """Free the frame, before a return or tail call."""
        if self.frame.size:
            self.store("ptr", self.frame_begin, "%ctx", layout.FRAME)

    def _with_phis(
        self, placeholders: Sequence[tuple[int, int, list[str], list[str]]]
    ) -> list[str]:
        lines: list[str] = []
        done = 0
        for block, position, types, names in placeholders:
            lines += self.lines[done:position]
            done = position
            ways = self.incoming.get(block, [])
            for index, (kind, name) in enumerate(zip(types, names, strict=True)):
                each = ", ".join(f"[ {values[index]}, %{label} ]" for label, values in ways)
                lines.append(f"  {name} = phi {kind} {each}")
        return [*lines, *self.lines[done:]]

    def _failure_blocks(self) -> list[str]:
        """The blocks that leave a function early."""
        lines: list[str] = []
        for way in self.failure_blocks:
            lines += [f"{way.label}:", *way.lines, "  br label %unwind"]
            self.unwinding.append((way.status, way.label))
        if not self.unwinding:
            return lines
        ways = ", ".join(f"[ {status}, %{label} ]" for status, label in self.unwinding)
        lines += ["unwind:", f"  %status = phi i32 {ways}"]
        if self.signature.is_bare:
            return [*lines, "  ret i32 %status"]
        kind = self.signature.returned
        lines.append(f"  %nothing = insertvalue {kind} poison, i32 %status, 0")
        return [*lines, f"  ret {kind} %nothing"]

    def _assemble(self, names: Sequence[str], body: Sequence[str]) -> str:
        header = (
            f"define internal {self.signature.convention}{self.signature.returned} "
            f"{symbol(symbol_name(self.function.name))}({self.signature.parameters(names)}) "
            f"{ATTRIBUTES} {{"
        )
        memory = [
            f"  %{name} = alloca [{words} x i64], align 16" for name, words in self.stacked.items()
        ]
        return "\n".join([header, "entry:", *memory, *body, "}"])

    # --- instructions

    def instruction(self, position: int, instruction: isa.Instruction, number: int) -> None:
        if (generate := _INSTRUCTIONS.get(type(instruction))) is not None:
            generate(self, instruction)
        elif isinstance(instruction, isa.Release):
            self.release_instruction(position, instruction)
        else:
            self._terminator(instruction, number)

    def _literal(self, instruction: isa.Literal) -> None:
        self.set_number(instruction.output, instruction.value)

    def _retain(self, instruction: isa.Retain) -> None:
        self.retain(self.spec(instruction.register), self.text_of(instruction.register))

    def _terminator(self, instruction: isa.Instruction, number: int) -> None:
        match instruction:
            case isa.Return():
                self._return(isa.flatten(instruction.value))
            case isa.Jump():
                if self.position[instruction.block] <= self.position[number]:
                    self.poll()
                values = [self.text_of(register) for register in instruction.args]
                self.incoming.setdefault(instruction.block, []).append((self.block, values))
                self.line(f"br label %b{instruction.block}")
            case isa.Branch():
                ways = f"label %b{instruction.true}, label %b{instruction.false}"
                self.line(f"br i1 {self.text_of(instruction.condition)}, {ways}")
            case isa.Switch():
                self.switch(instruction)
            case isa.TailCall():
                self._tail_call(instruction)
            case isa.TailCallClosure():
                signature = self._closure_signature(instruction.closure)
                closure = self.text_of(instruction.closure)
                self._free_frame()
                given = self._arguments(signature, instruction.args, "%out", closure)
                code = self.load("ptr", closure, layout.CLOSURE_CODE)
                self._tail_call_code(signature, code, given)
            case isa.Fail():
                self.fail(layout.FAILED, self.site(instruction.message, instruction.where))
            case _:
                raise AssertionError(f"{type(instruction).__name__} is no terminator")

    def _return(self, registers: Sequence[isa.Register]) -> None:
        self._free_frame()
        values = [self.values[register] for register in registers]
        if self.building:
            # fill in the last unset field; the first object is the result
            self.store("ptr", values[0].text, "%open", 0)
            values = [Value(self.load("ptr", "%result", 0), "ptr")]
        if self.signature.has_out:
            for position, (register, value) in enumerate(zip(registers, values, strict=True)):
                self.store_word(self.spec(register), value.text, "%out", 8 * position)
        if self.signature.is_bare:
            self.line("ret i32 0")
            return
        kind = self.signature.returned
        nothing = ", ".join(f"{one} poison" for one in self.signature.results)
        whole = f"{{ i32 0, {nothing} }}"
        for position, value in enumerate(values):
            whole = self.make(f"insertvalue {kind} {whole}, {value}, {position + 1}", kind).text
        self.line(f"ret {kind} {whole}")

    # --- calls

    def _arguments(
        self,
        signature: Signature,
        args: Sequence[isa.Register],
        out: str,
        closure: str | None = None,
    ) -> str:
        values = [self.text_of(register) for register in args]
        specs = [self.spec(register) for register in args]
        self.store_rest(signature.rest(closure=closure is not None), specs, values)
        return signature.arguments(values, out, closure=closure)

    def _closure_signature(self, register: isa.Register) -> Signature:
        spec = self.spec(register)
        assert isinstance(spec, isa.ClosureSpec)
        return Signature.of(spec.params, spec.results, self.unit.uniform)

    def _call_function(self, instruction: isa.CallFunction) -> None:
        signature = self.unit.signature(instruction.function)
        out = self._out(signature)
        given = self._arguments(signature, instruction.args, out)
        callee = symbol(symbol_name(instruction.function))
        self._call_code(signature, callee, given, out, instruction.outputs)

    def _call_closure(self, instruction: isa.CallClosure) -> None:
        signature = self._closure_signature(instruction.closure)
        out = self._out(signature)
        closure = self.text_of(instruction.closure)
        given = self._arguments(signature, instruction.args, out, closure)
        code = self.load("ptr", closure, layout.CLOSURE_CODE)
        self._call_code(signature, code, given, out, instruction.outputs)

    def _out(self, signature: Signature) -> str:
        return self.stack("results", len(signature.results)) if signature.has_out else ""

    def _call_code(
        self,
        signature: Signature,
        callee: str,
        given: str,
        out: str,
        outputs: Sequence[isa.Register],
    ) -> None:
        kind = signature.returned
        found = self.make(f"call {signature.convention}{kind} {callee}({given})", kind).text
        status = found
        if not signature.is_bare:
            status = self.make(f"extractvalue {kind} {found}, 0", "i32").text
        self.check_call(status)
        for position, register in enumerate(outputs):
            if signature.has_out:
                self.set(register, self.load_word(self.spec(register), out, 8 * position))
            else:
                code = f"extractvalue {kind} {found}, {position + 1}"
                self.set(register, self.make(code, signature.results[position]).text)

    def _tail_call(self, instruction: isa.TailCall) -> None:
        if instruction.function == self.function.name:
            self._jump_to_head(instruction.args)
            return
        signature = self.unit.signature(instruction.function)
        self._free_frame()
        given = self._arguments(signature, instruction.args, "%out")
        self._tail_call_code(signature, symbol(symbol_name(instruction.function)), given)

    def _build(self, building: Building, number: int) -> None:
        """Store data in the field that the last iteration left unset, and continue."""
        for instruction in building.between:
            self.instruction(-1, instruction, number)
        made, place = self.make_with_hole(building.make, building.field)
        self.store("ptr", made, "%open", 0)
        self._jump_to_head(building.call.args, place)

    def _jump_to_head(self, args: Sequence[isa.Register], place: str = "%open") -> None:
        """Jump to the head with other arguments."""
        values = [self.text_of(register) for register in args]
        if self.building:
            values = [place, *values]
        if self.counts_turns:
            fewer = self.make("add i64 %turns, -1", "i64").text
            due = self.make(f"icmp eq i64 {fewer}, 0", "i1").text
            before, asked = self.poll_if(due)
            turns = self.make(f"phi i64 [ {fewer}, %{before} ], [ {_TURNS}, %{asked} ]", "i64")
            values = [turns.text, *values]
        else:
            self.poll()
        self.incoming[-1].append((self.block, values))
        self.line("br label %head")

    def _tail_call_code(self, signature: Signature, callee: str, given: str) -> None:
        kind = signature.returned
        found = self.make(
            f"musttail call {signature.convention}{kind} {callee}({given})", kind
        ).text
        self.line(f"ret {kind} {found}")


_INSTRUCTIONS: Final[Mapping[type[isa.Instruction], Callable[[FunctionText, Any], None]]] = {
    isa.LoadConstant: FunctionText.constant,
    isa.Literal: FunctionText._literal,
    isa.Scalar: FunctionText.scalar,
    isa.AllocTensor: FunctionText.alloc,
    isa.ViewTensor: FunctionText.view,
    isa.InvokeKernel: FunctionText.invoke,
    isa.ReadSize: FunctionText.read_size,
    isa.ReadElement: FunctionText.read_element,
    isa.ComputeSize: FunctionText.compute_size,
    isa.RequireEqual: FunctionText.require_equal,
    isa.MakeData: FunctionText.make_data,
    isa.GetField: FunctionText.get_field,
    isa.MakeClosure: FunctionText.make_closure,
    isa.MakeReference: FunctionText.make_reference,
    isa.ReadReference: FunctionText.read_reference,
    isa.WriteReference: FunctionText.write_reference,
    isa.CallFunction: FunctionText._call_function,
    isa.CallClosure: FunctionText._call_closure,
    isa.Retain: FunctionText._retain,
}
