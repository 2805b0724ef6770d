"""What lowering gives for one primitive function: kernels, and the steps that call them.

A `Kernel` is one native function, `i32 name(ptr context, ptr args)`. `args` is an array of 8-byte
slots: pointers to the inputs, to the outputs, one integer per symbolic size, and, where the kernel
wants one, a pointer to its workspace.

A primitive function is mostly one step. What depends on nothing but constants (a weight laid out
for the micro-kernel that reads it) is a step of its own, marked `constant`: whoever runs the
program runs it once, when the weights are known, and keeps the result.

    Step(pack_weight,  (Param(1),),                 (Temporary(0),), constant=True)
    Step(dense_relu,   (Param(0), Temporary(0)),    (Result(0),))
"""

from __future__ import annotations

from relay.immutable import frozen


@frozen
class Options:
    """How kernels are made."""

    checked: bool = False  # check every index, and report the first that is out of range
    threads: bool = True  # loops may be spread over threads


@frozen
class TensorSpec:
    """A dense row-major tensor. A size is a number, or the name of one known at run time."""

    shape: tuple[int | str, ...]
    dtype: str


@frozen
class Kernel:
    """One native function. Kernels with the same name have the same code."""

    name: str  # the symbol: what it computes, and a digest of how
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    ir: str  # definitions in LLVM's text form, complete but for `declare` lines shared by a module
    sizes: tuple[str, ...] = ()  # symbolic sizes, in the order of their slots
    workspace: int = 0  # bytes shared by all workers
    worker_workspace: int = 0  # bytes more for every worker
    # how many bytes there are depends on sizes: `i64 <name>_workspace(ptr context, ptr args)` says,
    # with the slot of the workspace still open
    sized_workspace: bool = False
    # (output, input): the output may lie where the input does, when nothing else reads that later
    in_place: tuple[tuple[int, int], ...] = ()
    checks: tuple[str, ...] = ()  # what check number i of the checked mode guards
    operators: tuple[str, ...] = ()  # the Relay operators inside, for reports
    flops: int = 0
    approximate: bool = False


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


Place = Param | Temporary | Result


@frozen
class Step:
    """One call of a kernel."""

    kernel: Kernel
    inputs: tuple[Place, ...]
    outputs: tuple[Place, ...]
    constant: bool = False  # depends on constant parameters only


@frozen
class Lowered:
    """A primitive function as steps, in order."""

    steps: tuple[Step, ...]
    temporaries: tuple[TensorSpec, ...] = ()
