"""What targets and the compiler exchange: schedules, the code of a kernel, kernels.

A `Kernel` is one function of the target. Its arguments are 8-byte words: the addresses of the
inputs, those of the outputs, one integer per dynamic size, and the address of its workspace, if it
has one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from relay.immutable import frozen

if TYPE_CHECKING:
    from relay.te.schedule import Schedule


@frozen
class Scheduled:
    """The kernels of one primitive function: `prepare` computes inputs of `main` from constants
    only."""

    prepare: tuple[Schedule, ...]
    main: Schedule
    algorithm: str = ""  # of `main`, if it rounds otherwise than its operators say


@frozen
class KernelCode:
    """The code of one kernel as text, and the size of its workspace.

    With `sized_workspace` a function `<name>_workspace` of the same arguments computes the size.
    """

    ir: str
    workspace: int = 0  # bytes shared by all workers
    worker_workspace: int = 0  # additional bytes per worker
    sized_workspace: bool = False
    checks: tuple[str, ...] = ()  # what check i of the checked mode guards
    sizes: tuple[str, ...] = ()  # its dynamic sizes, in the order of their slots


@frozen
class TensorSpec:
    """A dense row-major tensor. A size is a number, or the name of a dynamic dimension."""

    shape: tuple[int | str, ...]
    dtype: str


@frozen
class Kernel:
    """One function of the target. Kernels with the same name have the same code."""

    name: str  # the symbol: its operators, and a digest of the code
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    ir: str  # its code as the target writes it (`KernelCode.ir`)
    sizes: tuple[str, ...] = ()  # dynamic sizes, in the order of their slots
    workspace: int = 0  # bytes shared by all workers
    worker_workspace: int = 0  # additional bytes per worker
    sized_workspace: bool = False  # depends on dynamic sizes (`KernelCode`)
    # (output, input): the output may overwrite the input, if that is not read later
    in_place: tuple[tuple[int, int], ...] = ()
    checks: tuple[str, ...] = ()  # what check i of the checked mode guards
    operators: tuple[str, ...] = ()  # the Relay operators inside, for reports
    flops: int = 0
    algorithm: str = ""  # if it rounds otherwise than its operators say
    approximate: bool = False
    compiler: str = ""  # the external compiler whose code it calls (`relay.external`)
