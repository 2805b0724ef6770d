"""Kernels that were made before: found on disk by the functions they were made of.

`relay.cache` keeps object code by the text it was compiled from. To know that text, a function has
to be lowered, which takes longer than compiling it; so what lowering gives is kept too, by the text
of the function and all else it depends on: which parameters are constant, the target, the options,
and this compiler itself.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Sequence
from functools import cache as remember
from functools import partial
from pathlib import Path

import relay
from relay import tree
from relay.cache import Cache, compile_cached
from relay.ir.expr import Expr, Function
from relay.lower import stored
from relay.lower.kernel import Kernel, Lowered
from relay.lower.lower import Options, lower
from relay.op.opdef import OpDef
from relay.target.target import Target

log = logging.getLogger("relay")


class KernelCache:
    """Makes the kernels of one program. What `cache` has is not made again."""

    def __init__(self, cache: Cache, target: Target, options: Options) -> None:
        self.cache = cache
        self.target = target
        self.options = options
        self.found = 0
        self.lowered = 0

    def lower(self, function: Function, constant: Sequence[bool]) -> Lowered:
        """The steps of a primitive function; `relay.lower.lower` says what they are."""
        key = self._key(function, constant)
        if key is not None and (data := self.cache.get(key)) is not None:
            self.found += 1
            return stored.from_bytes(data)
        made = lower(function, constant, self.target, self.options)
        self.lowered += 1
        log.debug("lowered %s", ", ".join(step.kernel.name for step in made.steps))
        if key is not None:
            self.cache.put(key, stored.to_bytes(made))
        return made

    def compile(self, kernels: Sequence[Kernel]) -> list[bytes]:
        """An object file for every kernel."""
        return compile_cached([[kernel.ir] for kernel in kernels], self.target, self.cache)

    def _key(self, function: Function, constant: Sequence[bool]) -> str | None:
        """A digest of all that the steps depend on; None when that cannot be said."""
        if self.cache.path is None or not _is_ours(function):
            return None
        parts = (
            relay.__version__,
            fingerprint(),
            str(self.target),
            repr(self.options),
            repr(list(constant)),
            function.astext(),
        )
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _is_ours(function: Function) -> bool:
    """Whether all operators are computed as this package says, and not as someone else does."""
    body: Expr = function.body
    operators = (node for node in tree.postorder(body) if isinstance(node, OpDef))
    return all(
        op.compute is None or _home(op.compute).partition(".")[0] == "relay" for op in operators
    )


def _home(compute: Callable[..., object]) -> str:
    """The module a function was defined in."""
    while isinstance(compute, partial):
        compute = compute.func
    return str(getattr(compute, "__module__", ""))


@remember
def fingerprint() -> str:
    """A digest that changes whenever a file of this package does.

    Names, sizes and times are looked at and not contents: that takes a few milliseconds.
    """
    made = hashlib.sha256()
    root = Path(relay.__file__).parent
    for folder, below, files in os.walk(root):
        below.sort()
        for name in sorted(files):
            if name.endswith(".py"):
                info = os.stat(os.path.join(folder, name))
                place = os.path.relpath(os.path.join(folder, name), root)
                made.update(f"{place} {info.st_size} {info.st_mtime_ns}\n".encode())
    return made.hexdigest()
