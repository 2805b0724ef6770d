"""State that is updated in place: the new value of a tensor is written over the old one.

    %2 = update(%w, %1)           %3 = product(%w, %0)
    %3 = product(%w, %0)     ->   %2 = update(%w, %1)         over %w

A kernel may do that if each element of its result depends on the same element of the old value
only (`Kernel.in_place`), and nothing reads that later. So kernels whose results are new state, and
nothing else by then, run behind the last reader of the old value.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from relay.program import program as isa
from relay.target.kernel import Kernel


def updates_last(function: isa.Function) -> isa.Function:
    """Straight-line code with updates of its state behind the last readers of the old values."""
    if not function.state:
        return function
    code, uses = function.straight_line, _Uses(function)
    later: dict[int, list[int]] = defaultdict(list)
    moved: set[int] = set()
    for before, after in _state(function):
        writer = uses.writers.get(uses.root(after))
        if writer is None or writer in moved:
            continue
        last = max((reader for reader in uses.readers[before] if reader != writer), default=-1)
        made = code[writer]
        assert isinstance(made, isa.InvokeKernel)
        readers = [reader for output in made.outputs for reader in uses.readers[output]]
        if writer < last < min(readers):
            later[last].append(writer)
            moved.add(writer)
    body: list[isa.Instruction] = []
    for place, instruction in enumerate(code):
        if place not in moved:
            body.append(instruction)
        pending = [place]
        while pending:  # what is moved may be the last reader of something else
            for writer in later.get(pending.pop(), ()):
                body.append(code[writer])
                pending.append(writer)
    return replace(function, blocks=(isa.Block(tuple(body)),))


def updates(function: isa.Function, kernels: Mapping[str, Kernel]) -> frozenset[isa.Register]:
    """The new values of the state, as they are written, if calls may write them over the old ones:
    each of them, and only behind the last kernel that may fail, so that state is either that before
    a call or that after it."""
    if not function.state:
        return frozenset()
    uses = _Uses(function)
    pairs = list(_state(function))
    if not all(_is_safe(function, uses, kernels, *pair) for pair in pairs):
        return frozenset()
    found = frozenset(uses.root(after) for _, after in pairs)
    first = min(uses.writers[one] for one in found)
    for one in function.straight_line[first:]:
        if isinstance(one, isa.InvokeKernel) and kernels[one.kernel].checks:
            return frozenset()
    return found


def _is_safe(
    function: isa.Function,
    uses: _Uses,
    kernels: Mapping[str, Kernel],
    before: isa.Register,
    after: isa.Register,
) -> bool:
    writer = uses.writers.get(uses.root(after))
    if writer is None or any(reader > writer for reader in uses.readers[before]):
        return False
    call = function.straight_line[writer]
    assert isinstance(call, isa.InvokeKernel)
    output = call.outputs.index(uses.root(after))
    given = [n for n, register in enumerate(call.inputs) if uses.root(register) == before]
    return all((output, n) in kernels[call.kernel].in_place for n in given)


def _state(function: isa.Function) -> Iterator[tuple[isa.Register, isa.Register]]:
    """The registers of the old and of the new value of each tensor of the state."""
    count = len(function.state)
    results = isa.flatten(function.result)
    return zip(function.inputs[-count:], results[-count:], strict=True)


class _Uses:
    """Where the memory of registers is written and read. Views share the memory of their root."""

    def __init__(self, function: isa.Function) -> None:
        self._roots: dict[isa.Register, isa.Register] = {}
        self.writers: dict[isa.Register, int] = {}
        self.readers: dict[isa.Register, list[int]] = defaultdict(list)
        for place, instruction in enumerate(function.straight_line):
            match instruction:
                case isa.ViewTensor(output, source):
                    self._roots[output] = self.root(source)
                case isa.InvokeKernel(_, inputs, outputs):
                    self.writers.update((output, place) for output in outputs)
                    self._read(inputs, place)
                case isa.Return(value):
                    self._read(isa.flatten(value), place)

    def _read(self, registers: Sequence[isa.Register], place: int) -> None:
        for register in registers:
            self.readers[self.root(register)].append(place)

    def root(self, register: isa.Register) -> isa.Register:
        return self._roots.get(register, register)
