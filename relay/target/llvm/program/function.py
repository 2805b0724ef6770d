"""A function of a program as LLVM IR: blocks, calls, loops.

A block stays a block. Its parameters are phis, and so are those of a function that ends by calling
itself: that is a jump back to its head. Registers are written once and blocks come in an order in
which what is written comes first, so a register is a value of LLVM.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay.native import layout
from relay.program.program import (
    AllocTensor,
    Branch,
    CallClosure,
    CallFunction,
    ClosureSpec,
    ComputeSize,
    Fail,
    Function,
    GetField,
    Instruction,
    InvokeKernel,
    Jump,
    Literal,
    LoadConstant,
    MakeClosure,
    MakeData,
    MakeReference,
    ReadElement,
    ReadReference,
    ReadSize,
    Register,
    Release,
    RequireEqual,
    Retain,
    Return,
    Scalar,
    Switch,
    TailCall,
    TailCallClosure,
    ViewTensor,
    WriteReference,
    flatten,
)
from relay.program.uses import reverse_postorder
from relay.target.llvm.program.building import Building, building_calls
from relay.target.llvm.program.objects import Objects
from relay.target.llvm.program.signature import Signature
from relay.target.llvm.program.types import symbol
from relay.target.llvm.program.unit import Unit, symbol_name
from relay.target.llvm.writer import Value

# Only what is written as a jump to another function is one: those that LLVM finds might move the
# stack, after it has given functions other arguments.
ATTRIBUTES = 'nounwind "disable-tail-calls"="true"'
_TURNS = 1 << 16  # of a loop that calls nobody, until it looks whether it shall go on
_LONG = (CallFunction, CallClosure, InvokeKernel)


class FunctionText(Objects):
    """Writes one function."""

    def __init__(self, unit: Unit, function: Function) -> None:
        super().__init__(unit, function)
        self.signature = unit.signature(function.name)
        instructions = list(function.instructions)
        self.building = building_calls(function)
        self.loops = bool(self.building) or any(
            isinstance(i, TailCall) and i.function == function.name for i in instructions
        )
        # where all that a turn of the loop does is short, the turns are counted in a register
        long = sum(isinstance(instruction, _LONG) for instruction in instructions)
        self.counts_turns = self.loops and long == len(self.building)
        self.position: dict[int, int] = {}  # of blocks, in the order they are written
        self.incoming: dict[int, list[tuple[str, list[str]]]] = {}  # by block; of the head: -1

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
            self.line("br label %head")
            self.place("head")
            placeholders.append((-1, len(self.lines), types, heads))
            for register in function.inputs:
                self.set(register, f"%p{register}")
        self.line("br label %b0")
        for number in order:
            block = function.blocks[number]
            self.place(f"b{number}")
            self.loaded = {}
            if block.params:
                for register in block.params:
                    self.set(register, f"%r{register}")
                types = [self.values[register].type for register in block.params]
                names_ = [f"%r{register}" for register in block.params]
                placeholders.append((number, len(self.lines), types, names_))
            self.plan_taking(block)
            building = self.building.get(number)
            end = len(block) if building is None else building.position
            for position, instruction in enumerate(block.instructions[:end]):
                self.instruction(position, instruction, number)
            if building is not None:
                self._build(building, number)
        body = self._with_phis(placeholders)
        return self._assemble(names, [*body, *self._ways_out()])

    def _begin(self) -> None:
        """The arguments, and the checks every activation begins with."""
        inputs = self.function.inputs
        for register in inputs:
            self.set(register, f"%a{register}")
        specs = [self.spec(register) for register in inputs]
        for index, value in self.take_rest(self.signature.rest(), specs).items():
            self.set(inputs[index], value)
        if self.function.name in self.unit.recursive:
            here = self.make("call ptr @llvm.stackaddress.p0()", "ptr").text
            limit = self.load("ptr", "%ctx", layout.STACK_LIMIT)
            deep = self.make(f"icmp ult ptr {here}, {limit}", "i1").text
            self.fail_if(deep, str(layout.STACK_OVERFLOW), self.site(f"`@{self.function.name}`"))
            self.poll()
        if self.frame.size:
            self.frame_begin = self.take_frame(str(self.frame.size))

    def _leave(self) -> None:
        """Give the frame back, before a function returns or goes on in another."""
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

    def _ways_out(self) -> list[str]:
        """The blocks that end a function early."""
        lines: list[str] = []
        for way in self.ways_out:
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
            f"define internal tailcc {self.signature.returned} "
            f"{symbol(symbol_name(self.function.name))}({self.signature.parameters(names)}) "
            f"{ATTRIBUTES} {{"
        )
        memory = [
            f"  %{name} = alloca [{words} x i64], align 16" for name, words in self.stacked.items()
        ]
        return "\n".join([header, "entry:", *memory, *body, "}"])

    # --- instructions

    def instruction(self, position: int, instruction: Instruction, number: int) -> None:
        match instruction:
            case LoadConstant():
                self.constant(instruction)
            case Literal():
                self.set_number(instruction.output, instruction.value)
            case Scalar():
                self.scalar(instruction)
            case AllocTensor():
                self.alloc(instruction)
            case ViewTensor():
                self.view(instruction)
            case InvokeKernel():
                self.invoke(instruction)
            case ReadSize():
                self.read_size(instruction)
            case ReadElement():
                self.read_element(instruction)
            case ComputeSize():
                self.compute_size(instruction)
            case RequireEqual():
                self.require_equal(instruction)
            case MakeData():
                self.make_data(instruction)
            case GetField():
                self.get_field(instruction)
            case MakeClosure():
                self.make_closure(instruction)
            case MakeReference():
                self.make_reference(instruction)
            case ReadReference():
                self.read_reference(instruction)
            case WriteReference():
                self.write_reference(instruction)
            case CallFunction():
                self._call_function(instruction)
            case CallClosure():
                self._call_closure(instruction)
            case Retain():
                self.retain(self.spec(instruction.register), self.text_of(instruction.register))
            case Release():
                self.let_go(position, instruction)
            case _:
                self._terminator(instruction, number)

    def _terminator(self, instruction: Instruction, number: int) -> None:
        match instruction:
            case Return():
                self._return(flatten(instruction.value))
            case Jump():
                if self.position[instruction.block] <= self.position[number]:
                    self.poll()
                values = [self.text_of(register) for register in instruction.args]
                self.incoming.setdefault(instruction.block, []).append((self.block, values))
                self.line(f"br label %b{instruction.block}")
            case Branch():
                ways = f"label %b{instruction.true}, label %b{instruction.false}"
                self.line(f"br i1 {self.text_of(instruction.condition)}, {ways}")
            case Switch():
                self.switch(instruction)
            case TailCall():
                self._tail_call(instruction)
            case TailCallClosure():
                signature = self._closure_signature(instruction.closure)
                closure = self.text_of(instruction.closure)
                self._leave()
                given = self._arguments(signature, instruction.args, "%out", closure)
                code = self.load("ptr", closure, layout.CLOSURE_CODE)
                self._go_on(signature, code, given)
            case Fail():
                self.fail(layout.FAILED, self.site(instruction.message, instruction.where))
            case _:
                raise AssertionError(f"{type(instruction).__name__} is no terminator")

    def _return(self, registers: Sequence[Register]) -> None:
        self._leave()
        values = [self.values[register] for register in registers]
        if self.building:
            # the end of what was built on the way, which begins at the first place left open
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
        args: Sequence[Register],
        out: str,
        closure: str | None = None,
    ) -> str:
        values = [self.text_of(register) for register in args]
        specs = [self.spec(register) for register in args]
        self.give_rest(signature.rest(closure=closure is not None), specs, values)
        return signature.arguments(values, out, closure=closure)

    def _closure_signature(self, register: Register) -> Signature:
        spec = self.spec(register)
        assert isinstance(spec, ClosureSpec)
        return Signature.of(spec.params, spec.results)

    def _call_function(self, instruction: CallFunction) -> None:
        signature = self.unit.signature(instruction.function)
        out = self._out(signature)
        given = self._arguments(signature, instruction.args, out)
        callee = symbol(symbol_name(instruction.function))
        self._call_code(signature, callee, given, out, instruction.outputs)

    def _call_closure(self, instruction: CallClosure) -> None:
        signature = self._closure_signature(instruction.closure)
        out = self._out(signature)
        closure = self.text_of(instruction.closure)
        given = self._arguments(signature, instruction.args, out, closure)
        code = self.load("ptr", closure, layout.CLOSURE_CODE)
        self._call_code(signature, code, given, out, instruction.outputs)

    def _out(self, signature: Signature) -> str:
        return self.stack("results", len(signature.results)) if signature.has_out else ""

    def _call_code(
        self, signature: Signature, callee: str, given: str, out: str, outputs: Sequence[Register]
    ) -> None:
        kind = signature.returned
        found = self.make(f"call tailcc {kind} {callee}({given})", kind).text
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

    def _tail_call(self, instruction: TailCall) -> None:
        if instruction.function == self.function.name:
            self._turn(instruction.args)
            return
        signature = self.unit.signature(instruction.function)
        self._leave()
        given = self._arguments(signature, instruction.args, "%out")
        self._go_on(signature, symbol(symbol_name(instruction.function)), given)

    def _build(self, building: Building, number: int) -> None:
        """Put data where the last turn left a place, and leave another."""
        for instruction in building.between:
            self.instruction(-1, instruction, number)
        made, place = self.make_open(building.make, building.field)
        self.store("ptr", made, "%open", 0)
        self._turn(building.call.args, place)

    def _turn(self, args: Sequence[Register], place: str = "%open") -> None:
        """Once more from the beginning, with other arguments."""
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

    def _go_on(self, signature: Signature, callee: str, given: str) -> None:
        kind = signature.returned
        found = self.make(f"musttail call tailcc {kind} {callee}({given})", kind).text
        self.line(f"ret {kind} {found}")
