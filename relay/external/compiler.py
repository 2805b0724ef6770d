"""External compilers: what one has to give, and how it is found by name.

    class Mine(ExternalCompiler):
        name = "mine"
        def patterns(self): …               the operators it takes
        def compile(self, part): …          a part of a program -> bytes, saved with the program
        def load(self, code, kernel): …     these bytes -> a C function, or a function of Python

An installed package declares it as an entry point of the group `relay.compilers`;
`register_compiler(Mine())` makes it known in this process. `docs/adding/external_compiler.md` shows
a complete one.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

import numpy as np

from relay.check.infer import infer_module
from relay.errors import TargetError, did_you_mean
from relay.immutable import frozen
from relay.ir.attrs import DictAttrs
from relay.ir.expr import Function
from relay.ir.module import IRModule
from relay.op.contrib.register import Table, registered_compilers
from relay.target.kernel import Kernel, TensorSpec
from relay.target.target import KINDS as TARGETS
from relay.target.target import Target, class_of, described
from relay.transform.external.inline_composites import without_composites

# The compilers of this package, and the class of each, imported on demand.
KNOWN: Final = {"onnxruntime": "relay.contrib.onnxruntime:OnnxRuntime"}
ENTRY_POINTS: Final = "relay.compilers"  # the group for those of other packages

# Reads the inputs, and writes all elements of the outputs.
Callback = Callable[[Sequence[np.ndarray], Sequence[np.ndarray]], None]


@frozen
class Part:
    """A function that an external compiler compiles: typed, with its constants and composite
    functions inside."""

    name: str  # unique in the program, and an identifier of C
    function: Function
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]

    @property
    def plain(self) -> Function:
        """The function without attributes and composite functions: parameters, operators,
        constants and tuples."""
        return plain(self.function)


def plain(function: Function) -> Function:
    """A function of an external compiler as an ordinary one, typed."""
    body = Function(function.params, function.body, function.ret_type, attrs=DictAttrs({}))
    typed = infer_module(IRModule({"main": body}))["main"]
    found = infer_module(IRModule({"main": without_composites(typed)}))["main"]
    assert isinstance(found, Function)
    return found


@frozen
class NativeFunction:
    """A function `int32_t f(DLTensor *tensors, int32_t count)` at an address.

    It gets inputs, then outputs, as dense row-major tensors of the CPU, and returns 0 or a number
    that says what went wrong. `owner` keeps its code loaded.
    """

    address: int
    owner: object = None


class ExternalCompiler(ABC):
    """A compiler or library outside of Relay, which compiles parts of programs."""

    name: ClassVar[str]

    @abstractmethod
    def patterns(self) -> Table:
        """The operators it takes: (name, pattern) or (name, pattern, check), where the names begin
        with that of the compiler and a dot."""

    @abstractmethod
    def compile(self, part: Part) -> bytes:
        """The code of a part, which is saved with the program."""

    @abstractmethod
    def load(self, code: bytes, kernel: Kernel) -> NativeFunction | Callback:
        """A function that runs the result of `compile`; the compiler need not be installed."""


def find_compiler(name: str) -> ExternalCompiler:
    """The compiler of that name: registered, of this package, of a target, or of an installed
    package. What follows a space are its options, given to the class."""
    registered = registered_compilers()
    if name in registered:
        return _checked(name, registered[name])
    kind, *options = name.split(" ", 1)
    if kind in KNOWN:
        module, _, known = KNOWN[kind].partition(":")
        return _checked(name, getattr(importlib.import_module(module), known)(*options))
    if kind in TARGETS and class_of(kind).compiler is not Target.compiler:
        return _checked(name, described(name).compiler())
    from importlib.metadata import entry_points  # slow

    declared = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
    if name not in declared:
        names = [*registered, *KNOWN, *declared]
        raise TargetError.of(
            f"there is no external compiler `{name}` here",
            expected=", ".join(names),
            found=name,
            hint=did_you_mean(name, names) or f"register it, or install its package; {FALLBACK}",
        )
    return _checked(name, declared[name].load()())


FALLBACK: Final = (
    "relay.contrib.take_back(mod) gives its parts back to Relay; "
    'relay.create_executor("debug") runs every program'
)


def _checked(name: str, found: Any) -> ExternalCompiler:
    if not isinstance(found, ExternalCompiler):
        raise TargetError.of(
            f"the external compiler `{name}` is declared wrongly",
            expected="a class derived from relay.external.ExternalCompiler",
            found=repr(found),
        )
    return found
