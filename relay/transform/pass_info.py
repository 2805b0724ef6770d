"""What is known of a pass without running it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class PassInfo:
    """Name, the optimisation level from which on a Sequential runs it, and what must run before."""

    opt_level: int
    name: str
    required: Sequence[str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "required", tuple(self.required or ()))

    def __str__(self) -> str:
        required = ", ".join(self.required)
        return f"pass name: {self.name}, opt_level: {self.opt_level}, required: [{required}]"
