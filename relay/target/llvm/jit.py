"""Loads object code into this process.

    library = load([object, …], ["kernel_a", "kernel_b"])
    address = library.address("kernel_a")

Only LLVM's linker is used: nothing is compiled here. Addresses are valid as long as the `Library`
lives.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from relay.errors import TargetError
from relay.target.llvm.machine import target_machine
from relay.target.llvm.objects import architecture
from relay.target.llvm.target import LLVMTarget


class Library:
    """Loaded code; thread-safe."""

    def __init__(self, engine: Any, tracker: Any, addresses: dict[str, int]) -> None:
        self._engine = engine
        self._trackers = [tracker]
        self._addresses = addresses
        self._lock = threading.Lock()

    def address(self, symbol: str) -> int:
        """The address of a function."""
        found = self._addresses.get(symbol)
        if found is not None:
            return found
        with self._lock:
            try:
                tracker = self._engine.lookup(_NAME, symbol)
            except RuntimeError:
                raise TargetError.of(f"the loaded code has no function `{symbol}`") from None
            # LLVM unloads the code when any of its trackers is deleted
            self._trackers.append(tracker)
            found = self._addresses[symbol] = int(tracker[symbol])
        return found

    def keep_forever(self) -> None:
        """Never unload the code, not even at exit: threads may run in it."""
        for tracker in self._trackers:
            tracker.detach()
        self._engine.detach()


_NAME = "relay"


def load(
    objects: bytes | Sequence[bytes],
    symbols: Sequence[str] = (),
    imports: Mapping[str, int] | None = None,
) -> Library:
    """Link `objects` into this process.

    `symbols` are looked up at once, which is faster than one by one. `imports` are the addresses of
    external functions.
    """
    from llvmlite import binding

    host = LLVMTarget.here()
    builder = binding.JITLibraryBuilder()
    for data in (objects,) if isinstance(objects, bytes) else objects:
        if architecture(data) not in (host.arch, None):  # LLVM does not check it
            raise TargetError.of(
                "the compiled code cannot be loaded: it is for another kind of machine",
                expected=host.arch,
                found=architecture(data),
            )
        builder.add_object_img(data)
    for symbol in symbols:
        builder.export_symbol(symbol)
    for name, address in (imports or {}).items():
        builder.import_symbol(name, address)
    builder.add_current_process()
    try:
        engine = binding.create_lljit_compiler(
            target_machine(host),
            use_jit_link=sys.platform.startswith("linux"),
            suppress_errors=True,
        )
        tracker = builder.link(engine, _NAME)
    except RuntimeError as error:
        message = "the compiled code cannot be loaded"
        raise TargetError.of(message, found=str(error).strip()) from None
    return Library(engine, tracker, {symbol: int(tracker[symbol]) for symbol in symbols})
