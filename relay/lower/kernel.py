"""Lowered primitive functions: steps that call kernels.

Most have one step. What depends on constants only (packing a weight for a micro-kernel) is a
separate step, marked `constant`: it runs once, when the weights are known.

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
    exact: bool = False  # algorithms round as the operators say
    plan: str = ""  # of the schedule, one of `Target.plans`; empty: as the target's rules say


@frozen
class Param:
    """A flattened parameter of the primitive function."""

    index: int


@frozen
class Temporary:
    """A tensor between the steps of one primitive function."""

    index: int


@frozen
class Result:
    """A flattened result of the primitive function."""

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
