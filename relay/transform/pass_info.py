"""What is known of a pass without running it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from relay.immutable import frozen


@frozen
class PassInfo:
    """Name, the optimization level from which on a Sequential runs it, and what must run before.

    `options` are those that are not what they are by default.
    """

    opt_level: int
    name: str
    required: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "required", tuple(self.required or ()))

    @property
    def call(self) -> str:
        """`FuseOps(fuse_opt_level=2)`: how the pass is written, as far as it has options."""
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return f"{self.name}({options})" if options else self.name

    def __str__(self) -> str:
        required = ", ".join(self.required)
        return f"pass name: {self.name}, opt_level: {self.opt_level}, required: [{required}]"
