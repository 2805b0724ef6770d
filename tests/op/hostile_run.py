"""A process that runs operators at hostile sizes and values, in little memory.

    python -m tests.op.hostile_run SEED PART NAME…

Every sample of an operator is compiled once with all its sizes open, and called with empty axes,
with axes of 1, with empty tensors whose other axes are huge, and with hostile numbers in place of
the integers that it is given at run time. Hostile numbers also replace its attributes and the
sizes of its types, which are then compiled anew. The interpreter is the oracle: results agree, and
what it refuses is refused by native code and by the VM. With `PART` one case in so many is tried,
chosen by the seed, and with it the other calls of the same program, which cost little once it is
compiled.

Before a case its name is printed, so that whoever started the process knows where it ended:

    {"case": "dyn.tile-0 values x1[0]=4611686018427387904"}
    {"problem": "native: segmentation …"}
"""

from __future__ import annotations

import dataclasses
import faulthandler
import json
import math
import resource
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import relay
from relay.errors import RelayError
from relay.executors import create_executor
from relay.ir import dims
from relay.ir.expr import Call, Function, Var
from relay.ir.module import IRModule
from relay.ir.types import TensorType, TupleType, Type
from relay.op.opdef import OpDef, Sample, Tensor, get
from relay.op.shapes import value_type
from relay.testing.operators import SMALL, Use, assert_agree, leaves, size
from tests.op.test_every_size import OF_KNOWN_WINDOWS
from tests.support.operator_uses import changed_extents, digest, with_extents

MEMORY = 1 << 30  # bytes a process may have of its own
SECONDS = 20  # of the processor, for one call or one compilation
HOSTILE = (-(2**63), -(2**62), -1, 0, 1, 2**31, 2**62, 2**63 - 1)
EXTENTS = (0, 1)  # of open axes
HUGE = (2**31, 2**62)  # of axes of types, and of tensors that are empty by another axis
# What NumPy says on its way to a result that is empty: the interpreter is no oracle there.
NO_ORACLE = ("array is too big", "Maximum allowed dimension", "Unable to allocate")
# What the interpreter refuses and compiled code leaves out: it would cost a look at every call, or,
# for strides, stands in the program where `relay.strided_set` makes it.
UNCHECKED = {"strided_set": ("does not fit into the slice", "a stride is zero")}
# Attributes that say what the arguments are: with others the interpreter refuses, compiled code
# believes them.
PROMISES = {"arange": {"start", "stop", "step"}}


Arguments = Callable[[], tuple[Any, ...]]


@dataclass(frozen=True)
class Case:
    """One way to call a function that may be called in several."""

    name: str
    arguments: Arguments | None  # None: only compiled, there is no memory for what it takes


@dataclass(frozen=True)
class Program:
    """A call of an operator as a function, and how it is called."""

    op: OpDef
    attrs: Any
    types: tuple[Type, ...]
    cases: list[Case]

    def module(self) -> IRModule:
        params = tuple(Var(f"x{i}", ty) for i, ty in enumerate(self.types))
        return IRModule.from_expr(Function(params, Call(self.op, params, self.attrs)))


def say(**what: str) -> None:
    print(json.dumps(what), flush=True)


# --- what is tried ------------------------------------------------------------------------------


def programs(op: OpDef) -> Iterator[Program]:
    for number, sample in enumerate(op.samples):
        if size(sample) > SMALL:
            continue
        name = f"{op.name}-{number}"
        attrs = op.make_attrs(sample.attrs)
        calls = [Case(f"{name} as it is", sample.values)]
        if not PROMISES.get(op.name, set()) & sample.attrs.keys():
            calls += [Case(f"{name} {text}", arguments) for text, arguments in called(sample)]
        yield Program(op, attrs, open_types(sample.args), calls)
        for text, changed in other_attributes(op, sample):
            case = Case(f"{name} {text}", sample.values)
            yield Program(op, changed, sample.types(), [case])
        for extent in HUGE:
            for changed_sample in changed_extents(sample, lambda *_, extent=extent: extent):
                text = f"{name} of types {', '.join(map(str, changed_sample.types()))}"
                yield Program(op, attrs, changed_sample.types(), [Case(text, None)])


