"""What a target is handed, and what it gives: schedules, the code of a kernel, loaded kernels.

A `Kernel` is one function of the target. Its arguments are 8-byte words: the addresses of the
inputs, those of the outputs, one integer per dynamic size, and, where the kernel wants one, the
address of its workspace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from relay.immutable import frozen

if TYPE_CHECKING:
    from relay.te.schedule import Schedule


@frozen
class Scheduled:
    """The kernels of one primitive function: `prepare` makes tensors that `main` reads, out of
    constants only."""

    prepare: tuple[Schedule, ...]
    main: Schedule


@frozen
class KernelCode:
    """The code of one kernel as text, and the memory it wants besides its arguments.

    With `sized_workspace` that depends on sizes: a function `<name>_workspace` beside the kernel,
    over the same arguments, says how much.
    """

    ir: str
    workspace: int = 0  # bytes shared by all workers
    worker_workspace: int = 0  # bytes more for every worker
    sized_workspace: bool = False
    checks: tuple[str, ...] = ()  # what check number i of the checked mode guards
    sizes: tuple[str, ...] = ()  # the dynamic sizes it reads, in the order of their slots


@frozen
class TensorSpec:
    """A dense row-major tensor. A size is a number, or the name of one known at run time."""

    shape: tuple[int | str, ...]
    dtype: str


@frozen
class Kernel:
    """One function of the target. Kernels with the same name have the same code."""

    name: str  # the symbol: what it computes, and a digest of how
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    ir: str  # its code as the target writes it (`KernelCode.ir`)
    sizes: tuple[str, ...] = ()  # dynamic sizes, in the order of their slots
    workspace: int = 0  # bytes shared by all workers
    worker_workspace: int = 0  # bytes more for every worker
    sized_workspace: bool = False  # how many bytes there are depends on sizes (`KernelCode`)
    # (output, input): the output may lie where the input does, when nothing else reads that later
    in_place: tuple[tuple[int, int], ...] = ()
    checks: tuple[str, ...] = ()  # what check number i of the checked mode guards
    operators: tuple[str, ...] = ()  # the Relay operators inside, for reports
    flops: int = 0
    approximate: bool = False
