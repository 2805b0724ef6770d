"""`tvm.autotvm.task`: the kernels of a model that have several plans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relay import tree
from relay.cache.tuned import key_of
from relay.driver import compile_program
from relay.immutable import frozen
from relay.lower.kernel import Options
from relay.lower.lower import plans_of
from relay.op.opdef import OpDef
from relay.program.primitives import Primitive
from relay.target.target import Target, wanted


@frozen
class Task:
    """A kernel, and the plans there are for it."""

    name: str
    kernel: Primitive
    target: Target
    config_space: tuple[str, ...]

    @property
    def key(self) -> str:
        """What its result is kept under."""
        return key_of(self.kernel.function.astext(), self.kernel.constant, self.target, False)

    def __str__(self) -> str:
        return f"Task({self.name}, {len(self.config_space)} plans)"


def extract_from_program(
    mod: Any,
    params: Mapping[str, Any] | None = None,
    target: Any = None,
    target_host: Any = None,
    ops: Any = None,
) -> list[Task]:
    """The tasks of a module or a function; with `ops`, of kernels with one of these operators."""
    machine = wanted(target)
    kernels: list[Primitive] = []
    compile_program(mod, params, target=machine, watch=lambda _, made: kernels.extend(made))
    names = {one.name for one in ops or ()}
    found: dict[str, Task] = {}
    for one in kernels:
        parts = [part.name for part in tree.postorder(one.function.body) if isinstance(part, OpDef)]
        plans = () if one.dynamic else plans_of(one.function, one.constant, machine, Options())
        if plans and (not names or names & set(parts)):
            task = Task(" ".join(parts), one, machine, tuple(plans))
            found.setdefault(task.key, task)
    return list(found.values())