def open_types(args: Any) -> tuple[Type, ...]:
    """The types of the arguments, sizes open; values that decide ranks keep their lengths."""

    def one(arg: Any) -> Type:
        if isinstance(arg, tuple):
            return TupleType(tuple(map(one, arg)))
        if isinstance(arg, Tensor):
            return TensorType((dims.ANY,) * len(arg.shape), arg.dtype)
        return value_type(np.asarray(arg))

    return tuple(map(one, args))


def called(sample: Sample) -> Iterator[tuple[str, Arguments]]:
    """Arguments of other sizes, and with other numbers among the integers."""
    for changed in with_extents(sample, EXTENTS):
        yield f"at {shapes(changed)}", changed.values
    for hollow in changed_extents(sample, lambda *_: 0):
        for huge in HUGE:
            yield from emptied(hollow, huge)
    values = sample.values()
    for place, array in enumerate(leaves(values)):
        if array.dtype.kind not in "iu" or array.size == 0 or array.size > 64:
            continue
        limits = np.iinfo(array.dtype)
        # in every place where few stand, as in a shape; in the first and last of many
        some = range(array.size) if array.size <= 4 else (0, array.size - 1)
        for position in some:
            for number in sorted({min(max(n, limits.min), limits.max) for n in HOSTILE}):
                changed_array = array.copy()
                changed_array.reshape(-1)[position] = number
                arguments = partial(replaced, values, place, changed_array)
                yield f"x{place}[{position}]={number}", arguments


def emptied(sample: Sample, huge: int) -> Iterator[tuple[str, Arguments]]:
    """A tensor without elements, with huge axes beside the empty one."""

    def stretched(arg: Any) -> Any:
        if isinstance(arg, tuple):
            return tuple(map(stretched, arg))
        if type(arg) is not Tensor or 0 not in arg.shape or len(arg.shape) < 2:
            return arg
        axis = next((i for i, n in enumerate(arg.shape) if n), None)
        if axis is None:
            return arg
        # NumPy counts bytes without the empty axes, and draws numbers of eight bytes
        most = (2**63 - 1) // (8 * math.prod(n for i, n in enumerate(arg.shape) if n and i != axis))
        shape = (*arg.shape[:axis], min(huge, most), *arg.shape[axis + 1 :])
        return dataclasses.replace(arg, shape=shape)

    changed = Sample(tuple(map(stretched, sample.args)), sample.attrs)
    if changed.args != sample.args:
        yield f"at {shapes(changed)}", changed.values


def shapes(sample: Sample) -> str:
    return " ".join(str(ty) for ty in sample.types())


def replaced(values: Any, place: int, array: np.ndarray) -> tuple[Any, ...]:
    """The arguments with another array at that place, fields of tuples counted one by one."""
    count = -1

    def one(value: Any) -> Any:
        nonlocal count
        if isinstance(value, tuple):
            return tuple(map(one, value))
        count += 1
        return array if count == place else value

    return tuple(map(one, values))


def other_attributes(op: OpDef, sample: Sample) -> Iterator[tuple[str, Any]]:
    """The attributes with a hostile number in place of each, or of each of several."""
    made = op.make_attrs(sample.attrs)
    for key, value in made.items() if made is not None else ():
        if key in PROMISES.get(op.name, ()):
            continue
        for text, other in other_values(value):
            try:
                yield f"{key}={text}", op.make_attrs({**dict(made.items()), key: other})
            except RelayError:
                continue


def other_values(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, int) and not isinstance(value, bool):
        yield from ((str(n), n) for n in HOSTILE)
    elif isinstance(value, tuple):
        for i, part in enumerate(value):
            for _, other in other_values(part):
                changed = (*value[:i], other, *value[i + 1 :])
                yield str(changed), changed


# --- how it goes --------------------------------------------------------------------------------


class TookTooLong(BaseException):
    """A step was not done in time; no handler of errors takes it for one."""


@contextmanager
def limited() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TookTooLong

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.setitimer(signal.ITIMER_VIRTUAL, 15 * SECONDS)  # where no signal is looked at
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@dataclass(frozen=True)
class Refused:
    """An error that explains itself."""

    text: str


