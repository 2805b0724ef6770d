"""Operators whose shapes depend on values, given values that no shape can have, by every engine.

    python -m tests.target.llvm.executable.hostile_values all arange dyn.tile …

runs the named operators and prints what is wrong; a process of its own, since what is tried may end
it. `first` instead of `all` takes one sample of each, with open sizes and one value everywhere.
"""

import dataclasses
import gc
import resource
import sys
from collections.abc import Iterator

import numpy as np

import relay
from relay.driver import compile_program
from relay.errors import RelayError
from relay.interpreter.values import TupleValue
from relay.ir import dims
from relay.ir.expr import Call, Function, Var, op_names
from relay.ir.module import IRModule
from relay.ir.types import TensorType, TupleType
from relay.op.opdef import OpDef, Sample, Tensor, get
from relay.op.shapes import value_type
from relay.target.llvm.executable.whole_program import WholeProgramExecutable
from relay.vm import VirtualMachine
from relay.vm.executable import Executable

NUMBERS = (0, 1, -1, 2**31, 2**62, 2**63 - 1, -(2**63))
ADDRESSES = (
    14 << 30
)  # the stack and the frames of a program are 9 GB of them, which it does not use
MEMORY = 1 << 28
NO_MEMORY = ("Unable to allocate", "no memory", "out of memory")


def names() -> list[str]:
    """The operators whose results have sizes that depend on values."""
    found = []
    for name in op_names():
        op = get(name)
        decided = (op.extents, op.capacity, op.runtime_shape)
        if op.compute is not None and not op.on_values and any(decided):
            found.append(name)
    return found


def module(op: OpDef, sample: Sample, is_open: bool) -> IRModule:
    """The operator as a program: values come at run time, and where `is_open`, sizes too."""

    def typed(arg):
        if isinstance(arg, tuple):
            return TupleType(tuple(map(typed, arg)))
        if not isinstance(arg, Tensor):
            return value_type(np.asarray(arg))
        return TensorType(tuple(dims.ANY if is_open else n for n in arg.shape), arg.dtype)

    attrs = dict(sample.attrs)
    for field in dataclasses.fields(op.attrs) if op.attrs is not None else ():
        if field.default is None and field.name in (*dict(op.arguments), "stop"):
            attrs.pop(field.name, None)  # what an argument says, where it is known before
    params = tuple(Var(f"x{i}", typed(arg)) for i, arg in enumerate(sample.args))
    call = Call(op, params, op.make_attrs(attrs))
    return relay.transform.InferType()(IRModule.from_expr(Function(params, call)))


def hostile(sample: Sample, everywhere: bool) -> Iterator[tuple]:
    """The arguments of a sample, with one of the numbers in one place, or in all, of the values."""
    usual = sample.values()
    yield usual
    for position, arg in enumerate(sample.args):
        if isinstance(arg, Tensor | tuple) or arg.dtype == bool or not arg.size:
            continue
        for number in NUMBERS:
            limits = np.iinfo(arg.dtype) if arg.dtype.kind in "iu" else None
            if limits is not None and not limits.min <= number <= limits.max:
                continue
            for place in [slice(None), *range(0 if everywhere or arg.size == 1 else arg.size)]:
                values = arg.reshape(-1).copy()
                values[place] = number
                yield *usual[:position], values.reshape(arg.shape), *usual[position + 1 :]


def outcome(run, args):
    try:
        found = run(*args)
    except RelayError as error:
        return error
    parts = found.fields if isinstance(found, TupleValue) else (found,)
    return [np.asarray(part.array) for part in parts]


def difference(found, wanted) -> str | None:
    """What two outcomes do not have in common. Without enough memory anything is right."""
    for one in (found, wanted):
        if isinstance(one, RelayError) and any(text in str(one) for text in NO_MEMORY):
            return None
    if isinstance(found, RelayError) or isinstance(wanted, RelayError):
        alike = isinstance(found, RelayError) and isinstance(wanted, RelayError)
        return None if alike else f"{found!r} instead of {wanted!r}"
    for mine, theirs in zip(found, wanted, strict=True):
        if mine.shape != theirs.shape:
            return f"shape {mine.shape} instead of {theirs.shape}"
        exact = [array.astype(np.float64) for array in (mine, theirs)]
        if not np.allclose(*exact, rtol=1e-4, atol=1e-5, equal_nan=True):
            return f"{mine} instead of {theirs}"
    return None


def check(op: OpDef, sample: Sample, is_open: bool, everywhere: bool) -> Iterator[str]:
    program = module(op, sample, is_open)
    made = compile_program(program, None, whole=True)
    parts = (made.program, made.code, made.weights, 1)
    machine = VirtualMachine(Executable(*parts))
    engines = {
        "native": WholeProgramExecutable(*parts, memory=MEMORY).evaluate,
        "vm": lambda *args: machine.invoke("main", *args),
    }
    meaning = relay.create_executor("debug", program).evaluate()
    for args in hostile(sample, everywhere):
        wanted = outcome(meaning, args)
        for name, run in engines.items():
            if (said := difference(outcome(run, args), wanted)) is not None:
                given = [arg.tolist() for arg in args if np.size(arg) < 10]
                yield f"{name}: {op.name} of {given}: {said}"


def main(mode: str, wanted: list[str]) -> int:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    wrong = 0
    for name in wanted:
        op = get(name)
        first = mode == "first"
        for sample in op.samples[:1] if first else op.samples:
            for is_open in (True,) if first else (True, False):
                print(name, flush=True)  # the last line names what ended the process
                for said in check(op, sample, is_open, everywhere=first):
                    wrong += 1
                    print(said, flush=True)
                gc.collect()  # the addresses of the programs before
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
