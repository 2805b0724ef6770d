"""A program by every engine: compiled once, run by the virtual machine and as native code."""

from __future__ import annotations

import relay
from relay.driver import compile_program
from relay.errors import RelayError
from relay.target.llvm.executable.whole_program import WholeProgramExecutable
from relay.testing import assert_same_value
from relay.vm import VirtualMachine
from relay.vm.executable import Executable


def interpreter(module):
    return relay.create_executor("debug", module).evaluate()


def native(module, params=None, *, threads=1, stack=0, memory=0, **options):
    """The native code of a program, even where straight-line code would do."""
    made = compile_program(module, params, whole=True, **options)
    parts = (made.program, made.code, made.weights, threads)
    return WholeProgramExecutable(*parts, stack=stack, memory=memory)


def engines(module, **options):
    """Name -> what calls `main` with values, and gives its value."""
    made = compile_program(module, whole=True, **options)
    parts = (made.program, made.code, made.weights, 1)
    machine = VirtualMachine(Executable(*parts))
    return {
        "vm": lambda *args: machine.invoke("main", *args),
        "native": WholeProgramExecutable(*parts).evaluate,
    }


def outcome(call, args):
    """What a call gives, or that it fails."""
    try:
        return call(*args)
    except RelayError as error:
        return error


def assert_agreement(module, arguments, *, rtol=None, **options):
    """Every engine gives what the interpreter gives, leaves in cells what it leaves there, and
    fails where it fails. `arguments` makes lists of arguments, each time anew."""
    meaning = interpreter(module)
    expected = [(outcome(meaning, args), args) for args in arguments()]
    for name, call in engines(module, **options).items():
        for args, (value, afterwards) in zip(arguments(), expected, strict=True):
            found = outcome(call, args)
            if isinstance(value, RelayError):
                assert isinstance(found, RelayError), f"{name}: {found!r} instead of: {value}"
                continue
            if isinstance(found, RelayError):
                raise AssertionError(f"{name} fails where there is {value!r}") from found
            assert_same_value(found, value, rtol=rtol)
            for mine, theirs in zip(args, afterwards, strict=True):
                assert_same_value(
                    relay.interpreter.values.to_value(mine),
                    relay.interpreter.values.to_value(theirs),
                    rtol=rtol,
                )
