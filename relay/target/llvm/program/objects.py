"""Code for data, closures and cells in native programs.

Reading a field retains it. Where the object is released right after that, its fields are moved out
if it has no other reference:

    %2 = field %1 Cons.1; release %1    ->    if %1 has one reference: free the cell, keep %2
                                              otherwise: retain %2, release %1
"""

from __future__ import annotations

from collections.abc import Sequence

from relay.native import layout
from relay.program import program as isa
from relay.program.uses import uses
from relay.target.llvm.program.tensors import Tensors
from relay.target.llvm.program.types import symbol
from relay.target.llvm.program.unit import closure_name
from relay.target.llvm.program.words import arrange, is_object


class Objects(Tensors):
    """Generates code for instructions on data, closures and cells."""

    moved: dict[int, tuple[isa.GetField, ...]]  # by position of a release: moved fields
    deferred: frozenset[isa.Register]  # fields that are retained there

    def data_type(self, register: isa.Register) -> isa.DataType:
        spec = self.spec(register)
        assert isinstance(spec, isa.DataSpec)
        return self.unit.types[spec.name]

    # --- allocation

    def new_object(self, kind: int, detail: int, specs: Sequence[isa.Spec]) -> str:
        arrangement = arrange(specs)
        counts = f"i32 {arrangement.objects}, i32 {arrangement.words}"
        code = f"call ptr @relay_new_object(ptr %ctx, i32 {kind}, i32 {detail}, {counts})"
        made = self.make(code, "ptr").text
        self.check_memory(made)
        return made

    def fill(self, made: str, start: int, registers: Sequence[isa.Register]) -> None:
        specs = [self.spec(register) for register in registers]
        for register, position in zip(registers, arrange(specs).positions, strict=True):
            self.store_word(self.spec(register), self.text_of(register), made, start + 8 * position)

    def make_data(self, instruction: isa.MakeData) -> None:
        kind = self.data_type(instruction.output)
        tag = kind.tag(instruction.constructor)
        if not instruction.fields:
            self.set(instruction.output, f"inttoptr (i64 {2 * tag + 1} to ptr)")
            return
        places = kind.constructors[tag].places
        made = self.new_object(layout.DATA, tag, places)
        self.fill(made, layout.DATA_WORDS, instruction.fields)
        self.set(instruction.output, made)

    def make_with_hole(self, instruction: isa.MakeData, field: int) -> tuple[str, str]:
        """Data with one field unset, and the address of that."""
        kind = self.data_type(instruction.output)
        tag = kind.tag(instruction.constructor)
        places = kind.constructors[tag].places
        made = self.new_object(layout.DATA, tag, places)
        offsets = [layout.DATA_WORDS + 8 * place for place in arrange(places).positions]
        for index, register in enumerate(instruction.fields):
            if index != field:
                self.store_word(places[index], self.text_of(register), made, offsets[index])
        return made, self.at(made, offsets[field])

    def make_closure(self, instruction: isa.MakeClosure) -> None:
        count = len(instruction.captured)
        self.unit.closures[instruction.function, count] = None
        name = closure_name(instruction.function, count)
        if not count:
            # a constant object
            self.set(instruction.output, symbol(f"{name}.object"))
            return
        specs = [self.spec(register) for register in instruction.captured]
        made = self.new_object(layout.CLOSURE, 0, specs)
        self.store("ptr", symbol(name), made, layout.CLOSURE_CODE)
        self.fill(made, layout.CLOSURE_WORDS, instruction.captured)
        self.set(instruction.output, made)

    def make_reference(self, instruction: isa.MakeReference) -> None:
        specs = [self.spec(register) for register in instruction.contents]
        made = self.new_object(layout.REFERENCE, 0, specs)
        self.fill(made, layout.REFERENCE_WORDS, instruction.contents)
        self.set(instruction.output, made)

    # --- reading and writing

    def get_field(self, instruction: isa.GetField) -> None:
        constructor = self.data_type(instruction.data)[instruction.constructor]
        offset = _field_offset(constructor, instruction.index)
        spec = self.spec(instruction.output)
        found = self.load_word(spec, self.text_of(instruction.data), offset)
        self.set(instruction.output, found)
        if instruction.output not in self.deferred:
            self.retain(spec, found)

    def contents(self, reference: isa.Register) -> tuple[list[isa.Spec], list[int]]:
        """The types and offsets of the contents of a cell."""
        spec = self.spec(reference)
        assert isinstance(spec, isa.ReferenceSpec)
        positions = arrange(spec.contents).positions
        return list(spec.contents), [layout.REFERENCE_WORDS + 8 * place for place in positions]

    def read_reference(self, instruction: isa.ReadReference) -> None:
        cell = self.text_of(instruction.reference)
        _, offsets = self.contents(instruction.reference)
        for register, offset in zip(instruction.outputs, offsets, strict=True):
            spec = self.spec(register)
            found = self.load_word(spec, cell, offset)
            self.retain(spec, found)
            self.set(register, found)

    def write_reference(self, instruction: isa.WriteReference) -> None:
        cell = self.text_of(instruction.reference)
        specs, offsets = self.contents(instruction.reference)
        objects = [(s, o) for s, o in zip(specs, offsets, strict=True) if is_object(s)]
        before = [(spec, self.load_word(spec, cell, offset)) for spec, offset in objects]
        for register, offset in zip(instruction.contents, offsets, strict=True):
            self.store_word(self.spec(register), self.text_of(register), cell, offset)
        for spec, value in before:
            self.release(spec, value)

    # --- release

    def plan_moves(self, block: isa.Block) -> None:
        """Find the fields that are read right before their object is released."""
        self.moved = {}
        deferred: set[isa.Register] = set()
        # data -> its fields that were read and not consumed yet
        read: dict[isa.Register, dict[isa.Register, isa.GetField]] = {}
        for position, instruction in enumerate(block):
            if isinstance(instruction, isa.Release) and (
                fields := read.pop(instruction.register, None)
            ):
                self.moved[position] = tuple(fields.values())
                deferred.update(fields)
                continue
            changed = uses(instruction, self.function.registers).consumed
            if isinstance(instruction, isa.Retain):
                changed = (instruction.register,)
            for register in changed:
                read.pop(register, None)
                for fields in read.values():
                    fields.pop(register, None)
            if isinstance(instruction, isa.GetField) and is_object(self.spec(instruction.output)):
                fields = read.setdefault(instruction.data, {})
                if all(one.index != instruction.index for one in fields.values()):
                    fields[instruction.output] = instruction
        self.deferred = frozenset(deferred)

    def release_instruction(self, position: int, instruction: isa.Release) -> None:
        register = instruction.register
        spec, value = self.spec(register), self.text_of(register)
        fields = self.moved.get(position)
        if fields:
            self._release_moving(self.data_type(register)[fields[0].constructor], value, fields)
        else:
            self.release(spec, value)

    def _release_moving(
        self, constructor: isa.Constructor, value: str, fields: Sequence[isa.GetField]
    ) -> None:
        """Release an object of which some fields were read."""
        count = self.load("i64", value, layout.COUNT)
        alone = self.make(f"icmp eq i64 {count}, 1", "i1")
        empty, share, done = self.label("empty"), self.label("share"), self.label("done")
        self.branch(alone, empty, share)
        kept = {field.index for field in fields}
        for index, spec in enumerate(constructor.places):
            if index not in kept and self.is_counted(spec):
                self.release(spec, self.load_word(spec, value, _field_offset(constructor, index)))
        self._free_data(value, len(constructor.places))
        self.line(f"br label %{done}")
        self.begin(share)
        # not the last reference
        self.line(f"call void @relay_release_object(ptr %ctx, ptr {value})")
        for field in fields:
            self.retain(self.spec(field.output), self.text_of(field.output))
        self.enter(done)

    def _free_data(self, value: str, words: int) -> None:
        """Free data whose fields were moved out."""
        pieces = -(-(layout.DATA_WORDS + 8 * words) // 64)
        if pieces < layout.SMALL_CLASSES:
            self.line(f"call void @relay_give(ptr %ctx, ptr {value}, i64 {pieces})")
        else:
            self.store("i32", "0", value, layout.OBJECTS)
            self.line(f"call void @relay_free(ptr %ctx, ptr {value})")

    # --- branching

    def switch(self, instruction: isa.Switch) -> None:
        """Branch on the constructor: the word itself if it has no fields, or the tag in the
        object."""
        kind = self.data_type(instruction.data)
        value = self.text_of(instruction.data)
        ways = dict(instruction.cases)
        immediate: dict[int, str] = {}
        boxed: dict[int, str] = {}
        for tag, constructor in enumerate(kind.constructors):
            target = ways.get(constructor.name, instruction.otherwise)
            if target is None:
                continue
            if constructor.places:
                boxed[tag] = f"b{target}"
            else:
                immediate[2 * tag + 1] = f"b{target}"
        if immediate and boxed:
            word = self.make(f"ptrtoint ptr {value} to i64", "i64").text
            low = self.make(f"trunc i64 {word} to i1", "i1").text
            number, object_ = self._single_label(immediate), self._single_label(boxed)
            first = number or self.label("number")
            second = object_ or self.label("object")
            self.line(f"br i1 {low}, label %{first}, label %{second}")
            if number is None:
                self.begin(first)
                self._switch_on("i64", word, immediate)
            if object_ is None:
                self.begin(second)
                self._switch_on("i32", self.load("i32", value, layout.DETAIL), boxed)
        elif only := self._single_label(immediate or boxed):
            self.line(f"br label %{only}")
        elif immediate:
            word = self.make(f"ptrtoint ptr {value} to i64", "i64").text
            self._switch_on("i64", word, immediate)
        else:
            self._switch_on("i32", self.load("i32", value, layout.DETAIL), boxed)

    def _single_label(self, ways: dict[int, str]) -> str | None:
        labels = set(ways.values())
        return next(iter(labels)) if len(labels) == 1 else None

    def _switch_on(self, kind: str, value: str, ways: dict[int, str]) -> None:
        *cases, (_, default) = ways.items()
        listed = " ".join(f"{kind} {number}, label %{label}" for number, label in cases)
        self.line(f"switch {kind} {value}, label %{default} [ {listed} ]")


def _field_offset(constructor: isa.Constructor, index: int) -> int:
    return layout.DATA_WORDS + 8 * arrange(constructor.places).positions[index]
