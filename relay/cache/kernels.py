"""Kernels by the primitive functions they are lowered from.

Object code is cached by the text it is compiled from (`relay.cache.objects`). To know that text, a
function has to be lowered, which takes longer than compiling it; so the result of lowering is
cached too, by the text of the function and all else it depends on: which parameters are constant,
the target, the options, and this compiler itself.

Many missing kernels are made by several processes.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import cache as remember
from functools import partial
from typing import TYPE_CHECKING

import relay
from relay import settings, tree
from relay.cache.objects import compile_cached, key_of
from relay.cache.store import Cache
from relay.cache.worker import KernelWorker, Made, make, make_dynamic
from relay.ir.expr import Expr, Function
from relay.lower import stored
from relay.lower.kernel import Kernel, Lowered, Options, Step
from relay.native.cores import usable_cores
from relay.op.opdef import OpDef
from relay.target.target import Target

if TYPE_CHECKING:
    from relay.lower.dynamic import Dynamic

log = logging.getLogger("relay")

# Starting a process takes about as long as making the kernels of this many functions.
FUNCTIONS_PER_WORKER = 8

Request = tuple[Function, tuple[bool, ...]]
DYNAMIC = "dynamic"


class KernelCache:
    """Makes the kernels of one program. What `cache` has is not made again."""

    def __init__(self, cache: Cache, target: Target, options: Options) -> None:
        self.cache = cache
        self.target = target
        self.options = options
        self.found = 0  # functions that were on disk
        self.made = 0  # functions that were lowered
        self._lowered: dict[str, Lowered] = {}
        self._dynamic: dict[str, Dynamic] = {}
        self._objects: dict[str, bytes] = {}  # by the names of kernels
        self._texts: dict[int, tuple[Function, str]] = {}  # texts of functions, by identity
        self._lock = threading.Lock()

    def lower(self, function: Function, constant: Sequence[bool]) -> Lowered:
        """The steps of a primitive function; `relay.lower.lower` says what they are."""
        key = self._key(function, constant)
        if key not in self._lowered and not self._is_stored(key):
            made = make(function, constant, self.target, self.options, self._objects)
            self._take(key, made, function)
        return self._lowered[key]

    def lower_dynamic(self, function: Function, constant: Sequence[bool]) -> Dynamic:
        """The same for a function over sizes that a run finds: `relay.lower.symbolic`."""
        key = self._key(function, constant, DYNAMIC)
        if key not in self._dynamic and not self._is_stored_dynamic(key):
            made = make_dynamic(function, constant, self.target, self.options, self._objects)
            self._take_dynamic(key, made, function)
        return self._dynamic[key]

    def prepare(self, wanted: Iterable[Request], dynamic: Iterable[Request] = ()) -> None:
        """Make what will be asked for, by several processes when it is much."""
        missing: dict[str, Request] = {}
        for function, constant in wanted:
            key = self._key(function, constant)
            if key not in missing and _is_ours(function) and not self._is_stored(key):
                missing[key] = (function, constant)
        sized: set[str] = set()
        for function, constant in dynamic:
            key = self._key(function, constant, DYNAMIC)
            if key not in missing and _is_ours(function) and not self._is_stored_dynamic(key):
                missing[key] = (function, constant)
                sized.add(key)
        most = settings.WORKERS.read() or usable_cores()
        helpers = min(most, len(missing) // FUNCTIONS_PER_WORKER) - 1
        if helpers > 0:
            self._share(missing, sized, helpers)

    def compile(self, kernels: Sequence[Kernel]) -> list[bytes]:
        """An object file for every kernel."""
        rest = [kernel for kernel in kernels if kernel.name not in self._objects]
        compiled = compile_cached([[kernel.ir] for kernel in rest], self.target, self.cache)
        for kernel, data in zip(rest, compiled, strict=True):
            self._objects[kernel.name] = data
        return [self._objects[kernel.name] for kernel in kernels]

    # --- sharing the work

    def _share(self, missing: dict[str, Request], sized: set[str], helpers: int) -> None:
        """Make kernels together with `helpers` other processes."""
        waiting = deque(missing)
        workers = [worker for _ in range(helpers) if (worker := KernelWorker.start()) is not None]

        def look_after(worker: KernelWorker) -> None:
            if not worker.ready():
                return
            while waiting:
                try:
                    key = waiting.pop()
                except IndexError:
                    return
                if not self._made_by(worker, key, missing[key], key in sized):
                    return  # whoever asks for this one will see why

        threads = [threading.Thread(target=look_after, args=(worker,)) for worker in workers]
        for thread in threads:
            thread.start()
        try:
            while waiting:
                try:
                    key = waiting.popleft()
                except IndexError:
                    break
                lower = self.lower_dynamic if key in sized else self.lower
                lower(*missing[key])
            for thread in threads:
                thread.join()
        finally:
            for worker in workers:
                worker.stop()
            for thread in threads:
                thread.join()

    def _made_by(self, worker: KernelWorker, key: str, asked: Request, sized: bool) -> bool:
        """Whether another process could make what is asked for."""
        function, constant = asked
        given = self._text(function), constant, self.target, self.options
        if sized:
            if (dynamic := worker.make_dynamic(*given)) is not None:
                self._take_dynamic(key, dynamic, function)
            return dynamic is not None
        if (made := worker.make(*given)) is not None:
            self._take(key, made, function)
        return made is not None

    # --- keeping it

    def _take(self, key: str, made: Made[Lowered], function: Function) -> None:
        with self._lock:
            self._lowered[key] = made.lowered
        self._keep(key, function, made.objects, made.lowered.steps, stored.to_bytes(made.lowered))

    def _take_dynamic(self, key: str, made: Made[Dynamic], function: Function) -> None:
        from relay.lower.stored_dynamic import to_bytes  # not for who has known sizes only

        with self._lock:
            self._dynamic[key] = made.lowered
        self._keep(key, function, made.objects, made.lowered.steps, to_bytes(made.lowered))

    def _keep(
        self,
        key: str,
        function: Function,
        objects: dict[str, bytes],
        steps: Iterable[Step],
        data: bytes,
    ) -> None:
        with self._lock:
            self._objects.update(objects)
            self.made += 1
        log.debug("made %s", ", ".join(objects))
        if self.cache.path is not None and _is_ours(function):
            self.cache.put(key, data)
            for step in steps:
                self.cache.put(key_of([step.kernel.ir], self.target), objects[step.kernel.name])

    def _is_stored(self, key: str) -> bool:
        """Whether the steps are known by now."""
        if key not in self._lowered and (data := self.cache.get(key)) is not None:
            self._lowered[key] = stored.from_bytes(data)
            self.found += 1
        return key in self._lowered

    def _is_stored_dynamic(self, key: str) -> bool:
        if key not in self._dynamic and (data := self.cache.get(key)) is not None:
            from relay.lower.stored_dynamic import from_bytes

            self._dynamic[key] = from_bytes(data)
            self.found += 1
        return key in self._dynamic

    def _key(self, function: Function, constant: Sequence[bool], kind: str = "steps") -> str:
        """A digest of all that the steps depend on."""
        parts = (
            kind,
            relay.__version__,
            fingerprint(),
            str(self.target),
            repr(self.options),
            repr(list(constant)),
            self._text(function),
        )
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def _text(self, function: Function) -> str:
        if id(function) not in self._texts:
            self._texts[id(function)] = (function, function.astext())
        return self._texts[id(function)][1]


def _is_ours(function: Function) -> bool:
    """Whether all operators are computed as this package says, and not as someone else does."""
    body: Expr = function.body
    operators = (node for node in tree.postorder(body) if isinstance(node, OpDef))
    return all(
        op.compute is None or home(op.compute).partition(".")[0] == "relay" for op in operators
    )


def home(compute: Callable[..., object]) -> str:
    """The module a function was defined in."""
    while isinstance(compute, partial):
        compute = compute.func
    return str(getattr(compute, "__module__", ""))


@remember
def fingerprint() -> str:
    """A digest that changes whenever a file of this package does.

    Names, sizes and times are looked at and not contents: that takes a few milliseconds.
    """
    root = os.path.dirname(relay.__file__)
    seen: list[str] = []
    folders = [root]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    info = entry.stat()
                    place = entry.path[len(root) :]
                    seen.append(f"{place} {info.st_size} {info.st_mtime_ns}\n")
                elif "." not in entry.name and entry.is_dir():
                    folders.append(entry.path)
    return hashlib.sha256("".join(sorted(seen)).encode()).hexdigest()
