"""The memory that a kernel needs while it runs: a stack of buffers, with its high-water mark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from relay.te.expr import INDEX, Expr, binary, const

ALIGNMENT: Final = 64


@dataclass
class Workspace:
    """The bytes taken so far, and the most at any time."""

    used: Expr = field(default_factory=lambda: const(0, INDEX))
    most: Expr = field(default_factory=lambda: const(0, INDEX))

    @contextmanager
    def take(self, size: Expr) -> Iterator[Expr]:
        """Allocate `size` bytes inside the block: their offset."""
        offset = self.used
        self.used = offset + (size + (ALIGNMENT - 1)) // ALIGNMENT * ALIGNMENT
        self.most = binary("max", self.most, self.used)
        yield offset
        self.used = offset
