"""A lowered primitive function: kernels, and the steps that call them.

A primitive function is mostly one step. What depends on nothing but constants (a weight laid out
for the micro-kernel that reads it) is a step of its own, marked `constant`: whoever runs the
program runs it once, when the weights are known, and keeps the result.

    Step(pack_weight,  (Param(1),),                 (Temporary(0),), constant=True)
    Step(dense_relu,   (Param(0), Temporary(0)),    (Result(0),))
"""

from __future__ import annotations

from relay.immutable import frozen
from relay.target.kernel import Kernel as Kernel
from relay.target.kernel import TensorSpec as TensorSpec


@frozen
class Options:
    """Options of code generation."""

    checked: bool = False  # check every index, and report the first that is out of range
    threads: bool = True  # loops may be spread over threads


@frozen
class Param:
    """A parameter of the primitive function; those of tuples are counted one by one."""

    index: int


@frozen
class Temporary:
    """A tensor between the steps of one primitive function."""

    index: int


@frozen
class Result:
    """A result of the primitive function; the fields of a tuple are counted one by one."""

    index: int


Operand = Param | Temporary | Result


@frozen
class Step:
    """One call of a kernel."""

    kernel: Kernel
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    constant: bool = False  # depends on constant parameters only


@frozen
class Lowered:
    """A primitive function as steps, in order."""

    steps: tuple[Step, ...]
    temporaries: tuple[TensorSpec, ...] = ()
