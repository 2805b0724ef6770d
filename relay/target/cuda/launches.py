"""What a template gives: one Triton function and how it is launched."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from relay.immutable import frozen
from relay.target.cuda.nests import Nest
from relay.te import expr as te
from relay.te.compute import Tensor


@frozen
class Launch:
    """One function. Its parameters are the tensors it reads and writes, by address."""

    lines: tuple[str, ...]
    helpers: tuple[str, ...]  # `relay.target.cuda.helpers`
    combiners: tuple[str, ...]  # texts of the functions that combine values of reductions
    grid: tuple[int, int, int]
    warps: int
    stages: int  # of the software pipeline
    parameters: tuple[Tensor, ...]


@frozen
class Work:
    """A nest to be written, with what a template has to know."""

    nest: Nest
    stored: frozenset[int]  # the tensors that are stored, by identity
    multiprocessors: int
    dependent_launch: bool
    tf32: bool

    @property
    def parameters(self) -> tuple[Tensor, ...]:
        """The tensors that are read from memory, and then those that are stored."""
        own = {id(tensor) for stage in self.nest.stages for tensor in stage.tensors}
        read: dict[int, Tensor] = {}
        written: dict[int, Tensor] = {}
        for stage in self.nest.stages:
            for tensor in stage.inputs:
                if id(tensor) not in own:
                    read[id(tensor)] = tensor
            for tensor in stage.tensors:
                if id(tensor) in self.stored:
                    written[id(tensor)] = tensor
        return (*read.values(), *written.values())

    @property
    def is_wide(self) -> bool:
        """Whether the index of an element needs 64 bits."""
        return any(prod(tensor.extents) >= 2**31 for tensor in self.parameters)


def unflatten(var: te.Expr, extents: Sequence[int]) -> list[te.Expr]:
    """The indices along several axes of a position in all of them."""
    found: list[te.Expr] = []
    rest = var
    for extent in reversed(extents):
        found.append(rest % extent)
        rest = rest // extent
    return found[::-1]


def power_of_two(count: int) -> int:
    """The least power of two that is not smaller."""
    return 1 << max(0, count - 1).bit_length()


def ceil_div(count: int, size: int) -> int:
    return -(-count // size)
