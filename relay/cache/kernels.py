"""Kernels by the primitive functions they are lowered from.

Object code is cached by the text it is compiled from (`relay.cache.objects`). To know that text, a
function has to be lowered, which takes longer than compiling it; so the result of lowering is
cached too, by the text of the function and all else it depends on: which parameters are constant,
the target, the options, and this compiler itself.

What `relay.tune` found to be the best schedule of a function is used (`relay.cache.tuned`).

Many missing kernels are made by several processes.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import relay
from relay import settings, tree
from relay.cache import tuned
from relay.cache.fingerprint import fingerprint, home
from relay.cache.objects import compile_cached, key_of
from relay.cache.store import Cache
from relay.cache.worker import KernelWorker, Made, make
from relay.executors.cores import usable_cores
from relay.ir.expr import Expr, Function
from relay.ir.function_attrs import is_foreign
from relay.lower import stored
from relay.lower.kernel import Kernel, Lowered, Options
from relay.op.opdef import OpDef
from relay.program.primitives import Primitive
from relay.progress import Progress, silent
from relay.target.target import Target

if TYPE_CHECKING:
    from relay.lower.dynamic import Dynamic

log = logging.getLogger("relay")

# Starting a process takes about as long as making the kernels of this many functions.
FUNCTIONS_PER_WORKER = 8


class KernelCache:
    """Makes the kernels of one program, but for those that `cache` has."""

    def __init__(
        self, cache: Cache, target: Target, options: Options, progress: Progress = silent
    ) -> None:
        self.cache = cache
        self.target = target
        self.options = options
        self.tuned = tuned.Tuned.of(cache)
        self.found = 0  # primitive functions whose kernels were cached
        self.made = 0  # primitive functions that were lowered
        self._missing = 0  # of those that `prepare` was told of
        self._progress = progress
        self.external: dict[str, bytes] = {}  # code of external compilers, by `support_name`
        self._foreign: list[Function] = []
        self._lowered: dict[str, Any] = {}  # Lowered, or Dynamic
        self._objects: dict[str, bytes] = {}  # by the names of kernels
        self._texts: dict[int, tuple[Function, str]] = {}  # texts of functions, by identity
        self._lock = threading.Lock()

    def lower(self, function: Function, constant: Sequence[bool]) -> Lowered:
        """The steps of a primitive function: `relay.lower.lower`."""
        return self._get(Primitive(function, tuple(constant)))  # type: ignore[no-any-return]

    def lower_dynamic(self, function: Function, constant: Sequence[bool]) -> Dynamic:
        """The same for a function with dynamic dimensions: `relay.lower.lower_dynamic`."""
        return self._get(Primitive(function, tuple(constant), dynamic=True))  # type: ignore[no-any-return]

    def _get(self, wanted: Primitive) -> Any:
        key = self._key(wanted)
        if not self._is_known(key):
            if is_foreign(wanted.function):
                self._external(key, wanted)
            else:
                options = self._options(wanted)
                self._keep(key, wanted, make(wanted, self.target, options, self._objects))
        return self._lowered[key]

    def _external(self, key: str, wanted: Primitive) -> None:
        """Have a function compiled by the external compiler that it is marked for."""
        from relay.external.functions import support_name
        from relay.external.lower import lower_external

        made = lower_external(wanted.function, self.target)
        kernel = made.lowered.steps[0].kernel
        self._lowered[key] = made.lowered
        self._foreign.append(wanted.function)  # the key is its identity
        self.external[support_name(made.compiler, kernel.name)] = made.code

    def prepare(self, wanted: Iterable[Primitive]) -> None:
        """Make missing kernels by several processes when there are many."""
        missing: dict[str, Primitive] = {}
        for one in wanted:
            key = self._key(one)
            if key not in missing and _is_ours(one.function) and not self._is_known(key):
                missing[key] = one
        self._missing = len(missing)
        self._progress("kernels", 0, self._missing)
        most = settings.WORKERS.read() or usable_cores()
        helpers = min(most, len(missing) // FUNCTIONS_PER_WORKER) - 1
        if helpers > 0 and self.target.is_named:
            self._share(missing, helpers)

    def compile(self, kernels: Sequence[Kernel]) -> tuple[bytes, ...]:
        """An object file for every kernel."""
        rest = [kernel for kernel in kernels if kernel.name not in self._objects]
        compiled = compile_cached([[kernel.ir] for kernel in rest], self.target, self.cache)
        for kernel, data in zip(rest, compiled, strict=True):
            self._objects[kernel.name] = data
        return tuple(self._objects[kernel.name] for kernel in kernels)

    def _share(self, missing: dict[str, Primitive], helpers: int) -> None:
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
                text = self._text(missing[key].function)
                options = self._options(missing[key])
                made = worker.make(missing[key], text, self.target, options)
                if made is None:
                    return  # lowering asks for this one again, and reports the error
                self._keep(key, missing[key], made)

        threads = [threading.Thread(target=look_after, args=(worker,)) for worker in workers]
        for thread in threads:
            thread.start()
        try:
            while waiting:
                try:
                    key = waiting.popleft()
                except IndexError:
                    break
                self._get(missing[key])
            for thread in threads:
                thread.join()
        finally:
            for worker in workers:
                worker.stop()
            for thread in threads:
                thread.join()

    def _keep(self, key: str, wanted: Primitive, made: Made) -> None:
        with self._lock:
            self._lowered[key] = made.lowered
            self._objects.update(made.objects)
            self.made += 1
            self._progress("kernels", self.made, max(self.made, self._missing))
        log.debug("made %s", ", ".join(made.objects))
        if self.cache.path is not None and _is_ours(wanted.function):
            self.cache.put(key, stored.to_bytes(made.lowered))
            for step in made.lowered.steps:
                kernel = step.kernel
                self.cache.put(key_of([kernel.ir], self.target), made.objects[kernel.name])

    def _is_known(self, key: str) -> bool:
        """Whether the kernels are there, perhaps from the cache."""
        if key not in self._lowered and (data := self.cache.get(key)) is not None:
            self._lowered[key] = stored.from_bytes(data)
            self.found += 1
        return key in self._lowered

    def _key(self, wanted: Primitive) -> str:
        """A digest of everything the kernels depend on."""
        if is_foreign(wanted.function):  # kept in this object only, and its text may be large
            return f"external {id(wanted.function)}"
        parts = (
            "dynamic" if wanted.dynamic else "steps",
            relay.__version__,
            fingerprint(),
            str(self.target),
            repr(self._options(wanted)),
            repr(list(wanted.constant)),
            self._text(wanted.function),
        )
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def _options(self, wanted: Primitive) -> Options:
        """The options of a function: those of the program, and the plan that tuning found."""
        if self.options.plan or wanted.dynamic or self.tuned.is_empty:
            return self.options
        text, exact = self._text(wanted.function), self.options.exact
        plan = self.tuned.plan(tuned.key_of(text, wanted.constant, self.target, exact))
        return replace(self.options, plan=plan) if plan else self.options

    def _text(self, function: Function) -> str:
        if id(function) not in self._texts:
            self._texts[id(function)] = (function, function.astext())
        return self._texts[id(function)][1]


def _is_ours(function: Function) -> bool:
    """Whether all operators are computed as this package says, and not as someone else does."""
    if is_foreign(function):
        return False
    body: Expr = function.body
    operators = (node for node in tree.postorder(body) if isinstance(node, OpDef))
    return all(
        op.compute is None or home(op.compute).partition(".")[0] == "relay" for op in operators
    )
