"""What the two directions of folding scales have in common: a pass and its walk.

multiply(nn.conv2d(%x, %w), %s)  ->  nn.conv2d(%x, multiply(%w, …))         the product is dropped
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from relay import tree
from relay.analysis.purity import manages_memory
from relay.analysis.value_flow import Flow
from relay.immutable import frozen
from relay.ir.expr import Call, Function, Syntax
from relay.transform.base import FunctionPass


class Folding(ABC):
    """The changes of a function. `dropped` maps calls to the argument that replaces them."""

    dropped: dict[int, int]

    @abstractmethod
    def __init__(self, flow: Flow) -> None: ...

    @abstractmethod
    def changed(self, before: Syntax, after: Syntax) -> Syntax:
        """The node, changed or not."""

    def visit(self, before: Syntax, after: Syntax) -> Syntax:
        """The program rewritten: `tree.transform`."""
        if (kept := self.dropped.get(id(before))) is None:
            return self.changed(before, after)
        assert isinstance(after, Call)
        return after.args[kept]


@frozen
class FoldScales(FunctionPass):
    """A pass that folds scales into weights."""

    opt_level = 3
    required = ("InferType",)
    folding: ClassVar[type[Folding]]

    def rewrite(self, function: Function) -> Function:
        if manages_memory(function):
            return function
        found = self.folding(Flow(function))
        return tree.transform(function, found.visit) if found.dropped else function
