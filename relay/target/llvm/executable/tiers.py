"""Versions of a program for sizes that it has seen: tiered compilation.

    call                       counted, by the shapes of the arguments
    the same shapes again      in the background: which sizes its kernels take, code for these
    from then on               the same program, linked with that code

A kernel for known sizes (`relay.program.specialize`) does what the one for any sizes does, in the
same order: the results are the same to the bit. It stands behind a comparison of the sizes, so that
a call that turns out otherwise takes the one for any sizes.
"""

from __future__ import annotations

import ctypes
import logging
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from relay.cache import Cache
from relay.cache.objects import compile_cached
from relay.errors import RelayError
from relay.immutable import frozen
from relay.lower.kernel import Options
from relay.native.call import program_runtime
from relay.program.native import NativeProgram, workspace_name
from relay.program.primitives import Primitive
from relay.target.kernel import Kernel
from relay.target.llvm import abi
from relay.target.llvm.compile import compile_module
from relay.target.llvm.jit import Library, load
from relay.target.llvm.loaded import NativeKernels
from relay.target.llvm.objects import undefined_symbols
from relay.target.llvm.target import LLVMTarget

if TYPE_CHECKING:
    from relay.target.llvm.executable.program_function import ProgramFunction

log = logging.getLogger("relay")

MOST_VERSIONS: Final = 8  # the one that was not used for longest makes room
SEEN: Final = 2  # calls with the same shapes before there is a version for them
_MOST_COUNTED: Final = 1000  # shapes

# The sizes of the first call, and whether others differed: [calls, differing, size…]
_NOTED = """
define i32 @relay_noted_{number}(ptr %context, ptr %args) {{
  %calls = atomicrmw add ptr inttoptr (i64 {at} to ptr), i64 1 monotonic
  %first = icmp eq i64 %calls, 0
{lines}
  %status = call i32 inttoptr (i64 {kernel} to ptr)(ptr %context, ptr %args)
  ret i32 %status
}}
"""
_NOTED_SIZE = """
  %at{i} = getelementptr i8, ptr %args, i64 {slot}
  %s{i} = load i64, ptr %at{i}
  %old{i} = load i64, ptr inttoptr (i64 {at} to ptr)
  %new{i} = select i1 %first, i64 %s{i}, i64 %old{i}
  store i64 %new{i}, ptr inttoptr (i64 {at} to ptr)
  %other{i} = icmp ne i64 %new{i}, %s{i}
  %more{i} = zext i1 %other{i} to i64
  %_{i} = atomicrmw add ptr inttoptr (i64 {differing} to ptr), i64 %more{i} monotonic
"""
_GUARDED = """
define i32 @relay_guarded_{number}(ptr %context, ptr %args) {{
{lines}
  br i1 %same{last}, label %known, label %any
known:
  %a = call i32 inttoptr (i64 {known} to ptr)(ptr %context, ptr %args)
  ret i32 %a
any:
  %b = call i32 inttoptr (i64 {kernel} to ptr)(ptr %context, ptr %args)
  ret i32 %b
}}
"""
_GUARDED_SIZE = """
  %at{i} = getelementptr i8, ptr %args, i64 {slot}
  %s{i} = load i64, ptr %at{i}
  %is{i} = icmp eq i64 %s{i}, {size}
  %same{i} = and i1 {before}, %is{i}
"""


class Specializer:
    """Makes the code of kernels for known sizes; what a program was lowered from."""

    def __init__(
        self, primitives: Sequence[Primitive], target: LLVMTarget, options: Options, cache: Cache
    ) -> None:
        self.primitives = [one for one in primitives if one.dynamic]
        self.target = target
        self.options = options
        self.cache = cache
        self._homes: dict[str, Primitive] | None = None  # of kernels, by their names

    def codes(self, wanted: Mapping[str, tuple[str, Sequence[int]]]) -> dict[str, Any]:
        """`relay.program.specialize.specialized` for kernels of any of the functions."""
        from relay.program.specialize import specialized

        found: dict[str, Any] = {}
        for primitive, names in self._by_function(wanted):
            own = {name: wanted[name] for name in names}
            found |= specialized(primitive, self.target, self.options, own)
        return found

    def compile(self, texts: Sequence[str]) -> list[bytes]:
        return compile_cached([[text] for text in texts], self.target, self.cache)

    def _by_function(self, names: Mapping[str, Any]) -> list[tuple[Primitive, list[str]]]:
        if self._homes is None:
            from relay.cache.kernels import KernelCache

            kernels = KernelCache(self.cache, self.target, self.options)
            self._homes = {
                step.kernel.name: one
                for one in self.primitives
                for step in kernels.lower_dynamic(one.function, one.constant).steps
            }
        groups: dict[int, tuple[Primitive, list[str]]] = {}
        for name in names:
            if (home := self._homes.get(name)) is not None:
                groups.setdefault(id(home), (home, []))[1].append(name)
        return list(groups.values())


