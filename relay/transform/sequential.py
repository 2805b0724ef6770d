"""Sequential: several passes as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay.errors import PassError
from relay.immutable import frozen
from relay.ir.module import IRModule
from relay.transform.base import Pass
from relay.transform.context import PassContext


@frozen
class Sequential(Pass):
    """Runs those passes, in order, that the present PassContext enables."""

    passes: Sequence[Pass] = ()
    opt_level: int = 0
    name: str = "sequential"
    required: tuple[str | Pass, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "passes", tuple(self.passes or ()))
        object.__setattr__(self, "required", tuple(self.required or ()))
        for member in self.passes:
            if isinstance(member, type) and issubclass(member, Pass):
                raise PassError(
                    f"`{member.__name__}` is a class of passes; write {member.__name__}()"
                )
            if not isinstance(member, Pass):
                raise PassError(f"a Sequential takes passes, found {member!r}")

    def _options(self) -> dict[str, Any]:
        return {}  # what it is made of tells more than what it was made with

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        for member in self.passes:
            if context.enables(member.info):
                module = member(module)
        return module