def attempt(step: Callable[[], Any]) -> Any:
    """What a step gives; anything but a value and a RelayError is a problem."""
    try:
        with limited():
            return step()
    except RelayError as error:
        return Refused(str(error))


def arrays(value: Any) -> tuple[np.ndarray, ...]:
    if isinstance(value, np.ndarray | relay.nd.NDArray):
        return (np.asarray(value.numpy() if isinstance(value, relay.nd.NDArray) else value),)
    return tuple(array for part in value for array in arrays(part))


ENGINES: dict[str, Callable[[IRModule], Callable[..., Any]]] = {
    "native": relay.compile,
    "vm": lambda module: create_executor("vm", module).evaluate(),
}


def check(program: Program, cases: Sequence[Case]) -> None:
    module = program.module()
    say(case=cases[0].name)
    found = problem_of("inference", lambda: relay.transform.InferType()(module))
    if found is None or isinstance(found, Refused):
        return
    interpreted = create_executor("debug", module).evaluate()
    engines = {}
    for name, make in ENGINES.items():
        made = problem_of(f"{name}, compiling", lambda make=make: make(module))
        if made is not None:
            engines[name] = made
    for case in cases:
        if case.arguments is None:
            continue
        say(case=case.name)
        given = case.arguments()
        try:
            wanted = attempt(lambda given=given: interpreted(*given))
        except (TookTooLong, MemoryError):
            continue  # the oracle does not say
        except Exception as error:
            say(problem=f"interpreter: {type(error).__name__}: {error}")
            continue
        if isinstance(wanted, Refused) and any(text in wanted.text for text in NO_ORACLE):
            continue
        for name, engine in engines.items():
            if isinstance(engine, Refused):
                expected = program.op.name in OF_KNOWN_WINDOWS or "memory" in engine.text
                if not isinstance(wanted, Refused) and not expected:
                    say(problem=f"{name} refuses to compile what runs: {engine.text}")
                continue
            got = problem_of(name, lambda given=given, engine=engine: engine(*given))
            if got is not None:
                compare(program, name, got, wanted)


def problem_of(where: str, step: Callable[[], Any]) -> Any:
    try:
        return attempt(step)
    except TookTooLong:
        say(problem=f"{where}: not done in {SECONDS} s")
    except Exception as error:
        say(problem=f"{where}: {type(error).__name__}: {str(error)[:300]}")
    return None


def compare(program: Program, name: str, got: Any, wanted: Any) -> None:
    if isinstance(got, Refused) and isinstance(wanted, Refused):
        return
    if isinstance(got, Refused):
        if "memory" in got.text:
            return  # for what it computes in, where the interpreter needs none
        say(problem=f"{name} refuses what the interpreter computes: {got.text[:300]}")
        return
    shapes = [array.shape for array in arrays(got)]
    if isinstance(wanted, Refused):
        if any(text in wanted.text for text in UNCHECKED.get(program.op.name, ())):
            return
        say(problem=f"{name} gives {shapes}, the interpreter refuses: {wanted.text[:300]}")
        return
    kinds = [[(one.shape, one.dtype) for one in arrays(value)] for value in (got, wanted)]
    if kinds[0] == kinds[1] and not any(one.size for one in arrays(wanted)):
        return  # NumPy converts no tensor with huge axes, be it empty
    use = Use(program.op, program.op.samples[0], program.op.name)
    try:
        assert_agree(use, arrays(got), arrays(wanted))
    except AssertionError as error:
        text = " ".join(str(error).split())
        say(problem=f"{name} gives {shapes}, not what the interpreter has: {text[:300]}")


def main() -> None:
    seed, part, *names = sys.argv[1:]
    after, names = (names[1], names[2:]) if names[0] == "--after" else (None, names)
    np.seterr(all="ignore")
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    faulthandler.register(signal.SIGVTALRM, chain=True)  # says where, and ends the process
    for name in names:
        for program in programs(get(name)):
            cases = program.cases
            if all(digest(f"{seed} {case.name}") % int(part) for case in cases):
                continue
            if after is not None:
                place = next((i for i, case in enumerate(cases) if case.name == after), None)
                if place is None:
                    continue
                cases, after = cases[place + 1 :], None
            if cases:
                check(program, cases)


if __name__ == "__main__":
    main()