class Tiers:
    """The versions of one program. `entered` gives the function `main` at an address, which keeps
    libraries loaded; `imports` are the symbols that its code needs besides kernels."""

    def __init__(
        self,
        specializer: Specializer,
        loaded: NativeKernels,
        native: NativeProgram,
        imports: Mapping[str, int],
        entered: Callable[[int, Sequence[Library]], ProgramFunction],
        run: Callable[[ProgramFunction, tuple[Any, ...]], object],
    ) -> None:
        self.specializer = specializer
        self.loaded = loaded
        self.native = native.code
        self.entry = native.entry
        self.imports = {**program_runtime().symbols, **imports}
        self.entered = entered
        self.run = run
        called = undefined_symbols(self.native)
        self.kernels = [one for one in loaded.kernels.values() if one.name in called]
        sizes = [workspace_name(one.name) for one in self.kernels if one.sized_workspace]
        self.addresses = {one.name: loaded.library.address(one.name) for one in self.kernels}
        self.imports |= {name: loaded.library.address(name) for name in sizes if name in called}
        self._versions: OrderedDict[Hashable, _Version | None] = OrderedDict()
        self._seen: Counter[Hashable] = Counter()
        self._lock = threading.Lock()
        self._building = threading.Lock()
        self._thread: threading.Thread | None = None  # the last one

    def main(self, args: tuple[Any, ...]) -> ProgramFunction | None:
        """The version for these arguments, if there is one; counts the call otherwise."""
        key = key_of(args)
        version = self._versions.get(key)
        if version is not None:
            with self._lock:
                if key in self._versions:
                    self._versions.move_to_end(key)
            return version.main
        if key in self._versions:  # it is being made, or could not be
            return None
        with self._lock:
            if len(self._seen) >= _MOST_COUNTED:
                self._seen.clear()
            self._seen[key] += 1
            if self._seen[key] < SEEN or key in self._versions:
                return None
            self._versions[key] = None
        # the process waits for it at its end: LLVM is not stopped half-way
        self._thread = threading.Thread(target=self._in_background, args=(key, args))
        self._thread.start()
        return None

    def specialize(self, args: tuple[Any, ...]) -> None:
        """Make the version for these arguments now."""
        key = key_of(args)
        if self._versions.get(key) is None:
            self._keep(key, self._made(args))

    def wait(self) -> None:
        """Wait for versions that are being made."""
        if self._thread is not None:
            self._thread.join()

    @property
    def counts(self) -> list[int]:
        """For each version, how many kernels are made for its sizes."""
        return [version.kernels for version in [*self._versions.values()] if version is not None]

    @property
    def functions(self) -> list[ProgramFunction]:
        """`main` of all versions."""
        return [version.main for version in [*self._versions.values()] if version is not None]

    def _in_background(self, key: Hashable, args: tuple[Any, ...]) -> None:
        try:
            self._keep(key, self._made(args))
        except RelayError as error:  # the program goes on as it was
            log.info("no version for sizes that were seen again: %s", error)
        except Exception:  # so it does here, but this is a fault of the compiler
            log.warning("no version for sizes that were seen again", exc_info=True)

    def _keep(self, key: Hashable, version: _Version) -> None:
        with self._lock:
            self._versions[key] = version
            self._versions.move_to_end(key)
            while len(self._versions) > MOST_VERSIONS:
                self._versions.popitem(last=False)

    def _made(self, args: tuple[Any, ...]) -> _Version:
        with self._building:
            sizes = self._sizes(args)
            wanted = {
                name: (f"{name}_for_{'_'.join(map(str, found))}", found)
                for name, found in sizes.items()
            }
            codes = self.specializer.codes(wanted)
            fitting = {
                name: code for name, code in codes.items() if self._fits(name, sizes[name], code)
            }
            objects = self.specializer.compile([code.ir for code in fitting.values()])
            imports = self.imports | self.addresses
            held: list[Library] = []
            if fitting:
                symbols = [wanted[name][0] for name in fitting]
                held.append(load(objects, symbols, self.imports))
                guards = [
                    self._guard(number, name, held[0].address(symbol), sizes[name])
                    for number, (name, symbol) in enumerate(zip(fitting, symbols, strict=True))
                ]
                names = [f"relay_guarded_{number}" for number in range(len(fitting))]
                code = compile_module(["".join(guards)], self.specializer.target)
                held.append(load(code, names))
                guarded = map(held[1].address, names)
                imports |= dict(zip(fitting, guarded, strict=True))
            library = load(self.native, [self.entry], imports)
            main = self.entered(library.address(self.entry), (*held, library))
            log.info("%d kernels for sizes that were seen again", len(fitting))
            return _Version(main, len(fitting))

    def _sizes(self, args: tuple[Any, ...]) -> dict[str, tuple[int, ...]]:
        """The sizes that kernels take in a call, where they are the same every time."""
        dynamic = [one for one in self.kernels if one.sizes and not one.checks]
        if not dynamic:
            return {}
        width = 2 + max(len(one.sizes) for one in dynamic)
        noted: np.ndarray = np.zeros((len(dynamic), width), np.int64)
        first = int(noted.__array_interface__["data"][0])
        texts = []
        for number, kernel in enumerate(dynamic):
            at = first + 8 * width * number
            lines = "".join(
                _NOTED_SIZE.format(i=i, slot=8 * slot, at=at + 8 * (2 + i), differing=at + 8)
                for i, slot in enumerate(_slots(kernel))
            )
            address = self.addresses[kernel.name]
            texts.append(_NOTED.format(number=number, at=at, lines=lines, kernel=address))
        names = [f"relay_noted_{number}" for number in range(len(dynamic))]
        code = compile_module(["".join(texts)], self.specializer.target)
        recorders = load(code, names)
        imports = self.imports | self.addresses
        imports |= {
            one.name: recorders.address(name) for one, name in zip(dynamic, names, strict=True)
        }
        library = load(self.native, [self.entry], imports)
        self.run(self.entered(library.address(self.entry), (library, recorders)), args)
        return {
            kernel.name: tuple(map(int, row[2 : 2 + len(kernel.sizes)]))
            for kernel, row in zip(dynamic, noted, strict=True)
            if row[0] and not row[1]
        }

    def _guard(self, number: int, name: str, known: int, sizes: Sequence[int]) -> str:
        slots = _slots(self.loaded.kernels[name])
        lines = "".join(
            _GUARDED_SIZE.format(
                i=i, slot=8 * slot, size=size, before="true" if i == 0 else f"%same{i - 1}"
            )
            for i, (slot, size) in enumerate(zip(slots, sizes, strict=True))
        )
        last = len(sizes) - 1
        address = self.addresses[name]
        return _GUARDED.format(number=number, known=known, lines=lines, last=last, kernel=address)

    def _fits(self, name: str, sizes: Sequence[int], code: Any) -> bool:
        """Whether the memory that the program gives a kernel is enough for the code."""
        kernel = self.loaded.kernels[name]
        if code.sized_workspace:
            return False
        entry, threads = self.loaded.entry(name), self.loaded.threads
        wanted = code.workspace + threads * code.worker_workspace
        if entry.size_of_workspace is None:
            return bool(wanted <= kernel.workspace + threads * kernel.worker_workspace)
        context = (ctypes.c_int64 * (abi.THREADS // 8 + 1))()
        context[abi.THREADS // 8] = threads
        slots = _slots(kernel)
        words = (ctypes.c_int64 * (slots[-1] + 1))()
        for slot, size in zip(slots, sizes, strict=True):
            words[slot] = size
        given = entry.size_of_workspace(ctypes.addressof(context), ctypes.addressof(words))
        return bool(wanted <= given)


@frozen
class _Version:
    """A program linked with so many kernels for known sizes."""

    main: ProgramFunction
    kernels: int


def key_of(args: Sequence[Any]) -> Hashable:
    """The shapes of arguments; other values have none."""
    return tuple([getattr(arg, "shape", None) and tuple(arg.shape) for arg in args])


def _slots(kernel: Kernel) -> list[int]:
    """The words of the arguments that are sizes."""
    first = len(kernel.inputs) + len(kernel.outputs)
    return [first + number for number in range(len(kernel.sizes))]


def refused(reason: str) -> RelayError:
    """The error of an executable that makes no versions."""
    return RelayError(f"{reason}: relay.compile(…, tiered=True) makes one that does")
